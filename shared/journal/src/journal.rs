//! The machine of a log: events and time in, records and reads out.

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_diagnosis::{Diagnosis, is_restored};
use watchscope_model::{Event, Inside, Seq, State, Time};

use crate::audit::{Audit, CompareRequest};
use crate::sink::Sink;

/// The machine of a log: it stamps, folds, judges and audits events. The crate's documentation states in which order a
/// host calls it. The default journal is [`Journal::new`] at time 0.
///
/// It holds the fold, the diagnosis and the audit; the docs of each state its bounds. A journal has no audit until
/// [`Journal::audit`] is called.
#[derive(Debug, Default)]
pub struct Journal {
    state: State,
    diagnosis: Diagnosis,
    audit: Option<Box<dyn Audit>>,
}

impl Journal {
    /// Makes a journal without records and without an audit, which begins at the time `at`. No record is stamped with
    /// an earlier time. The first record has seq 1.
    #[must_use]
    pub fn new(at: Time) -> Self {
        let state = State {
            at,
            ..State::default()
        };
        Self {
            state,
            ..Self::default()
        }
    }

    /// Appends an event, without asking diagnosis for judgements; returns the seq of its record. A time before the last
    /// record's is raised to the last record's.
    pub fn append(&mut self, event: Event, at: Time, sink: &mut dyn Sink) -> Seq {
        let record = self.state.stamp(event, at);
        let (seq, is_restored) = (record.seq, is_restored(&record.event));
        self.diagnosis.observe(&self.state, &record);
        if let Some(audit) = &mut self.audit {
            audit.observe(&self.state, &record);
        }
        self.state.apply(&record);
        sink.record(record, &self.state);
        if is_restored {
            sink.restored();
        }
        seq
    }

    /// Appends an event inside a simulated cluster; returns the seq of its record. Neither diagnosis nor audit gets
    /// this event. A time before the last record's is raised to the last record's.
    pub fn append_inside(&mut self, inside: Inside, at: Time, sink: &mut dyn Sink) -> Seq {
        let record = self.state.stamp_inside(inside, at);
        let seq = record.seq;
        self.state.pass(seq, record.at);
        sink.inside(record, &self.state);
        seq
    }

    /// Appends the judgements that are due at or before `now`, in the order of their due times; often there are none.
    /// Each judgement is stamped with its due time, or with the last record's time if that is later.
    pub fn settle(&mut self, now: Time, sink: &mut dyn Sink) {
        self.settle_while(|due| due <= now, sink);
    }

    /// Appends the judgements that were due before `at`, as [`Journal::settle`] does; judgements due exactly at `at`
    /// wait. A host whose events carry their own times calls this with an event's time before it appends the event.
    pub fn settle_before(&mut self, at: Time, sink: &mut dyn Sink) {
        self.settle_while(|due| due < at, sink);
    }

    fn settle_while(&mut self, is_due: impl Fn(Time) -> bool, sink: &mut dyn Sink) {
        while let Some(due) = self.diagnosis.wake_at().filter(|due| is_due(*due)) {
            let at = due.max(self.state.at);
            let judgements = self.diagnosis.conclude(at);
            let says_nothing = judgements.is_empty();
            for judgement in judgements {
                self.append(judgement, at, sink);
            }
            // A diagnosis that makes no progress is asked again at the host's next call.
            if says_nothing && self.diagnosis.wake_at() == Some(due) {
                break;
            }
        }
    }

    /// Starts an audit, which follows each watch from its next record on, also a watch that already runs. The new audit
    /// replaces an earlier one. Audit records of the earlier audit that are not appended yet are lost.
    pub fn audit(&mut self, auditor: Auditor) {
        self.audit = Some(Box::new(auditor));
    }

    /// Appends the records of the audit, stamped with `now`, or with the last record's time if that is later. If there
    /// are such records, it also appends the judgements that are due by `now`. Passes due reads to the sink until the
    /// sink takes no more or no read is due. Without an audit it does nothing.
    pub fn ask(&mut self, now: Time, sink: &mut dyn Sink) {
        self.append_audits(now, sink);
        while let Some(read) = self.next_read(now) {
            self.append_audits(now, sink);
            if !sink.read(read) {
                return;
            }
        }
        self.append_audits(now, sink);
    }

    fn next_read(&mut self, now: Time) -> Option<Read> {
        self.audit.as_mut()?.next(now, &self.state)
    }

    /// Processes the answer to a read. Appends the conclusions of the audit, stamped as in [`Journal::ask`]. If there
    /// are conclusions, it also appends the judgements that are due by `now`. An answer to a read that is not pending
    /// changes no verdict. Without an audit it does nothing.
    pub fn answer(&mut self, read: &Read, reply: Reply, now: Time, sink: &mut dyn Sink) {
        if let Some(audit) = &mut self.audit {
            audit.answer(read, reply, now, &self.state);
        }
        self.append_audits(now, sink);
    }

    fn append_audits(&mut self, now: Time, sink: &mut dyn Sink) {
        let Some(audit) = &mut self.audit else {
            return;
        };
        let events = audit.take();
        if !events.is_empty() {
            for event in events {
                self.append(event, now, sink);
            }
            self.settle(now, sink);
        }
    }

