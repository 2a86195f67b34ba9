//! The log's vocabulary: what a record is, how records fold into state, and how both travel.
//!
//! ```text
//!   Event ──(log's writer: seq, at)──► Record ──┬─► Segment ─► Chapter   (codec, bytes)
//!                                               ├─► State                (fold)
//!                                               └─► one JSON object a line
//! ```
//!
//! Everything here is pure: no clock, no I/O, the same bytes in give the same result out on the host and in wasm32.
//! Absent on purpose: who produced a record. A reader cannot tell a real cluster from a simulated one.

pub mod catalogue;
pub mod codec;
pub mod event;
pub mod field;
pub mod fold;
pub mod id;
pub mod json;
pub mod map;
pub mod time;
pub mod vocabulary;
pub mod wire;

pub use event::{Event, Record};
pub use fold::State;
pub use id::{
    ConnectionId, EpochId, LogId, Object, RequestId, ResourceVersion, Seq, StreamId, Text, Uid,
    WatchName,
};
pub use time::Time;
