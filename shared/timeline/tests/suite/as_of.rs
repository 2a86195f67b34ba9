//! The knowledge at a moment: a log that goes on answers as the same log did when it ended there.

use std::fmt::Write as _;

use crate::common::random::random_log;
use crate::common::{Log, at};
use watchscope_model::vocabulary::*;
use watchscope_model::{EpochId, LogId, Seq, Time};
use watchscope_timeline::Store;
use watchscope_timeline::findings::{Muted, board, tally};
use watchscope_timeline::health;
use watchscope_timeline::store::{Known, Unknown};
use watchscope_timeline::words::{accessible, presence, presence_basis, problems_in};

const PODS: &str = "shop/pods";
const OBJECTS: [(&str, &str); 6] = [
    (PODS, "a-0"),
    (PODS, "b-1"),
    (PODS, "c-2"),
    ("shop/configmaps", "a-0"),
    ("shop/configmaps", "b-1"),
    ("shop/configmaps", "c-2"),
];

/// All answers, under the names of their watches and objects.
fn answers(known: Known<'_>, store: &Store) -> String {
    let muted = Muted::default();
    let mut out = String::new();
    for row in health::table(known, &muted) {
        let cells = row.cells.iter().map(|cell| &*cell.text);
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(" | ")).expect("a string");
    }
    writeln!(out, "{:#?}", board(known, &muted)).expect("a string");
    writeln!(out, "{:?}", tally(known, &muted)).expect("a string");
    for (watch, name) in OBJECTS {
        let object = crate::common::object(name, 1);
        let watch = watch.into();
        for lane in [None, Some(&object)].map(|object| store.find_lane(&watch, object)) {
            let Some(lane) = lane else { continue };
            let shown = presence(known, lane);
            assert_eq!(shown.is_some(), presence_basis(known, lane).is_some());
            // An object that came later has a lane, and no answer.
            if lane == watchscope_timeline::LaneId::Findings || shown.is_some() {
                writeln!(out, "{watch} {name}: {}", accessible(known, lane)).expect("a string");
                writeln!(out, "{shown:#?}").expect("a string");
            }
        }
    }
    out
}

/// Returns what the log answered when it had `count` records.
fn when_it_ended(log: &Log, count: usize, now: Time) -> String {
    let mut store = Store::default();
    log.send(&mut store, 0, count);
    answers(Known::now(&store, now), &store)
}

fn count_until(log: &Log, at: Time) -> usize {
    log.records.partition_point(|record| record.at <= at)
}

#[test]
fn a_log_that_goes_on_answers_as_it_did_when_it_ended_there() {
    for seed in 0..6 {
        let log = random_log(seed, 240);
        let end = log.records.last().expect("records").at;
        // Three stores: live in one chapter, live in small chapters, and chapters of the past.
        let whole = log.store();
        let mut cut = Store::new(128 << 10);
        log.send_all(&mut cut);
        let mut past = Store::default();
        log.send_from(&mut past, 200);
        for (first, last) in [(90, 200), (0, 90)] {
            past.chapter(&log.chapter(first, last)).expect("a chapter");
        }
        for count in (1..log.records.len()).step_by(7) {
            let at = log.records[count - 1].at;
            let count = count_until(&log, at);
            let expected = when_it_ended(&log, count, at);
            for (name, store) in [("whole", &whole), ("cut", &cut), ("past", &past)] {
                let as_of = store.as_of(at, end).expect("it is loaded");
                assert_eq!(as_of.record.seq, Seq(count as u64), "seed {seed}, {name}");
                let found = answers(as_of.known(store), store);
                assert_eq!(found, expected, "seed {seed}, {name}, record {count}");
            }
        }
    }
}

#[test]
fn the_last_moment_of_a_live_log_is_now() {
    let log = random_log(1, 200);
    let store = log.store();
    let now = log.records.last().expect("records").at.plus_millis(700);
    let as_of = store.as_of(now, now).expect("it is loaded");
    assert_eq!(
        answers(as_of.known(&store), &store),
        answers(Known::now(&store, now), &store)
    );
}

#[test]
fn a_moment_that_is_not_loaded_not_kept_or_not_watched_has_no_answer() {
    let mut first = Log::new("one");
    first.opened(0.0, PODS, 1, &["web-0"], 100);
    first.change(10.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 110);
    let half = first.records.len();
    first.change(20.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 120);
    let mut store = Store::default();
    first.send_from(&mut store, half);
    let log = LogId::from("log");
    let (one, two) = (EpochId::from("one"), EpochId::from("two"));
    let listed = |is| vec![first.listed(0, half, is)];
    store.list(
        &log,
        &one,
        0,
        listed(watchscope_model::wire::Availability::Kept),
    );
    let why = |store: &Store, s: f64| store.as_of(at(s), at(60.0)).map(|as_of| as_of.record.seq);
    assert_eq!(why(&store, 5.0), Err(Unknown::NotLoaded));
    assert_eq!(why(&store, 25.0), Ok(Seq(half as u64 + 1)));

    store.expired(&one, Seq(half as u64));
    assert_eq!(why(&store, 5.0), Err(Unknown::NotKept));

    let mut second = Log::new("two");
    second.opened(40.0, PODS, 1, &["web-0"], 200);
    second.send_all(&mut store);
    store.list(&log, &two, 1, Vec::new());
    assert_eq!(why(&store, 30.0), Err(Unknown::NotWatched));
    assert!(why(&store, 50.0).is_ok());
    assert_eq!(why(&store, -100.0), Err(Unknown::NotWatched));
}

#[test]
fn a_view_of_the_past_lists_lost_gaps_and_no_wait_that_ended() {
    let mut log = Log::new("one");
    log.opened(0.0, PODS, 1, &["web-0"], 100);
    log.end(10.0, PODS, 10, Cause::Eof);
    log.phase(
        10.1,
        PODS,
        Phase::Waiting,
        PhaseReason::Unreachable,
        Some(900),
    );
    log.open(11.0, PODS, 2, 9, 100);
    log.gap(11.1, PODS, true, None);
    log.end(20.0, PODS, 2, Cause::Eof);
    log.phase(
        20.1,
        PODS,
        Phase::Waiting,
        PhaseReason::Unreachable,
        Some(900),
    );
    log.open(25.0, PODS, 3, 10, 100);
    log.gap(25.1, PODS, false, None);
    let store = log.store();
    let now = at(60.0);
    let named = |from: f64, to: f64, moment: f64| {
        let stretch = (at(from), at(to));
        let found = problems_in(&store, stretch, at(moment), now, &Muted::default());
        found.into_iter().map(|of| of.words).collect::<Vec<_>>()
    };
    assert_eq!(named(5.0, 15.0, 15.0), [""; 0]);
    assert_eq!(named(5.0, 15.0, 10.5), ["1 watch waiting"]);
    assert_eq!(named(5.0, 30.0, 30.0), ["1 gap lost"]);
    assert_eq!(named(30.0, 40.0, 40.0), [""; 0]);
}
