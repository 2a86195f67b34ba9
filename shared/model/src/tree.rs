//! Trees on the host; in a browser, where every byte of code is fetched, sorted lists with the same behaviour.
//!
//! The standard library's balancing is compiled once for each kind of entry: it was a third of the lessons' module.
//! What a lesson's cluster holds is little, so there a list is as fast. On the host, where a cluster has a hundred
//! thousand objects, it would not be.

#[cfg(not(target_arch = "wasm32"))]
pub use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
pub use self::sorted::{Map as BTreeMap, Set as BTreeSet};

#[cfg(any(test, target_arch = "wasm32"))]
mod sorted;
