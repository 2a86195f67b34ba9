//! The backoff between attempts to connect.

/// The first delay in milliseconds, before jitter.
pub const FIRST_MS: u64 = 500;

/// The longest delay in milliseconds.
pub const CAP_MS: u64 = 15_000;

/// Returns the delay before attempt `attempt` (from 0). It doubles from [`FIRST_MS`] to [`CAP_MS`]. `random` (0 to 1)
/// picks between half of it and all of it. So the tabs of many people do not come back at once.
#[must_use]
pub fn delay_ms(attempt: u32, random: f64) -> u64 {
    let whole = FIRST_MS.saturating_mul(1 << attempt.min(16)).min(CAP_MS);
    let half = whole / 2;
    half + ((whole - half) as f64 * random.clamp(0.0, 1.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_stay_there() {
        let longest: Vec<u64> = (0..8).map(|attempt| delay_ms(attempt, 1.0)).collect();
        assert_eq!(
            longest,
            [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]
        );
        assert_eq!(delay_ms(u32::MAX, 1.0), CAP_MS);
    }

    #[test]
    fn jitter_takes_at_most_half() {
        assert_eq!((delay_ms(1, 0.0), delay_ms(1, 0.5)), (500, 750));
    }
}
