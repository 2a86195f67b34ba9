//! A page joins a log, moves its view, is hidden and loses its connection. In the end it has all that the server has,
//! and its picture is that of a page that saw everything.
//!
//! The server's half ([`Sealer`], [`Ring`], [`Reader`]) and the page's ([`Connection`], [`Backfill`], [`Store`]) are
//! driven against each other. The server cuts chapters by size; the page holds the records between two snapshots.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/cases.rs"]
mod cases;
#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;

use std::collections::VecDeque;

use cases::cases;
use common::random::{Chance, draw, first_difference, random_log, views};
use common::{Log, START};
use watchscope_app::source::backfill::Backfill;
use watchscope_app::source::connection::{Connection, Effect, Input, SessionStatus, Status};
use watchscope_app::source::feed::Delivery;
use watchscope_log::{Reader, Ring, Sealed, Sealer, Step};
use watchscope_model::event::Note;
use watchscope_model::vocabulary::Author;
use watchscope_model::wire::{Catalogue, PROTOCOL_VERSION, Welcome, catalogue_entries};
use watchscope_model::{Seq, State, Time};
use watchscope_timeline::store::Coverage;
use watchscope_timeline::{RecordId, Store, View};

/// A log, its server, and one page.
struct World {
    log: Log,
    written: usize,
    now: Time,
    state: State,
    sealer: Sealer,
    ring: Ring,
    /// The server's end of the open connection, and the messages in transit to the page.
    reader: Option<Reader>,
    wire: VecDeque<Vec<u8>>,
    connection: Connection,
    backfill: Backfill,
    store: Store,
    welcome: Option<Welcome>,
    hidden: bool,
}

/// Returns a log with large records among its own, so that it has several chapters of the server's size.
fn large_log(seed: u64, chance: &mut Chance) -> Log {
    let mut log = Log::new("a");
    for record in random_log(seed, 220).records {
        if chance.one_in(4) {
            let note = Note::new(Author::Story, "n".repeat(chance.below(100_000) as usize));
            log.push_at(record.at, note);
        }
        log.push_at(record.at, record.event);
    }
    log
}

impl World {
    fn new(log: Log, ring_bytes: u64) -> Self {
        let (sealer, first) = Sealer::new("log".into(), log.epoch.clone(), START);
        let ring = Ring::new("log".into(), log.epoch.clone(), ring_bytes, first);
        Self {
            log,
            written: 0,
            now: START,
            state: State {
                at: START,
                ..State::default()
            },
            sealer,
            ring,
            reader: None,
            wire: VecDeque::new(),
            connection: Connection::default(),
            backfill: Backfill::default(),
            store: Store::default(),
            welcome: None,
            hidden: false,
        }
    }

    fn is_live(&self) -> bool {
        self.connection.status() == Status::Live
    }

    fn take(&mut self, sealed: Option<Sealed>) {
        sealed.into_iter().for_each(|sealed| self.ring.push(sealed));
    }

    /// Lets the log's writer take `count` more records, sealing when it is due.
    fn write(&mut self, count: usize) {
        let to = (self.written + count).min(self.log.records.len());
        for place in self.written..to {
            let record = self.log.records[place].clone();
            if self.sealer.seal_at().is_some_and(|due| due < record.at) {
                let sealed = self.sealer.seal(record.at, &self.state);
                self.take(sealed);
            }
            self.now = self.now.max(record.at);
            let stamped = self.state.stamp(record.event, record.at);
            let seq = stamped.seq;
            assert_eq!(seq, record.seq);
            self.state.apply(&stamped);
            let sealed = self.sealer.take(&stamped, &self.state);
            self.take(sealed);
        }
        self.written = to;
    }

