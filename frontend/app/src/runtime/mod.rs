//! The first part's browser side: owns the model, its queue and what belongs to the browser, and decides nothing.
//!
//! ```text
//!   boot.js ─► bridge ─┐
//!   frames, timers ────┼─► page: queue ─► core::update ─► effects ─► boot.js, timers, canvas, lane tree
//!   panels ────────────┘
//! ```
//! The model is borrowed mutably in `core::update` only. What the first part does there runs no JavaScript; the panels'
//! functions (`Msg::Do`) write signals, styles and storage there, and none of these calls back. Effects run after it, one
//! after the other; what they send waits until all of them are done.

pub(crate) mod bridge;
mod effects;
pub(crate) mod elements;
mod frame;
pub(crate) mod page;
pub(crate) mod theme;
pub(crate) mod tree;
