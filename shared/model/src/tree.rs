//! Trees on the host; in a browser, where every byte of code is fetched, sorted lists with the same behaviour.
//!
//! The standard library's balancing and sorting are compiled once for each kind of entry: they were a third of the
//! lessons' module.
//! What a lesson's cluster holds is little, so there a list is as fast. On the host, where a cluster has a hundred
//! thousand objects, it would not be.

#[cfg(not(target_arch = "wasm32"))]
pub use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
pub use self::sorted::{Map as BTreeMap, Set as BTreeSet, sort_by};

/// Puts things in order; what is equal stays as it was.
#[cfg(not(target_arch = "wasm32"))]
#[allow(
    clippy::ptr_arg,
    reason = "a browser's takes things out and puts them in"
)]
pub fn sort_by<T>(things: &mut Vec<T>, order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    things.sort_by(order);
}

/// Puts things in the order of a key; what is equal stays as it was.
pub fn sort_by_key<T, K: Ord>(things: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(things, |one, other| key(one).cmp(&key(other)));
}

/// Puts things in their order.
pub fn sort<T: Ord>(things: &mut Vec<T>) {
    sort_by(things, T::cmp);
}

#[cfg(any(test, target_arch = "wasm32"))]
#[allow(unreachable_pub, reason = "it is public where it stands in")]
mod sorted;
