//! What only kubectl, and tools as thorough, can tell from a store of JSON: defaults and checks of each kind, managed
//! fields, patches, Tables, and the scale subresource.
//!
//! All of it are pure functions over objects. Nothing here knows of etcd, of caches, or of an apiserver's requests.

pub(crate) mod defaults;
pub(crate) mod managed_fields;
pub(crate) mod patch;
pub(crate) mod scale;
mod strategic;
pub(crate) mod table;
