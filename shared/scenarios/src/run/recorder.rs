//! The recorder of a story: it hosts the story's journal in virtual time, and keeps the records.

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_journal::{CompareRequest, Journal, Sink};
use watchscope_model::{Entry, Event, Inside, InsideRecord, Record, State, Time};

/// Hosts a [`Journal`] whose events carry their own time; the log's writer stamps events on arrival. Its times are on
/// the log's clock. It keeps all records, so the story's length bounds its memory.
#[derive(Debug, Default)]
pub struct Recorder {
    journal: Journal,
    kept: Kept,
}

/// The output of the journal.
#[derive(Debug, Default)]
struct Kept {
    records: Vec<Record>,
    inside: Vec<(Time, Inside)>,
    /// Records and inside records as one log, if it is kept; then the two fields above stay empty.
    log: Option<Vec<Entry>>,
    /// The next read to carry out.
    read: Option<Read>,
    /// Whether etcd was found to hold an older state and the probes were not yet restarted.
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

    /// Takes one read at a time: the records about it come before the next read.
    fn read(&mut self, read: Read) -> bool {
        self.read = Some(read);
        false
    }

    fn restored(&mut self) {
        self.is_restored = true;
    }
}

impl Recorder {
    /// Records an event at a time. A time before the last record's counts as that; in one log, so does one before the
    /// last entry's.
    pub fn record(&mut self, event: Event, at: Time) {
        self.journal.append(event, at, &mut self.kept);
    }

    /// Records what happened inside the cluster at a time: in the one log if there is one, else beside the records. In
    /// the log a time before the last entry's counts as that.
    pub fn record_inside(&mut self, inside: Inside, at: Time) {
        if self.kept.log.is_some() {
            self.journal.append_inside(inside, at, &mut self.kept);
        } else {
            self.kept.inside.push((at, inside));
        }
    }

    /// Records the judgements that are due at or before `now`, each at its due time, or at the last record's if that is
    /// later.
    pub fn settle(&mut self, now: Time) {
        self.journal.settle(now, &mut self.kept);
    }

    /// Records the judgements that were due before `at`, as [`Recorder::settle`] does; those that are due at it wait.
    pub fn settle_before(&mut self, at: Time) {
        self.journal.settle_before(at, &mut self.kept);
    }

    /// Audits the records from now on. An earlier auditor is replaced; its results that are not recorded yet are lost.
    pub fn audit(&mut self, auditor: Auditor) {
        self.journal.audit(auditor);
    }

    /// Records the audit's results, and if there are any, the judgements that are due by then. Returns the next read,
    /// behind which there may be another one; `None` if none is due, or there is no audit.
    pub fn ask(&mut self, now: Time) -> Option<Read> {
        self.journal.ask(now, &mut self.kept);
        self.kept.read.take()
    }

    /// Takes in the answer to a read of [`Recorder::ask`], and records what follows. An answer to a read that is not
    /// under way changes no verdict; without an audit it does nothing.
    pub fn answer(&mut self, read: &Read, reply: Reply, now: Time) {
        self.journal.answer(read, reply, now, &mut self.kept);
    }

    /// Asks the audit for a comparison at once. Returns whether there is such a watch, or any if the request names
    /// none; false also without an audit. A later request for the same watch replaces an earlier one. While 64 reads of
    /// a watch wait, an object is not looked up for it.
    pub fn compare(&mut self, request: &CompareRequest, now: Time) -> bool {
        self.journal.compare(request, now)
    }

    /// Returns when the next judgement or read is due if nothing else happens; `None` if none is, or none before a read
    /// under way is answered. A time in the past means now.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.journal.due()
    }

    /// Returns the fold of all records; of inside records in one log it has only seq and time.
    #[must_use]
    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// Returns the records, the oldest first. Those since [`Recorder::keep_one_log`] are not among them.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.kept.records
    }

    /// Returns the inside records in the order of their arrival, each with its time. Those since
    /// [`Recorder::keep_one_log`] are not among them.
    #[must_use]
    pub fn inside(&self) -> &[(Time, Inside)] {
        &self.kept.inside
    }

    /// From now on keeps records and inside records as one log, which is empty at first. An earlier one is dropped with
    /// its entries. It grows until they are taken.
    pub fn keep_one_log(&mut self) {
        self.kept.log = Some(Vec::new());
    }

    /// Takes the entries of the one log since the last call, the oldest first; none if there is no such log.
    pub fn take_log(&mut self) -> Vec<Entry> {
        let log = self.kept.log.as_mut();
        log.map_or_else(Vec::new, std::mem::take)
    }

    /// Returns whether etcd was found to hold an older state (F33) since the last call.
    pub fn take_restored(&mut self) -> bool {
        std::mem::take(&mut self.kept.is_restored)
    }
}
