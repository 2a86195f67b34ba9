//! The page: what stands between the server's messages and the pixels.
//!
//! ```text
//!   source (socket, session, chapters) ─► timeline: store ─► lanes ─► scene ─► painter ─► canvas
//!   input  (keys, pointers)            ─► view                          └─► hits
//!   body   (objects, differences)      ─► detail panel
//! ```
//!
//! Leptos owns panels and controls; the picture lives outside its reactive graph and publishes a small summary to it
//! at most four times a second. The painter has no `if` about meaning: all meaning is decided in `timeline`.

pub mod bitmap;
pub mod body;
pub mod core;
pub mod decimal;
pub mod input;
#[cfg(target_arch = "wasm32")]
pub mod page;
#[cfg(target_arch = "wasm32")]
pub mod painter;
pub mod source;
pub mod summary;
