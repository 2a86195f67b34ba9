//! Lists that are sorted by time or by seq: how to take the items of a time range, and how to merge two lists.

use watchscope_model::{Seq, Time};

/// Returns the items of a sorted list with times from `left` to `right`, both included. Empty if there are no such
/// items, or `right` is before `left`.
pub(crate) fn within<T>(items: &[T], at: impl Fn(&T) -> Time, left: Time, right: Time) -> &[T] {
    let from = items.partition_point(|item| at(item) < left);
    let to = items.partition_point(|item| at(item) <= right);
    &items[from..to.max(from)]
}

/// Merges another list into a list; both are sorted by seq. No item is dropped, even of equal seqs; an item of `other`
/// may stand before or after items of `all` with an equal seq.
pub(crate) fn merge_sorted<T>(all: &mut Vec<T>, mut other: Vec<T>, seq: impl Fn(&T) -> Seq) {
    while let Some(first) = other.first().map(&seq) {
        // A chapter opens at the seq of the record before it, so its opening points follow those of that record. An
        // opened chapter without records has left its points among those that come now.
        let place = all.partition_point(|item| seq(item) <= first);
        let next = all.get(place).map(&seq);
        let count = other.partition_point(|item| next.is_none_or(|next| seq(item) <= next));
        let rest = other.split_off(count);
        all.splice(place..place, other);
        other = rest;
    }
}
