//! The events of one epoch, by watch and object, as far as they are loaded.
//!
//! A trace begins with the stretches that are open in a snapshot. Traces of different chapters merge in any order.
//! `absorb.rs` builds a trace.

use watchscope_model::fold::Moment;
use watchscope_model::row::Attributed;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{RequestId, Row, Seq, StreamId, Text, Time};

use super::mark_kind::NO_VERSION;
use super::marks::Marks;
use super::object_marks::ObjectMarks;
use super::parts::{
    AuditMark, ConnectionSpan, ErrorMark, Fall, FindingSpan, GapSpan, LifeSpan, ListMark, LossMark,
    NarratorLine, Occurrence, OpeningPoint, OverSeam, OwnRequestMark, PauseMark, PhaseSpan,
    SentRequest, StepMark, StreamAttribution, StreamSpan, VerdictSpan,
};
use super::spans::{Span, Spans};
use crate::id::{ObjectId, WatchId};

/// The trace of an object in a watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectTrace {
    pub(crate) marks: ObjectMarks,
    /// How many of the object's marks came by a list. These are no changes that a stream delivered.
    pub(crate) listed: u32,
    pub(crate) lives: Spans<LifeSpan>,
    pub(crate) verdicts: Spans<VerdictSpan>,
}

/// The trace of a watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WatchTrace {
    pub(crate) started: Option<Moment>,
    /// The address of the apiserver that the watch is pinned to; `None` if it is not pinned.
    pub(crate) server: Option<Text>,
    pub(crate) marks: Marks,
    pub(crate) phases: Spans<PhaseSpan>,
    pub(crate) streams: Spans<StreamSpan>,
    pub(crate) gaps: Spans<GapSpan>,
    pub(crate) lists: Vec<ListMark>,
    pub(crate) errors: Vec<ErrorMark>,
    pub(crate) steps: Vec<StepMark>,
    pub(crate) losses: Vec<LossMark>,
    pub(crate) audits: Vec<AuditMark>,
    pub(crate) openings: Vec<OpeningPoint>,
    pub(crate) requests: Vec<SentRequest>,
    /// The last attribution of each stream.
    pub(crate) attributions: BTreeMap<StreamId, StreamAttribution>,
    pub(crate) objects: Vec<ObjectTrace>,
}

/// The trace of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) watches: Vec<Option<Box<WatchTrace>>>,
    pub(crate) findings: Spans<FindingSpan>,
    /// The occurrences of findings, each by the record that raised it, with their last update.
    pub(crate) occurrences: Spans<Occurrence>,
    /// All loaded records that raised a finding.
    pub(crate) raised: Vec<Moment>,
    pub(crate) connections: Spans<ConnectionSpan>,
    /// Losses that concern no single watch.
    pub(crate) losses: Vec<LossMark>,
    pub(crate) pauses: Vec<PauseMark>,
    /// The requests that watchscope sent beside its watches, and their answers.
    pub(crate) own_requests: Vec<OwnRequestMark>,
    pub(crate) notes: Vec<NarratorLine>,
    /// The uid of the cluster; `None` if it is not known.
    pub(crate) cluster_uid: Option<Text>,
    /// When the last story ended; `None` if none did.
    pub(crate) story_over: Option<Moment>,
}

impl Trace {
    /// Returns a watch's trace; makes an empty one if there is none.
    pub(super) fn watch_mut(&mut self, id: WatchId) -> &mut WatchTrace {
        let place = id.0 as usize;
        if self.watches.len() <= place {
            self.watches.resize_with(place + 1, || None);
        }
        self.watches[place].get_or_insert_default()
    }

    /// Returns a watch's trace; `None` if no chapter of this epoch that was ever loaded has the watch, neither in its
    /// opening nor in a record.
    pub(crate) fn watch(&self, id: WatchId) -> Option<&WatchTrace> {
        self.watches.get(id.0 as usize)?.as_deref()
    }
}

impl ObjectTrace {
    /// Returns how many of the object's loaded changes a stream delivered.
    pub(crate) fn changes(&self) -> u64 {
        (self.marks.as_slice().len() as u64).saturating_sub(u64::from(self.listed))
    }
}