    /// Puts messages on the wire, as many as the server may send.
    fn fill(&mut self) {
        while let Some(reader) = &mut self.reader {
            match reader.next(&self.ring, self.now) {
                Step::Send(message) => self.wire.push_back(message.to_vec()),
                Step::Wait {
                    needs_snapshot: true,
                    ..
                } => {
                    let (sealed, snapshot) = self.sealer.snapshot(self.now, &self.state);
                    self.take(sealed);
                    self.ring.set_snapshot(snapshot);
                }
                Step::Wait { .. } => return,
                Step::Fetch(fetch) => panic!("there are no files: {fetch:?}"),
                Step::End(parting) => panic!("{parting:?}"),
            }
        }
    }

    /// Delivers at most `count` messages to the page.
    fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            let Some(message) = self.wire.pop_front() else {
                return;
            };
            self.input(Input::Message(&message));
        }
    }

    fn input(&mut self, input: Input<'_>) {
        let now_ms = self.now.0 as u64 / 1_000;
        for effect in self.connection.step(input, now_ms, 0.5) {
            match effect {
                Effect::AskSession => self.input(Input::Session(Some(SessionStatus {
                    product: "watchscope".into(),
                    protocol: PROTOCOL_VERSION,
                    instance: "1".into(),
                    session: true,
                }))),
                Effect::OpenSocket => {
                    self.cut();
                    self.reader = Some(Reader::new("0.1.0".into()));
                    let position = self.store.resume_point();
                    self.input(Input::Opened(position));
                }
                Effect::CloseSocket => self.cut(),
                Effect::Send(bytes) => self.send(&bytes),
                Effect::TellUndecodable(why) => panic!("{why}"),
                Effect::Deliver(delivery) => self.keep(delivery),
                Effect::Exchange(_) | Effect::TellTabs => {}
            }
        }
        if !self.is_live() {
            self.backfill.interrupted();
        }
    }

    /// Drops the connection, with all messages in transit.
    fn cut(&mut self) {
        self.reader = None;
        self.wire.clear();
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.receive(bytes, &self.ring, self.now).unwrap();
        }
    }

    /// Handles a delivery as the page does.
    fn keep(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Welcome(welcome) => {
                self.ring_begins(&welcome);
                self.welcome = Some(welcome);
            }
            Delivery::Heartbeat(heartbeat) => {
                let mut welcome = self.welcome.take().unwrap();
                (welcome.first, welcome.first_at) = (heartbeat.first, heartbeat.first_at);
                self.ring_begins(&welcome);
                self.welcome = Some(welcome);
            }
            Delivery::Head(frame) => {
                self.store.snapshot(&frame).unwrap();
                let welcome = self.welcome.clone().unwrap();
                self.ring_begins(&welcome);
            }
            Delivery::Segment(frame) => drop(self.store.segment(&frame).unwrap()),
            Delivery::Chapter(frames) => {
                let records = self.store.chapter(&frames).unwrap();
                self.backfill.answered(records);
            }
            Delivery::Expired { epoch, last } => {
                self.store.expired(&epoch, last);
                self.backfill.answered(0);
            }
            Delivery::Catalogue(header, entries) => {
                let entries = catalogue_entries(&entries).unwrap();
                let Catalogue { log, epoch, order } = header;
                self.store.list(&log, &epoch, order, entries);
            }
            _ => {}
        }
    }

    fn ring_begins(&mut self, welcome: &Welcome) {
        let (first, at) = (welcome.first, welcome.first_at);
        self.store.ring_begins(&welcome.epoch, first, at);
    }

    /// Requests the past down to `left`; returns whether there was something to request.
    fn ask(&mut self, left: Time) -> bool {
        let wanted = self.store.backfill(left, Time(i64::MAX));
        if self.is_live()
            && let Some(wanted) = self.backfill.ask(wanted)
            && let Some(Effect::Send(bytes)) = self.connection.backfill(wanted)
        {
            self.send(&bytes);
            return true;
        }
        false
    }

    fn pass_ms(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
        let now_ms = self.now.0 as u64 / 1_000;
        if self.connection.wake_ms().is_some_and(|due| due <= now_ms) {
            self.input(Input::Timer);
        }
    }

    /// Runs until no message is in transit.
    fn settle(&mut self) {
        loop {
            // The time passes so that the page acknowledges.
            self.pass_ms(300);
            self.fill();
            if self.wire.is_empty() {
                return;
            }
            self.deliver(usize::MAX);
        }
    }

    /// Takes a random action.
    fn act(&mut self, chance: &mut Chance) {
        match chance.below(14) {
            0..=4 => self.write(1 + chance.below(12) as usize),
            5..=6 => {
                self.fill();
                self.deliver(1 + chance.below(6) as usize);
            }
            7..=8 => self.settle(),
            9 => {
                self.hidden = !self.hidden;
                self.input(Input::Hidden(self.hidden));
            }
            10 => {
                self.cut();
                self.input(Input::Closed);
            }
            11 => self.input(Input::TryNow),
            12 => self.pass_ms(chance.below(3_000)),
            _ => {
                let span_us = self.now.micros_since(START) as u64;
                self.ask(START.plus_micros(chance.below(span_us + 1) as i64));
            }
        }
        self.pass_ms(0);
    }

    /// Writes all records, shows and connects the page, and requests all of the past.
    fn end(&mut self) {
        self.write(usize::MAX - self.written);
        let sealed = self.sealer.seal(self.now, &self.state);
        self.take(sealed);
        self.input(Input::Hidden(false));
        self.input(Input::TryNow);
        self.settle();
        assert!(self.is_live());
        while self.ask(Time(0)) {
            self.settle();
        }
    }
}

