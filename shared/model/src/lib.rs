//! The vocabulary of the log: what a record is, how records fold into a state, and their binary and JSON forms.
//!
//! ```text
//!   Event ──(log's writer: seq, at)──► Record ──┬─► Segment ─► Chapter   (codec, bytes)
//!                                               ├─► State                (fold)
//!                                               └─► one JSON object a line
//! ```
//!
//! A simulated world also records its inside, as records of a kind of their own ([`inside`]). Records of the inside
//! stand in the same log as other records, and fold into [`Layers`]. Neither [`Record`] nor [`State`] can hold them.
//!
//! Everything here is pure: it uses no clock and no I/O, and the same input gives the same result on the host and in
//! wasm32. A record does not state who made it, on purpose: a reader cannot distinguish a real cluster from a simulated
//! one.

pub mod belief;
pub mod chance;
mod change;
pub mod chapter;
pub mod codec;
pub mod event;
mod event_use;
pub mod field;
mod finding;
pub mod fnv;
pub mod fold;
pub mod id;
pub mod inside;
pub mod json;
pub mod json_reader;
mod kinds;
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
