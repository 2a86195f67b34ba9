//! The recorder of a story: it hosts the story's journal in virtual time, and keeps the records.

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_journal::{CompareRequest, Journal, Sink};
use watchscope_model::{Entry, Event, Inside, InsideRecord, Record, State, Time};

/// A host of a [`Journal`] whose events carry their own time; the log's writer stamps events on arrival. The recorder's
/// times are on the log's clock. The recorder keeps all records, so only the story's length bounds its memory.
#[derive(Debug, Default)]
pub struct Recorder {
    journal: Journal,
    kept: Kept,
}

/// The journal's output, kept in memory.
#[derive(Debug, Default)]
struct Kept {
    records: Vec<Record>,
    inside: Vec<(Time, Inside)>,
    /// Records and inside records as one log; `None` if they are kept apart. With one log, the fields for records and
    /// inside records get no further ones.
    log: Option<Vec<Entry>>,
    /// The audit's next read to carry out.
    read: Option<Read>,
    /// Whether diagnosis found that etcd holds an older state, and the caller has not yet taken this news.
    is_restored: bool,
}

impl Sink for Kept {
    fn record(&mut self, record: Record, _after: &State) {
        match &mut self.log {
            Some(log) => log.push(Entry::Record(record)),
            None => self.records.push(record),
        }
    }

    fn inside(&mut self, record: InsideRecord, _after: &State) {
        self.log.get_or_insert_default().push(Entry::Inside(record));
    }

    /// Takes one read of the audit at a time: the records about this read come before the next read.
    fn read(&mut self, read: Read) -> bool {
        self.read = Some(read);
        false
    }

    fn restored(&mut self) {
        self.is_restored = true;
    }
}

impl Recorder {
    /// Records an event at a time. A time before the last record's time counts as the last record's time; in one log
    /// the last entry's time takes its place.
    pub fn record(&mut self, event: Event, at: Time) {
        self.journal.append(event, at, &mut self.kept);
    }

    /// Records what happened inside the cluster at a time: in the one log if the recorder keeps one, else apart from
    /// the records. In the one log a time before the last entry's time counts as the last entry's.
    pub fn record_inside(&mut self, inside: Inside, at: Time) {
        if self.kept.log.is_some() {
            self.journal.append_inside(inside, at, &mut self.kept);
        } else {
            self.kept.inside.push((at, inside));
        }
    }

    /// Records the judgements that are due at or before `now`, each at its due time, or at the last record's time if
    /// the latter is later.
    pub fn settle(&mut self, now: Time) {
        self.journal.settle(now, &mut self.kept);
    }

    /// Records the judgements that were due before `at`, as [`Recorder::settle`] does; judgements that are due at
    /// exactly `at` wait.
    pub fn settle_before(&mut self, at: Time) {
        self.journal.settle_before(at, &mut self.kept);
    }

    /// Audits the records from now on. The new auditor replaces an earlier one; the earlier auditor's results that are
    /// not recorded yet are lost.
    pub fn audit(&mut self, auditor: Auditor) {
        self.journal.audit(auditor);
    }

    /// Records the audit's results, and if there are any, the judgements that are due by `now`. Returns the audit's
    /// next read, after which another one may be due; `None` if no read is due, or there is no audit.
    pub fn ask(&mut self, now: Time) -> Option<Read> {
        self.journal.ask(now, &mut self.kept);
        self.kept.read.take()
    }

    /// Takes in the answer to a read of [`Recorder::ask`], and records what follows. An answer to a read that is not
    /// under way changes no verdict; without an audit the call does nothing.
    pub fn answer(&mut self, read: &Read, reply: Reply, now: Time) {
        self.journal.answer(read, reply, now, &mut self.kept);
    }

    /// Requests a comparison of the audit at once. Returns whether the watch that the request names exists, or any
    /// watch if it names none; `false` also without an audit. A later request for the same watch replaces an earlier
    /// request. While 64 reads of a watch wait, a request for one object adds no lookup.
    pub fn compare(&mut self, request: &CompareRequest, now: Time) -> bool {
        self.journal.compare(request, now)
    }

    /// Returns when the next judgement or read is due if nothing else happens. Returns `None` if nothing is due, or
    /// nothing before a read under way is answered. A time in the past means that something is due now.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.journal.due()
    }

    /// Returns the fold of all records; of inside records in one log it has only seq and time.
    #[must_use]
    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// Returns the records, the oldest first, except those from after a call of [`Recorder::keep_one_log`].
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.kept.records
    }

    /// Returns the inside records in the order of their arrival, each with its time, except those from after a call of
    /// [`Recorder::keep_one_log`].
    #[must_use]
    pub fn inside(&self) -> &[(Time, Inside)] {
        &self.kept.inside
    }

    /// From now on keeps records and inside records as one log, which is empty at first. An earlier such log is dropped
    /// with its entries. The log grows until its entries are taken.
    pub fn keep_one_log(&mut self) {
        self.kept.log = Some(Vec::new());
    }

    /// Takes the entries of the one log since the last call, the oldest first; none if the recorder keeps no such log.
    pub fn take_log(&mut self) -> Vec<Entry> {
        let log = self.kept.log.as_mut();
        log.map_or_else(Vec::new, std::mem::take)
    }

    /// Returns whether diagnosis found, since the last call, that etcd holds an older state or another history (F33),
    /// as [`is_restored`](watchscope_diagnosis::is_restored) says.
    pub fn take_restored(&mut self) -> bool {
        std::mem::take(&mut self.kept.is_restored)
    }
}
