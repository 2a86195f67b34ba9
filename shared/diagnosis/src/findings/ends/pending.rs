//! A stream's end whose attribution may still get better, and the outcome of its gap.

use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, Severity};
use watchscope_model::{Row, Seq, State, StreamId, Time, WatchName};

use super::rows::{alike, is_history_gone, leaves_no_history};
use crate::findings::draft::{Fate, FindingDraft, Lasts};
use crate::findings::place::Place;

/// Time in ms without progress above which a watch's version may have expired because its resource is quiet (F12). It
/// is the least time for which etcd keeps a revision by default (docs/semantics/servers.md#compaction).
pub(super) const QUIET_TYPE_MS: u64 = 300_000;
/// Time in µs after an edit of a CRD up to which a gap that begins may come from the edit (F17). An edit after the gap
/// began counts, too. An edit ends the watches of its resource (docs/semantics/versions.md#crd-edit). The number has no
/// source.
const EDITED_US: i64 = 1_000_000;
/// Time in µs above which a watch without a stream is a warning, whatever ended its stream: a period of bookmarks
/// (docs/semantics/lists-and-watches.md#bookmark-period).
pub(super) const BLIND_US: i64 = 60_000_000;
/// The sentence about a watch whose server lost its history by the cause of the end
/// (docs/semantics/requests.md#expired).
const EXPIRED: &str =
    " Its history was gone with it (410), so it listed again; what happened in between is unknown.";

/// The course of a stream up to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// The version at which the stream began; 0 if that version has no order. `None` if the stream is unknown.
    pub(crate) from: Option<u64>,
    /// When an event, a bookmark or a list last moved the watch's progress; `None` if that is unknown.
    pub(crate) moved_at: Option<Time>,
    /// When the gap of the watch began: at this end, or at an earlier end.
    pub(crate) gap_at: Time,
    /// The last edit of the resource's CRD; `None` if no edit is kept.
    pub(crate) edit: Option<Moment>,
}

/// Where an ended stream's requests went: connection, server and resource.
#[derive(Clone, Debug)]
pub(crate) struct Where {
    pub(crate) place: Place,
    /// Whether other watches have streams open over the same connection.
    pub(crate) is_shared: bool,
}

impl Where {
    /// Returns where the requests of a watch's stream go; `None` for an unknown watch, and for the audit's requests.
    pub(crate) fn of(name: &WatchName, before: &State) -> Option<Self> {
        let connection = before.watches.get(name)?.connection;
        let mut watches = before.watches.iter();
        let is_shared = watches.any(|(other, watch)| {
            other != name && watch.stream.is_some() && watch.connection == connection
        });
        let place = Place::of(name, before)?;
        Some(Self { place, is_shared })
    }
}

/// A stream's end whose attribution may still change.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) watch: WatchName,
    pub(super) at: Time,
    pub(super) age_ms: u64,
    pub(super) events: u64,
    pub(super) unread_ms: Option<u64>,
    pub(super) course: Course,
    /// Where the stream's requests went; `None` for a stream of the audit.
    pub(super) was: Option<Where>,
    pub(super) error_facts: ErrorFacts,
    pub(super) judgement: Option<LatestJudgement>,
    /// How the gap of this end closed; `None` while it is open.
    pub(super) outcome: Option<Outcome>,
    /// Whether the list that closes the gap of this end has an ordinary cause.
    pub(super) is_ordinary: bool,
}

/// The outcome of a closed gap.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The resourceVersion from which the watch resumed; `None` if it listed.
    pub(super) from: Option<String>,
    pub(super) fate: Fate,
    pub(super) at: Time,
    /// The row of an end in this gap that explains why the history was gone; `None` if no end explains it.
    pub(super) explained_by: Option<Row>,
}

impl Outcome {
    /// Returns the sentence about this outcome, for an end of this row.
    pub(super) fn sentence(&self, row: Row) -> String {
        match (&self.from, self.explained_by) {
            (Some(from), _) => format!(" It resumed from {from}; nothing was lost."),
            (None, Some(by)) if by != row && !leaves_no_history(row) => {
                format!(" It could not resume from its version ({by}).")
            }
            (None, _) => " It listed again; what happened in between is unknown.".to_owned(),
        }
    }
}

/// The facts that decide the severity of an end, besides how its gap closes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stake {
    /// Since when the watch received nothing: since the gap began. For a stream that died half-open (F04): since its
    /// last progress, but at most since 90 s before its end.
    pub(super) blind_from: Time,
    /// Whether the end has an ordinary cause that makes a list necessary: an edit of a CRD, a server that restarted, a
    /// quiet resource, or a pause of watchscope.
    pub(super) is_ordinary: bool,
}