#[test]
fn a_page_that_loads_all_of_the_past_equals_one_that_saw_everything() {
    let mut holes = 0;
    let seeds = u64::from(cases(40));
    for seed in 0..seeds {
        let mut chance = Chance::new(seed ^ 0xFACADE);
        let log = large_log(seed, &mut chance);
        // The ring keeps everything, or about half of it.
        let ring_bytes = chance.of(&[64 << 20, 3 << 19]);
        let mut world = World::new(log, ring_bytes);
        world.write(chance.below(100) as usize);
        world.input(Input::Link(None));
        world.input(Input::TakenIn);
        while world.written < world.log.records.len() {
            world.act(&mut chance);
        }
        let before = world.store.records();
        world.end();
        holes += u64::from(world.store.records() > before);
        let (store, log) = (&world.store, &world.log);
        let now = world.now;
        let context = format!("seed {seed}: {:?}", store.coverage(now));
        assert!(store.state() == Some(&log.state), "{context}");
        for record in log.records[world.ring.first().0 as usize - 1..]
            .iter()
            .step_by(9)
        {
            let id = RecordId {
                epoch: 0,
                seq: record.seq,
            };
            assert_eq!(store.record(id).as_ref(), Some(record), "{context}");
        }
        let coverage = store.coverage(now);
        let is_missing = |coverage| matches!(coverage, Coverage::NotLoaded | Coverage::Dropped);
        let missing = coverage.iter().find(|stretch| is_missing(stretch.coverage));
        assert_eq!(missing, None, "{context}");
        let from = coverage.last().unwrap().from;
        let mut views = views(&mut chance, from, now);
        if world.ring.first() == Seq(1) {
            assert_eq!(store.records(), log.records.len() as u64, "{context}");
            views.push(View::between(START, now, 900.0));
        }
        let whole = log.store();
        for view in views {
            for collapsed in [false, true] {
                let (all, page) = (
                    draw(&whole, &view, now, collapsed),
                    draw(store, &view, now, collapsed),
                );
                assert!(
                    all == page,
                    "{context}, {view:?}: {}",
                    first_difference(&all, &page)
                );
            }
        }
    }
    assert!(
        holes * 2 > seeds,
        "only {holes} of {seeds} pages lacked something"
    );
}
