//! Turns keys and pointers into actions on the picture; plain machines, tested on the host.

pub mod actions;
pub mod gesture;
pub mod keys;
