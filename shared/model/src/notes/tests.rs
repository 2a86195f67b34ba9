use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::id::{Seq, Uid};
use crate::json;
use crate::wire::RawText;

fn key(epoch: &str, seq: u64) -> NoteKey {
    NoteKey {
        log: "demo".into(),
        epoch: epoch.into(),
        seq: Seq(seq),
    }
}

fn kept(seq: u64, at: i64, text: &str) -> KeptNote {
    KeptNote {
        key: key("e1", seq),
        at: Time(at),
        note: Note::new(Author::Person, text.to_owned()),
    }
}

fn replacing(earlier: u64, seq: u64, at: i64, text: &str) -> KeptNote {
    let mut note = kept(seq, at, text);
    note.note.replaces = Some(key("e1", earlier));
    note
}

fn texts(notes: &Notes) -> Vec<(u64, String, i64)> {
    let standing = notes.standing();
    standing
        .iter()
        .map(|note| (note.key.seq.0, note.note.text.clone(), note.from.0))
        .collect()
}

fn of(notes: impl IntoIterator<Item = KeptNote>) -> Notes {
    let mut all = Notes::default();
    for note in notes {
        all.insert(note);
    }
    all
}

#[test]
fn the_later_text_counts_under_the_first_key_and_an_empty_one_withdraws() {
    let first = kept(3, 30, "first");
    let second = replacing(3, 5, 50, "second");
    let of_second = replacing(5, 9, 90, "third\nwith more");
    let other = kept(4, 40, "other");
    let notes = of([of_second, other, first, second]);
    assert_eq!(
        texts(&notes),
        [(3, "third\nwith more".into(), 30), (4, "other".into(), 40)]
    );
    assert_eq!(notes.standing()[0].heading(), "third");
    let mut notes = notes;
    notes.insert(replacing(4, 10, 100, ""));
    assert_eq!(texts(&notes), [(3, "third\nwith more".into(), 30)]);
    notes.insert(replacing(4, 11, 110, "again"));
    assert_eq!(texts(&notes).len(), 2, "a later text stands again");
}

#[test]
fn a_later_record_stands_even_if_the_clock_was_set_back_between_two_runs() {
    let mut later = kept(1, 10, "later");
    later.key = key("e0", 1);
    later.note.replaces = Some(key("e1", 3));
    let notes = of([kept(3, 30, "earlier"), later]);
    assert_eq!(texts(&notes), [(3, "later".into(), 30)]);
}

#[test]
fn a_note_whose_first_record_is_gone_keeps_its_name() {
    let notes = of([replacing(2, 7, 70, "seven"), replacing(2, 9, 90, "nine")]);
    assert_eq!(texts(&notes), [(2, "nine".into(), 90)]);
}

#[test]
fn a_range_takes_every_note_whose_time_touches_it() {
    let mut span = kept(90, 9_000, "span");
    (span.note.from, span.note.to) = (Some(Time(100)), Some(Time(200)));
    let mut moment = kept(91, 9_100, "moment");
    moment.note.from = Some(Time(300));
    let notes = of([span, moment, kept(1, 150, "record")]);
    let names = |from: i64, to: i64| -> Vec<String> {
        let notes = notes.in_range(Time(from), Time(to));
        notes.iter().map(|note| note.note.text.clone()).collect()
    };
    assert_eq!(names(0, 1_000), ["span", "record", "moment"]);
    assert_eq!(names(200, 250), ["span"]);
    assert_eq!(names(201, 299), [] as [String; 0]);
    assert_eq!(names(300, 300), ["moment"]);
    assert_eq!(names(0, 99), [] as [String; 0]);
}

#[test]
fn above_the_bound_the_latest_notes_are_kept_in_any_order_of_arrival() {
    let count = MAX_NOTES as u64 + 20;
    let rising = of((0..count).map(|seq| kept(seq, seq as i64, "x")));
    let falling = of((0..count).rev().map(|seq| kept(seq, seq as i64, "x")));
    assert_eq!(rising, falling);
    assert!(rising.is_cut());
    assert_eq!(rising.len(), MAX_NOTES);
    assert_eq!(rising.records().next().unwrap().key.seq, Seq(20));
}

