//! The recorder of a story: hosts the story's journal in virtual time, and keeps what comes out of it.

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_journal::{CompareRequest, Journal, Sink};
use watchscope_model::{Entry, Event, Inside, InsideRecord, Record, State, Time};

/// Hosts a [`Journal`] whose events carry their own time, as the log's writer hosts one whose events are stamped on
/// arrival. Keeps all records, so its bound is the story's length.
#[derive(Debug, Default)]
pub struct Recorder {
    journal: Journal,
    kept: Kept,
}

/// What came out of the journal.
#[derive(Debug, Default)]
struct Kept {
    records: Vec<Record>,
    inside: Vec<(Time, Inside)>,
    /// Both as one log, where that is asked for; then the two above stay empty.
    log: Option<Vec<Entry>>,
    /// The read that is to be carried out next.
    read: Option<Read>,
    /// etcd was found to hold an older state, and the probes do not know yet.
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

    /// One at a time: what is recorded of it comes before the next one.
    fn read(&mut self, read: Read) -> bool {
        self.read = Some(read);
        false
    }

    fn restored(&mut self) {
        self.is_restored = true;
    }
}

impl Recorder {
    /// Records an event of this time.
    pub fn record(&mut self, event: Event, at: Time) {
        self.journal.append(event, at, &mut self.kept);
    }

    /// Records what happened inside of the cluster: as a record of the one log if that is asked for, else beside the
    /// records.
    pub fn record_inside(&mut self, inside: Inside, at: Time) {
        if self.kept.log.is_some() {
            self.journal.append_inside(inside, at, &mut self.kept);
        } else {
            self.kept.inside.push((at, inside));
        }
    }

    /// Records the judgements that are due by now.
    pub fn settle(&mut self, now: Time) {
        self.journal.settle(now, &mut self.kept);
    }

    /// Records the judgements that were due before this time.
    pub fn settle_before(&mut self, at: Time) {
        self.journal.settle_before(at, &mut self.kept);
    }

    /// Audits the records from now on.
    pub fn audit(&mut self, auditor: Auditor) {
        self.journal.audit(auditor);
    }

    /// Records what the audit has to say; returns the next read, after which there may be another one.
    pub fn ask(&mut self, now: Time) -> Option<Read> {
        self.journal.ask(now, &mut self.kept);
        self.kept.read.take()
    }

    /// Takes the answer to a read.
    pub fn answer(&mut self, read: &Read, reply: Reply, now: Time) {
        self.journal.answer(read, reply, now, &mut self.kept);
    }

    /// Asks the audit for a comparison at once; returns whether there is such a watch.
    pub fn compare(&mut self, asked: &CompareRequest, now: Time) -> bool {
        self.journal.compare(asked, now)
    }

    /// When there is something to settle or to ask if nothing else happens; `None` if never. The past means now.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.journal.due()
    }

    /// The fold of all records.
    #[must_use]
    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// All records, unless they are kept as one log with the inside.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.kept.records
    }

    /// What happened inside of the cluster, unless it is kept as one log with the records.
    #[must_use]
    pub fn inside(&self) -> &[(Time, Inside)] {
        &self.kept.inside
    }

    /// Keeps records and inside as one log from now on.
    pub fn keep_one_log(&mut self) {
        self.kept.log = Some(Vec::new());
    }

    /// Takes what was kept as one log since the last call.
    pub fn take_log(&mut self) -> Vec<Entry> {
        let log = self.kept.log.as_mut();
        log.map_or_else(Vec::new, std::mem::take)
    }

    /// Whether etcd was found to hold an older state since the last call.
    pub fn take_restored(&mut self) -> bool {
        std::mem::take(&mut self.kept.is_restored)
    }
}
