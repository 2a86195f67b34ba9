//! The hub: for each viewer, drives the reader machine over the log's ring.
//!
//! ```text
//!   ring ──changed──► viewer ──Outgoing──► web            viewer ──Command──► bounded queue ──► whoever runs probes
//! ```
//!
//! A viewer is a cursor and a place to wait at; the log knows nothing of it.

mod lines;
mod viewer;
mod viewing;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use watchscope_log::Parting;
use watchscope_model::wire::Contexts;
use watchscope_model::{Seq, Text};

pub use self::viewer::HubViewer;
pub(crate) use self::viewing::Viewing;
use crate::log::{BodyLookup, LogHandle};
use crate::web::hub_border::{BadPosition, Hub, JsonLines, ObjectError};

/// Commands of all viewers that wait for whoever carries them out; one more is answered "busy".
const QUEUED_COMMANDS: usize = 16;
/// A viewer told to come back does so within this many milliseconds, each at its own moment.
const RETRY_MS: std::ops::Range<u64> = 500..2_500;

/// Something a viewer asks of whoever runs the probes.
#[derive(Debug)]
pub struct CommandRequest {
    /// What: `use-context`, or `audit` (a watch, and in a second line an object of it).
    pub verb: Text,
    /// To what.
    pub argument: String,
    /// Where the answer goes: done, and up to which record all that came of it is in the log, if anything does; or why
    /// not, in a sentence. Dropped unanswered, it counts as not done.
    pub reply: oneshot::Sender<Result<Option<Seq>, String>>,
}

/// The hub over one log; a cheap handle.
#[derive(Clone)]
pub struct LogHub {
    log: LogHandle,
    version: Text,
    commands: mpsc::Sender<CommandRequest>,
    contexts: watch::Sender<Option<Contexts>>,
    ending: watch::Sender<Option<Ending>>,
    viewers: Arc<AtomicU64>,
    viewing: Arc<Viewing>,
}

/// Why all viewers are sent away.
#[derive(Clone, Debug)]
struct Ending {
    reason: Text,
    may_return: bool,
}

impl LogHub {
    /// A hub over `log` that tells viewers watchscope's `version`; also returns where their commands come out.
    #[must_use]
    pub fn new(log: LogHandle, version: &str) -> (Self, mpsc::Receiver<CommandRequest>) {
        let (commands, requests) = mpsc::channel(QUEUED_COMMANDS);
        let hub = Self {
            log,
            version: version.into(),
            commands,
            contexts: watch::Sender::default(),
            ending: watch::Sender::default(),
            viewers: Arc::default(),
            viewing: Arc::default(),
        };
        (hub, requests)
    }

    /// Tells all viewers, and those to come, which contexts can be chosen and why there is no cluster; `None` once
    /// there is one.
    pub fn set_contexts(&self, contexts: Option<Contexts>) {
        self.contexts.send_replace(contexts);
    }

    /// What viewers get, added up.
    pub(crate) fn viewing(&self) -> Arc<Viewing> {
        Arc::clone(&self.viewing)
    }

    /// Says goodbye to all viewers, and to those still to come: going away, come back soon, each at its own moment.
    pub fn go_away(&self) {
        self.end("going-away", true);
    }

    /// Says goodbye to all viewers, and to those still to come, for good.
    pub fn end_sessions(&self) {
        self.end("session-ended", false);
    }

    fn end(&self, reason: &str, may_return: bool) {
        self.ending.send_replace(Some(Ending {
            reason: reason.into(),
            may_return,
        }));
    }
}

impl Ending {
    /// The goodbye of the `number`-th viewer.
    fn parting(&self, number: u64) -> Parting {
        // A fixed stride spreads viewers that came one after another over the whole range.
        let spread = number.wrapping_mul(761) % (RETRY_MS.end - RETRY_MS.start);
        Parting {
            reason: self.reason.clone(),
            retry_after_ms: self.may_return.then_some(RETRY_MS.start + spread),
        }
    }
}

impl Hub for LogHub {
    type Viewer = HubViewer;

    fn viewer(&self) -> HubViewer {
        let number = self.viewers.fetch_add(1, Ordering::Relaxed);
        HubViewer::new(self, number)
    }

    fn records(&self, since: Option<&str>) -> Result<JsonLines, BadPosition> {
        lines::records(&self.log, since)
    }

    fn state(&self) -> JsonLines {
        lines::state(&self.log)
    }

    fn object(&self, epoch: &str, seq: u64) -> Result<Bytes, ObjectError> {
        match self.log.body(epoch, Seq(seq)) {
            BodyLookup::Found(body) => Ok(body),
            BodyLookup::Gone => Err(ObjectError::Gone),
            BodyLookup::Unknown => Err(ObjectError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests;
