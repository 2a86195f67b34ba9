//! Where the journal's records go: into bodies, counters, segments and the ring.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use watchscope_diagnosis::audit::Read;
use watchscope_journal::Sink;
use watchscope_log::{Sealed, Sealer};
use watchscope_model::{Event, InsideRecord, Record, State, Time};

use super::shared::{Shared, lock};
use crate::metrics::{Exposition, Tally, standing};

/// The writer's half of its journal.
///
/// A record's body is stored before the record is sealed: a reader that sees the record finds its body.
pub(super) struct LogSink {
    shared: Arc<Shared>,
    sealer: Sealer,
    tally: Tally,
    /// Where the audit's reads go; absent before there is an audit. While the queue is full, nobody carries them out.
    reads: Option<mpsc::Sender<Read>>,
    body: Option<NextBody>,
}

/// The body of the record that comes next.
struct NextBody {
    bytes: Bytes,
    /// Bytes that its allocation holds beside bodies.
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

    /// Sends the audit's reads there from now on.
    pub(super) fn send_reads_to(&mut self, reads: mpsc::Sender<Read>) {
        self.reads = Some(reads);
    }

    /// Takes the body of the record that comes next; `overhead` is what its allocation holds beside bodies.
    pub(super) fn take_body(&mut self, bytes: Bytes, overhead: u64) {
        self.body = Some(NextBody { bytes, overhead });
    }

    /// When the open segment is due.
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

    /// Puts a snapshot of the head into the ring, unless a fresh one is there.
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

    /// What was counted, and what stands.
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
        // A full queue means that the watches are ending, and the audit still says what it concludes from their ends.
        let reads = self.reads.as_ref();
        reads.is_some_and(|reads| reads.try_send(read).is_ok())
    }

    fn restored(&mut self) {
        self.shared.restored.send_modify(|times| *times += 1);
    }
}
