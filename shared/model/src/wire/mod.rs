//! Wire messages between the hub and a viewer, over a WebSocket, a worker's port or a pipe.
//!
//! ```text
//!   viewer   hello ─► welcome, snapshot, segment…, catalogue…   acknowledge ─►   backfill ─► chapter   pause, command, note ─►
//! ```
//!
//! A message is a kind (varint), then its fields. Some server messages end in encoded data, which are the same bytes as
//! in the ring. Snapshots, segments and chapters over [`MAX_MESSAGE_BYTES`] come as numbered pieces, with live messages
//! between them. All other messages are small.

mod catalogue;
mod client;
mod message;
mod pieces;
pub mod player;
mod server;

pub use self::catalogue::{Availability, CatalogueEntry, catalogue_entries, push_catalogue_entry};
pub use self::client::{
    Acknowledge, Backfill, ClientMessage, Command, FromViewer, Hello, Pause, RawText, Subscribe,
    WriteNote, decode_client, decode_viewer, encode_client, encode_note,
};
pub use self::message::{
    ACKNOWLEDGE_BYTES, ACKNOWLEDGE_MS, HEARTBEAT_MS, MAX_MESSAGE_BYTES, PAGE_HEADER,
    PROTOCOL_VERSION, WINDOW_BYTES,
};
pub use self::pieces::{Joiner, PIECE_BYTES, cut_into_pieces};
pub use self::server::{
    Bye, Catalogue, Chapter, CommandDone, Contexts, Expired, Heartbeat, History, Moved, NotRead,
    Piece, Segment, ServerMessage, Snapshot, Welcome, decode_server, encode_server,
};
