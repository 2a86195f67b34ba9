//! The page: everything between the server's messages and the pixels.
//!
//! ```text
//!   source (socket, session, chapters) ─► timeline: store ─► lanes ─► scene ─► painter ─► canvas
//!   input  (keys, pointers)            ─► view                          └─► hits
//!   body   (objects, differences)      ─► detail panel
//! ```
//!
//! The page decides in `core`, which is pure: a message changes the model and returns effects for the browser. `runtime`
//! owns model, queue and browser. Leptos owns panels and controls. The picture lives outside its reactive graph and
//! publishes a small summary to it at most four times a second. The painter has no `if` about meaning: `timeline`
//! decides all meaning.
//!
//! ```text
//!   first part    core ─► rows, scene ─► canvas, lane tree          what the first paint needs: no Leptos in it
//!   second part   panels (Leptos), keys and pointers, words, past   loaded as soon as something is painted
//! ```
//! Both are one crate and share one memory; the page build cuts them apart at `second`. Code that only the
//! second part calls is only in that part.

pub mod body;
pub mod core;
pub mod decimal;
#[cfg(target_arch = "wasm32")]
mod exports;
pub mod input;
pub mod paint;
#[cfg(target_arch = "wasm32")]
mod panels;
#[cfg(target_arch = "wasm32")]
mod runtime;
#[cfg(target_arch = "wasm32")]
mod second;
pub mod source;
#[cfg(target_arch = "wasm32")]
pub mod start;
