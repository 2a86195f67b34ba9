//! Lists that are sorted by time or by seq: a part of one, and two as one.

use watchscope_model::{Seq, Time};

/// The items of a sorted list whose time lies between `left` and `right`.
pub(crate) fn within<T>(items: &[T], at: impl Fn(&T) -> Time, left: Time, right: Time) -> &[T] {
    let from = items.partition_point(|item| at(item) < left);
    let to = items.partition_point(|item| at(item) <= right);
    &items[from..to.max(from)]
}

/// Adds other items of a list that is sorted by their seqs.
pub(crate) fn merge_sorted<T>(all: &mut Vec<T>, mut other: Vec<T>, seq: impl Fn(&T) -> Seq) {
    while let Some(first) = other.first().map(&seq) {
        // A chapter opens at the seq of the record before it: its points follow those of that record. One that was
        // opened and brought no record has left its points in the midst of what comes now.
        let place = all.partition_point(|item| seq(item) <= first);
        let next = all.get(place).map(&seq);
        let count = other.partition_point(|item| next.is_none_or(|next| seq(item) <= next));
        let rest = other.split_off(count);
        all.splice(place..place, other);
        other = rest;
    }
}
