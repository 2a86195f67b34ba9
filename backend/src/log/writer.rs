//! The writer of a log: the one task that hosts its journal.
//!
//! Diagnosis sits behind the writer and not behind a reader. There it sees each record with the fold that the journal has
//! anyway, so it decodes nothing and holds no second state. Its judgements stand in the log right behind the records that
//! they rest on. For the same reason the writer keeps the counters of `/metrics`.
//!
//! The writer stamps events on arrival: it appends all inputs that it takes from its queue, then settles. The `clock` event
//! of a pause comes before both, so that diagnosis blames nobody else for events that the pause delayed.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};
use watchscope_diagnosis::audit::{Auditor, Read as AuditRead, Reply};
use watchscope_journal::{CompareRequest, Journal};
use watchscope_log::Sealer;
use watchscope_model::event::Note;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::{Event, Inside, Seq, Time};

use super::batch::Batch;
use super::clock::ClockWatch;
use super::shared::{Shared, lock};
use super::sink::LogSink;
use crate::metrics::Exposition;

/// The most inputs that one iteration of the loop takes.
const INPUTS_AT_ONCE: usize = 32;
/// The interval at which the clocks are compared, and so the longest sleep of the writer.
const CLOCK_CHECK: Duration = Duration::from_millis(250);
/// The shortest time between two records of dropped bodies, in microseconds.
const BODY_LOSS_US: i64 = 10_000_000;

/// One input of the writer.
pub(super) enum Input {
    /// Events to append.
    Batch(Batch),
    /// Events from inside a simulated cluster.
    Inside(Vec<Inside>),
    /// Audit the records from now on, and send the audit's reads to this channel.
    Audit(Box<Auditor>, mpsc::Sender<AuditRead>),
    /// The answer to a read of the audit.
    Reply(AuditRead, Reply),
    /// Start a comparison now, and answer whether there is such a watch.
    Compare(CompareRequest, oneshot::Sender<bool>),
    /// When such a comparison is over, answer with the last record.
    WhenCompared(CompareRequest, oneshot::Sender<Seq>),
    /// Write a person's note. Answer with its seq, or with the reason why it is refused.
    Note(Box<Note>, oneshot::Sender<Result<Seq, NoteRefusal>>),
    /// Answer with the counts and the current state as metrics.
    Measure(oneshot::Sender<Exposition>),
    /// Take the inputs that are queued, then end.
    Close(oneshot::Sender<()>),
}

/// The writer's state; lives in its task.
pub(super) struct Writer {
    shared: Arc<Shared>,
    journal: Journal,
    sink: LogSink,
    clock_watch: ClockWatch,
    /// Callers that wait for the end of a comparison: a few for each viewer. Callers that have gone are removed.
    comparing: Vec<(CompareRequest, oneshot::Sender<Seq>)>,
    /// Callers that wait for the writer's end. With the first of them the queue is closed.
    closers: Vec<oneshot::Sender<()>>,
    body_loss_recorded_at: Time,
}

