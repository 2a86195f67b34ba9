//! A draft of a finding: a detector's result, before the registry has counted it and joined it with others.

use std::cmp::Reverse;

use watchscope_model::vocabulary::{Certainty, Severity};
use watchscope_model::{ConnectionId, Row, Seq, Text, Time, WatchName};

/// Most records of evidence that a finding names. A finding of a single event names the first 16 records; a finding
/// that lasts, or gets further records, the first and the latest. A finding about several watches names the first
/// records and the latest four. All other records are dropped. The limit bounds the size of a finding's record. The
/// number has no source.
pub const MAX_EVIDENCE: usize = 16;
/// Time in µs after which a lag is a warning: two periods of bookmarks (docs/semantics/checks.md#behind). A watch
/// request that is held up on its way for that time (F44) is a warning, too, unless an aggregated API serves it.
pub(super) const BEHIND_LONG_US: i64 = 120_000_000;

/// The subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Cluster,
    Watch(WatchName),
    Server(Text),
    Client(Text),
    /// A connection, with the address of the server at its other end.
    Connection(ConnectionId, Option<Text>),
    /// A resource at one server.
    Type {
        group: Text,
        resource: Text,
        server: Option<Text>,
    },
}

/// The condition under which a finding ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// The finding ends 600 s after its last occurrence.
    Happened,
    /// The finding ends when its detector clears it.
    UntilCleared,
}

/// The weight of a finding: by severity, then by certainty.
pub(super) type Weight = (Severity, Reverse<u64>);

/// A detector's result: a failure that it found, for the first time or again.
#[derive(Clone, Debug)]
pub(crate) struct FindingDraft {
    pub(crate) row: Row,
    /// Other rows that look the same to watchscope.
    pub(crate) alike: &'static [Row],
    pub(crate) severity: Severity,
    pub(crate) certainty: Certainty,
    pub(crate) subject: Subject,
    /// The records of the finding's evidence; not empty.
    pub(crate) evidence: Vec<Seq>,
    /// When this occurrence began.
    pub(crate) since: Time,
    pub(crate) summary: String,
    /// The outcome of the occurrence, as a sentence, once it is known.
    pub(crate) outcome: Option<String>,
    pub(crate) lasts: Lasts,
    /// When the finding's severity rises, and to which severity, unless the outcome is known by then.
    pub(crate) worsens: Option<(Time, Severity)>,
    /// What the finding's watch shares with other watches that may suffer from the same cause; `None` if nothing.
    pub(crate) shared: Option<Shared>,
    /// The fate of the watch after its stream ended; `None` if no stream ended.
    pub(crate) fate: Option<Fate>,
}

impl FindingDraft {
    /// Returns a draft of a failure that happened. The draft has the usual severity of its row, and names no rows that
    /// look the same.
    pub(crate) fn of(
        row: Row,
        certainty: Certainty,
        subject: Subject,
        evidence: Vec<Seq>,
        since: Time,
        summary: String,
    ) -> Self {
        Self {
            row,
            alike: &[],
            severity: row.usual_severity(),
            certainty,
            subject,
            evidence,
            since,
            summary,
            outcome: None,
            lasts: Lasts::Happened,
            worsens: None,
            shared: None,
            fate: None,
        }
    }

    /// Returns the draft with severity divergence: a second read, or an event delivered to another watch, proves the
    /// failure.
    pub(crate) fn proven(self) -> Self {
        Self {
            severity: Severity::Divergence,
            ..self
        }
    }

    /// Returns the draft with severity note, which becomes warning at `at`, if the outcome is not known by then.
    pub(crate) fn note_until(self, at: Time) -> Self {
        Self {
            severity: Severity::Note,
            worsens: Some((at, Severity::Warning)),
            ..self
        }
    }

    /// Returns the draft with other rows that look the same.
    pub(crate) fn alike(self, alike: &'static [Row]) -> Self {
        Self { alike, ..self }
    }

    /// Returns the draft with what its watch shares with others.
    pub(crate) fn sharing(self, shared: Option<Shared>) -> Self {
        Self { shared, ..self }
    }

    /// Returns the weight of the finding: severity, then certainty.
    pub(super) fn weight(&self) -> Weight {
        (self.severity, Reverse(self.certainty.number()))
    }

    /// Returns the draft as one that lasts until its detector clears it.
    pub(crate) fn until_cleared(self) -> Self {
        Self {
            lasts: Lasts::UntilCleared,
            ..self
        }
    }
}

/// The fate of a watch after its stream ended. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// The gap of the watch is open.
    Blind,
    /// The watch listed again, and the list showed changes that no stream had delivered.
    Lost,
    /// The watch listed again, and the list showed no change.
    Relisted,
    /// The watch resumed from its progress.
    Resumed,
}

/// What a watch shares with other watches that may suffer from the same cause, and the finding's sentence about it.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// What the watches share: a connection, a resource at a server, a server, or the cluster.
    pub(crate) subject: Subject,
    /// What happened at the shared subject, as a sentence that names no watch.
    pub(crate) summary: String,
    /// Time in µs within which the failures of two watches count as having one cause.
    pub(crate) together_us: i64,
    /// When the finding stops waiting for other watches; `None` if it does not wait.
    pub(crate) waits_until: Option<Time>,
}

/// Returns whether two watches suffer from one cause: they share a subject, and either both findings last or both
/// happened at about the same time.
pub(super) fn are_of_one_cause(one: &FindingDraft, other: &FindingDraft) -> bool {
    let lasts = |found: &FindingDraft| found.lasts == Lasts::UntilCleared;
    let (Some(of_one), Some(of_other)) = (&one.shared, &other.shared) else {
        return false;
    };
    let is_near = one.since.micros_since(other.since).abs() <= of_one.together_us;
    of_one.subject == of_other.subject && (is_near || lasts(one) && lasts(other))
}
