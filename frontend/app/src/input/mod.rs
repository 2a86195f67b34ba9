//! From keys and pointers to what they mean for the picture; plain machines, tested on the host.

pub mod gesture;
pub mod keys;
