//! Tests of files made from recordings: copies, joined and compacted files, and extracts.

use std::collections::BTreeSet;

use crate::cases::cases;
use crate::world::records::{START, WATCHES};
use crate::world::{body_of, checked, decoded, file_block, folded, host, plan, records_of, write};
use proptest::prelude::*;
use watchscope_model::chapter::{ChapterReader, ChapterWriter};
use watchscope_model::codec::{FORMAT_VERSION, checksum};
use watchscope_model::event::Loss;
use watchscope_model::inside::InsideConnection;
use watchscope_model::vocabulary::{LossPlace, Way};
use watchscope_model::{
    Entry, Event, InsideRecord, Layers, Record, Seq, State, Text, Time, WatchName,
};
use watchscope_recording::{
    Contents, Extract, ExtractError, FileBlock, Form, FrameSummarizer, Frames, Lanes, Out, Source,
    Stretch, Tag, Writer, compact, copy,
};

/// Returns the bytes of a file's blocks that have one of these tags.
fn blocks_of<'a>(file: &'a [u8], contents: &Contents, tags: &[Tag]) -> Vec<&'a [u8]> {
    let blocks = contents.blocks.iter();
    blocks
        .filter(|block| tags.contains(&block.header.tag))
        .map(|block| &file[block.offset as usize..block.end() as usize])
        .collect()
}

/// Returns a file of the extract's chapters.
fn file_of(outs: &[Out]) -> Vec<u8> {
    let file = FileBlock {
        form: Form::Extract,
        ..file_block()
    };
    let (mut writer, mut bytes) = Writer::begin(&file).unwrap();
    for out in outs {
        let segments = out.segments.iter().map(Vec::as_slice);
        let packing = Writer::whole_chapter(&out.head, segments).unwrap();
        let deflated = host::deflate(packing.raw());
        bytes.extend(writer.packed(&packing, &deflated).unwrap());
    }
    bytes.extend(writer.finish().unwrap());
    bytes
}

/// Extracts a stretch of a whole file.
fn extracted(file: &[u8], stretch: Stretch, lanes: &Lanes) -> Result<Vec<Out>, ExtractError> {
    let contents = host::open(file).unwrap();
    let mut extract = Extract::new(stretch, lanes.clone());
    let mut outs = Vec::new();
    for entry in &contents.chapters {
        let chapter = host::chapter(file, entry).unwrap();
        outs.extend(extract.chapter(&chapter.frames)?);
    }
    outs.extend(extract.finish()?);
    Ok(outs)
}

/// Returns the state that opens an extract, and its records.
fn opened(file: &[u8]) -> (State, Vec<Record>) {
    let contents = host::open(file).unwrap();
    assert_eq!(contents.damaged, []);
    let (mut first, mut all) = (None, Vec::new());
    for entry in &contents.chapters {
        let (state, records) = decoded(&host::chapter(file, entry).unwrap().frames);
        first.get_or_insert(state);
        all.extend(records);
    }
    (first.unwrap(), all)
}

