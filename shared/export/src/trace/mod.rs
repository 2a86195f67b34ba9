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
//! The trace has each record once. Its seq is the annotation `record` of an instant or of a slice's begin, or
//! `end_record` of a slice's end. A `loss` in the place of a record that was left out is missing; the first of its run
//! counts them.
//!
//! Each run of the log's writer is a sequence of packets with its own clock. A clock snapshot ties it to the wall clock
//! at the run's begin. A slice that is open at the end of a run or of the range is closed there. Its annotation `end`
//! says that its end is unknown. Perfetto would draw a slice that is never closed up to the end of the trace, which
//! would be wrong.
//!
//! Bounds: at most [`MOST_OBJECTS`] objects have a track; the events of the others share a track and are counted. A
//! parent has one track of findings, and one of connections, for each that is open at once. Names have at most 200
//! letters, other texts 2,000; the rest is cut. The file is made in memory.

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

/// Returns the whole file: a `Trace` message of Perfetto, as protobuf. The first 10,000 objects have a track; events of
/// the others share one and are counted. Names keep their first 200 letters, other texts 2,000; `…` stands for the
/// rest. Times are nanoseconds since 1970; those outside 1970 to 2262 become the nearer end.
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
