//! The backend library.

pub mod control;
pub mod session;
pub mod web;
