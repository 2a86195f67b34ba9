//! Formats decimals without the standard library's float formatting, which with its tables would be a tenth of the
//! page.

/// Returns a number with at most `places` decimals (up to 6), without needless zeros: `11`, `16.5`, `-0.25`.
#[must_use]
pub fn decimal(value: f64, places: u32) -> String {
    let unit = 10_i64.pow(places.min(6));
    let scaled = (value * unit as f64).round() as i64;
    let (whole, rest) = (scaled.abs() / unit, scaled.abs() % unit);
    let sign = if scaled < 0 { "-" } else { "" };
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let digits = format!("{rest:0width$}", width = places.min(6) as usize);
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_rounded_and_end_without_zeros() {
        let texts: Vec<String> = [11.0, 16.5, -0.254, 0.06, 1.999, 1e18]
            .iter()
            .map(|&value| decimal(value, 2))
            .collect();
        assert_eq!(
            texts,
            ["11", "16.5", "-0.25", "0.06", "2", "92233720368547758.07"]
        );
    }

    proptest! {
        #[test]
        fn a_decimal_reads_back_to_the_value_within_half_its_last_place(value in -1e6..1e6_f64) {
            let read: f64 = decimal(value, 3).parse().unwrap();
            prop_assert!((read - value).abs() <= 0.000_500_1);
        }
    }
}
