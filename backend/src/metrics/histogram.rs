//! Histograms of durations.

/// A histogram of durations. Its bounds fix its size.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The upper bounds in µs, rising.
    bounds_us: &'static [u64],
    /// The count of each bucket, from above the bound before to its own bound. The last bucket is above all bounds.
    counts: Vec<u64>,
    sum_us: u64,
}

impl Histogram {
    pub(crate) fn new(bounds_us: &'static [u64]) -> Self {
        Self {
            bounds_us,
            counts: vec![0; bounds_us.len() + 1],
            sum_us: 0,
        }
    }

    /// Counts a duration in µs. A negative one, which no clock of ours gives, counts as zero.
    pub(crate) fn observe_us(&mut self, us: i64) {
        let us = u64::try_from(us).unwrap_or(0);
        let place = self.bounds_us.partition_point(|&bound| bound < us);
        self.counts[place] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }

    /// The number of durations.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all durations, in seconds.
    pub(crate) fn sum_s(&self) -> f64 {
        seconds(self.sum_us)
    }

    /// Returns the upper bound in seconds and the count of each bucket; the last bound is infinity.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = self.bounds_us.iter().map(|&bound| seconds(bound));
        bounds
            .chain([f64::INFINITY])
            .zip(self.counts.iter().copied())
            .collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float is what the format has; 2^53 microseconds are 285 years"
)]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_at_a_bound_is_within_it() {
        let mut histogram = Histogram::new(&[1_000, 250_000]);
        for us in [-5, 0, 1_000, 1_001, 250_000, 250_001, 3_000_000] {
            histogram.observe_us(us);
        }
        assert_eq!(
            histogram.buckets(),
            [(0.001, 3), (0.25, 2), (f64::INFINITY, 2)]
        );
        assert_eq!(histogram.count(), 7);
        assert_eq!(histogram.sum_s(), 3.502_002);
    }
}
