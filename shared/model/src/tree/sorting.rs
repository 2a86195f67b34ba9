//! A stable sort whose code is compiled once, not once per type of thing.

use std::cmp::Ordering;

/// Sorts things by `order`, the least first; equal things keep their order. Only the comparison and the swap of two
/// things are compiled per type of thing.
pub fn sort_by<T>(things: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut places: Vec<usize> = (0..things.len()).collect();
    merge_sort(&mut places, &|one, other| {
        order(&things[one], &things[other])
    });
    arrange(&mut places, &mut |one, other| things.swap(one, other));
}

/// Sorts indices by the things at them: merges sorted runs, whose length doubles each time.
fn merge_sort(places: &mut Vec<usize>, order: &dyn Fn(usize, usize) -> Ordering) {
    let mut merged = Vec::with_capacity(places.len());
    let mut run = 1;
    while run < places.len() {
        for pair in places.chunks(2 * run) {
            let (mut one, mut other) = pair.split_at(run.min(pair.len()));
            while let (Some((&first, others)), Some((&second, rest))) =
                (one.split_first(), other.split_first())
            {
                if order(first, second).is_le() {
                    merged.push(first);
                    one = others;
                } else {
                    merged.push(second);
                    other = rest;
                }
            }
            merged.extend_from_slice(one);
            merged.extend_from_slice(other);
        }
        std::mem::swap(places, &mut merged);
        merged.clear();
        run *= 2;
    }
}

/// Moves each thing to its index by `places`, along the cycles of the permutation.
fn arrange(places: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_is_the_standard_librarys(mut things in prop::collection::vec((0..9_u8, any::<u8>()), 0..60)) {
            let mut same = things.clone();
            sort_by(&mut things, |one, other| one.0.cmp(&other.0));
            same.sort_by_key(|thing| thing.0);
            prop_assert_eq!(things, same);
        }
    }
}
