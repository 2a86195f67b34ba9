//! The log's vocabulary: what a record is, how records fold into state, and how both travel.
//!
//! ```text
//!   Event ──(log's writer: seq, at)──► Record ──┬─► Segment ─► Chapter   (codec, bytes)
//!                                               ├─► State                (fold)
//!                                               └─► one JSON object a line
//! ```
//!
//! A simulated world tells its insides too, as records of a kind of their own ([`inside`]): they stand in the same log
//! and fold into [`Layers`], and neither [`Record`] nor [`State`] can hold them.
//!
//! Everything here is pure: no clock, no I/O, the same bytes in give the same result out on the host and in wasm32.
//! Absent on purpose: who produced a record. A reader cannot tell a real cluster from a simulated one.

pub mod belief;
pub mod chance;
mod change;
pub mod chapter;
pub mod codec;
pub mod event;
pub mod field;
pub mod fnv;
pub mod fold;
pub mod id;
pub mod inside;
pub mod json;
pub mod layers;
pub mod map;
pub mod notes;
pub mod options;
pub mod read;
pub mod request;
pub mod rewrite;
pub mod row;
pub mod summary;
pub mod time;
pub mod tree;
pub mod vocabulary;
pub mod wire;

pub use event::{Event, NoteKey, Record};
pub use fold::State;
pub use id::{
    Aside, ConnectionId, EpochId, LogId, Object, RequestId, ResourceVersion, Seq, StreamId, Text,
    Uid, WatchName,
};
pub use inside::{Entry, Inside, InsideRecord};
pub use layers::Layers;
pub use notes::{KeptNote, Notes};
pub use row::Row;
pub use time::Time;
