//! Tests of the writer: what it appends, in which order, and what it refuses.

use crate::world::records::START;
use crate::world::{decoded, file_block, host};
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::codec::{FrameKind, split_frame};
use watchscope_model::event::Note;
use watchscope_model::vocabulary::Author;
use watchscope_model::{Record, Seq, State};
use watchscope_recording::{CHAPTERS_BETWEEN_INDEXES, Contents, Packing, Tag, WriteError, Writer};

fn note(seq: u64, bytes: usize) -> Record {
    let note = Note::new(Author::Story, "x".repeat(bytes));
    Record {
        seq: Seq(seq),
        at: START.plus_millis(seq),
        event: note.into(),
    }
}

/// A log's encoder with its fold, and the writer of its file.
struct Host {
    state: State,
    encoder: ChapterWriter,
    writer: Writer,
    file: Vec<u8>,
    note_bytes: usize,
}

impl Host {
    fn new() -> Self {
        let state = State::default();
        let (encoder, head) = ChapterWriter::open("log".into(), "epoch".into(), &state);
        let (mut writer, mut file) = Writer::begin(&file_block()).unwrap();
        file.extend(writer.open_chapter(&head).unwrap());
        Self {
            state,
            encoder,
            writer,
            file,
            note_bytes: 10,
        }
    }

    fn segment(&mut self) -> Vec<u8> {
        let record = note(self.state.seq.0 + 1, self.note_bytes);
        self.encoder.push(&record);
        self.state.apply(&record);
        self.encoder.seal().unwrap()
    }

    fn take(&mut self) {
        let frame = self.segment();
        let bytes = self.writer.segment(&frame).unwrap();
        self.file.extend(bytes);
    }

    fn flush(&mut self) {
        let bytes = self.writer.flush().unwrap();
        self.file.extend(bytes);
    }

    fn close(&mut self) -> Option<Packing> {
        let closing = self.writer.close_chapter().unwrap();
        self.file.extend(closing.append);
        closing.packing
    }

    fn pack(&mut self, packing: &Packing) {
        let deflated = host::deflate(packing.raw());
        let bytes = self.writer.packed(packing, &deflated).unwrap();
        self.file.extend(bytes);
    }

    fn open(&mut self) {
        let head = self.encoder.open_next(&self.state);
        let bytes = self.writer.open_chapter(&head).unwrap();
        self.file.extend(bytes);
    }

    fn finish(mut self) -> (Vec<u8>, Contents) {
        self.file.extend(self.writer.finish().unwrap());
        let contents = host::open(&self.file).unwrap();
        (self.file, contents)
    }
}

fn tags(contents: &Contents) -> String {
    let tags = contents.blocks.iter().map(|block| block.header.tag);
    tags.map(|tag| tag.to_string()).collect()
}

#[test]
fn a_flush_writes_pending_segments_and_a_closed_chapter_follows_its_open_one() {
    let mut host = Host::new();
    host.take();
    host.take();
    host.flush();
    host.flush();
    host.take();
    let packing = host.close().unwrap();
    host.open();
    host.pack(&packing);
    host.take();
    let (_, contents) = host.finish();
    assert_eq!(tags(&contents), "FOSSOCSI");
    let ranges: Vec<(u64, u64)> = contents
        .chapters
        .iter()
        .map(|entry| (entry.summary.first.0, entry.summary.last.0))
        .collect();
    assert_eq!(ranges, [(1, 3), (4, 4)]);
}

#[test]
fn an_index_comes_with_each_64th_closed_chapter_and_at_the_end() {
    let mut host = Host::new();
    for _ in 0..2 * CHAPTERS_BETWEEN_INDEXES + 1 {
        host.take();
        let packing = host.close().unwrap();
        host.pack(&packing);
        host.open();
    }
    let (file, contents) = host.finish();
    assert_eq!(tags(&contents).matches('I').count(), 3);
    assert_eq!(contents.chapters.len(), 130);
    // Four reads: first bytes, last bytes and index, `F`, and the last chapter, which is open.
    let (_, steps) = host::open_counted(&file).unwrap();
    assert!(steps <= 6, "{steps} steps");
    let cut = &file[..file.len() - 1];
    let (scanned, _) = host::open_counted(cut).unwrap();
    assert_eq!(scanned.chapters, contents.chapters);
}

