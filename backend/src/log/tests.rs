//! The log as its producers and readers see it, in paused time.

use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::{Instant, advance, sleep, timeout};
use watchscope_log::SEAL_RECORDS;
use watchscope_model::event::{Change, Note, StreamEnded, StreamOpened, WatchStarted};
use watchscope_model::inside::InsideEtcd;
use watchscope_model::vocabulary::{Author, Cause, ChangeType, LossPlace, Origin};
use watchscope_model::{Entry, Event, Inside, Object, Record, RequestId, Seq, StreamId, Time, Uid};

use super::handle::QUEUED_BATCHES;
use super::*;

pub(super) const START: Time = Time(1_763_715_600_000_000);

/// A clock on Tokio's time, which tests pause. Its wall clock can be set.
pub(crate) struct TestClock {
    started: Instant,
    wall_off_us: StdMutex<i64>,
}

impl TestClock {
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            wall_off_us: StdMutex::new(0),
        })
    }

    fn set_wall_off_us(&self, off: i64) {
        *self.wall_off_us.lock().unwrap() = off;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        START.plus_micros(self.started.elapsed().as_micros() as i64)
    }

    fn wall(&self) -> Time {
        self.now().plus_micros(*self.wall_off_us.lock().unwrap())
    }
}

/// Opens a log on the time of the current runtime.
pub(crate) fn open(ring_bytes: u64, body_bytes: u64) -> LogHandle {
    open_with(TestClock::start(), ring_bytes, body_bytes)
}

/// Opens another run of the log of [`open`].
pub(crate) fn open_run(epoch: &str, ring_bytes: u64) -> LogHandle {
    let config = LogConfig {
        ring_bytes,
        body_bytes: 1 << 20,
        clock: TestClock::start(),
        ..LogConfig::new("demo".into())
    };
    LogHandle::open_epoch(config, epoch.into())
}

fn open_with(clock: Arc<TestClock>, ring_bytes: u64, body_bytes: u64) -> LogHandle {
    let config = LogConfig {
        ring_bytes,
        body_bytes,
        clock,
        ..LogConfig::new("demo".into())
    };
    LogHandle::open_epoch(config, "e1".into())
}

pub(crate) fn note(text: &str) -> Event {
    Note::new(Author::Story, text.to_owned()).into()
}

fn modified(name: &str) -> Event {
    Change {
        watch: "shop/pods".into(),
        stream: None,
        change: ChangeType::Modified,
        origin: Origin::Live,
        object: Arc::new(Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse(name),
        }),
        resource_version: 1.into(),
        generation: None,
        manager: None,
        subresource: None,
        bytes: Some(4),
        stray: None,
        owner: None,
    }
    .into()
}

/// A change with the body of its object.
pub(crate) fn modified_with_body(name: &str, body: &str) -> Batch {
    Batch {
        events: vec![(modified(name), Some(0..body.len()))],
        bodies: Bytes::copy_from_slice(body.as_bytes()),
    }
}

/// The records that every reader sees; there is no inside here.
fn shown(entries: Vec<Entry>) -> Vec<Record> {
    entries.into_iter().filter_map(Entry::into_record).collect()
}

async fn records(reader: &mut LogReader) -> Vec<Record> {
    match timeout(Duration::from_secs(60), reader.next()).await {
        Ok(Some(Read::Entries(entries))) => shown(entries),
        other => panic!("no records but {other:?}"),
    }
}