fn withheld(record: &Record) -> Option<&Loss> {
    match &record.event {
        Event::Loss(loss) if loss.place == LossPlace::Withheld => Some(loss),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_copy_has_its_chapters_byte_for_byte((log, acts, with_bodies) in plan(), chosen in prop::collection::vec(any::<bool>(), 120)) {
        let file = write(&log, &acts, with_bodies, true).bytes;
        let contents = host::open(&file).unwrap();
        let chapters: Vec<usize> = (0..contents.chapters.len()).filter(|place| chosen[*place]).collect();
        let source = Source { contents: &contents, chapters: &chapters, with_bodies };
        let copied = host::build(&copy(&[source], Form::Copy).unwrap(), &[&file]);
        let read = host::open(&copied).unwrap();
        prop_assert_eq!(read.chapters.len(), chapters.len());
        for (entry, &place) in read.chapters.iter().zip(&chapters) {
            let original = &contents.chapters[place];
            prop_assert_eq!(&entry.summary, &original.summary);
            let chapter = host::chapter(&copied, entry).unwrap();
            prop_assert_eq!(&chapter, &host::chapter(&file, original).unwrap());
            checked(entry, &chapter, &log);
            prop_assert_eq!(entry.bodies.len(), original.bodies.len());
            prop_assert_eq!(entry.file.map(|file| read.files[file].form), Some(Form::Copy));
        }
        let tags = [Tag::Chapter, Tag::Bodies];
        let originals = blocks_of(&file, &contents, &tags);
        prop_assert!(blocks_of(&copied, &read, &tags).iter().all(|block| originals.contains(block)));
        // The index gives the same contents as the blocks.
        let mut scanned = copied.clone();
        *scanned.last_mut().unwrap() ^= 1;
        prop_assert_eq!(host::open(&scanned).unwrap(), read);
    }

    #[test]
    fn a_compacted_file_has_the_same_records_without_superseded_blocks((log, acts, with_bodies) in plan(), finishes: bool, cut in any::<prop::sample::Index>()) {
        let written = write(&log, &acts, with_bodies, finishes);
        let begins = written.moments[0].0;
        let cut = begins + cut.index(written.bytes.len() - begins + 1);
        let file = &written.bytes[..cut];
        let contents = host::open(file).unwrap();
        let known = FileBlock { redaction: 7, ..file_block() };
        let small = host::build(&compact(&contents, std::slice::from_ref(&known)).unwrap(), &[file]);
        let read = host::open(&small).unwrap();
        prop_assert_eq!(&read.damaged, &[]);
        prop_assert_eq!(records_of(&small, &read, &log), records_of(file, &contents, &log));
        prop_assert_eq!(&read.files[..], [known]);
        for (entry, original) in read.chapters.iter().zip(&contents.chapters) {
            prop_assert_eq!(&entry.summary, &original.summary);
            prop_assert_eq!(entry.closed.is_some(), entry.opening.is_none());
            prop_assert_eq!(entry.bodies.len(), original.bodies.len());
            for (&new, &old) in entry.bodies.iter().zip(&original.bodies) {
                let bodies = host::bodies(&small, new).unwrap();
                prop_assert_eq!(&bodies, &host::bodies(file, old).unwrap());
                prop_assert!(bodies.iter().all(|(seq, body)| body == body_of(seq)));
            }
        }
        let mut scanned = small.clone();
        *scanned.last_mut().unwrap() ^= 1;
        prop_assert_eq!(host::open(&scanned).unwrap(), read);
    }

    #[test]
    fn joined_files_have_the_records_of_each((log, acts, with_bodies) in plan(), (other, other_acts, _) in plan()) {
        let files = [write(&log, &acts, with_bodies, true).bytes, write(&other, &other_acts, false, false).bytes];
        let contents = files.each_ref().map(|file| host::open(file).unwrap());
        let all = contents.each_ref().map(|contents| (0..contents.chapters.len()).collect::<Vec<_>>());
        let sources: Vec<Source<'_>> = contents.iter().zip(&all).map(|(contents, chapters)| Source { contents, chapters, with_bodies: true }).collect();
        let both = host::build(&copy(&sources, Form::Recorded).unwrap(), &[&files[0], &files[1]]);
        let read = host::open(&both).unwrap();
        prop_assert_eq!(&read.damaged, &[]);
        prop_assert_eq!(read.files.len(), 2);
        for (number, (log, file)) in [&log, &other].into_iter().zip(&files).enumerate() {
            let entries = read.chapters.iter().filter(|entry| entry.file == Some(number));
            let records: Vec<Record> = entries.flat_map(|entry| checked(entry, &host::chapter(&both, entry).unwrap(), log)).collect();
            prop_assert_eq!(records, records_of(file, &contents[number], log));
        }
    }

    #[test]
    fn an_extract_of_a_range_has_its_records_behind_their_fold((log, acts, _) in plan(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), by_time: bool) {
        let file = write(&log, &acts, false, true).bytes;
        let (a, b) = (a.index(log.len()), b.index(log.len()));
        let (mut first, mut last) = (a.min(b), a.max(b));
        let stretch = if by_time {
            // Records with the time of the first or last one are in the stretch too.
            let (from, to) = (log[first].at, log[last].at);
            first = log.partition_point(|record| record.at < from);
            last = log.partition_point(|record| record.at <= to) - 1;
            Stretch::Times { from, to }
        } else {
            Stretch::Seqs { first: log[first].seq, last: log[last].seq }
        };
        let outs = extracted(&file, stretch, &Lanes::All).unwrap();
        let made = file_of(&outs);
        let (mut state, records) = opened(&made);
        prop_assert_eq!(&state, &folded(&log[..first]));
        prop_assert_eq!(&records[..], &log[first..=last]);
        records.iter().for_each(|record| state.apply(record));
        prop_assert_eq!(state, folded(&log[..=last]));
        let contents = host::open(&made).unwrap();
        prop_assert_eq!(contents.files[0].form, Form::Extract);
        prop_assert!(log.iter().all(|record| outs.iter().any(|out| out.keeps(record.seq)) == records.contains(record)));
        // The file has no record from before or behind the stretch.
        prop_assert_eq!(contents.chapters[0].summary.first, log[first].seq);
    }

    #[test]
    fn an_extract_of_some_watches_has_their_records_and_counts_the_others((log, acts, _) in plan(), kept in prop::collection::btree_set(prop::sample::select(&WATCHES), 0..3), a in any::<prop::sample::Index>()) {
        let file = write(&log, &acts, false, true).bytes;
        let lanes = Lanes::Only {
            watches: kept.iter().map(|name| WatchName::from(*name)).collect(),
            clients: BTreeSet::from([Text::from("nobody")]),
        };
        let first = a.index(log.len());
        let stretch = Stretch::Seqs { first: log[first].seq, last: Seq(u64::MAX) };
        let outs = extracted(&file, stretch, &lanes).unwrap();
        let (mut state, records) = opened(&file_of(&outs));
        prop_assert_eq!(records.len(), log.len() - first);
        let mut expected_withheld = 0;
        for (record, original) in records.iter().zip(&log[first..]) {
            prop_assert_eq!(record.seq, original.seq);
            prop_assert_eq!(outs.iter().any(|out| out.keeps(record.seq)), lanes.keeps(&original.event));
            if lanes.keeps(&original.event) {
                prop_assert_eq!(record, original);
            } else {
                prop_assert!(withheld(record).is_some() && record.at <= original.at);
                expected_withheld += 1;
            }
        }
        let counted: u64 = records.iter().filter_map(withheld).map(|loss| loss.count).sum();
        prop_assert_eq!(counted, expected_withheld);
        let whole = folded(&log[..first]);
        let names = |state: &State| -> Vec<WatchName> { state.watches.keys().cloned().collect() };
        let expected: Vec<WatchName> = names(&whole).into_iter().filter(|name| kept.contains(name.as_str())).collect();
        prop_assert_eq!(names(&state), expected.clone());
        records.iter().for_each(|record| state.apply(record));
        let whole = folded(&log);
        for name in expected {
            prop_assert_eq!(&state.watches[&name], &whole.watches[&name]);
        }
        prop_assert!(names(&state).iter().all(|name| kept.contains(name.as_str())));
    }
}

fn note(seq: u64, watch: Option<&str>) -> Record {
    use watchscope_model::event::Note;
    use watchscope_model::vocabulary::Author;
    let note = Note {
        watch: watch.map(WatchName::from),
        ..Note::new(Author::Story, format!("note {seq}"))
    };
    Record {
        seq: Seq(seq),
        at: START.plus_millis(seq * 10),
        event: note.into(),
    }
}

#[test]
fn a_run_of_records_left_out_states_its_length_once() {
    let log: Vec<Record> = (1..=8)
        .map(|seq| {
            note(
                seq,
                [Some("a/pods"), Some("b/pods")][usize::from(seq % 4 != 1)],
            )
        })
        .collect();
    let file = write(&log, &[crate::world::Act::Flush; 8], false, true).bytes;
    let lanes = Lanes::Only {
        watches: BTreeSet::from(["a/pods".into()]),
        clients: BTreeSet::new(),
    };
    let stretch = Stretch::Times {
        from: START.plus_millis(20),
        to: START.plus_millis(70),
    };
    let (_, records) = opened(&file_of(&extracted(&file, stretch, &lanes).unwrap()));
    let lines: Vec<String> = records
        .iter()
        .map(watchscope_model::json::to_line)
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"loss","seq":2,"at":"2025-11-21T09:00:00.020000Z","where":"withheld","count":3,"fromSeq":2,"toSeq":4}
    {"type":"loss","seq":3,"at":"2025-11-21T09:00:00.020000Z","where":"withheld","count":0}
    {"type":"loss","seq":4,"at":"2025-11-21T09:00:00.020000Z","where":"withheld","count":0}
    {"type":"note","seq":5,"at":"2025-11-21T09:00:00.050000Z","author":"story","text":"note 5","watch":"a/pods"}
    {"type":"loss","seq":6,"at":"2025-11-21T09:00:00.060000Z","where":"withheld","count":2,"fromSeq":6,"toSeq":7}
    {"type":"loss","seq":7,"at":"2025-11-21T09:00:00.060000Z","where":"withheld","count":0}
    "#);
}

