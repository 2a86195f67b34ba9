//! The writer's sink for its journal: it passes records on to bodies, counters, segments and the ring.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use watchscope_diagnosis::audit::Read;
use watchscope_journal::Sink;
use watchscope_log::{Sealed, Sealer};
use watchscope_model::{Event, InsideRecord, Record, State, Time};

use super::shared::{Shared, lock};
use crate::metrics::{Exposition, Tally, standing};

/// The part of the writer that receives the journal's records.
///
/// It stores the body of a record before it seals the record, so a reader that sees the record finds its body.
pub(super) struct LogSink {
    shared: Arc<Shared>,
    sealer: Sealer,
    tally: Tally,
    /// The queue of the audit's reads; none until an audit begins. A read that does not fit is not made.
    reads: Option<mpsc::Sender<Read>>,
    body: Option<NextBody>,
}

/// The body of the record that comes next.
struct NextBody {
    bytes: Bytes,
    /// Bytes in its allocation that belong to no body.
    overhead: u64,
}

impl LogSink {
    pub(super) fn new(shared: Arc<Shared>, sealer: Sealer) -> Self {
        Self {
            shared,
            sealer,
            tally: Tally::default(),
            reads: None,
            body: None,
        }
    }

    /// Sends the audit's reads to `reads` from now on.
    pub(super) fn send_reads_to(&mut self, reads: mpsc::Sender<Read>) {
        self.reads = Some(reads);
    }

    /// Takes the body of the record that comes next. `overhead` is the number of bytes in its allocation that belong to no
    /// body.
    pub(super) fn take_body(&mut self, bytes: Bytes, overhead: u64) {
        self.body = Some(NextBody { bytes, overhead });
    }

    /// The time at which the open segment must be sealed; none if there is none.
    pub(super) fn seal_at(&self) -> Option<Time> {
        self.sealer.seal_at()
    }

    /// Seals the open segment if it is due.
    pub(super) fn seal_if_due(&mut self, now: Time, state: &State) {
        if self.sealer.seal_at().is_some_and(|due| due <= now) {
            let sealed = self.sealer.seal(now, state);
            self.publish(sealed);
        }
    }

    /// Puts a snapshot of the head into the ring, unless one of the same record is there.
    pub(super) fn put_snapshot(&mut self, now: Time, state: &State) {
        let is_there = lock(&self.shared.ring)
            .snapshot(now)
            .is_some_and(|snapshot| snapshot.seq == state.seq);
        if is_there {
            return;
        }
        let (sealed, snapshot) = self.sealer.snapshot(now, state);
        let mut ring = lock(&self.shared.ring);
        if let Some(sealed) = sealed {
            ring.push(sealed);
        }
        ring.set_snapshot(snapshot);
        drop(ring);
        self.wake();
    }

    /// Returns the counts of records and the metrics of the current state.
    pub(super) fn measure(&mut self, now: Time, state: &State) -> Exposition {
        let log = &self.shared.log.0;
        let mut exposition = Exposition::default();
        self.tally.settle(now);
        self.tally.expose(log, &mut exposition);
        standing(state, &self.tally, log, now, &mut exposition);
        exposition
    }

    fn publish(&self, sealed: Option<Sealed>) {
        if let Some(sealed) = sealed {
            lock(&self.shared.ring).push(sealed);
            self.wake();
        }
    }

    fn wake(&self) {
        self.shared
            .progress
            .send_modify(|progress| progress.version += 1);
    }
}

impl Sink for LogSink {
    fn record(&mut self, record: Record, after: &State) {
        let (bytes, overhead) = match self.body.take() {
            Some(NextBody { bytes, overhead }) => (Some(bytes), overhead),
            None => (None, 0),
        };
        lock(&self.shared.bodies).record(record.seq, &record.event, bytes, overhead);
        self.tally.observe(&record);
        if matches!(record.event, Event::Note(_)) {
            let Shared { log, epoch, .. } = &*self.shared;
            lock(&self.shared.notes).record(log, epoch, &record);
        }
        let sealed = self.sealer.take(&record, after);
        self.publish(sealed);
    }

    fn inside(&mut self, record: InsideRecord, after: &State) {
        let sealed = self.sealer.take_inside(record, after);
        self.publish(sealed);
    }

    fn read(&mut self, read: Read) -> bool {
        // The queue is full only while the watches end. The audit still reports what it concludes from their ends.
        let reads = self.reads.as_ref();
        reads.is_some_and(|reads| reads.try_send(read).is_ok())
    }

    fn restored(&mut self) {
        self.shared.restored.send_modify(|times| *times += 1);
    }
}
