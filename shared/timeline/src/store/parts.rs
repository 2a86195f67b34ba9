//! The elements of a trace: stretches of time of a watch, and moments that must show at any zoom.

use crate::id::ObjectId;

use watchscope_model::event::{Audit, Verdict};
use watchscope_model::fold::{Moment, OpenFinding, OpenPhase, OpenStream};
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{
    Cause, Certainty, Divergence, LossPlace, Phase, PhaseReason, Severity, Standing,
};
use watchscope_model::{
    ConnectionId, RequestId, ResourceVersion, Seq, StreamId, Text, Time, WatchName,
};

/// The fall of a plateau, which shows how the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fall {
    /// The plateau falls square: a normal end.
    Square,
    /// The plateau fades out: an end without an explanation.
    Fade,
    /// The plateau is torn: an abnormal end.
    Torn,
}

/// A phase of a watch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseSpan {
    pub(crate) phase: Phase,
    pub(crate) reason: PhaseReason,
    pub(crate) delay_ms: Option<u64>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamSpan {
    pub(crate) stream: StreamId,
    pub(crate) request: RequestId,
    pub(crate) from: Option<ResourceVersion>,
    pub(crate) timeout_ms: Option<u64>,
    /// How the stream ended, before any attribution; `None` while it is open.
    pub(crate) fall: Option<(Fall, Cause)>,
}

/// Why a stream ended, by its last attribution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamAttribution {
    /// The record of the attribution.
    pub(crate) seq: Seq,
    /// The code of a row of the failure catalogue, or `normal`, `ours` or `unknown`.
    pub(crate) code: Text,
    pub(crate) certainty: Certainty,
}

impl StreamAttribution {
    /// Returns the meaning of the attribution's code; `None` for a code of a later version.
    pub(crate) fn why(&self) -> Option<Attributed> {
        Attributed::of(&self.code)
    }

    /// Whether the attribution is a guess (suspected or unknown), which must not look like a fact.
    pub(crate) fn is_guess(&self) -> bool {
        matches!(self.certainty, Certainty::Suspected | Certainty::Unknown)
    }
}

/// A gap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GapSpan {
    pub(crate) cause: Cause,
    /// Whether the watch resumed after the gap, and how many events were lost; `None` until the gap closes.
    pub(crate) outcome: Option<GapOutcome>,
}

/// The outcome of a closed gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GapOutcome {
    pub(crate) resumed: bool,
    pub(crate) lost: Option<u64>,
}

/// The life of one incarnation (uid) of an object in a watch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LifeSpan {
    /// From when on it is unknown whether the object still existed; set if the end of its life was inferred.
    pub(crate) doubt: Option<Time>,
}

/// A divergence of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerdictSpan {
    pub(crate) kind: Divergence,
    pub(crate) listed: Option<ResourceVersion>,
    pub(crate) held: Option<ResourceVersion>,
    /// Whether a second read at the same resourceVersion found the same. Only a confirmed verdict is shown as a fact
    /// (docs/semantics/checks.md#confirm).
    pub(crate) is_confirmed: bool,
}

/// A finding, from when it was first raised until it was cleared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FindingSpan {
    pub(crate) code: Text,
    pub(crate) name: Text,
    /// The worst severity of its occurrences so far.
    pub(crate) severity: Severity,
    pub(crate) subject: Option<Text>,
    /// What happened at the finding's last occurrence.
    pub(crate) summary: String,
    /// The record that raised the finding's last occurrence, which identifies that occurrence.
    pub(crate) raised: Seq,
}

/// One occurrence of a finding, from the record that raised it until the next one, or until the finding is cleared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrence {
    pub(crate) code: Text,
    pub(crate) name: Text,
    /// Severity of this occurrence.
    pub(crate) severity: Severity,
    pub(crate) summary: String,
    /// The records of the occurrence's evidence.
    pub(crate) evidence: Vec<Seq>,
    /// How often the finding had occurred up to this occurrence, which counts.
    pub(crate) count: u64,
    /// How often the finding had occurred before the record that raised this occurrence; `None` if the records do not
    /// show it.
    pub(crate) before: Option<u64>,
    /// When the occurrence began, at the latest at the time of the record that raised it.
    pub(crate) began: Time,
    /// The watches that the occurrence names, the most concerned first; empty if it concerns no watch.
    pub(crate) watches: Vec<WatchName>,
    /// The record that first raised the occurrence's finding since that finding was last cleared.
    pub(crate) since: Seq,
}

