//! The browser side of the first part: owns the model, its queue and the browser's objects, and decides nothing.
//!
//! ```text
//!   boot.js ─► bridge ─┐
//!   frames, timers ────┼─► page: queue ─► core::update ─► effects ─► boot.js, timers, canvas, lane tree
//!   panels ────────────┘
//! ```
//! The model is borrowed mutably in `core::update` only, and no JavaScript runs there. Effects run after it, one after
//! the other. Messages that they send wait until all effects are done, so no message is lost.

pub(crate) mod bridge;
mod effects;
pub(crate) mod elements;
mod frame;
pub(crate) mod page;
pub(crate) mod theme;
pub(crate) mod tree;
