//! Writes recordings: of the change load, which benchmarks open, and of records that a test has.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use watchscope::recordings::deflated;
use watchscope_log::{NextChapter, Sealed, Sealer};
use watchscope_model::{LogId, Record, State};
use watchscope_recording::{FileBlock, Writer};

use crate::change_load::{BUSY, ChangeLoad, Pace};

/// A recording that is being written, chapter by chapter.
struct Recording {
    out: BufWriter<File>,
    writer: Writer,
    head: Vec<u8>,
    segments: Vec<Vec<u8>>,
}

impl Recording {
    fn begin(path: &Path, log: &LogId, epoch: &str, opening: NextChapter) -> Result<Self> {
        let of = FileBlock::new(log, &epoch.into());
        let (writer, bytes) = Writer::begin(&of)?;
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(&bytes)?;
        Ok(Self {
            out,
            writer,
            head: opening.opening.to_vec(),
            segments: Vec::new(),
        })
    }

    fn take(&mut self, Sealed { segment, closed }: Sealed) -> Result<()> {
        self.segments.push(segment.frame().to_vec());
        if let Some((_, next)) = closed {
            self.close()?;
            self.head = next.opening.to_vec();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let segments = self.segments.iter().map(Vec::as_slice);
        let packing = Writer::whole_chapter(&self.head, segments)?;
        let bytes = self.writer.packed(&packing, &deflated(packing.raw()))?;
        self.out.write_all(&bytes)?;
        self.segments.clear();
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        if !self.segments.is_empty() {
            self.close()?;
        }
        let bytes = self.writer.finish()?;
        self.out.write_all(&bytes)?;
        Ok(self.out.flush()?)
    }
}

/// Writes these records as a recording of the log `demo`. The first record opens the run.
///
/// # Errors
/// If there are no records, or the file cannot be written.
pub fn write_records(path: &Path, records: &[Record]) -> Result<()> {
    let first = records.first().context("a record")?;
    let mut state = State {
        at: first.at,
        ..State::default()
    };
    let log = LogId::from("demo");
    let (mut sealer, opening) = Sealer::new(log.clone(), BUSY.epoch.into(), first.at);
    let mut recording = Recording::begin(path, &log, BUSY.epoch, opening)?;
    for record in records {
        state.apply(record);
        if let Some(sealed) = sealer.take(record, &state) {
            recording.take(sealed)?;
        }
    }
    if let Some(sealed) = sealer.seal(state.at, &state) {
        recording.take(sealed)?;
    }
    recording.end()
}

/// Writes a run of the change load until `goes_on` returns false. Returns its length in microseconds.
///
/// # Errors
/// If the file cannot be written.
pub fn write_run(path: &Path, pace: Pace, goes_on: impl Fn(&ChangeLoad) -> bool) -> Result<f64> {
    let mut sealed = Vec::new();
    let (mut load, opening) = ChangeLoad::start(pace, &mut |of| sealed.push(of));
    let mut recording = Recording::begin(path, &pace.log.into(), pace.epoch, opening)?;
    while goes_on(&load) {
        sealed.drain(..).try_for_each(|of| recording.take(of))?;
        load.step(&mut |of| sealed.push(of));
    }
    sealed.drain(..).try_for_each(|of| recording.take(of))?;
    recording.end()?;
    Ok(load.seconds() * 1e6)
}
