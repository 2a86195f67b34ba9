//! The token socket, by which `watchscope token` reaches the running instance, also through `kubectl exec`.
//!
//! There is one Unix socket for each instance. It is named after the instance's port and lies in a folder that only its user
//! can enter. The client sends one line and gets one:
//!
//! ```text
//!  link [BASE]        ok LINK        a fresh link, on that base
//!  revoke [BASE]      ok LINK        all sessions and sockets end; a fresh link
//!                     error TEXT     nothing was done
//! ```
//! Bounded: a line has at most 1 KiB, and a conversation takes at most 2 s. One is held at a time; the next waits in the
//! kernel's queue.

use std::time::Duration;

mod client;
mod folder;
mod server;

pub use client::{TokenError, TokenRequest, token};
pub use folder::{FolderError, Folders};
pub use server::{BindError, ControlSocket};

/// The most bytes of a line, of either side.
const MAX_LINE_BYTES: u64 = 1024;
/// The timeout of one conversation.
const DEADLINE: Duration = Duration::from_secs(2);
