//! A draft of a finding: what a detector found, before the registry has counted it and joined it with others.

use std::cmp::Reverse;

use watchscope_model::vocabulary::{Certainty, Severity};
use watchscope_model::{ConnectionId, Row, Seq, Text, Time, WatchName};

/// The number of records of evidence that a finding names: the first ones, and the latest.
pub const MAX_EVIDENCE: usize = 16;
/// A lag that lasts for longer than this is a warning, in microseconds: two periods of bookmarks.
pub(super) const BEHIND_LONG_US: i64 = 120_000_000;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Cluster,
    Watch(WatchName),
    Server(Text),
    Client(Text),
    /// A connection, with the address that it leads to.
    Connection(ConnectionId, Option<Text>),
    /// A type at a server.
    Type {
        group: Text,
        resource: Text,
        server: Option<Text>,
    },
}

/// When a finding is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// 600 s after the last occurrence.
    Happened,
    /// When the detector says so.
    UntilCleared,
}

/// How much a finding weighs: by severity, then by certainty.
pub(super) type Weight = (Severity, Reverse<u64>);

/// What a detector found, for the first time or again.
#[derive(Clone, Debug)]
pub(crate) struct FindingDraft {
    pub(crate) row: Row,
    /// Other rows that look the same to watchscope.
    pub(crate) alike: &'static [Row],
    pub(crate) severity: Severity,
    pub(crate) certainty: Certainty,
    pub(crate) subject: Subject,
    /// The records that it rests on; not empty.
    pub(crate) evidence: Vec<Seq>,
    /// When this occurrence began.
    pub(crate) since: Time,
    pub(crate) summary: String,
    /// What became of it, as a sentence, once that is known.
    pub(crate) outcome: Option<String>,
    pub(crate) lasts: Lasts,
    /// The severity it takes at a moment, unless its outcome is known by then.
    pub(crate) worsens: Option<(Time, Severity)>,
    /// What a watch shares with other watches that may suffer from the same cause.
    pub(crate) shared: Option<Shared>,
    /// What became of the watch after its stream ended; `None` if no stream ended.
    pub(crate) fate: Option<Fate>,
}

impl FindingDraft {
    /// Returns a draft of something that happened. It has the usual severity of its row, and no other row looks like
    /// it.
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

    /// Returns the draft as a divergence: a second read, or an event delivered to another watch, proves it.
    pub(crate) fn proven(self) -> Self {
        Self {
            severity: Severity::Divergence,
            ..self
        }
    }

    /// Returns the draft as a note that becomes a warning at a moment, if it still lasts by then.
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

    /// How much a finding weighs: by severity, then by certainty.
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

/// What became of a watch after its stream ended. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Its gap is open.
    Blind,
    /// The watch listed again, and the list showed changes that no stream had delivered.
    Lost,
    /// The watch listed again, and the list showed no change.
    Relisted,
    /// The watch resumed from its progress.
    Resumed,
}

/// What a watch shares with other watches that may suffer from the same cause.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// A connection, a type at a server, a server, or the cluster.
    pub(crate) subject: Subject,
    /// What happened there, as a sentence that names no watch.
    pub(crate) summary: String,
    /// What happened to two watches within this time has one cause, in microseconds.
    pub(crate) together_us: i64,
    /// When the finding stops waiting for other watches, if it waits.
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