/// The moment at which watchscope ran again after a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PauseMark {
    pub(crate) moment: Moment,
    /// How long watchscope had not run, in µs.
    pub(crate) paused_us: i64,
}

impl PauseMark {
    /// Returns when the pause began.
    pub(crate) fn since(self) -> Time {
        self.moment.at.plus_micros(-self.paused_us)
    }
}

/// A line of a story's narrator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NarratorLine {
    pub(crate) moment: Moment,
    pub(crate) text: String,
}

/// A request that a watch sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SentRequest {
    pub(crate) request: RequestId,
    /// The record that the request was sent.
    pub(crate) seq: Seq,
}

/// A connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConnectionSpan {
    pub(crate) connection: ConnectionId,
    pub(crate) remote: Text,
    pub(crate) alpn: Option<Text>,
    pub(crate) tls: Option<Text>,
    pub(crate) cause: Option<Cause>,
}

/// A complete list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListMark {
    pub(crate) moment: Moment,
    pub(crate) items: u64,
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) removed: u64,
    /// Whether the watch had listed before.
    pub(crate) relist: bool,
    /// Whether the list is older than the watch's progress (F22, F33), and so was not compared with what the watch
    /// holds.
    pub(crate) older: bool,
    /// For the first list of an epoch: the differences from the end of the epoch before, once both are loaded.
    pub(crate) compared: Option<Compared>,
}

/// Differences between two epochs over a seam, by the names of objects. In the counts, an object that was deleted and
/// created again has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OverSeam {
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) removed: u64,
    /// The objects that differ, by rising object number.
    pub(crate) objects: Vec<(ObjectId, Differs)>,
}

/// The kinds of differences of an object from the epoch before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Differs {
    Added,
    Changed,
    /// The object was deleted, and created again under the same name.
    Replaced,
    Removed,
}

impl OverSeam {
    /// Returns how an object differs from the epoch before; `None` if it does not.
    pub(crate) fn of(&self, object: ObjectId) -> Option<Differs> {
        let place = self.objects.binary_search_by_key(&object, |(id, _)| *id);
        place.ok().map(|place| self.objects[place].1)
    }
}

/// The comparison of an epoch's first list: the number of the epoch before, and the differences. The differences are
/// `None` if that epoch did not have the watch.
pub(crate) type Compared = (u32, Option<OverSeam>);

impl ListMark {
    /// Whether the list is marked in the picture: it shows changes of a time without a stream, or differences over a
    /// seam.
    pub(crate) fn is_shown(&self) -> bool {
        self.relist || self.over_seam().is_some()
    }

    /// Whether the list is the first of its epoch and was not compared with the epoch before yet.
    pub(crate) fn is_to_compare(&self) -> bool {
        !self.relist && self.compared.is_none()
    }

    /// Returns the differences from the epoch before; `None` if they are not known.
    pub(crate) fn over_seam(&self) -> Option<&OverSeam> {
        self.compared.as_ref()?.1.as_ref()
    }
}

/// An ERROR event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorMark {
    pub(crate) moment: Moment,
    pub(crate) code: u64,
}

/// A jump or reversal of the resourceVersion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepMark {
    pub(crate) moment: Moment,
    pub(crate) by: u64,
    pub(crate) back: bool,
    /// Whether the step starts from the resourceVersion that the watch had before it was stopped and started again.
    pub(crate) anew: bool,
}

/// A loss: something that watchscope lost or left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossMark {
    pub(crate) moment: Moment,
    pub(crate) place: LossPlace,
    pub(crate) count: u64,
}

