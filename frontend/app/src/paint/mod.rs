//! Turns a display list into pixels.
//!
//! ```text
//!   primitives ─┬─► rectangles, level and upright lines, strips ──────────────────────────► pixels ─► canvas
//!               └─► glyphs, digits, texts, slanted lines, hatches ─► sprites, by the browser ─┘
//! ```
//! A canvas takes a call for each mark, and in software it draws them slower than memory is written. So the browser
//! draws only what it alone can, once for each size and colours, into sprites. They are dropped when the theme or the
//! resolution changes. Everything lies on whole device px.

pub mod bitmap;
#[cfg(target_arch = "wasm32")]
pub mod canvas;
#[cfg(target_arch = "wasm32")]
pub mod painter;
pub mod palette;
#[cfg(target_arch = "wasm32")]
mod sprites;
