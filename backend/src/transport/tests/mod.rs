//! Connections against local listeners that do exactly what a test says.

mod bodies;
pub(crate) mod harness;
