//! What a client reports: its start, its requests, and what it does, counts and believes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::time::Time;

/// The most bytes of client records that may wait to be taken; more drop the oldest, and count it as dropped. It bounds
/// the memory of a world whose records nobody takes. The number has no source.
const WAITING_BYTES_MOST: usize = 4 * 1024 * 1024;
/// The approximate size of a record in bytes, without its texts. It is what a record costs of [`WAITING_BYTES_MOST`]
/// besides them. The number has no source.
const RECORD_BYTES: usize = 128;

/// The present activity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientPhase {
    /// It requested a watch, and waits for the stream.
    Connecting,
    /// It requested a list, and waits for it or reads it.
    Listing,
    /// It reads initial events, until their end bookmark.
    Syncing,
    /// It reads a stream of changes.
    Watching,
    /// It waits before it tries again.
    Backoff,
    /// It sleeps because its program says so, not because something failed.
    Sleeping,
    /// It runs in a loop that never waits, and reads a stream that has ended (F01, F02).
    Spinning,
    /// Its loop returned and it does nothing more, though its process lives (F03, F48).
    Returned,
    /// It ended with a failure that it reports.
    Failed,
    /// It ended as intended.
    Done,
}

impl ClientPhase {
    /// All phases, in the order of the variants.
    pub const ALL: &'static [ClientPhase] = &[
        ClientPhase::Connecting,
        ClientPhase::Listing,
        ClientPhase::Syncing,
        ClientPhase::Watching,
        ClientPhase::Backoff,
        ClientPhase::Sleeping,
        ClientPhase::Spinning,
        ClientPhase::Returned,
        ClientPhase::Failed,
        ClientPhase::Done,
    ];

    /// Returns the phase's name in records, in lower case: `connecting`.
    pub fn word(self) -> &'static str {
        match self {
            ClientPhase::Connecting => "connecting",
            ClientPhase::Listing => "listing",
            ClientPhase::Syncing => "syncing",
            ClientPhase::Watching => "watching",
            ClientPhase::Backoff => "backoff",
            ClientPhase::Sleeping => "sleeping",
            ClientPhase::Spinning => "spinning",
            ClientPhase::Returned => "returned",
            ClientPhase::Failed => "failed",
            ClientPhase::Done => "done",
        }
    }
}

impl fmt::Display for ClientPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A record that a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRecord {
    /// When it was reported, in virtual time.
    pub at: Time,
    /// The client's name, as [`World::start_client`](crate::World::start_client) got it.
    pub client: Arc<str>,
    /// The reported event.
    pub event: ClientEvent,
}

/// The kinds of client record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// It started.
    Started {
        /// The program's name, as [`Program::name`](crate::Program::name) returns it.
        program: &'static str,
        /// The program's version; `None` if there is only one.
        version: Option<&'static str>,
    },
    /// It sent a request: `METHOD PATH?QUERY`, as it was sent, with the query percent-encoded; `METHOD PATH` without a
    /// query.
    Request(String),
    /// Its activity, counts or beliefs changed.
    Report(ClientReport),
}

/// The activity, counts and beliefs of a client at one moment.
///
/// A client reports when one of these changed. It reports a change of phase at once, with at most 4 reports in a window
/// of 100 ms; a window begins with its first report. It reports other changes alone at most every 100 ms, and every
/// second while it spins. A report covers all changes since the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientReport {
    /// Its activity.
    pub phase: ClientPhase,
    /// Iterations of its loop since it started; what one iteration is depends on the program. A spinning loop counts by
    /// a fixed rate of 100,000 a second.
    pub iterations: u64,
    /// Events that its handler processed since it started. A bare reflector counts the operations on its store here,
    /// each list as one and no bookmarks, and the end-to-end test's loop its iterations. The poller counts differences
    /// between two lists, and the comparer those between its list and its watch.
    pub handled: u64,
    /// Its beliefs as JSON: a list with an entry for each resource or part. `None` if they are as last reported.
    ///
    /// An entry is `{"resource":…,"part":…,"resourceVersion":…,"objects":N,"held":{"NAMESPACE/NAME":"UID@RV"}}`. An
    /// empty part or resourceVersion is left out. A key is `NAME` alone for an object without a namespace. It names the
    /// first 64 objects by namespace and name, and counts all.
    pub belief: Option<Arc<str>>,
}

/// Client records that wait for the driver.
///
/// Bounded: above 4 MiB the oldest are dropped and counted.
#[derive(Debug, Default)]
pub(crate) struct Records {
    waiting: VecDeque<ClientRecord>,
    bytes: usize,
    dropped: u64,
}

impl Records {
    pub(crate) fn push(&mut self, record: ClientRecord) {
        self.bytes += cost(&record);
        self.waiting.push_back(record);
        while self.bytes > WAITING_BYTES_MOST {
            self.dropped += 1;
            if self.pop().is_none() {
                return;
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<ClientRecord> {
        let record = self.waiting.pop_front()?;
        self.bytes -= cost(&record);
        Some(record)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn cost(record: &ClientRecord) -> usize {
    let texts = match &record.event {
        ClientEvent::Started { .. } => 0,
        ClientEvent::Request(request) => request.len(),
        ClientEvent::Report(report) => report.belief.as_ref().map_or(0, |belief| belief.len()),
    };
    RECORD_BYTES + texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_nobody_takes_are_dropped_oldest_first_and_counted() {
        let mut records = Records::default();
        let text = "x".repeat(1024 * 1024);
        for second in 0..6 {
            records.push(ClientRecord {
                at: Time::from_secs(second),
                client: "c".into(),
                event: ClientEvent::Request(text.clone()),
            });
        }
        assert_eq!(records.dropped(), 3);
        let left: Vec<Time> = std::iter::from_fn(|| records.pop()).map(|r| r.at).collect();
        assert_eq!(left, [3, 4, 5].map(Time::from_secs));
    }
}