impl WatchTrace {
    pub(super) fn object_mut(&mut self, id: ObjectId) -> &mut ObjectTrace {
        let place = id.0 as usize;
        if self.objects.len() <= place {
            self.objects.resize_with(place + 1, ObjectTrace::default);
        }
        &mut self.objects[place]
    }

    /// Returns the first list of the epoch, and its differences from the epoch before; `None` if these are not known.
    pub(crate) fn list_over_seam(&self) -> Option<(&ListMark, &OverSeam)> {
        let list = self.lists.first()?;
        list.over_seam().map(|found| (list, found))
    }

    /// Whether any object is known to differ from the epoch before.
    pub(crate) fn differs_over_seam(&self) -> bool {
        let over_seam = self.list_over_seam();
        over_seam.is_some_and(|(_, found)| !found.objects.is_empty())
    }

    /// Returns why a stream ended; `None` if the stream is open, or no attribution is loaded.
    pub(crate) fn attribution(&self, stream: &Span<StreamSpan>) -> Option<&StreamAttribution> {
        let attributed = self.attributions.get(&stream.what.stream)?;
        stream
            .end
            .is_some_and(|end| end.seq < attributed.seq)
            .then_some(attributed)
    }

    /// Returns how a stream's plateau falls: by the attribution of its end; if the attribution is missing or only
    /// guesses at a failure, by the event that ended the stream. `None` while the stream is open.
    pub(crate) fn fall(&self, stream: &Span<StreamSpan>) -> Option<(Fall, Cause)> {
        let (fall, cause) = stream.what.fall?;
        let attributed = self.attribution(stream);
        let Some(attributed) = attributed else {
            return Some((fall, cause));
        };
        let fall = match attributed.why() {
            Some(Attributed::Normal | Attributed::Ours | Attributed::Row(Row::F05)) => Fall::Square,
            Some(Attributed::Unknown) => Fall::Fade,
            _ if attributed.is_guess() => fall,
            _ => Fall::Torn,
        };
        Some((fall, cause))
    }

    /// Returns from when on it is unknown whether an object existed, for one of its lives. This is the begin of the gap
    /// in which the object vanished. If the watch was started again and etcd had gone back, it is the object's first
    /// event at a resourceVersion later than etcd's. `None` if there is no doubt.
    pub(crate) fn doubt(&self, object: &ObjectTrace, life: &Span<LifeSpan>) -> Option<Time> {
        life.what.doubt.or_else(|| {
            let end = life.end?.seq;
            let place = self.marks.place_of(end);
            if place < self.marks.len() && self.marks.seq(place) == end {
                return None;
            }
            let mut steps = self.steps.iter().filter(|step| step.moment.seq > end);
            let step = steps.next().filter(|step| step.anew && step.back)?;
            let to = self.marks.moved_to(self.marks.place_of(step.moment.seq))?;
            let mut within = object.marks.places().filter(|&mark| {
                let seq = self.marks.seq(mark);
                seq >= life.start.seq && seq < end
            });
            let is_later = |mark: &usize| {
                let version = self.marks.version(*mark);
                version != NO_VERSION && version > to
            };
            within.find(is_later).map(|mark| self.marks.at(mark))
        })
    }

    /// Returns the resourceVersion of an object's first loaded event at or after a record; `None` if there is no such
    /// event, or its resourceVersion is no number.
    pub(crate) fn version_since(&self, object: &ObjectTrace, since: Seq) -> Option<u64> {
        let first = object
            .marks
            .places()
            .find(|&mark| self.marks.seq(mark) >= since)?;
        Some(self.marks.version(first)).filter(|&version| version != NO_VERSION)
    }

    /// Returns the seq of the record that sent a request; `None` if that record is not loaded.
    pub(crate) fn request(&self, request: RequestId) -> Option<Seq> {
        self.requests
            .iter()
            .rev()
            .find(|sent| sent.request == request)
            .map(|sent| sent.seq)
    }
}
