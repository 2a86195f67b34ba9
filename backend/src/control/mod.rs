//! The token socket: how `watchscope token` reaches the running instance, also through `kubectl exec`.
//!
//! One Unix socket per instance, named after its port, in a folder that only its user can enter. One line is asked, one
//! is answered:
//!
//! ```text
//!  link [BASE]        ok LINK        a fresh link, on that base
//!  revoke [BASE]      ok LINK        all sessions and sockets end; a fresh link
//!                     error TEXT     nothing was done
//! ```
//! Bounded: a line has at most 1 KiB, a conversation 2 s, and one is held at a time; the next waits in the kernel's queue.

use std::time::Duration;

mod client;
mod folder;
mod server;

pub use client::{TokenError, TokenRequest, token};
pub use folder::{FolderError, Folders};
pub use server::{BindError, ControlSocket};

/// The longest line of either side.
const MAX_LINE_BYTES: u64 = 1024;
/// How long one conversation may take.
const DEADLINE: Duration = Duration::from_secs(2);
