//! The packets of a trace file. Writing a packet shortens names, and gives times in nanoseconds of the log's clock.

use prost::Message as _;
use watchscope_model::Time;

use super::proto::{
    COUNTER, Clock, ClockSnapshot, DebugAnnotation, INCREMENTAL_STATE_CLEARED, INSTANT, LOG_CLOCK,
    REALTIME, SLICE_BEGIN, SLICE_END, Trace, TracePacket, TrackDescriptor, TrackEvent,
};

/// The most letters (Unicode characters) of a name, which the viewer shows in one line; `…` replaces further letters.
/// The number has no source.
const MOST_NAME_LETTERS: usize = 200;
/// The most letters (Unicode characters) of a text other than a name, so that a hostile text cannot fill the file; `…`
/// replaces further letters. The number has no source.
const MOST_TEXT_LETTERS: usize = 2_000;

/// The number of a track, by which all its events name it.
pub(super) type TrackId = u64;

/// The annotations of a track event: names with values.
#[derive(Clone, Debug, Default)]
pub(super) struct Says(Vec<DebugAnnotation>);

impl Says {
    pub(super) fn text(mut self, name: &str, text: &str) -> Self {
        self.0.push(DebugAnnotation {
            string_value: Some(cut(text, MOST_TEXT_LETTERS)),
            ..named(name)
        });
        self
    }

    /// Adds an annotation with a text; `None` adds nothing.
    pub(super) fn some(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(super) fn number(mut self, name: &str, number: u64) -> Self {
        self.0.push(DebugAnnotation {
            uint_value: Some(number),
            ..named(name)
        });
        self
    }

    pub(super) fn flag(mut self, name: &str, flag: bool) -> Self {
        self.0.push(DebugAnnotation {
            bool_value: Some(flag),
            ..named(name)
        });
        self
    }
}

fn named(name: &str) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        ..DebugAnnotation::default()
    }
}

/// The packets of a trace file. Each run of the log's writer has its own sequence of packets.
///
/// All strings are inline. Inline strings let each packet be read without earlier packets, and a truncated file still
/// opens.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    /// The id of the current sequence; 0 before the first sequence.
    sequence: u32,
    /// The time of the next packet. This time never decreases within a sequence, so no slice ends before it began.
    now: Time,
}

impl Packets {
    /// Begins the next sequence. At the sequence's begin the log's clock and the wall clock both show `at`.
    pub(super) fn begin_sequence(&mut self, at: Time) {
        self.sequence += 1;
        self.now = at;
        let clock = |id| Clock {
            clock_id: Some(id),
            timestamp: Some(nanoseconds(at)),
        };
        self.packet(TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![clock(REALTIME), clock(LOG_CLOCK)],
                primary_trace_clock: Some(REALTIME),
            }),
            ..TracePacket::default()
        });
    }

    /// Sets the time of the next packets; an earlier time than the current one is ignored.
    pub(super) fn go_on_to(&mut self, at: Time) {
        self.now = self.now.max(at);
    }

    /// Adds a packet that describes a track.
    pub(super) fn describe(&mut self, track: TrackDescriptor) {
        let name = track.name.map(|name| cut(&name, MOST_NAME_LETTERS));
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor { name, ..track }),
            ..TracePacket::default()
        });
    }

    pub(super) fn begin(&mut self, track: TrackId, category: &str, name: &str, says: Says) {
        self.named(SLICE_BEGIN, track, category, name, says);
    }

    pub(super) fn instant(&mut self, track: TrackId, category: &str, name: &str, says: Says) {
        self.named(INSTANT, track, category, name, says);
    }

    pub(super) fn end(&mut self, track: TrackId, says: Says) {
        self.event(TrackEvent {
            r#type: Some(SLICE_END),
            track_uuid: Some(track),
            debug_annotations: says.0,
            ..TrackEvent::default()
        });
    }

    pub(super) fn value(&mut self, track: TrackId, value: i64) {
        self.event(TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(track),
            counter_value: Some(value),
            ..TrackEvent::default()
        });
    }

    /// Returns the bytes of the whole trace file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn named(&mut self, kind: i32, track: TrackId, category: &str, name: &str, says: Says) {
        self.event(TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(track),
            categories: vec![category.to_owned()],
            name: Some(cut(name, MOST_NAME_LETTERS)),
            debug_annotations: says.0,
            counter_value: None,
        });
    }

    fn event(&mut self, event: TrackEvent) {
        self.packet(TracePacket {
            timestamp: Some(nanoseconds(self.now)),
            timestamp_clock_id: Some(LOG_CLOCK),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn packet(&mut self, packet: TracePacket) {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(self.sequence),
            ..packet
        };
        let packet = vec![packet];
        self.bytes.extend(Trace { packet }.encode_to_vec());
    }
}

/// Converts a time to nanoseconds since 1970. A time before 1970 becomes 0. Perfetto counts below 2^63 ns, which is in
/// 2262; a later time becomes 2^63 − 1.
fn nanoseconds(at: Time) -> u64 {
    at.0.max(0).saturating_mul(1_000).unsigned_abs()
}

/// Returns the first `most` letters of a text, followed by `…` if the text has more.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_overflows() {
        assert_eq!(nanoseconds(Time(1)), 1_000);
        assert_eq!(nanoseconds(Time(-5)), 0);
        assert_eq!(nanoseconds(Time(i64::MAX)), i64::MAX.unsigned_abs());
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö…");
    }
}
