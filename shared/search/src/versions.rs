//! The resourceVersions of a chapter, as ranges of numbers.

/// The most ranges, which take 512 bytes. Of more ranges, the two that are nearest to each other become one. The number
/// has no source.
const MAX_RANGES: usize = 32;
/// The largest distance of resourceVersions at which a number joins the range before it, so that usual steps make one
/// range. A number further away begins a new range. The distance has no source. With a larger distance, searches read
/// more chapters without a hit.
const NEAR: u64 = 64;

/// Ranges that contain all numbers that were added, and possibly other numbers; at most [`MAX_RANGES`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    /// The least and the greatest number of each range; sorted, without overlap.
    ranges: Vec<(u64, u64)>,
}

impl Versions {
    pub(crate) fn add(&mut self, number: u64) {
        let is_near =
            |&(from, to): &(u64, u64)| from <= number && number <= to.saturating_add(NEAR);
        let behind = self.ranges.partition_point(|&(from, _)| from <= number);
        let before = behind.checked_sub(1);
        match before.and_then(|place| self.ranges.get_mut(place)) {
            Some(range) if is_near(range) => range.1 = range.1.max(number),
            _ => {
                self.ranges.insert(behind, (number, number));
                if self.ranges.len() > MAX_RANGES {
                    self.join_nearest();
                }
            }
        }
    }

    fn join_nearest(&mut self) {
        let gaps = self
            .ranges
            .windows(2)
            .map(|pair| pair[1].0.saturating_sub(pair[0].1));
        if let Some((place, _)) = gaps.enumerate().min_by_key(|(_, gap)| *gap) {
            let (_, to) = self.ranges.remove(place + 1);
            self.ranges[place].1 = self.ranges[place].1.max(to);
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let behind = self.ranges.partition_point(|&(from, _)| from <= number);
        let before = behind
            .checked_sub(1)
            .and_then(|place| self.ranges.get(place));
        before.is_some_and(|&(_, to)| number <= to)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.ranges.len() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_that_rise_by_usual_steps_are_one_range() {
        let mut versions = Versions::default();
        (1_000..2_000)
            .step_by(3)
            .for_each(|number| versions.add(number));
        versions.add(50);
        assert_eq!(versions.ranges, [(50, 50), (1_000, 1_999)]);
        assert!(versions.contains(50) && !versions.contains(51) && !versions.contains(2_000));
    }

    proptest! {
        #[test]
        fn no_number_is_lost_and_ranges_are_bounded(numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..5_000], 0..300)) {
            let mut versions = Versions::default();
            numbers.iter().for_each(|&number| versions.add(number));
            prop_assert!(numbers.iter().all(|&number| versions.contains(number)));
            prop_assert!(versions.ranges.len() <= MAX_RANGES);
            prop_assert!(versions.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