#[test]
fn a_file_that_lost_the_index_of_its_64_chapters_gets_one_with_the_next_chapter() {
    let mut host = Host::new();
    for _ in 0..CHAPTERS_BETWEEN_INDEXES {
        host.take();
        let packing = host.close().unwrap();
        host.pack(&packing);
        host.open();
    }
    let whole = host::open(&host.file).unwrap();
    let index = whole
        .blocks
        .iter()
        .find(|block| block.header.tag == Tag::Index);
    host.file.truncate(index.unwrap().offset as usize);
    let cut = host::open(&host.file).unwrap();
    host.writer = Writer::resume(&cut).unwrap().0;
    host.open();
    host.take();
    let packing = host.close().unwrap();
    host.pack(&packing);
    let contents = host::open(&host.file).unwrap();
    assert_eq!(tags(&contents).matches('I').count(), 1);
    assert_eq!(contents.chapters.len(), 65);
}

#[test]
fn a_chapter_that_outgrows_a_block_stays_as_it_was_written() {
    let mut host = Host::new();
    host.note_bytes = 5 << 20;
    for _ in 0..14 {
        host.take();
    }
    assert_eq!(host.close(), None);
    host.note_bytes = 10;
    host.open();
    host.take();
    let packing = host.close().unwrap();
    host.pack(&packing);
    let (file, contents) = host.finish();
    assert_eq!(tags(&contents), "FOSSOSCI");
    let large = &contents.chapters[0];
    assert!(large.closed.is_none());
    let chapter = host::chapter(&file, large).unwrap();
    assert_eq!(decoded(&chapter.frames).1.len(), 14);
}

#[test]
fn a_writer_refuses_frames_and_calls_out_of_order() {
    let mut host = Host::new();
    let other = Host::new().encoder.open_next(&State::default());
    assert_eq!(
        host.writer.open_chapter(&other),
        Err(WriteError::ChapterOpen { first: Seq(1) })
    );
    let first = host.segment();
    let second = host.segment();
    assert!(matches!(
        host.writer.segment(&second),
        Err(WriteError::Frame(_))
    ));
    assert!(matches!(
        host.writer.segment(&other),
        Err(WriteError::Frame(_))
    ));
    host.writer.segment(&first).unwrap();
    host.writer.segment(&second).unwrap();
    host.close();
    assert_eq!(host.writer.segment(&first), Err(WriteError::NoChapter));
    assert_eq!(host.writer.close_chapter(), Err(WriteError::NoChapter));
    assert!(matches!(
        host.writer.open_chapter(&first),
        Err(WriteError::Frame(_))
    ));
    assert!(matches!(
        Writer::whole_chapter(&other, [&second[..]]),
        Err(WriteError::Frame(_))
    ));
}

#[test]
fn chapters_with_frames_of_every_version_are_written_unchanged() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/tests/fixtures");
    for name in [
        "version-1",
        "version-2",
        "version-2-inside",
        "version-3",
        "version-3-inside",
        "version-4",
        "version-4-inside",
    ] {
        let frames = std::fs::read(format!("{folder}/{name}.chapter")).unwrap();
        let mut rest = &frames[..];
        let mut chapters: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest).unwrap();
            match frame.kind {
                FrameKind::Head => chapters.push((frame.bytes, Vec::new())),
                FrameKind::Segment => chapters.last_mut().unwrap().1.push(frame.bytes),
            }
            rest = after;
        }
        let (mut writer, mut file) = Writer::begin(&file_block()).unwrap();
        for (head, segments) in chapters {
            let packing = Writer::whole_chapter(head, segments).unwrap();
            let deflated = host::deflate(packing.raw());
            file.extend(writer.packed(&packing, &deflated).unwrap());
        }
        file.extend(writer.finish().unwrap());
        let contents = host::open(&file).unwrap();
        let read = contents.chapters.iter().flat_map(|entry| {
            let chapter = host::chapter(&file, entry).unwrap();
            chapter.frames.bytes().to_vec()
        });
        assert!(read.eq(frames.iter().copied()), "{name}");
    }
}

#[test]
fn without_bodies_there_is_no_block_of_bodies() {
    assert_eq!(Writer::bodies(Seq(1), []), Ok(None));
}
