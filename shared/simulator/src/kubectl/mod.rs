//! The answers that kubectl and the conformance test need and watches do not: defaults and checks of each kind, managed
//! fields, patches, Tables, and the scale subresource.
//!
//! All of them are pure functions over objects. Nothing here knows etcd, caches, or an apiserver's requests.

pub(crate) mod defaults;
pub(crate) mod managed_fields;
pub(crate) mod patch;
pub(crate) mod scale;
mod strategic;
pub(crate) mod table;
