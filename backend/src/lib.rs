//! The backend library.

pub mod cluster;
pub mod control;
pub mod hub;
pub mod log;
pub mod session;
pub mod transport;
pub mod web;
