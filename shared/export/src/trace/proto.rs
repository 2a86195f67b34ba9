//! The messages and fields of Perfetto that our traces use.
//!
//! The field numbers are those of `protos/perfetto/trace/trace.proto`, `trace_packet.proto`, `clock_snapshot.proto` and
//! `track_event/{track_descriptor,counter_descriptor,track_event,debug_annotation}.proto` in google/perfetto. The
//! numbers were read at commit ec5d16b14b74 (v59). Perfetto never gives a field's number to another field.

use prost::Message;

/// `TracePacket.sequence_flags`: no earlier packet of this sequence is needed.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `BuiltinClock.BUILTIN_CLOCK_REALTIME`: the wall clock. Our traces name it as their `primary_trace_clock`, so the
/// viewer shows times by it.
pub(super) const REALTIME: u32 = 1;
/// The first of the clock ids that are valid within one sequence only (64 to 127; `clock_snapshot.proto`). Our traces
/// use it for the log's clock.
pub(super) const LOG_CLOCK: u32 = 64;
/// `TrackDescriptor.ChildTracksOrdering`: the viewer orders child tracks by name.
pub(super) const BY_NAME: i32 = 1;
/// `TrackDescriptor.ChildTracksOrdering`: the viewer orders child tracks by their `sibling_order_rank`.
pub(super) const BY_RANK: i32 = 3;
/// `TrackDescriptor.SiblingMergeBehavior`: the track has a row of its own.
pub(super) const MERGE_NONE: i32 = 2;
/// `TrackDescriptor.SiblingMergeBehavior`: the track shares a row with its siblings of the same `sibling_merge_key`.
pub(super) const MERGE_BY_KEY: i32 = 3;
/// `TrackEvent.Type`: a slice begins.
pub(super) const SLICE_BEGIN: i32 = 1;
/// `TrackEvent.Type`: a slice ends.
pub(super) const SLICE_END: i32 = 2;
/// `TrackEvent.Type`: the event is an instant.
pub(super) const INSTANT: i32 = 3;
/// `TrackEvent.Type`: the event is a value of a counter track.
pub(super) const COUNTER: i32 = 4;

/// A trace file. Several files concatenated are one trace.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(uint32, optional, tag = "58")]
    pub(super) timestamp_clock_id: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) primary_trace_clock: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub(super) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
    #[prost(string, optional, tag = "14")]
    pub(super) description: Option<String>,
    #[prost(int32, optional, tag = "15")]
    pub(super) sibling_merge_behavior: Option<i32>,
    #[prost(string, optional, tag = "16")]
    pub(super) sibling_merge_key: Option<String>,
}

/// The message that marks a track as a counter track of values. All fields of this message have their defaults.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub(super) categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
}

/// An annotation of a track event: a name with one value.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(bool, optional, tag = "2")]
    pub(super) bool_value: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
}