/// Returns each entry of an extract's first chapter, and its snapshot of the layers.
fn entries_of(out: &Out) -> (Layers, Vec<Option<Entry>>) {
    let (mut reader, opening) = ChapterReader::open(&out.head).unwrap();
    let layers = reader.layers(&opening.state, &opening.layers).unwrap();
    let segments = out.segments.iter();
    let entries = segments.flat_map(|segment| reader.entries(segment).unwrap());
    (layers, entries.collect())
}

#[test]
fn inside_records_go_with_all_lanes_and_not_with_some() {
    let connection = |seq: u64| {
        let inside = InsideConnection {
            connection: seq,
            client: None,
            server: 1,
            way: Way::Open,
            streams: 0,
        };
        InsideRecord {
            seq: Seq(seq),
            at: START.plus_millis(seq * 10),
            inside: inside.into(),
        }
    };
    let log: Vec<Entry> = (1..=6)
        .map(|seq| match seq % 2 {
            0 => Entry::Inside(connection(seq)),
            _ => Entry::Record(note(seq, Some("a/pods"))),
        })
        .collect();
    let (mut writer, head) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
    let mut layers = Layers::default();
    for (place, entry) in log.iter().enumerate() {
        match entry {
            Entry::Record(record) => writer.push(record),
            Entry::Inside(record) => writer.push_inside(record),
        }
        if place < 2 {
            layers.apply(entry);
        }
    }
    let segment = writer.seal().unwrap();
    let frames = Frames::join(&head, [&segment[..]]).unwrap();
    let made = |lanes: Lanes| {
        let stretch = Stretch::Seqs {
            first: Seq(3),
            last: Seq(6),
        };
        let mut extract = Extract::new(stretch, lanes);
        assert_eq!(extract.chapter(&frames), Ok(Vec::new()));
        extract.finish().unwrap()
    };
    let (inside, entries) = entries_of(&made(Lanes::All)[0]);
    assert_eq!(inside, layers);
    assert_eq!(
        entries,
        log[2..].iter().cloned().map(Some).collect::<Vec<_>>()
    );

    let lanes = Lanes::Only {
        watches: BTreeSet::from(["a/pods".into()]),
        clients: BTreeSet::new(),
    };
    let outs = made(lanes);
    let (inside, entries) = entries_of(&outs[0]);
    assert!(inside.is_empty());
    assert_eq!(outs[0].kept, [(Seq(3), Seq(3)), (Seq(5), Seq(5))]);
    assert!(
        entries
            .iter()
            .all(|entry| matches!(entry, Some(Entry::Record(_))))
    );
}

