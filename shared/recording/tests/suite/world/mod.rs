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

/// What is done after a record is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing: the segment goes on.
    Go,
    /// The segment is sealed.
    Seal,
    /// It is sealed and written.
    Flush,
    /// The chapter is closed, packed at once, and the next one opened.
    Close,
    /// The chapter is closed and the next one opened; it is packed when the next is closed.
    CloseLate,
    /// The chapter is closed and never packed, as if the host had failed to.
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

/// A log, in which order it was written, and whether bodies were.
pub fn plan() -> impl Strategy<Value = (Vec<Record>, Vec<Act>, bool)> {
    (
        records::log(),
        prop::collection::vec(act(), 120),
        any::<bool>(),
    )
}

/// A file and how it came about.
pub struct Written {
    pub bytes: Vec<u8>,
    /// File lengths after each append, and how many records the file holds then.
    pub moments: Vec<(usize, usize)>,
}

impl Written {
    /// How many records a file holds that was cut at a byte.
    pub fn records_at(&self, cut: usize) -> usize {
        let mut before = self.moments.iter().filter(|(length, _)| *length <= cut);
        before.next_back().map_or(0, |(_, records)| *records)
    }
}

/// The redacted body of a record, as the tests have it.
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
        // What the writer knows of its file is what a reader finds.
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

/// The state that opens a chapter, and its records.
pub fn decoded(frames: &Frames) -> (State, Vec<Record>) {
    let (mut reader, opening) = ChapterReader::open(frames.head()).unwrap();
    let segments = frames.segments();
    let records = segments.flat_map(|segment| reader.segment(segment).unwrap());
    (
        opening.state,
        records.map(|record| record.unwrap()).collect(),
    )
}

/// All records of a file whose chapters can all be read, in the order of the file; checks each chapter on its own.
pub fn records_of(bytes: &[u8], contents: &Contents, log: &[Record]) -> Vec<Record> {
    let mut all = Vec::new();
    for entry in &contents.chapters {
        let chapter = host::chapter(bytes, entry).unwrap();
        assert_eq!(chapter.damaged, []);
        all.extend(checked(entry, &chapter, log));
    }
    all
}

/// A chapter's records, which are a run of the log's, behind the fold of those before.
pub fn checked(entry: &ChapterEntry, chapter: &Chapter, log: &[Record]) -> Vec<Record> {
    let (state, records) = decoded(&chapter.frames);
    let first = state.seq.0 as usize;
    assert_eq!(state, folded(&log[..first]));
    assert_eq!(records, log[first..first + records.len()]);
    assert_eq!(entry.summary.first, Seq(first as u64 + 1));
    records
}
