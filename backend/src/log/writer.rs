//! The one writer: stamps what producers append, has it judged, seals it, and wakes readers.
//!
//! Diagnosis sits here and not at a reader: it sees each record with the fold the writer has anyway, so it decodes
//! nothing, holds no state twice, and its judgements stand in the log right behind what they rest on. For the same
//! reason what `/metrics` tells of watches is counted here.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};
use watchscope_diagnosis::audit::{Auditor, Read as AuditRead, Reply};
use watchscope_diagnosis::{Diagnosis, is_restored};
use watchscope_log::{Sealed, Sealer};
use watchscope_model::event::Clock as ClockEvent;
use watchscope_model::{Event, Inside, Object, Seq, Time, WatchName};

use super::{Batch, Shared, lock};
use crate::metrics::{Exposition, Tally, standing};

/// Inputs taken at once.
const INPUTS_AT_ONCE: usize = 32;
/// How often the clocks are compared, and so how long the writer sleeps at most.
const CLOCK_CHECK: Duration = Duration::from_millis(250);
/// A departure of the wall clock beyond this is recorded, in microseconds.
const CLOCK_OFF_US: i64 = 1_000_000;
/// A time in which the writer did not run that is longer than this is recorded, in microseconds; every wait of diagnosis
/// for others is longer.
const PAUSE_US: i64 = 1_000_000;
/// Dropped bodies are told so often at most, in microseconds.
const BODY_LOSS_US: i64 = 10_000_000;

/// What the writer takes.
pub(super) enum Input {
    /// Events to append.
    Batch(Batch),
    /// What happened inside a simulated cluster. Diagnosis is not shown it, and could not take it.
    Inside(Vec<Inside>),
    /// Have records audited from now on, and send what is to be read there.
    Audit(Box<Auditor>, mpsc::Sender<AuditRead>),
    /// What came of a read.
    Reply(AuditRead, Reply),
    /// Compare now, and say whether there is such a watch.
    Ask(Comparison, oneshot::Sender<bool>),
    /// Say what was counted, and what stands.
    Measure(oneshot::Sender<Exposition>),
    /// Say when nothing more comes of such a comparison, and behind which record.
    WhenCompared(Comparison, oneshot::Sender<Seq>),
    /// Take what is queued, then end.
    Close(oneshot::Sender<()>),
}

/// What a person asks to be compared with etcd.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// A watch, or all.
    pub watch: Option<WatchName>,
    /// Of one watch, an object of it.
    pub object: Option<Arc<Object>>,
}