/// A segment of records whose kind no version knows.
fn later_segment(first: u8, count: u8) -> Vec<u8> {
    // First seq, count, base time, no texts, no objects, no patterns.
    let mut payload = vec![first, count, 9, 0, 0, 0];
    for _ in 0..count {
        // 1 µs after the record before, kind 900, one byte of fields.
        payload.extend([1, 0x84, 7, 1, 42]);
    }
    let mut frame = vec![b'S', FORMAT_VERSION];
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(checksum(&[&payload]).to_le_bytes());
    frame.extend(payload);
    frame
}

#[test]
fn records_of_a_later_version_are_counted_and_left_out_of_an_extract() {
    let (_, head) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
    let segment = later_segment(1, 3);
    let mut summarizer = FrameSummarizer::open(&head).unwrap();
    summarizer.segment(&segment).unwrap();
    assert_eq!(summarizer.summary().counts, [(0, 3)]);
    let frames = Frames::join(&head, [&segment[..]]).unwrap();
    let stretch = Stretch::Seqs {
        first: Seq(2),
        last: Seq(3),
    };
    let mut extract = Extract::new(stretch, Lanes::All);
    extract.chapter(&frames).unwrap();
    let outs = extract.finish().unwrap();
    assert_eq!(outs[0].kept, []);
    let (_, records) = opened(&file_of(&outs));
    let losses: Vec<&Loss> = records.iter().filter_map(withheld).collect();
    assert_eq!(losses.len(), 2);
    assert_eq!(losses[0].count, 2);
    assert_eq!(
        losses[0].reason.as_deref(),
        Some("They are of a later version of watchscope.")
    );
}

