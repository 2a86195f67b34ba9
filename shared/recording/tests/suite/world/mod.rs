//! Logs of random records, files of them, and a host that reads files from memory.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unreachable_pub, reason = "shared by test files")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

pub mod host;
pub mod raw;
pub mod records;

use proptest::prelude::*;
use watchscope_model::chapter::{ChapterReader, ChapterWriter};
use watchscope_model::{Record, Seq, State};
use watchscope_recording::{Chapter, ChapterEntry, Contents, FileBlock, Frames, Packing, Writer};

use host::deflate;

/// What the writer does after it takes a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It continues the segment.
    Go,
    /// It seals the segment.
    Seal,
    /// It seals the segment and writes it.
    Flush,
    /// It closes the chapter, deflates it at once, and opens the next one.
    Close,
    /// It closes the chapter and opens the next one. It deflates this one when the next is closed.
    CloseLate,
    /// It closes the chapter and never deflates it, as if the host had failed.
    Leave,
}

pub fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Go),
        3 => Just(Act::Seal),
        3 => Just(Act::Flush),
        1 => Just(Act::Close),
        1 => Just(Act::CloseLate),
        1 => Just(Act::Leave),
    ]
}

/// A log, the acts of its writer, and whether it writes bodies.
pub fn plan() -> impl Strategy<Value = (Vec<Record>, Vec<Act>, bool)> {
    (
        records::log(),
        prop::collection::vec(act(), 120),
        any::<bool>(),
    )
}

/// A file and the history of its writing.
pub struct Written {
    pub bytes: Vec<u8>,
    /// File lengths after each append, and how many records the file then holds.
    pub moments: Vec<(usize, usize)>,
}

impl Written {
    /// Returns how many records the file holds if it is cut at a byte.
    pub fn records_at(&self, cut: usize) -> usize {
        let mut before = self.moments.iter().filter(|(length, _)| *length <= cut);
        before.next_back().map_or(0, |(_, records)| *records)
    }
}

/// Returns the body of a record that these tests write.
pub fn body_of(seq: Seq) -> Vec<u8> {
    format!("{{\"metadata\":{{\"name\":\"web-{}\"}}}}", seq.0 % 7).into_bytes()
}

pub fn file_block() -> FileBlock {
    FileBlock {
        watchscope: "0.1.0".into(),
        redaction: 1,
        ..FileBlock::new(&"log".into(), &"epoch".into())
    }
}

/// Writes a file of `records`.
pub fn write(records: &[Record], acts: &[Act], with_bodies: bool, finishes: bool) -> Written {
    let mut state = State::default();
    let (mut encoder, head) = ChapterWriter::open("log".into(), "epoch".into(), &state);
    let (mut writer, mut bytes) = Writer::begin(&file_block()).unwrap();
    let mut moments = vec![(bytes.len(), 0)];
    let mut late: Vec<Packing> = Vec::new();
    let (mut sealed, mut held, mut chapter_from) = (0, 0, 0);
    bytes.extend(writer.open_chapter(&head).unwrap());
    moments.push((bytes.len(), 0));
    for (taken, (record, act)) in (1..).zip(records.iter().zip(acts)) {
        encoder.push(record);
        state.apply(record);
        let act = if taken == records.len() && *act == Act::Go {
            Act::Seal
        } else {
            *act
        };
        if act == Act::Go {
            continue;
        }
        let frame = encoder.seal().unwrap();
        assert!(writer.segment(&frame).unwrap().is_empty());
        sealed = taken;
        if act == Act::Seal {
            continue;
        }
        if act == Act::Flush {
            bytes.extend(writer.flush().unwrap());
            held = sealed;
            moments.push((bytes.len(), held));
            continue;
        }
        let first = writer.open_first().unwrap();
        let closing = writer.close_chapter().unwrap();
        bytes.extend(closing.append);
        held = sealed;
        moments.push((bytes.len(), held));
        let mut pack = |packing: &Packing, writer: &mut Writer| {
            let deflated = deflate(packing.raw());
            bytes.extend(writer.packed(packing, &deflated).unwrap());
            moments.push((bytes.len(), held));
        };
        match act {
            Act::Close => pack(&closing.packing.unwrap(), &mut writer),
            Act::CloseLate => {
                for packing in late.drain(..) {
                    pack(&packing, &mut writer);
                }
                late.extend(closing.packing);
            }
            _ => {}
        }
        if with_bodies {
            let bodies: Vec<(Seq, Vec<u8>)> = records[chapter_from..taken]
                .iter()
                .map(|record| (record.seq, body_of(record.seq)))
                .collect();
            let each = bodies.iter().map(|(seq, body)| (*seq, &body[..]));
            if let Some(packing) = Writer::bodies(first, each).unwrap() {
                pack(&packing, &mut writer);
            }
        }
        chapter_from = taken;
        let head = encoder.open_next(&state);
        bytes.extend(writer.open_chapter(&head).unwrap());
        moments.push((bytes.len(), held));
    }
    if finishes {
        for packing in &late {
            let deflated = deflate(packing.raw());
            bytes.extend(writer.packed(packing, &deflated).unwrap());
            moments.push((bytes.len(), held));
        }
        let length = writer.file_bytes();
        assert_eq!(length, bytes.len() as u64);
        bytes.extend(writer.flush().unwrap());
        held = sealed;
        moments.push((bytes.len(), held));
        // The writer's contents must equal what a reader finds.
        let (read, known) = (host::open(&bytes).unwrap(), writer.contents());
        assert!(read.blocks == known.blocks && read.files == known.files);
        for (read, known) in read.chapters.iter().zip(&known.chapters) {
            assert_eq!(read, known);
        }
        assert_eq!(read.chapters.len(), known.chapters.len());
        bytes.extend(writer.finish().unwrap());
        moments.push((bytes.len(), held));
    }
    Written { bytes, moments }
}

pub fn folded(records: &[Record]) -> State {
    let mut state = State::default();
    records.iter().for_each(|record| state.apply(record));
    state
}

/// Returns the state that opens a chapter, and its records.
pub fn decoded(frames: &Frames) -> (State, Vec<Record>) {
    let (mut reader, opening) = ChapterReader::open(frames.head()).unwrap();
    let segments = frames.segments();
    let records = segments.flat_map(|segment| reader.segment(segment).unwrap());
    (
        opening.state,
        records.map(|record| record.unwrap()).collect(),
    )
}

/// Returns all records in the order of the file, and checks each chapter on its own. All chapters must be readable.
pub fn records_of(bytes: &[u8], contents: &Contents, log: &[Record]) -> Vec<Record> {
    let mut all = Vec::new();
    for entry in &contents.chapters {
        let chapter = host::chapter(bytes, entry).unwrap();
        assert_eq!(chapter.damaged, []);
        all.extend(checked(entry, &chapter, log));
    }
    all
}

/// Returns a chapter's records, once it checked that they are consecutive in the log and begin behind their fold.
pub fn checked(entry: &ChapterEntry, chapter: &Chapter, log: &[Record]) -> Vec<Record> {
    let (state, records) = decoded(&chapter.frames);
    let first = state.seq.0 as usize;
    assert_eq!(state, folded(&log[..first]));
    assert_eq!(records, log[first..first + records.len()]);
    assert_eq!(entry.summary.first, Seq(first as u64 + 1));
    records
}
