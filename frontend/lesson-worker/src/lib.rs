//! A lesson in a Web Worker: the simulated cluster runs here, and the page reads its log through the server's wire
//! messages.
//!
//! ```text
//!   controls ──text──► Session ─► LessonPlayer (world, log) ─► Ring ─► Reader ──wire messages──► the page, as from a server
//!                         └──JSON: lesson, time, moments──► narration and controls
//! ```
//! [`Session`] is a machine: its driver passes the milliseconds of a clock in.

mod session;
mod transcript;
mod view_model;
#[cfg(target_arch = "wasm32")]
mod worker;

pub use session::{Session, SessionError};