#[test]
fn an_extract_over_a_hole_continues_from_the_next_snapshot() {
    let log: Vec<Record> = (1..=9).map(|seq| note(seq, None)).collect();
    let acts: Vec<crate::world::Act> = (1..=9)
        .map(|seq| match seq % 3 {
            0 => crate::world::Act::Close,
            _ => crate::world::Act::Go,
        })
        .collect();
    let file = write(&log, &acts, false, true).bytes;
    let contents = host::open(&file).unwrap();
    let stretch = Stretch::Seqs {
        first: Seq(2),
        last: Seq(8),
    };
    let mut extract = Extract::new(stretch, Lanes::All);
    let mut outs = Vec::new();
    for place in [0, 2] {
        assert!(!extract.is_over());
        let chapter = host::chapter(&file, &contents.chapters[place]).unwrap();
        outs.extend(extract.chapter(&chapter.frames).unwrap());
    }
    assert!(extract.is_over());
    outs.extend(extract.finish().unwrap());
    let kept: Vec<_> = outs.iter().map(|out| out.kept.clone()).collect();
    assert_eq!(kept, [vec![(Seq(2), Seq(3))], vec![(Seq(7), Seq(8))]]);
    let (state, records) = opened(&file_of(&outs));
    assert_eq!(state, folded(&log[..1]));
    assert_eq!(records, [&log[1..3], &log[6..8]].concat());
}

#[test]
fn frames_of_the_wrong_kind_or_order_are_refused() {
    let (_, head) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
    assert!(Frames::join(&head, []).is_ok());
    assert!(Frames::join(&[], []).is_err());
    assert!(Frames::join(&head, [&head[..]]).is_err());
    assert!(Frames::join(&later_segment(1, 1), []).is_err());
}

#[test]
fn a_range_without_a_record_is_no_extract() {
    let log = vec![note(1, None)];
    let file = write(&log, &[crate::world::Act::Flush], false, true).bytes;
    let stretch = Stretch::Times {
        from: Time(0),
        to: Time(1),
    };
    assert_eq!(
        extracted(&file, stretch, &Lanes::All),
        Err(ExtractError::Empty)
    );
}

#[test]
fn a_long_extract_is_cut_into_chapters_that_each_read_alone() {
    let log: Vec<Record> = (1..=100_000).map(|seq| note(seq, None)).collect();
    let mut acts = vec![crate::world::Act::Go; log.len()];
    for place in (199..acts.len()).step_by(200) {
        acts[place] = crate::world::Act::Seal;
    }
    let file = write(&log, &acts, false, true).bytes;
    let stretch = Stretch::Seqs {
        first: Seq(5),
        last: Seq(99_000),
    };
    let outs = extracted(&file, stretch, &Lanes::All).unwrap();
    assert!(outs.len() > 1, "{}", outs.len());
    let made = file_of(&outs);
    let contents = host::open(&made).unwrap();
    assert_eq!(records_of(&made, &contents, &log), log[4..99_000]);
}
