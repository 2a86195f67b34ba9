//! The functions that an export worker's script calls: the parts that `export` takes from a page's frames, as classes
//! of JavaScript.
//!
//! ```text
//!   frames of chapters, notes ─► Records ─(wish)─► Made ─► facts, a picture, a text, charts, a file
//! ```
//!
//! Nothing is decided here. `assets/export-worker.js` deflates, and draws the seed of pseudonyms. Errors are texts.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the worker's script calls is exported to it, and to nobody else"
)]

mod facts;
mod made;
mod records;
mod wish;