#[test]
fn a_note_of_a_story_is_not_a_persons() {
    let mut note = kept(1, 1, "x");
    note.note.author = Author::Story;
    let mut out = Vec::new();
    push_note(&note, &mut out);
    assert_eq!(decode_notes(&out), Ok(Vec::new()));
    assert!(!Notes::default().insert(note));
}

#[test]
fn its_json_is_that_of_its_record_with_log_and_epoch() {
    let mut note = replacing(3, 5, 1_763_715_600_000_000, "<b>\u{202e}\u{1b}[2J");
    note.note.watch = Some("shop/pods".into());
    note.note.object = Some(Arc::new(Object {
        namespace: Some("shop".into()),
        name: "web".into(),
        uid: Uid::Other("u-1".into()),
    }));
    note.note.from = Some(Time(1_763_715_500_000_000));
    note.note.to = Some(Time(1_763_715_510_000_000));
    insta::assert_snapshot!(json::to_line(&note), @r#"{"type":"note","log":"demo","epoch":"e1","seq":5,"at":"2025-11-21T09:00:00.000000Z","author":"person","text":"<b>\u202e\u001b[2J","watch":"shop/pods","namespace":"shop","name":"web","uid":"u-1","from":"2025-11-21T08:58:20.000000Z","to":"2025-11-21T08:58:30.000000Z","replaces":{"log":"demo","epoch":"e1","seq":3}}"#);
}

fn asked(text: &[u8]) -> WriteNote {
    WriteNote {
        command: 1,
        text: RawText(text.to_vec()),
        watch: None,
        object: None,
        from: None,
        to: None,
        replaces: None,
    }
}

#[test]
fn a_refused_note_gets_a_typed_reason() {
    let longest = vec![b'a'; MAX_NOTE_BYTES];
    assert_eq!(checked(asked(&longest)).unwrap().text.len(), MAX_NOTE_BYTES);
    let too_long = [&longest[..], b"a"].concat();
    assert_eq!(checked(asked(&too_long)), Err(NoteRefusal::TooLong));
    assert_eq!(checked(asked(b"a\xff")), Err(NoteRefusal::NotText));
    assert_eq!(checked(asked(b"")), Err(NoteRefusal::Empty));
    let withdrawn = WriteNote {
        replaces: Some(key("e1", 1)),
        ..asked(b"")
    };
    assert!(checked(withdrawn).is_ok());
    let span = |from: Option<i64>, to: Option<i64>| WriteNote {
        from: from.map(Time),
        to: to.map(Time),
        ..asked(b"x")
    };
    assert_eq!(checked(span(Some(2), Some(1))), Err(NoteRefusal::BadSpan));
    assert_eq!(checked(span(None, Some(1))), Err(NoteRefusal::BadSpan));
    assert!(checked(span(Some(1), Some(1))).is_ok());
    let object = |name: &str| WriteNote {
        object: Some(Arc::new(Object {
            namespace: None,
            name: name.into(),
            uid: Uid::Other("".into()),
        })),
        ..asked(b"x")
    };
    assert_eq!(checked(object("")), Err(NoteRefusal::BadObject));
    assert_eq!(
        checked(object(&"x".repeat(MAX_OBJECT_TEXT_BYTES + 1))),
        Err(NoteRefusal::BadObject)
    );
    // A person's text is kept unchanged; the code that shows it must treat it as hostile.
    let hostile = "<script>alert(1)</script>\u{1b}[2J\u{202e}\0";
    assert_eq!(checked(asked(hostile.as_bytes())).unwrap().text, hostile);
}

#[test]
fn a_file_with_longer_texts_or_more_notes_is_bounded() {
    let mut out = Vec::new();
    push_note(&kept(1, 1, &"é".repeat(MAX_NOTE_BYTES)), &mut out);
    let notes = decode_notes(&out).unwrap();
    assert_eq!(notes[0].note.text.len(), MAX_NOTE_BYTES);
    let mut out = Vec::new();
    for seq in 0..=MAX_NOTES as u64 {
        push_note(&kept(seq, 1, "x"), &mut out);
    }
    assert!(decode_notes(&out).is_err());
}

fn any_note() -> impl Strategy<Value = KeptNote> {
    let named = (0..3_u8, 1..12_u64);
    let place = |(epoch, seq): (u8, u64)| key(["e1", "e2", "e3"][usize::from(epoch)], seq);
    (
        named.clone().prop_map(place),
        0..50_i64,
        prop_oneof![Just(String::new()), "[a-z\n]{0,8}"],
        prop::option::of(named.prop_map(place)),
        prop::option::of(0..50_i64),
        prop::option::of(0..20_i64),
    )
        .prop_map(|(key, at, text, replaces, from, length)| KeptNote {
            key,
            at: Time(at),
            note: Note {
                from: from.map(Time),
                to: from.zip(length).map(|(from, length)| Time(from + length)),
                replaces,
                ..Note::new(Author::Person, text)
            },
        })
}

proptest! {
    #[test]
    fn the_records_about_a_range_show_the_same_notes_as_all_records(
        notes in prop::collection::vec(any_note(), 0..20), from in 0..60_i64, length in 0..30_i64,
    ) {
        let notes = of(notes);
        let (from, to) = (Time(from), Time(from + length));
        let some = of(notes.records_about(from, to).into_iter().cloned());
        prop_assert_eq!(some.in_range(from, to), notes.in_range(from, to));
        let in_range = |note: &&KeptNote| (from..=to).contains(&note.at);
        prop_assert_eq!(some.records().filter(in_range).count(), notes.records().filter(in_range).count());
    }

    #[test]
    fn any_order_of_arrival_gives_the_same_notes(
        (notes, shuffled) in prop::collection::btree_map(any_note().prop_map(|note| note.key), any_note(), 0..30)
            .prop_map(|notes| notes.into_iter().map(|(key, note)| KeptNote { key, ..note }).collect::<Vec<_>>())
            .prop_flat_map(|notes| (Just(notes.clone()), Just(notes).prop_shuffle())),
    ) {
        let mut some = of(notes.clone());
        let other = of(shuffled.iter().cloned().chain(notes.clone()));
        prop_assert_eq!(&some, &other);
        prop_assert_eq!(some.standing(), other.standing());
        // Each thread stands once, and times rise.
        let standing = other.standing();
        let keys: BTreeSet<&NoteKey> = standing.iter().map(|note| note.key).collect();
        prop_assert_eq!(keys.len(), standing.len());
        prop_assert!(standing.windows(2).all(|pair| pair[0].from <= pair[1].from));
        some.retain(|_| false);
        prop_assert!(some.is_empty() && some.records().next().is_none());
    }

    #[test]
    fn a_range_holds_the_same_notes_as_by_brute_force(
        notes in prop::collection::vec(any_note(), 0..20), from in 0..60_i64, length in 0..30_i64,
    ) {
        let notes = of(notes);
        let (from, to) = (Time(from), Time(from + length));
        let touching = notes.standing().into_iter().filter(|note| {
            (note.from.0..=note.to.0).any(|at| (from.0..=to.0).contains(&at))
        });
        prop_assert_eq!(notes.in_range(from, to), touching.collect::<Vec<_>>());
    }

    #[test]
    fn notes_read_back_and_other_bytes_do_not_panic(
        notes in prop::collection::vec(any_note(), 0..10), cut: prop::sample::Index, bytes: Vec<u8>,
    ) {
        let mut out = Vec::new();
        notes.iter().for_each(|note| push_note(note, &mut out));
        prop_assert_eq!(decode_notes(&out), Ok(notes));
        let _ = decode_notes(&out[..cut.index(out.len() + 1)]);
        let _ = decode_notes(&bytes);
    }
}
