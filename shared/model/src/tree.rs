//! Maps and sets in key order. On the host they are trees; in a browser, where every byte of code is downloaded, sorted
//! lists with the same behaviour. The behaviour of trees and lists differs in one case. For a range that ends before it
//! begins, or excludes its one key at both ends, a tree panics and a list gives no entries.
//!
//! The code that balances and sorts the standard library's trees is compiled once per kind of entry. That code was a
//! third of the lessons' module, and 31 sorts were a tenth of the page's code.
//!
//! A lesson's cluster holds few objects, so a list is as fast as a tree in a lesson. On the host a cluster may have
//! 100,000 objects, so that a list would be slower.

#[cfg(not(target_arch = "wasm32"))]
pub use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
pub use self::sorted::{Map as BTreeMap, Set as BTreeSet};
#[cfg(target_arch = "wasm32")]
pub use self::sorting::sort_by;

/// Sorts things by `order`, the least first; equal things keep their order. On the host the sort may panic if `order`
/// is no total order.
#[cfg(not(target_arch = "wasm32"))]
pub fn sort_by<T>(things: &mut [T], order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    things.sort_by(order);
}

/// Sorts things by a key, the least first; things with equal keys keep their order. `key` runs twice for each
/// comparison.
pub fn sort_by_key<T, K: Ord>(things: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(things, |one, other| key(one).cmp(&key(other)));
}

/// Sorts things by their own order, the least first; equal things keep their order.
pub fn sort<T: Ord>(things: &mut [T]) {
    sort_by(things, T::cmp);
}

#[cfg(any(test, target_arch = "wasm32"))]
#[allow(unreachable_pub, reason = "the browser build exports it")]
mod sorted;
#[cfg(any(test, target_arch = "wasm32"))]
#[allow(unreachable_pub, reason = "the browser build exports it")]
mod sorting;
