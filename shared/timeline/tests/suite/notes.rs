//! Notes of persons: which ones the store knows, what it shows of them, and which ones it drops.

use watchscope_model::event::Note;
use watchscope_model::vocabulary::Author;
use watchscope_model::wire::Availability;
use watchscope_model::{KeptNote, NoteKey, Seq};
use watchscope_timeline::draw::{FLAGS_ROW, FlagMark, Flagged, Picture, ruler_of};
use watchscope_timeline::draw::{flag_at, lanes};
use watchscope_timeline::scene::{Primitive, Px, Step, TextLine};
use watchscope_timeline::{Lanes, Store, View};

use crate::common::random::random_log;
use crate::common::{Log, at, picture_of};

fn note(text: &str) -> Note {
    Note::new(Author::Person, text.to_owned())
}

fn key(log: &Log, seq: Seq) -> NoteKey {
    NoteKey {
        log: "log".into(),
        epoch: log.epoch.clone(),
        seq,
    }
}

fn texts(store: &Store) -> Vec<String> {
    let standing = store.notes().standing();
    standing.iter().map(|note| note.note.text.clone()).collect()
}

#[test]
fn a_note_stands_from_its_record_on_until_it_is_changed_or_withdrawn() {
    let mut log = Log::steady("a", 0.0, 5);
    let first = log.push(10.0, note("what is this?"));
    let mut store = log.store();
    assert_eq!(texts(&store), ["what is this?"]);
    assert_eq!(store.last_note(), None, "no narrator said anything");
    let version = store.notes_version();
    let changed = Note {
        replaces: Some(key(&log, first)),
        ..note("a reset")
    };
    let seen = log.records.len();
    log.push(20.0, changed);
    log.send_from(&mut store, seen);
    assert_eq!(texts(&store), ["a reset"]);
    assert!(version < store.notes_version());
    let withdrawn = Note {
        replaces: Some(key(&log, first)),
        ..note("")
    };
    let seen = log.records.len();
    log.push(30.0, withdrawn);
    log.send_from(&mut store, seen);
    assert_eq!(texts(&store), [""; 0]);
}

#[test]
fn notes_of_a_chapter_of_the_past_stand_as_those_that_came_live() {
    let mut log = Log::steady("a", 0.0, 5);
    log.push(6.0, note("early"));
    let seen = log.records.len();
    log.push(7.0, note("late"));
    let mut store = Store::default();
    log.send_from(&mut store, seen);
    assert_eq!(texts(&store), ["late"]);
    store.chapter(&log.chapter(0, seen)).unwrap();
    assert_eq!(texts(&store), ["early", "late"]);
}

#[test]
fn a_note_goes_with_its_chapter_unless_the_server_still_has_the_chapter() {
    let mut log = Log::steady("a", 0.0, 5);
    let seq = log.push(6.0, note("early"));
    let early = log.records.len();
    let mut more = random_log(4, 4_000);
    more.epoch = log.epoch.clone();
    for record in &more.records {
        log.push_at(at(10.0).max(record.at), record.event.clone());
    }
    let mut store = Store::new(150_000);
    log.send_all(&mut store);
    assert_eq!(texts(&store), [""; 0], "its chapter was let go");
    let listed = KeptNote {
        key: key(&log, seq),
        at: at(6.0),
        note: note("early"),
    };
    let entry = log.listed(0, early, Availability::Kept);
    store.list(&"log".into(), &log.epoch, u64::MAX, vec![entry]);
    store.list_notes(&"other".into(), vec![listed.clone()]);
    assert_eq!(texts(&store), [""; 0], "it is of another log");
    store.list_notes(&"log".into(), vec![listed]);
    store.let_notes_go();
    assert_eq!(texts(&store), ["early"]);
    store.expired(&log.epoch, Seq(early as u64));
    store.let_notes_go();
    assert_eq!(texts(&store), [""; 0], "it left the ring");
}

#[test]
fn a_note_of_an_unreadable_chapter_is_not_added() {
    let mut log = Log::steady("a", 0.0, 5);
    log.push(6.0, note("early"));
    let seen = log.records.len();
    log.push(7.0, note("late"));
    log.push(8.0, note("later"));
    let mut store = Store::default();
    log.send_from(&mut store, seen + 1);
    let mut damaged = log.chapter(0, seen);
    damaged.truncate(damaged.len() - 3);
    store.chapter(&damaged).unwrap_err();
    assert_eq!(texts(&store), ["later"]);
}

/// Returns the words of the flags, and the x of the dotted lines.
fn flags(picture: &Picture<'_>) -> (Vec<String>, Vec<Px>) {
    let row = (picture.flagged.top, picture.flagged.top + FLAGS_ROW);
    let ruler = ruler_of(picture);
    let words = ruler
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Text(TextLine { text, y, .. }) if row.0 < *y && *y < row.1 => {
                Some(text.clone())
            }
            _ => None,
        });
    let scene = lanes(picture);
    let dotted = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Path {
                steps,
                stroke: Some(stroke),
                ..
            } if stroke.dash == Some((1, 3)) => match scene.steps[steps.start as usize] {
                Step::Move(x, y) if y == Px::ZERO => Some(x),
                _ => None,
            },
            _ => None,
        });
    (words.collect(), dotted.collect())
}

#[test]
fn flags_are_numbered_by_time_and_a_pointer_finds_the_note_of_each() {
    let log = Log::steady("a", 0.0, 50);
    let (store, view) = (log.store(), View::between(at(0.0), at(50.0), 500.0));
    let rows = Lanes::showing_all().rows(&store, &view, at(50.0));
    let mark = |number, from: f64, to: f64| FlagMark {
        number: Some(number),
        from: at(from),
        to: at(to),
        is_selected: false,
    };
    let marks = [
        mark(1, 10.0, 10.0),
        mark(2, 10.1, 30.0),
        mark(3, 45.0, 45.0),
    ];
    let flagged = Flagged {
        marks: &marks,
        top: Px::whole(26),
    };
    let picture = Picture {
        flagged,
        ..picture_of(&store, &rows, &view, at(50.0))
    };
    let (words, dotted) = flags(&picture);
    assert_eq!(words, ["1", "2", "3"]);
    let at_time: Vec<Px> = marks
        .iter()
        .map(|mark| view.x(mark.from).floor() + Px::whole(1).half())
        .collect();
    assert_eq!(dotted, at_time, "lines stay where the time is");
    let flag = |x| flag_at(flagged, &view, at(50.0), x);
    assert_eq!(flag(Px::whole(100)), Some(0));
    assert_eq!(flag(Px::whole(116)), Some(1), "it gave way");
    assert_eq!(flag(Px::whole(300)), None);
    assert_eq!(flag(Px::whole(450)), Some(2));
    let without = picture_of(&store, &rows, &view, at(50.0));
    assert_eq!(
        ruler_of(&without).height,
        Px::whole(26),
        "no row without notes"
    );
}
