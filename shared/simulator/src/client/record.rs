//! The reports of client programs: a client's start, its requests, its activity, its counts and its beliefs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::time::Time;

/// The most bytes of client records that may wait for the driver; a further record drops the oldest ones, which are
/// counted. This bounds the memory of a world whose driver takes no records. The number has no source.
const WAITING_BYTES_MOST: usize = 4 * 1024 * 1024;
/// The approximate size of a record in bytes, without its request or beliefs. Each record counts towards
/// [`WAITING_BYTES_MOST`] with this size, plus the bytes of its request or its beliefs. The number has no source.
const RECORD_BYTES: usize = 128;

/// The present activity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientPhase {
    /// The client requested a watch, and waits for the stream.
    Connecting,
    /// The client requested a list, and waits for the list or reads it.
    Listing,
    /// The client reads initial events, until the bookmark that ends them.
    Syncing,
    /// The client reads a stream of changes.
    Watching,
    /// The client waits before it tries again after a failure or end.
    Backoff,
    /// The client sleeps because its program says so, not because something failed.
    Sleeping,
    /// The client runs in a loop that never waits, and reads a stream that has ended (F01, F02).
    Spinning,
    /// The client's loop returned, and the client does nothing more, though its process lives (F03, F48).
    Returned,
    /// The client ended with a failure that it reports.
    Failed,
    /// The client ended as intended.
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

/// A record of an event that a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRecord {
    /// When the client reported the event, in virtual time.
    pub at: Time,
    /// The client's name, as [`World::start_client`](crate::World::start_client) got it.
    pub client: Arc<str>,
    /// The reported event.
    pub event: ClientEvent,
}

/// The kinds of client record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The client started.
    Started {
        /// The program's name, as [`Program::name`](crate::Program::name) returns it.
        program: &'static str,
        /// The program's version; `None` if the program has only one version.
        version: Option<&'static str>,
    },
    /// The client sent a request: `METHOD PATH?QUERY`, with the query percent-encoded as sent; `METHOD PATH` for a
    /// request without a query.
    Request(String),
    /// The client's activity, counts or beliefs changed.
    Report(ClientReport),
}

/// The activity, counts and beliefs of a client at one point in time.
///
/// A client reports when its activity, counts or beliefs changed. The client reports a change of phase at once, with at
/// most 4 reports in a window of 100 ms. A window begins with its first report. Changes of counts and beliefs alone are
/// reported at most every 100 ms, and every second while the client spins. A report covers all changes since the
/// previous report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientReport {
    /// The client's activity.
    pub phase: ClientPhase,
    /// The number of iterations of the client's loop since its start; the program defines what one iteration is. A
    /// spinning loop counts at a fixed rate of 100,000 iterations per second.
    pub iterations: u64,
    /// The number of events that the client's handler processed since its start. A bare reflector counts the operations
    /// on its store, each list as one and no bookmarks; the end-to-end test's loop counts its iterations. The poller
    /// counts each list's differences from the list before, and all objects of the first list. The comparer counts
    /// differences between its list and its watch.
    pub handled: u64,
    /// The client's beliefs as JSON: a list with an entry for each resource or part. `None` if the beliefs are as last
    /// reported.
    ///
    /// An entry is `{"resource":…,"part":…,"resourceVersion":…,"objects":N,"held":{"NAMESPACE/NAME":"UID@RV"}}`. An
    /// empty part or resourceVersion is left out. A key is `NAME` alone for an object without a namespace. An entry
    /// names the first 64 objects by namespace and name, and counts all objects.
    pub belief: Option<Arc<str>>,
}

/// The queue of client records that the driver has not yet taken.
///
/// Bounded: above 4 MiB the oldest records are dropped and counted.
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
