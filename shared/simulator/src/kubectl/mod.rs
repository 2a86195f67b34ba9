//! The parts of answers that kubectl and the conformance test need, and watches do not. They are defaults and checks of
//! each kind, managed fields, patches, Tables, and the scale subresource.
//!
//! These modules have only pure functions over objects. The functions know nothing of etcd, caches, or an apiserver's
//! requests.

pub(crate) mod defaults;
pub(crate) mod managed_fields;
pub(crate) mod patch;
pub(crate) mod scale;
mod strategic;
pub(crate) mod table;
