//! The logarithm of an integer, computed in integers, so that it is the same on every machine.

/// Binary places of the result behind the point. A log axis has over 300 steps of this size in each eighth of a px, so
/// rounding does not show. The number has no other source.
const PLACES: u32 = 16;

/// Returns the logarithm to base 2 in steps of 1/65,536; 0 for a value below 1.
///
/// Each squaring of the mantissa gives the next binary place, so the function needs no table and no floating-point
/// function.
pub(crate) fn log2(value: i64) -> i64 {
    let Ok(value) = u64::try_from(value.max(1)) else {
        return 0;
    };
    let whole = value.ilog2();
    // The mantissa, from 1 to below 2, with 31 binary places.
    let mut mantissa = if whole > 31 {
        value >> (whole - 31)
    } else {
        value << (31 - whole)
    };
    let mut result = i64::from(whole);
    for _ in 0..PLACES {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = mantissa >> 32;
        mantissa >>= bit;
        result = result * 2 + i64::from(bit == 1);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_powers_of_two_are_exact_and_others_are_near() {
        assert_eq!([1, 2, 1 << 40].map(log2), [0, 1 << 16, 40 << 16]);
        // 3.32193 times 65,536.
        assert_eq!(log2(10), 217_705);
        assert_eq!([i64::MIN, 0].map(log2), [0, 0]);
        assert!(log2(i64::MAX) < 63 << 16 && log2(i64::MAX) > (63 << 16) - 4);
    }

    #[test]
    fn a_larger_number_has_no_smaller_logarithm() {
        let mut last = 0;
        for value in (1..2_000).chain((1..2_000).map(|step| step * 1_000_003)) {
            let here = log2(value);
            assert!(here >= last || value == 1_000_003, "{value}");
            last = here;
        }
    }
}