fn texts(records: &[Record]) -> Vec<&str> {
    records
        .iter()
        .map(|record| match &record.event {
            Event::Note(note) => note.text.as_str(),
            other => other.type_name(),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_record_after_a_quiet_time_is_there_at_once_and_later_ones_after_8_ms() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    let begun = Instant::now();
    log.append(note("a")).await.unwrap();
    assert_eq!(texts(&records(&mut reader).await), ["a"]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    log.append(note("b")).await.unwrap();
    sleep(Duration::from_millis(5)).await;
    log.append(note("c")).await.unwrap();
    assert_eq!(texts(&records(&mut reader).await), ["b", "c"]);
    let waited = begun.elapsed();
    assert!(
        (Duration::from_millis(8)..Duration::from_millis(10)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_burst_comes_in_full_segments_in_order_without_holes() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    let events: Vec<Event> = (0..1_000).map(|number| note(&number.to_string())).collect();
    log.append(events).await.unwrap();
    let mut all = Vec::new();
    while all.len() < 1_000 {
        let next = records(&mut reader).await;
        assert!(next.len() as u64 <= SEAL_RECORDS);
        all.extend(next);
    }
    let seqs: Vec<u64> = all.iter().map(|record| record.seq.0).collect();
    assert_eq!(seqs, (1..=1_000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn closing_seals_what_is_queued_and_ends_readers_after_it() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    for text in ["a", "b", "c"] {
        log.append(note(text)).await.unwrap();
    }
    log.close().await;
    assert_eq!(log.append(note("d")).await, Err(LogClosed));
    let mut all = Vec::new();
    while let Some(Read::Entries(next)) = reader.next().await {
        all.extend(shown(next));
    }
    assert_eq!(texts(&all), ["a", "b", "c"]);
    let (state, _) = log.head().await;
    assert_eq!(state.seq, Seq(3));
    log.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_appends_waits_while_the_writers_queue_is_full() {
    let log = open(RING_BYTES, BODY_BYTES);
    // The writer does not run until this task yields.
    let mut sends: Vec<_> = (0..=QUEUED_BATCHES)
        .map(|_| Box::pin(log.append(note("x"))))
        .collect();
    let mut pending = 0;
    for send in &mut sends {
        if send.now_or_never().is_none() {
            pending += 1;
        }
    }
    assert_eq!(pending, 1);
    let last = sends.pop().unwrap();
    drop(sends);
    last.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reader_starts_in_the_middle_of_a_chapter_or_at_the_next_record() {
    let log = open(RING_BYTES, BODY_BYTES);
    for number in 1..=40 {
        log.append(note(&number.to_string())).await.unwrap();
        sleep(Duration::from_millis(20)).await;
    }
    let mut middle = log.reader(Since::After(Seq(29)));
    assert_eq!(texts(&records(&mut middle).await), ["30"]);
    let mut head = log.reader(Since::Head);
    log.append(note("new")).await.unwrap();
    assert_eq!(texts(&records(&mut head).await), ["new"]);
    assert_eq!(head.next_seq(), Seq(42));
}

#[tokio::test(start_paused = true)]
async fn the_reader_returned_with_the_fold_at_the_head_continues_it() {
    let log = open(RING_BYTES, BODY_BYTES);
    let started = WatchStarted::plain("shop/pods".into(), "", "pods");
    log.append(Event::from(started)).await.unwrap();
    log.append(modified("a")).await.unwrap();
    let (mut state, mut reader) = log.head().await;
    assert!(state.seq <= Seq(2));
    log.append(modified("b")).await.unwrap();
    while state.seq < Seq(3) {
        for record in records(&mut reader).await {
            state.apply(&record);
        }
    }
    assert_eq!(state.watches[&"shop/pods".into()].objects.len(), 2);
    let (again, _) = log.head().await;
    assert_eq!(again, state);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_falls_behind_the_ring_gets_the_loss_and_continues() {
    let log = open(2 << 20, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    log.append(note("first")).await.unwrap();
    records(&mut reader).await;
    for _ in 0..600 {
        log.append(note(&"x".repeat(10_000))).await.unwrap();
    }
    log.close().await;
    let Some(Read::Loss { from, to }) = reader.next().await else {
        panic!("the reader lost records")
    };
    assert_eq!(from, Seq(2));
    let mut next = to.next();
    while let Some(Read::Entries(entries)) = reader.next().await {
        let records = shown(entries);
        assert_eq!(records[0].seq, next);
        next = records[records.len() - 1].seq.next();
    }
    assert_eq!(next, Seq(602));
}

#[tokio::test(start_paused = true)]
async fn bodies_are_found_by_epoch_and_seq_before_their_record_is_seen() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    let batch = Batch {
        events: vec![
            (note("no body"), None),
            (modified("a"), Some(0..4)),
            (modified("b"), Some(4..8)),
        ],
        bodies: Bytes::from_static(b"aaaabbbb"),
    };
    log.append(batch).await.unwrap();
    records(&mut reader).await;
    let found = |text: &'static [u8]| BodyLookup::Found(Bytes::from_static(text));
    assert_eq!(log.body("e1", Seq(2)), found(b"aaaa"));
    assert_eq!(log.body("e1", Seq(3)), found(b"bbbb"));
    assert_eq!(log.body("e1", Seq(1)), BodyLookup::Unknown);
    assert_eq!(log.body("e1", Seq(9)), BodyLookup::Unknown);
    assert_eq!(log.body("e0", Seq(2)), BodyLookup::Unknown);
}

#[tokio::test(start_paused = true)]
async fn dropped_bodies_are_recorded_as_one_loss_each_ten_seconds() {
    let log = open(RING_BYTES, 1_000);
    let mut reader = log.reader(Since::First);
    for number in 0..100 {
        let batch = Batch {
            events: vec![(modified(&number.to_string()), Some(0..400))],
            bodies: vec![7; 400].into(),
        };
        log.append(batch).await.unwrap();
    }
    sleep(Duration::from_secs(12)).await;
    log.close().await;
    let mut losses = Vec::new();
    while let Some(Read::Entries(entries)) = reader.next().await {
        let records = shown(entries);
        losses.extend(records.into_iter().filter_map(|record| match record.event {
            Event::Loss(loss) => Some(loss),
            _ => None,
        }));
    }
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].place, losses[0].count), (LossPlace::Body, 99));
    assert_eq!(log.body("e1", Seq(1)), BodyLookup::Gone);
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_departs_by_more_than_a_second_is_recorded_once_per_departure() {
    let clock = TestClock::start();
    let log = open_with(clock.clone(), RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    clock.set_wall_off_us(900_000);
    advance(Duration::from_secs(5)).await;
    clock.set_wall_off_us(-90_000_000);
    sleep(Duration::from_secs(5)).await;
    clock.set_wall_off_us(0);
    sleep(Duration::from_secs(5)).await;
    log.close().await;
    let mut found = Vec::new();
    while let Some(Read::Entries(entries)) = reader.next().await {
        let records = shown(entries);
        for record in records {
            let Event::Clock(clock) = record.event else {
                panic!("only clocks here")
            };
            found.push((clock.off_ms, clock.paused_ms));
        }
    }
    // The first time Tokio's clock is moved by hand, so nothing ran meanwhile.
    assert_eq!(found, [(0, Some(5_000)), (-90_000, None), (0, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_process_is_recorded_before_the_events_that_it_delayed() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    sleep(Duration::from_secs(60)).await;
    advance(Duration::from_secs(28_800)).await;
    log.append(note("late")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    log.close().await;
    let mut found = Vec::new();
    while let Some(Read::Entries(entries)) = reader.next().await {
        for record in shown(entries) {
            let at_s = record.at.micros_since(START) / 1_000_000;
            found.push((
                at_s,
                match record.event {
                    Event::Clock(clock) => clock.paused_ms,
                    _ => None,
                },
            ));
        }
    }
    // The pause counts from the last run of the writer.
    assert_eq!(found, [(28_860, Some(28_800_250)), (28_860, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_recorded_before_queued_events_and_before_any_judgement() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    // The attribution of this end is due after 250 ms.
    log.append(ended_by(Cause::Eof)).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    log.append(note("waits")).await.unwrap();
    advance(Duration::from_secs(20)).await;
    sleep(Duration::from_secs(2)).await;
    log.close().await;
    let mut seen = Vec::new();
    while let Some(Read::Entries(entries)) = reader.next().await {
        for record in shown(entries) {
            let paused_ms = match &record.event {
                Event::Clock(clock) => clock.paused_ms,
                _ => None,
            };
            let at_ms = record.at.micros_since(START) / 1_000;
            seen.push((at_ms, record.event.type_name(), paused_ms));
        }
    }
    // The second look waits for the stream's neighbours, for 250 ms in which watchscope runs.
    assert_eq!(
        seen[3..],
        [
            (20_100, "clock", Some(20_100)),
            (20_100, "note", None),
            (20_350, "attribution", None)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn ids_are_unique_and_begin_at_1() {
    let log = open(RING_BYTES, BODY_BYTES);
    assert_eq!(log.ids().stream().0, 1);
    assert_eq!(log.clone().ids().stream().0, 2);
    assert_eq!(log.ids().request().0, 1);
}

#[tokio::test(start_paused = true)]
async fn every_run_has_an_epoch_of_its_own_without_a_dot() {
    let open = || LogHandle::open(LogConfig::new("demo".into())).unwrap();
    let (first, second) = (open(), open());
    assert_ne!(first.epoch(), second.epoch());
    assert!(!first.epoch().as_str().contains('.'));
}

/// The events of a watch whose stream opened and ended.
fn ended_by(cause: Cause) -> Vec<Event> {
    let watch = watchscope_model::WatchName::from("shop/pods");
    let started = WatchStarted::plain(watch.clone(), "", "pods");
    let opened = StreamOpened {
        watch: watch.clone(),
        stream: StreamId(1),
        request: RequestId(1),
        resource_version: None,
        http2_stream: None,
    };
    let ended = StreamEnded {
        watch,
        stream: StreamId(1),
        cause,
        age_ms: 30_000,
        events: 3,
        bytes: 900,
        reset_code: None,
        unread_ms: None,
    };
    vec![started.into(), opened.into(), ended.into()]
}

#[tokio::test(start_paused = true)]
async fn the_attribution_of_a_streams_end_is_the_next_record() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    log.append(ended_by(Cause::TcpReset)).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 4 {
        seen.extend(records(&mut reader).await);
    }
    let Event::Attribution(found) = &seen[3].event else {
        panic!("no attribution but {:?}", seen[3]);
    };
    assert_eq!(
        (&*found.code, found.evidence.as_slice()),
        ("F08", &[Seq(3)][..])
    );
    assert_eq!(seen[3].at, seen[2].at);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_needs_a_second_look_is_attributed_without_a_further_event() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    log.append(ended_by(Cause::Eof)).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 4 {
        seen.extend(records(&mut reader).await);
    }
    let Event::Attribution(found) = &seen[3].event else {
        panic!("no attribution but {:?}", seen[3]);
    };
    assert_eq!(&*found.code, "unknown");
    let waited_us = seen[3].at.micros_since(seen[2].at);
    assert!((250_000..300_000).contains(&waited_us), "{waited_us}");
}

#[tokio::test(start_paused = true)]
async fn inside_records_are_numbered_with_the_others_and_have_a_fold_of_their_own() {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    let head = |revision| {
        let etcd = InsideEtcd {
            revision,
            compacted: 1,
            has_leader: true,
        };
        vec![Inside::from(etcd)]
    };
    log.append(note("a")).await.unwrap();
    log.append_inside(head(7)).await.unwrap();
    log.append(note("b")).await.unwrap();
    log.append_inside(head(8)).await.unwrap();
    log.close().await;
    let mut all = Vec::new();
    while let Some(Read::Entries(next)) = reader.next().await {
        all.extend(next);
    }
    let places: Vec<(u64, bool)> = all
        .iter()
        .map(|entry| (entry.seq().0, entry.record().is_some()))
        .collect();
    assert_eq!(places, [(1, true), (2, false), (3, true), (4, false)]);
    assert_eq!(texts(&shown(all)), ["a", "b"]);
    let (state, layers, _) = log.head_with_layers().await;
    assert_eq!(state.seq, Seq(4));
    assert_eq!(layers.etcd.map(|etcd| etcd.revision), Some(8));
}
