//! The world as its clients see it, in virtual time.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod cluster;
mod faults;
mod hostile;
mod lists;
mod network;
mod oracles;
mod rig;
mod shutdown;
mod watches;
mod writes;