impl Stake {
    /// Returns the severity of an end whose gap closed.
    pub(super) fn severity(self, outcome: &Outcome) -> Severity {
        let is_blind_long = outcome.at.micros_since(self.blind_from) > BLIND_US;
        let is_over_lightly = outcome.from.is_some() || self.is_ordinary;
        if is_over_lightly && !is_blind_long {
            Severity::Note
        } else {
            Severity::Warning
        }
    }
}

/// Ordinary reasons why the history that a watch needs to resume is gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    /// Whether the server's watch cache began anew in the same gap.
    pub(super) is_consequence: bool,
    /// Whether the resource was so quiet that the watch's version was compacted.
    pub(super) is_quiet: bool,
    /// The pause of watchscope that is the reason; `None` if no pause is.
    pub(super) pause: Option<Moment>,
    /// The edit of the resource's CRD that is the reason; `None` if no edit is.
    pub(super) edit: Option<Seq>,
}

impl History {
    pub(super) fn is_ordinary(self) -> bool {
        self.is_consequence || self.is_quiet || self.pause.is_some() || self.edit.is_some()
    }
}

/// Returns whether an end for lost history lies in the same gap as the end of `stream`: `stream` began the gap, or
/// ended in it before the stream `last`.
pub(super) fn is_in_gap(
    judgement: &LatestJudgement,
    row: Row,
    stream: Option<&StreamId>,
    last: StreamId,
) -> bool {
    let (Some(began), Some(stream)) = (judgement.began, stream) else {
        return false;
    };
    is_history_gone(row) && (began..last).contains(stream)
}

/// The latest attribution of an end.
#[derive(Clone, Debug)]
pub(super) struct LatestJudgement {
    pub(super) row: Option<Row>,
    pub(super) certainty: Certainty,
    pub(super) evidence: Vec<Seq>,
    /// The stream whose end began the gap that this end lies in; `None` if this end began it, or no gap is open.
    pub(super) began: Option<StreamId>,
}

/// The facts of an ERROR event about history and leader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorFacts {
    /// The oldest resourceVersion from which the watch cache can resume a watch; `None` if the event does not say it.
    pub(super) oldest: Option<u64>,
    /// Whether etcd has no leader. Only a watch that bypasses the watch cache gets this ERROR
    /// (docs/semantics/requests.md#no-leader).
    pub(super) is_leaderless: bool,
}

impl FindingDraft {
    /// If the watch listed, sets as outcome that its history was gone because of the cause of the end.
    pub(super) fn mark_expired(&mut self) {
        if matches!(self.fate, Some(Fate::Lost | Fate::Relisted)) {
            self.outcome = Some(EXPIRED.to_owned());
        }
    }

    /// Notes that the gap has closed. A closed gap does not end a finding that lasts, and does not lower the severity
    /// of an event that an apiserver has lost (F24).
    pub(super) fn close(&mut self, stake: Stake, outcome: &Outcome) {
        if self.lasts == Lasts::UntilCleared {
            return;
        }
        self.outcome = Some(outcome.sentence(self.row));
        self.fate = Some(outcome.fate);
        self.worsens = None;
        if self.row != Row::F24 {
            self.severity = stake.severity(outcome);
        }
    }
}

impl LatestJudgement {
    /// Returns the row of the end's finding, and the rows that look like it; `None` if the attribution gives no
    /// finding.
    pub(super) fn found(&self) -> Option<(Row, &'static [Row])> {
        let row = self.row?;
        Some((row, alike(row, self.certainty)?))
    }
}

impl Pending {
    /// Returns how long the watch had made no progress at the end, in milliseconds; `None` if it is unknown.
    pub(super) fn quiet_ms(&self) -> Option<u64> {
        self.course.moved_at.map(|at| self.at.millis_since(at))
    }

    /// Returns the edit of the CRD after which the server may have no older history. `None` if there was no edit in the
    /// gap or up to [`EDITED_US`] before it.
    pub(super) fn edited(&self) -> Option<Seq> {
        let edit = self.course.edit?;
        (edit.at.plus_micros(EDITED_US) >= self.course.gap_at).then_some(edit.seq)
    }

    /// Returns whether the watch made no progress for over 5 minutes before its gap, so that its version may have
    /// expired.
    pub(super) fn was_quiet(&self) -> bool {
        let Course {
            moved_at, gap_at, ..
        } = self.course;
        moved_at.is_some_and(|at| gap_at.millis_since(at) > QUIET_TYPE_MS)
    }
}
