//! The backend library.

pub mod session;
pub mod web;