impl LossMark {
    /// Whether records of the log are lost. Bodies dropped for room, unreadable frames, and what an extract leaves out
    /// on purpose do not count.
    pub(crate) fn is_own(&self) -> bool {
        !matches!(
            self.place,
            LossPlace::Body | LossPlace::Frame | LossPlace::Withheld
        )
    }
}

/// An audit read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditMark {
    pub(crate) moment: Moment,
    pub(crate) read: Audit,
    /// The object, if the read compared only one object; else `None`.
    pub(crate) object: Option<ObjectId>,
}

impl AuditMark {
    /// Whether the read can show if an object exists that the watch has held since a resourceVersion. The read cannot
    /// if that version is later than the read's, or if the read is a list that is partial or may come from a watch
    /// cache.
    pub(crate) fn covers(&self, object: ObjectId, since: Option<u64>) -> bool {
        let is_of_it = match self.object {
            Some(compared) => compared == object,
            None => self.read.is_whole() && !self.read.may_be_a_caches(),
        };
        let at = self.read.resource_version.as_ref();
        is_of_it && reaches(at.and_then(ResourceVersion::number), since)
    }
}

/// Whether a read at version `at` covers an object that the watch has held since version `since`. An object whose
/// version has no order is always covered: it came before the read, or would not be known.
pub(crate) fn reaches(at: Option<u64>, since: Option<u64>) -> bool {
    since.is_none_or(|since| at.is_some_and(|at| at >= since))
}

/// A request that watchscope sent beside its watches, or the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnRequestMark {
    pub(crate) moment: Moment,
    pub(crate) request: RequestId,
    pub(crate) step: OwnRequestStep,
}

/// The step of a request that a record shows: sent, answered or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnRequestStep {
    Sent,
    Answered,
    /// The request got no answer, or was refused.
    Failed,
}

/// A watch's state at the opening of a chapter, for values whose start time no snapshot has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpeningPoint {
    pub(crate) moment: Moment,
    pub(crate) seen: Option<u64>,
}

impl PhaseSpan {
    pub(super) fn of(phase: &OpenPhase) -> Self {
        Self {
            phase: phase.phase,
            reason: phase.reason,
            delay_ms: phase.delay_ms,
        }
    }
}

impl StreamSpan {
    pub(super) fn of(stream: &OpenStream) -> Self {
        Self {
            stream: stream.stream,
            request: stream.request,
            from: stream.resource_version.clone(),
            timeout_ms: stream.timeout_ms,
            fall: None,
        }
    }
}

impl VerdictSpan {
    pub(crate) fn of(verdict: &Verdict) -> Self {
        Self {
            kind: verdict.kind,
            listed: verdict.listed.clone(),
            held: verdict.held.clone(),
            is_confirmed: verdict.state == Standing::Confirmed,
        }
    }
}

impl FindingSpan {
    pub(super) fn of(open: &OpenFinding) -> Self {
        let finding = &open.finding;
        Self {
            code: finding.code.clone(),
            name: finding.name.clone(),
            severity: finding.worst_severity(),
            subject: finding.subject(),
            summary: finding.summary.clone(),
            raised: open.raised().seq,
        }
    }
}

impl Occurrence {
    pub(super) fn of(open: &OpenFinding) -> Self {
        let finding = &open.finding;
        Self {
            code: finding.code.clone(),
            name: finding.name.clone(),
            severity: finding.severity,
            summary: finding.summary.clone(),
            evidence: finding.evidence.clone(),
            count: open.count,
            before: (open.raised().seq == open.since.seq).then_some(0),
            began: finding
                .since
                .map_or(open.raised().at, |since| since.min(open.raised().at)),
            watches: match &finding.watch {
                Some(watch) => vec![watch.clone()],
                None => finding.names.clone(),
            },
            since: open.since.seq,
        }
    }

    /// Returns how many occurrences the record that raised this one stands for: at least 1, and 1 if the number is not
    /// known.
    pub(crate) fn stands_for(&self) -> u64 {
        let before = self.before.unwrap_or(self.count);
        self.count.saturating_sub(before).max(1)
    }
}
