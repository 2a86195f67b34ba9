//! Recordings in memory, written from logs of the timeline's tests.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use watchscope_model::codec::split_frame;
use watchscope_model::{EpochId, Seq};
use watchscope_recording::{Contents, FileBlock, Packing, Writer};

use crate::common::Log;
use crate::viewer;

pub const PODS: &str = "shop/pods";

/// Returns the stretches of a log in chapters of `records` records; the last may be shorter.
pub fn cuts(log: &Log, records: usize) -> Vec<(usize, usize)> {
    let end = log.records.len();
    let begins = (0..end).step_by(records);
    begins
        .map(|from| (from, (from + records).min(end)))
        .collect()
}

/// Returns the body of a record in a file with bodies.
pub fn body_of(epoch: &EpochId, seq: Seq) -> String {
    format!("{{\"of\":\"{} {seq}\"}}", epoch.as_str())
}

/// A recording under construction.
pub struct File {
    writer: Writer,
    bytes: Vec<u8>,
}

impl File {
    /// Begins a file of a log and a run.
    pub fn of(log: &str, epoch: &EpochId) -> Self {
        Self::with(&FileBlock::new(&log.into(), epoch))
    }

    /// Begins a file with this `F`.
    pub fn with(block: &FileBlock) -> Self {
        let (writer, bytes) = Writer::begin(block).unwrap();
        Self { writer, bytes }
    }

    /// Appends a closed chapter for each stretch of the log's records.
    pub fn closed(mut self, log: &Log, chapters: &[(usize, usize)]) -> Self {
        for &(from, to) in chapters {
            let chapter = log.chapter(from, to);
            let frames = frames(&chapter);
            let packing = Writer::whole_chapter(frames[0], frames[1..].iter().copied()).unwrap();
            self.pack(&packing);
        }
        self
    }

    /// Appends a chapter that is still being written.
    pub fn open(mut self, log: &Log, (from, to): (usize, usize)) -> Self {
        let chapter = log.chapter(from, to);
        let frames = frames(&chapter);
        self.bytes
            .extend(self.writer.open_chapter(frames[0]).unwrap());
        for frame in &frames[1..] {
            self.bytes.extend(self.writer.segment(frame).unwrap());
            self.bytes.extend(self.writer.flush().unwrap());
        }
        self
    }

    /// Appends a body for each record of a chapter.
    pub fn bodies(mut self, log: &Log, (from, to): (usize, usize)) -> Self {
        let seqs = (from + 1..=to).map(|seq| Seq(seq as u64));
        let bodies: Vec<(Seq, String)> = seqs.map(|seq| (seq, body_of(&log.epoch, seq))).collect();
        let each = bodies.iter().map(|(seq, body)| (*seq, body.as_bytes()));
        let packing = Writer::bodies(Seq(from as u64 + 1), each).unwrap();
        self.pack(&packing.unwrap());
        self
    }

    /// Begins another run.
    pub fn then(self, log: &str, epoch: &EpochId) -> Self {
        self.then_with(&FileBlock::new(&log.into(), epoch))
    }

    /// Like `then`, with this `F`.
    pub fn then_with(mut self, block: &FileBlock) -> Self {
        self.bytes.extend(self.writer.file(block).unwrap());
        self
    }

    fn pack(&mut self, packing: &Packing) {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(packing.raw()).unwrap();
        let deflated = encoder.finish().unwrap();
        self.bytes
            .extend(self.writer.packed(packing, &deflated).unwrap());
    }

    /// Returns the file without an index.
    pub fn unfinished(self) -> Vec<u8> {
        self.bytes
    }

    pub fn finished(mut self) -> Vec<u8> {
        self.bytes.extend(self.writer.finish().unwrap());
        self.bytes
    }
}

/// Returns a file of a whole log in closed chapters of `records` records.
pub fn whole(log: &Log, records: usize) -> Vec<u8> {
    File::of("log", &log.epoch)
        .closed(log, &cuts(log, records))
        .finished()
}

fn frames(mut chapter: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while !chapter.is_empty() {
        let (frame, rest) = split_frame(chapter).unwrap();
        frames.push(frame.bytes);
        chapter = rest;
    }
    frames
}

pub fn scanned(file: &[u8]) -> Contents {
    let mut scan = watchscope_recording::Scan::new(file.len() as u64);
    viewer::drive(file, |input| scan.step(input)).unwrap()
}

/// Changes a byte in the middle of a chapter's closed block.
pub fn damage_chapter(file: &mut [u8], number: usize) {
    let place = scanned(file).chapters[number].closed.unwrap();
    file[place.end() as usize - 1] ^= 1;
}

pub fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../recording/tests/fixtures");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}
