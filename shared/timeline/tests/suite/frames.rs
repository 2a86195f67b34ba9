//! The frames of a stretch of time: a reader of them has the records of the log, each chapter from its own opening.

use std::collections::BTreeMap;

use watchscope_model::chapter::{ChapterWriter, decode_chapter};
use watchscope_model::event::{Event, Note};
use watchscope_model::vocabulary::{Author, LossPlace};
use watchscope_model::{Record, Seq, Time};
use watchscope_timeline::Store;

use crate::common::random::random_log;
use crate::common::{Log, at, with_unknown_kinds};

/// Returns the records of a stretch by run and seq. Each chapter must open with the fold of all records before it.
fn records(store: &Store, from: Time, to: Time) -> BTreeMap<(String, Seq), Record> {
    let mut records = BTreeMap::new();
    for frames in store.frames(from, to) {
        let (opening, chapter) = decode_chapter(&frames.expect("frames")).expect("a chapter");
        let mut state = opening.state;
        for record in chapter {
            assert_eq!(record.seq, state.seq.next());
            state.apply(&record);
            let key = (opening.epoch.as_str().to_owned(), record.seq);
            let known = records.insert(key, record.clone());
            assert!(known.is_none_or(|known| known == record));
        }
    }
    records
}

fn logged(log: &Log, from: Time, to: Time) -> Vec<Record> {
    let records = log.records.iter();
    let is_in = |record: &&Record| from <= record.at && record.at <= to;
    records.filter(is_in).cloned().collect()
}

#[test]
fn the_frames_of_any_stretch_hold_its_records_and_openings_that_fit_them() {
    for seed in 0..6 {
        let log = random_log(seed, 240);
        let end = log.records.last().expect("records").at;
        let whole = log.store();
        let mut cut = Store::new(128 << 10);
        log.send_all(&mut cut);
        let mut past = Store::default();
        log.send_from(&mut past, 200);
        for (first, last) in [(90, 210), (0, 90)] {
            past.chapter(&log.chapter(first, last)).expect("a chapter");
        }
        let edges: Vec<Time> = log.records.iter().step_by(31).map(|of| of.at).collect();
        for (place, &from) in edges.iter().enumerate() {
            for &to in edges[place..].iter().chain([&end]) {
                for (name, store) in [("whole", &whole), ("cut", &cut), ("past", &past)] {
                    let found = records(store, from, to);
                    for record in logged(&log, from, to) {
                        let key = ("a".to_owned(), record.seq);
                        assert_eq!(found.get(&key), Some(&record), "seed {seed}, {name}");
                    }
                }
            }
        }
        // A short stretch of a log that is cut has few records.
        let middle = log.records[120].at;
        assert!(records(&cut, middle, middle).len() < 120, "seed {seed}");
        assert_eq!(
            records(&whole, middle, middle).len(),
            240.max(log.records.len())
        );
    }
}

#[test]
fn runs_come_in_their_order_and_a_stretch_without_records_has_no_frames() {
    let (old, new) = (Log::steady("a", 0.0, 10), Log::steady("b", 100.0, 10));
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    let epochs: Vec<String> = store
        .frames(at(0.0), at(200.0))
        .map(|frames| {
            decode_chapter(&frames.expect("frames"))
                .expect("a chapter")
                .0
        })
        .map(|opening| opening.epoch.as_str().to_owned())
        .collect();
    assert_eq!(epochs, ["a", "b"]);
    assert_eq!(store.frames(at(50.0), at(60.0)).count(), 0);
}

#[test]
fn an_unknown_record_becomes_a_loss_when_the_log_is_encoded_anew() {
    let mut log = Log::steady("a", 0.0, 400);
    let later = Note::new(Author::Person, "LATER".into());
    let seq = log.push(401.0, later);
    log.bookmark(402.0, "shop/pods", 1, 900);
    let mut store = Store::new(128 << 10);
    let (mut writer, head) =
        ChapterWriter::open("log".into(), log.epoch.clone(), &log.state_after(0));
    store.snapshot(&head).expect("a snapshot");
    for run in log.records.chunks(5) {
        run.iter().for_each(|record| writer.push(record));
        let frame = with_unknown_kinds(&writer.seal().expect("records"));
        store.segment(&frame).expect("a segment");
    }
    let found = records(&store, at(401.0), at(402.0));
    let Event::Loss(loss) = &found[&("a".to_owned(), seq)].event else {
        panic!("{found:?}");
    };
    assert_eq!((loss.place, loss.count), (LossPlace::Withheld, 1));
    let last = ("a".to_owned(), seq.next());
    assert_eq!(found[&last], log.records[log.records.len() - 1]);
}
