//! Recordings of the change load, as benchmarks open them.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Result;
use watchscope::recordings::deflated;
use watchscope_log::{NextChapter, Sealed};
use watchscope_recording::{FileBlock, Writer};

use crate::change_load::{ChangeLoad, Pace};

/// A recording that is being written.
struct Recording {
    out: BufWriter<File>,
    writer: Writer,
    head: Vec<u8>,
    segments: Vec<Vec<u8>>,
}

impl Recording {
    fn begin(path: &Path, pace: Pace, opening: NextChapter) -> Result<Self> {
        let of = FileBlock::new(&"prod".into(), &pace.epoch.into());
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

/// Writes a run as long as `goes_on` says; returns how long it is, in microseconds.
///
/// # Errors
/// If the file cannot be written.
pub fn write_run(path: &Path, pace: Pace, goes_on: impl Fn(&ChangeLoad) -> bool) -> Result<f64> {
    let mut sealed = Vec::new();
    let (mut load, opening) = ChangeLoad::start(pace, &mut |of| sealed.push(of));
    let mut recording = Recording::begin(path, pace, opening)?;
    while goes_on(&load) {
        sealed.drain(..).try_for_each(|of| recording.take(of))?;
        load.step(&mut |of| sealed.push(of));
    }
    sealed.drain(..).try_for_each(|of| recording.take(of))?;
    recording.end()?;
    Ok(load.seconds() * 1e6)
}
