//! A lesson in a Web Worker: the simulated cluster runs here, and the page reads its log through the server's wire
//! messages.
//!
//! ```text
//!   panels ──LessonCommand──► Session ─► LessonPlayer (world, log) ─► Ring ─► Reader ──wire messages──► the page, as from a server
//!                                └──LessonText, LessonNow──► the lesson's panels
//! ```
//! [`Session`] is a machine: its driver passes the milliseconds of a clock in.

mod crowd;
mod learning;
mod link;
mod pace;
mod session;
mod transcript;
mod view_model;
#[cfg(target_arch = "wasm32")]
mod worker;

pub use session::{Session, SessionError, lesson_of};