/// The writer's state; lives in its task.
pub(super) struct Writer {
    shared: Arc<Shared>,
    sealer: Sealer,
    diagnosis: Diagnosis,
    tally: Tally,
    audit: Option<(Box<Auditor>, mpsc::Sender<AuditRead>)>,
    /// Those who wait for what comes of comparisons: a few for each viewer. One that has gone is left out.
    comparing: Vec<(Comparison, oneshot::Sender<Seq>)>,
    wall_off_us: i64,
    /// When it last ran.
    ran_at: Time,
    body_loss_told_at: Time,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, sealer: Sealer) -> Self {
        Self {
            wall_off_us: 0,
            ran_at: shared.clock.now(),
            body_loss_told_at: shared.clock.now(),
            shared,
            sealer,
            diagnosis: Diagnosis::default(),
            tally: Tally::default(),
            audit: None,
            comparing: Vec::new(),
        }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Input>) {
        let mut inputs = Vec::with_capacity(INPUTS_AT_ONCE);
        let mut closers = Vec::new();
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
                    self.put_snapshot();
                    false
                }
                () = until(self.sealer.seal_at(), shared.clock.now()) => false,
                () = until(self.diagnosis.wake_at(), shared.clock.now()) => false,
                () = until(self.audit_at(), shared.clock.now()) => false,
                _ = clock_check.tick() => true,
            };
            // Before what is late for it.
            self.notice_pause();
            for input in inputs.drain(..) {
                match input {
                    Input::Batch(batch) => self.append(batch),
                    Input::Inside(inside) => self.append_inside(inside),
                    Input::Audit(auditor, asks) => self.audit = Some((auditor, asks)),
                    Input::Reply(read, reply) => self.take_reply(&read, reply),
                    Input::Ask(Comparison { watch, object }, reply) => {
                        let is_there = self.audit.as_mut().is_some_and(|(auditor, _)| {
                            auditor.ask(watch.as_ref(), object.as_ref(), shared.clock.now())
                        });
                        let _ = reply.send(is_there);
                    }
                    // Whoever asked may have gone meanwhile.
                    Input::Measure(reply) => drop(reply.send(self.measure())),
                    Input::WhenCompared(asked, done) => self.comparing.push((asked, done)),
                    Input::Close(done) => {
                        queue.close();
                        closers.push(done);
                    }
                }
            }
            if is_check_due {
                self.check();
            }
            self.judge();
            self.audit();
            let now = shared.clock.now();
            if self.sealer.seal_at().is_some_and(|due| due <= now) {
                let sealed = self.sealer.seal(now);
                self.publish(sealed);
            }
        }
        // Readers of the fold find it after the end too.
        self.put_snapshot();
        self.shared
            .progress
            .send_modify(|progress| progress.is_closed = true);
        for done in closers {
            // Whoever closed may have gone meanwhile.
            let _ = done.send(());
        }
    }

    fn append(&mut self, batch: Batch) {
        let now = self.shared.clock.now();
        let Batch { events, bodies } = batch;
        let used: usize = events.iter().map(|(_, range)| body_bytes(range)).sum();
        let mut overhead = bodies.len().saturating_sub(used) as u64;
        let shared = self.shared.clone();
        let mut book = lock(&shared.bodies);
        for (event, range) in events {
            let body = range.and_then(|range| slice(&bodies, range));
            let overhead = if body.is_some() {
                std::mem::take(&mut overhead)
            } else {
                0
            };
            // Before the record is sealed: whoever sees it finds its body.
            let record = self.sealer.stamp(event, now);
            book.record(record.seq, &record.event, body, overhead);
            self.diagnosis.observe(self.sealer.state(), &record);
            self.tally.observe(&record);
            if is_restored(&record.event) {
                shared.restored.send_modify(|times| *times += 1);
            }
            if let Some((auditor, _)) = &mut self.audit {
                auditor.observe(self.sealer.state(), &record);
            }
            let sealed = self.sealer.take(&record);
            self.publish(sealed);
        }
    }

    fn append_inside(&mut self, inside: Vec<Inside>) {
        let now = self.shared.clock.now();
        for inside in inside {
            let (_, sealed) = self.sealer.push_inside(inside, now);
            self.publish(sealed);
        }
    }

    /// Appends what diagnosis has to say by now.
    fn judge(&mut self) {
        let now = self.shared.clock.now();
        let judgements = self.diagnosis.conclude(now);
        if !judgements.is_empty() {
            self.append(judgements.into());
        }
    }

    fn audit_at(&self) -> Option<Time> {
        self.audit
            .as_ref()
            .and_then(|(auditor, _)| auditor.wake_at())
    }

    /// Asks what the audit wants to know next, and appends what it has to say.
    fn audit(&mut self) {
        let now = self.shared.clock.now();
        self.append_audits();
        if let Some((auditor, asks)) = &mut self.audit {
            while let Some(read) = auditor.next(now, self.sealer.state()) {
                if asks.try_send(read).is_err() {
                    // Nobody reads: the watches are ending, of whose ends the audit has something to say.
                    break;
                }
            }
            self.append_audits();
        }
        let (auditor, seq) = (self.audit.as_ref(), self.sealer.state().seq);
        let is_over = |Comparison { watch, object }: &Comparison| {
            auditor
                .is_none_or(|(auditor, _)| auditor.is_over(watch.as_ref(), object.as_deref(), now))
        };
        self.comparing.retain(|(_, done)| !done.is_closed());
        for (_, done) in self.comparing.extract_if(.., |(asked, _)| is_over(asked)) {
            // Whoever waited may have gone meanwhile.
            let _ = done.send(seq);
        }
    }

    fn take_reply(&mut self, read: &AuditRead, reply: Reply) {
        let now = self.shared.clock.now();
        if let Some((auditor, _)) = &mut self.audit {
            auditor.answer(read, reply, now, self.sealer.state());
        }
        self.append_audits();
    }

    fn append_audits(&mut self) {
        let told = self.audit.as_mut().map(|(auditor, _)| auditor.take());
        if let Some(told) = told.filter(|told| !told.is_empty()) {
            self.append(told.into());
            self.judge();
        }
    }

    fn measure(&mut self) -> Exposition {
        let now = self.shared.clock.now();
        let log = &self.shared.log.0;
        let mut exposition = Exposition::default();
        self.tally.settle(now);
        self.tally.expose(log, &mut exposition);
        standing(self.sealer.state(), &self.tally, log, now, &mut exposition);
        exposition
    }

    fn publish(&mut self, sealed: Option<Sealed>) {
        if let Some(sealed) = sealed {
            lock(&self.shared.ring).push(sealed);
            self.wake();
        }
    }

    fn put_snapshot(&mut self) {
        let now = self.shared.clock.now();
        let head = self.sealer.state().seq;
        let is_there = lock(&self.shared.ring)
            .snapshot(now)
            .is_some_and(|snapshot| snapshot.seq == head);
        if is_there {
            return;
        }
        let (sealed, snapshot) = self.sealer.snapshot(now);
        let mut ring = lock(&self.shared.ring);
        if let Some(sealed) = sealed {
            ring.push(sealed);
        }
        ring.set_snapshot(snapshot);
        drop(ring);
        self.wake();
    }

    fn wake(&self) {
        self.shared
            .progress
            .send_modify(|progress| progress.version += 1);
    }

    /// Records that nothing ran for longer than the check of the clock lets the writer sleep.
    fn notice_pause(&mut self) {
        let now = self.shared.clock.now();
        let paused_us = now.micros_since(self.ran_at);
        self.ran_at = now;
        if paused_us > PAUSE_US {
            self.tell_clock(u64::try_from(paused_us / 1_000).ok());
        }
    }

    fn tell_clock(&mut self, paused_ms: Option<u64>) {
        let off_ms = self.wall_off_us / 1_000;
        self.append(Event::from(ClockEvent { off_ms, paused_ms }).into());
    }

    /// Records what is to be told from time to time: a departed wall clock, dropped bodies.
    fn check(&mut self) {
        let now = self.shared.clock.now();
        let off_us = self.shared.clock.wall().micros_since(now);
        if (off_us - self.wall_off_us).abs() > CLOCK_OFF_US {
            self.wall_off_us = off_us;
            self.tell_clock(None);
        }
        if now.micros_since(self.body_loss_told_at) >= BODY_LOSS_US {
            let loss = lock(&self.shared.bodies).take_loss();
            if let Some(loss) = loss {
                self.body_loss_told_at = now;
                self.append(Event::from(loss).into());
            }
        }
    }
}

fn body_bytes(range: &Option<Range<usize>>) -> usize {
    range
        .as_ref()
        .map_or(0, |range| range.end.saturating_sub(range.start))
}

/// The part of the bodies that a range names; `None` if it reaches beyond them.
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