    /// Requests a comparison at once; returns whether the watch exists, or, if the request names no watch, whether any
    /// watch exists. Without an audit the result is `false`. [`Journal::ask`] makes the reads later. A later request
    /// for the same watch replaces an earlier one. While 64 reads of a watch wait, a request for one object adds no
    /// lookup.
    pub fn compare(&mut self, asked: &CompareRequest, now: Time) -> bool {
        let audit = self.audit.as_mut();
        audit.is_some_and(|audit| audit.compare(asked, now))
    }

    /// Returns whether a requested comparison is complete, so that no more records result from the request. A round
    /// that the audit makes by itself counts as part of the request. The result is `true`, too, if there is no audit or
    /// no such watch.
    #[must_use]
    pub fn is_compared(&self, asked: &CompareRequest, now: Time) -> bool {
        let audit = self.audit.as_ref();
        audit.is_none_or(|audit| audit.is_compared(asked, now))
    }

    /// Returns when [`Journal::settle`] or [`Journal::ask`] may have something to do, without further events. `None`
    /// means never, or not before a pending read is answered. A past time means now.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let audit = self.audit.as_ref().and_then(|audit| audit.wake_at());
        [self.diagnosis.wake_at(), audit]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns the fold of all records. Of records of the inside it has only the seq and the time.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::event::{Note, StreamEnded, StreamOpened, WatchStarted};
    use watchscope_model::vocabulary::{Author, Cause};
    use watchscope_model::{InsideRecord, Record, RequestId, StreamId};

    use super::*;

    /// When every journal of these tests begins.
    const START: Time = Time(1_763_715_600_000_000);

    /// The records, as `MILLISECONDS TYPE`.
    #[derive(Default)]
    struct Lines(Vec<String>);

    impl Lines {
        fn line(&mut self, at: Time, what: &str) {
            let at_ms = at.micros_since(START) / 1_000;
            self.0.push(format!("{at_ms} {what}"));
        }
    }

    impl Sink for Lines {
        fn record(&mut self, record: Record, after: &State) {
            assert_eq!((record.seq, record.at), (after.seq, after.at));
            self.line(record.at, record.event.type_name());
        }

        fn inside(&mut self, record: InsideRecord, after: &State) {
            assert_eq!((record.seq, record.at), (after.seq, after.at));
            self.line(record.at, "inside");
        }

        fn read(&mut self, _read: Read) -> bool {
            false
        }

        fn restored(&mut self) {}
    }

    fn note() -> Event {
        Note::new(Author::Story, "x".to_owned()).into()
    }

    fn ms(millis: u64) -> Time {
        START.plus_millis(millis)
    }

    /// A journal with one stream that ended without a reason at 0 ms; its judgement is due at 250 ms.
    fn ended() -> (Journal, Lines) {
        let events: [Event; 3] = [
            WatchStarted::plain("shop/pods".into(), "", "pods").into(),
            StreamOpened {
                watch: "shop/pods".into(),
                stream: StreamId(1),
                request: RequestId(1),
                resource_version: None,
                http2_stream: None,
            }
            .into(),
            StreamEnded {
                watch: "shop/pods".into(),
                stream: StreamId(1),
                cause: Cause::Eof,
                age_ms: 30_000,
                events: 3,
                bytes: 900,
                reset_code: None,
                unread_ms: None,
            }
            .into(),
        ];
        let (mut journal, mut sink) = (Journal::new(START), Lines::default());
        for event in events {
            journal.append(event, START, &mut sink);
        }
        journal.settle(START, &mut sink);
        sink.0.clear();
        (journal, sink)
    }

    #[test]
    fn a_judgement_is_stamped_with_its_due_time_even_if_the_host_settles_later() {
        for now in [250, 251, 9_000] {
            let (mut journal, mut sink) = ended();
            assert_eq!(journal.due(), Some(ms(250)));
            journal.settle(ms(249), &mut sink);
            assert!(sink.0.is_empty());
            journal.settle(ms(now), &mut sink);
            assert_eq!(sink.0, ["250 attribution"], "{now}");
        }
    }

    #[test]
    fn appending_concludes_nothing_and_no_judgement_is_stamped_before_the_last_record() {
        let (mut journal, mut sink) = ended();
        journal.append(note(), ms(9_000), &mut sink);
        assert_eq!(sink.0, ["9000 note"]);
        journal.settle(ms(9_000), &mut sink);
        assert_eq!(sink.0, ["9000 note", "9000 attribution"]);
    }

    #[test]
    fn settling_before_a_time_leaves_judgements_due_at_that_time() {
        let (mut journal, mut sink) = ended();
        journal.settle_before(ms(250), &mut sink);
        assert!(sink.0.is_empty());
        journal.settle_before(ms(251), &mut sink);
        journal.append(note(), ms(251), &mut sink);
        assert_eq!(sink.0, ["250 attribution", "251 note"]);
    }

    #[test]
    fn time_never_decreases_and_records_of_the_inside_have_seqs_too() {
        let (mut journal, mut sink) = (Journal::new(START), Lines::default());
        let head = watchscope_model::inside::InsideEtcd {
            revision: 7,
            compacted: 1,
            has_leader: true,
        };
        assert_eq!(journal.append(note(), ms(9), &mut sink), Seq(1));
        assert_eq!(journal.append_inside(head.into(), ms(3), &mut sink), Seq(2));
        assert_eq!(journal.append(note(), ms(4), &mut sink), Seq(3));
        assert_eq!(sink.0, ["9 note", "9 inside", "9 note"]);
        assert_eq!(journal.state().seq, Seq(3));
    }
}