impl Writer {
    /// Makes the writer of a log that begins at `now`.
    pub(super) fn new(shared: Arc<Shared>, sealer: Sealer, now: Time) -> Self {
        Self {
            journal: Journal::new(now),
            sink: LogSink::new(shared.clone(), sealer),
            clock_watch: ClockWatch::new(now),
            comparing: Vec::new(),
            closers: Vec::new(),
            body_loss_recorded_at: now,
            shared,
        }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Input>) {
        let mut inputs = Vec::with_capacity(INPUTS_AT_ONCE);
        let mut clock_check = interval(CLOCK_CHECK);
        clock_check.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let shared = self.shared.clone();
            let is_check_due = tokio::select! {
                biased;
                count = queue.recv_many(&mut inputs, INPUTS_AT_ONCE) => {
                    if count == 0 {
                        break;
                    }
                    false
                }
                () = shared.snapshot_wanted.notified() => {
                    self.sink.put_snapshot(shared.clock.now(), self.journal.state());
                    false
                }
                () = until(self.sink.seal_at(), shared.clock.now()) => false,
                () = until(self.journal.due(), shared.clock.now()) => false,
                _ = clock_check.tick() => true,
            };
            if let Some(pause) = self.clock_watch.ran(self.now()) {
                self.append_event(pause);
            }
            for input in inputs.drain(..) {
                self.take(input);
            }
            if !self.closers.is_empty() {
                queue.close();
            }
            if is_check_due {
                self.check();
            }
            self.journal.settle(self.now(), &mut self.sink);
            self.journal.ask(self.now(), &mut self.sink);
            self.end_comparisons();
            self.sink.seal_if_due(self.now(), self.journal.state());
        }
        // This snapshot lets readers get the fold after the end too.
        self.sink.put_snapshot(self.now(), self.journal.state());
        self.shared
            .progress
            .send_modify(|progress| progress.is_closed = true);
        for done in self.closers {
            // The caller may have gone meanwhile.
            let _ = done.send(());
        }
    }

    fn now(&self) -> Time {
        self.shared.clock.now()
    }

    fn take(&mut self, input: Input) {
        let now = self.now();
        match input {
            Input::Batch(batch) => self.append(batch, now),
            Input::Inside(inside) => {
                for inside in inside {
                    self.journal.append_inside(inside, now, &mut self.sink);
                }
            }
            Input::Audit(auditor, asks) => {
                self.journal.audit(*auditor);
                self.sink.send_reads_to(asks);
            }
            Input::Reply(read, reply) => self.journal.answer(&read, reply, now, &mut self.sink),
            // The caller may have gone meanwhile, here and below.
            Input::Compare(asked, is_there) => {
                let _ = is_there.send(self.journal.compare(&asked, now));
            }
            Input::Note(note, reply) => {
                let _ = reply.send(self.write_note(*note, now));
            }
            Input::WhenCompared(asked, done) => self.comparing.push((asked, done)),
            Input::Measure(reply) => {
                drop(reply.send(self.sink.measure(now, self.journal.state())));
            }
            Input::Close(done) => self.closers.push(done),
        }
    }

    fn append(&mut self, batch: Batch, now: Time) {
        let Batch { events, bodies } = batch;
        let used: usize = events.iter().map(|(_, range)| body_bytes(range)).sum();
        // The first body of the allocation is charged with the bytes that belong to no body.
        let mut overhead = bodies.len().saturating_sub(used) as u64;
        for (event, range) in events {
            if let Some(body) = range.and_then(|range| slice(&bodies, range)) {
                self.sink.take_body(body, std::mem::take(&mut overhead));
            }
            self.journal.append(event, now, &mut self.sink);
        }
    }

    /// Writes a person's note, unless the log refuses it.
    fn write_note(&mut self, note: Note, now: Time) -> Result<Seq, NoteRefusal> {
        let first = lock(&self.shared.ring).first();
        let (state, epoch) = (self.journal.state(), &self.shared.epoch);
        let refused = lock(&self.shared.notes).refusal(&note, state, epoch, first);
        match refused {
            Some(refused) => Err(refused),
            None => Ok(self.journal.append(note.into(), now, &mut self.sink)),
        }
    }

    fn append_event(&mut self, event: impl Into<Event>) {
        self.journal
            .append(event.into(), self.now(), &mut self.sink);
    }

    /// Answers the callers whose comparisons are over.
    fn end_comparisons(&mut self) {
        let (now, seq) = (self.now(), self.journal.state().seq);
        self.comparing.retain(|(_, done)| !done.is_closed());
        let is_over = |(asked, _): &mut (CompareRequest, _)| self.journal.is_compared(asked, now);
        for (_, done) in self.comparing.extract_if(.., is_over) {
            // The caller may have gone meanwhile.
            let _ = done.send(seq);
        }
    }

    /// Records a departure of the wall clock, and dropped bodies. The caller checks them at intervals.
    fn check(&mut self) {
        if let Some(departure) = self.clock_watch.compare(&*self.shared.clock) {
            self.append_event(departure);
        }
        let now = self.now();
        if now.micros_since(self.body_loss_recorded_at) >= BODY_LOSS_US {
            let loss = lock(&self.shared.bodies).take_loss();
            if let Some(loss) = loss {
                self.body_loss_recorded_at = now;
                self.append_event(loss);
            }
        }
    }
}

fn body_bytes(range: &Option<Range<usize>>) -> usize {
    range
        .as_ref()
        .map_or(0, |range| range.end.saturating_sub(range.start))
}

/// Returns the part of `bodies` that a range names; `None` if the range reaches beyond it.
fn slice(bodies: &Bytes, range: Range<usize>) -> Option<Bytes> {
    let is_inside = range.start <= range.end && range.end <= bodies.len();
    debug_assert!(is_inside, "a body lies in its batch");
    is_inside.then(|| bodies.slice(range))
}

async fn until(due: Option<Time>, now: Time) {
    match due {
        Some(due) => {
            let wait = u64::try_from(due.micros_since(now)).unwrap_or(0);
            sleep(Duration::from_micros(wait)).await;
        }
        None => std::future::pending().await,
    }
}
