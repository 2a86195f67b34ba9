//! The functions that a recording worker's script calls: machines of `replay` and `recording`, as classes of
//! JavaScript.
//!
//! ```text
//!   name, size ─► Reading ─► Recording ─► Next: a message │ Reading of a chapter │ how long to wait
//!                                 ├─────► Reading of a body
//!                                 └─────► Search ─► lines of hits
//!
//!   frames of chapters ─► Save ─► bytes to deflate ─► … ─► a file
//! ```
//!
//! Nothing is decided here. `assets/recording-worker.js` hosts the machines: it reads the file, inflates, deflates and
//! has the clock. Times are milliseconds here, and errors are texts.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the worker's script calls is exported to it, and to nobody else"
)]

mod reading;
mod recording;
mod save;
mod search;
