//! The first part's browser side: owns the model, its queue and what belongs to the browser, and decides nothing.
//!
//! ```text
//!   boot.js ─► bridge ─┐
//!   frames, timers ────┼─► page: queue ─► core::update ─► effects ─► boot.js, timers, canvas, lane tree
//!   panels ────────────┘
//! ```
//! The model is borrowed mutably in `core::update` only, and no JavaScript runs there. Effects run after it, one after the
//! other; what they send waits until all of them are done. So no message is lost.

pub(crate) mod bridge;
mod effects;
pub(crate) mod elements;
mod frame;
pub(crate) mod page;
pub(crate) mod theme;
pub(crate) mod tree;
