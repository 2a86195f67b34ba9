//! Merges the traces of chapters, and forgets the records of a chapter.

use watchscope_model::Time;

use super::parts::{ListMark, Occurrence, OpeningPoint, OwnRequestMark, SentRequest};
use super::spans::Spans;
use super::trace::{ObjectTrace, Trace, WatchTrace};
use crate::id::{ObjectId, WatchId};
use crate::record_run::RecordRun;
use crate::sorted::merge_sorted;

impl Trace {
    /// Adds the trace of another chapter of the same epoch; no record may be in both traces.
    pub(crate) fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.merge_occurrences(other.occurrences);
        self.connections.merge(other.connections);
        merge_sorted(&mut self.raised, other.raised, |raised| raised.seq);
        merge_sorted(&mut self.losses, other.losses, |loss| loss.moment.seq);
        merge_sorted(&mut self.pauses, other.pauses, |pause| pause.moment.seq);
        merge_sorted(&mut self.own_requests, other.own_requests, |request| {
            request.moment.seq
        });
        merge_sorted(&mut self.notes, other.notes, |note| note.moment.seq);
        self.cluster_uid = self.cluster_uid.take().or(other.cluster_uid);
        self.story_over = self.story_over.max(other.story_over);
        for (place, watch) in other.watches.into_iter().enumerate() {
            if let Some(watch) = watch {
                self.watch_mut(WatchId(place as u32)).merge(*watch);
            }
        }
    }

    /// Adds occurrences. Only the chapter with the record that raised an occurrence knows how many occurrences came
    /// before.
    fn merge_occurrences(&mut self, other: Spans<Occurrence>) {
        for mut span in other.into_all() {
            let known = self.occurrences.get_mut(span.start.seq);
            if let Some(known) = known {
                let before = known.what.before.or(span.what.before);
                (known.what.before, span.what.before) = (before, before);
            }
            self.occurrences.add(span);
        }
    }

    /// Marks `at` as the end of the known records: what is open is known to be open only until then.
    pub(crate) fn freeze(&mut self, at: Time) {
        self.findings.freeze(at);
        self.occurrences.freeze(at);
        self.connections.freeze(at);
        for watch in self.watches.iter_mut().flatten() {
            watch.phases.freeze(at);
            watch.streams.freeze(at);
            watch.gaps.freeze(at);
            for object in &mut watch.objects {
                object.lives.freeze(at);
                object.verdicts.freeze(at);
            }
        }
    }

    /// Forgets consecutive records, and the stretches of time that lie within them. All that is known of a stretch that
    /// began before these records stays.
    pub(crate) fn forget(&mut self, run: RecordRun) {
        self.findings.forget(run);
        self.occurrences.forget(run);
        self.connections.forget(run);
        self.raised.retain(|raised| !run.holds(raised.seq));
        self.losses.retain(|loss| !run.holds(loss.moment.seq));
        self.pauses.retain(|pause| !run.holds(pause.moment.seq));
        self.own_requests
            .retain(|request| !run.holds(request.moment.seq));
        self.notes.retain(|note| !run.holds(note.moment.seq));
        for watch in self.watches.iter_mut().flatten() {
            watch.forget(run);
        }
    }

    /// Estimates the trace's size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let watches = self
            .watches
            .iter()
            .flatten()
            .map(|watch| watch.bytes())
            .sum::<usize>();
        let own_requests = self.own_requests.capacity() * size_of::<OwnRequestMark>();
        let findings = self.findings.bytes() + self.occurrences.bytes();
        watches + own_requests + findings + self.connections.bytes()
    }
}

impl WatchTrace {
    fn merge(&mut self, other: Self) {
        self.started = self.started.max(other.started);
        self.server = other.server.or(self.server.take());
        let inserted = other.marks.len();
        let place = self.marks.insert(other.marks);
        self.phases.merge(other.phases);
        self.streams.merge(other.streams);
        self.gaps.merge(other.gaps);
        merge_sorted(&mut self.lists, other.lists, |list| list.moment.seq);
        merge_sorted(&mut self.errors, other.errors, |error| error.moment.seq);
        merge_sorted(&mut self.steps, other.steps, |step| step.moment.seq);
        merge_sorted(&mut self.losses, other.losses, |loss| loss.moment.seq);
        merge_sorted(&mut self.audits, other.audits, |audit| audit.moment.seq);
        merge_sorted(&mut self.openings, other.openings, |opening| {
            opening.moment.seq
        });
        merge_sorted(&mut self.requests, other.requests, |request| request.seq);
        // In a browser the map is a sorted list, to whose end an insertion is cheap.
        let mut later = other.attributions;
        if !later.is_empty() && later.keys().next() < self.attributions.keys().next() {
            std::mem::swap(&mut self.attributions, &mut later);
        }
        for (stream, attribution) in later {
            let known = self
                .attributions
                .entry(stream)
                .or_insert_with(|| attribution.clone());
            if attribution.seq > known.seq {
                *known = attribution;
            }
        }
        if inserted > 0 {
            for object in &mut self.objects {
                object.marks.make_way(place, inserted);
            }
        }
        for (number, object) in other.objects.into_iter().enumerate() {
            let known = self.object_mut(ObjectId(number as u32));
            known.marks.insert(&object.marks, place);
            known.listed += object.listed;
            known.lives.merge(object.lives);
            known.verdicts.merge(object.verdicts);
        }
    }

    fn forget(&mut self, run: RecordRun) {
        let places = self.marks.place_of(run.first)..self.marks.place_of(run.last.next());
        for object in &mut self.objects {
            object.listed -= object.marks.forget(&places);
            object.lives.forget(run);
            object.verdicts.forget(run);
        }
        self.marks.forget(places);
        self.phases.forget(run);
        self.streams.forget(run);
        self.gaps.forget(run);
        self.lists.retain(|list| !run.holds(list.moment.seq));
        self.errors.retain(|error| !run.holds(error.moment.seq));
        self.steps.retain(|step| !run.holds(step.moment.seq));
        self.losses.retain(|loss| !run.holds(loss.moment.seq));
        self.audits.retain(|audit| !run.holds(audit.moment.seq));
        self.requests.retain(|request| !run.holds(request.seq));
        // An opening is at the last record before its chapter.
        self.openings.retain(|opening| {
            opening.moment.seq.next() < run.first || opening.moment.seq >= run.last
        });
        self.attributions
            .retain(|_, attribution| !run.holds(attribution.seq));
    }

    fn bytes(&self) -> usize {
        let objects = self.objects.iter().map(|object| {
            size_of::<ObjectTrace>()
                + object.marks.bytes()
                + object.lives.bytes()
                + object.verdicts.bytes()
        });
        self.marks.bytes()
            + self.phases.bytes()
            + self.streams.bytes()
            + self.gaps.bytes()
            + self.lists.capacity() * size_of::<ListMark>()
            + self.requests.capacity() * size_of::<SentRequest>()
            + self.openings.capacity() * size_of::<OpeningPoint>()
            + objects.sum::<usize>()
    }
}
