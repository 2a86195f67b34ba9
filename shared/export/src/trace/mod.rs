//! A trace for Perfetto: TrackEvent packets, to be opened at ui.perfetto.dev or read with trace_processor.
//!
//! ```text
//!   cluster ─┬─ findings, connections          slices
//!            ├─ WATCH ─┬─ findings, streams, gaps, lists   slices
//!            │         ├─ resourceVersion      values
//!            │         └─ objects ── OBJECT    changes and verdicts, instants
//!            └─ other objects, clients, inside
//! ```
//!
//! Each record is there once: its seq is the annotation `record` of an instant or of a slice's begin, or `end_record` of its
//! end. A `loss` that stands in the place of a record left out is not there; the first of its run counts them.
//!
//! Each run of the log's writer is a sequence of packets with a clock of its own, tied to the wall clock where the run begins.
//! A slice that is open where a run or the range ends is closed there; its annotation `end` says that its end is not known.
//! Perfetto draws a slice that is never closed to the end of the trace, which would say too much.
//!
//! Bounds: at most [`MOST_OBJECTS`] objects have a track; events of the others are on one track, and
//! counted. A parent has as many tracks of findings, and of connections, as are open at once. Names have at most 200 letters,
//! other texts 2,000. The file is made in memory.

mod packets;
mod proto;
mod run;
mod slices;
mod tracks;

use watchscope_model::codec::DecodeError;

use self::packets::Packets;
use self::run::RunTrace;
use self::slices::Unended;
use self::tracks::{MOST_OBJECTS, Tracks};
use crate::taken::Taken;

/// The whole file.
///
/// # Errors
/// If a frame cannot be read.
pub fn trace(taken: &Taken) -> Result<Vec<u8>, DecodeError> {
    trace_with(taken, MOST_OBJECTS)
}

fn trace_with(taken: &Taken, most_objects: usize) -> Result<Vec<u8>, DecodeError> {
    let mut packets = Packets::default();
    let mut tracks = Tracks::new(most_objects);
    let mut runs = taken.runs.iter().zip(1..).peekable();
    while let Some((run, number)) = runs.next() {
        let mut trace = RunTrace::new(&mut packets, &mut tracks, number, run);
        run.read(|entry, before| trace.entry(entry, before))?;
        let why = match runs.peek() {
            Some(_) => Unended::Seam,
            None => Unended::Range,
        };
        trace.end(why);
    }
    Ok(packets.into_bytes())
}

#[cfg(test)]
mod tests;
