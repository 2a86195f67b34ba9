//! Trees on the host; in a browser, where every byte of code is fetched, sorted lists with the same behaviour.
//!
//! The standard library's balancing and sorting are compiled once for each kind of entry: they were a third of the
//! lessons' module, and 31 sorts were a tenth of the page's.
//! What a lesson's cluster holds is little, so there a list is as fast. On the host, where a cluster has a hundred
//! thousand objects, it would not be.

#[cfg(not(target_arch = "wasm32"))]
pub use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
pub use self::sorted::{Map as BTreeMap, Set as BTreeSet, sort_by};

/// Puts things in order; equal things keep their order.
#[cfg(not(target_arch = "wasm32"))]
pub fn sort_by<T>(things: &mut [T], order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    things.sort_by(order);
}

/// Puts things in the order of a key; things with the same key keep their order.
pub fn sort_by_key<T, K: Ord>(things: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(things, |one, other| key(one).cmp(&key(other)));
}

/// Puts things in their order.
pub fn sort<T: Ord>(things: &mut [T]) {
    sort_by(things, T::cmp);
}

#[cfg(any(test, target_arch = "wasm32"))]
#[allow(unreachable_pub, reason = "it is public where it stands in")]
mod sorted;
