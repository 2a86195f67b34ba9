//! A trace for Perfetto: TrackEvent packets, for ui.perfetto.dev or trace_processor.
//!
//! ```text
//!   cluster ─┬─ findings, connections          slices
//!            ├─ WATCH ─┬─ findings, streams, gaps, lists   slices
//!            │         ├─ resourceVersion      values
//!            │         └─ objects ── OBJECT    changes and verdicts, instants
//!            └─ other objects, clients, inside
//! ```
//!
//! The trace has each record once. A record's seq is the annotation `record` of an instant or of a slice's begin, or
//! `end_record` of a slice's end. Left-out records are `loss` records in the export; the trace shows only the number of
//! consecutive ones, at the first of them.
//!
//! Each run of the log's writer is a sequence of packets with its own clock. A clock snapshot ties the run's clock to
//! the wall clock at the run's begin. A slice that is open at the end of a run or of the range is closed at that end.
//! The slice's annotation `end` says that its true end is unknown. Perfetto would wrongly draw a slice that is never
//! closed up to the end of the trace.
//!
//! Bounds: at most [`MOST_OBJECTS`] objects have a track; the events of further objects share a track and are counted.
//! In each run, a parent has as many tracks of findings as findings that are open at once, and likewise for
//! connections. Names have at most 200 letters, other texts 2,000; `…` replaces further letters. The file is made in
//! memory.

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

/// Returns the whole file: a `Trace` message of Perfetto, as protobuf. The first 10,000 objects have a track; an object
/// counts once for each of its watches. Events of further objects share one track and are counted. Names keep their
/// first 200 letters, other texts 2,000; `…` replaces further letters. Times are nanoseconds since 1970; a time outside
/// 1970 to 2262 becomes the nearer end of that span.
///
/// # Errors
/// If a frame cannot be read.
pub fn trace(taken: &Taken) -> Result<Vec<u8>, DecodeError> {
    trace_with(taken, MOST_OBJECTS)
}

/// Like [`trace`], with another number of objects that have a track.
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
