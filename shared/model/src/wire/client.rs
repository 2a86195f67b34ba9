//! What a viewer sends.

use std::sync::Arc;

use serde::ser::SerializeMap;

use super::message::{MAX_MESSAGE_BYTES, decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::event::NoteKey;
use crate::field::{Field, Fields, fields};
use crate::id::{EpochId, LogId, Object, Seq, Text, WatchName};
use crate::time::Time;

messages! {
    /// What a viewer sends.
    ClientMessage {
        /// First.
        0 Hello {
            /// The viewer's protocol version.
            protocol: u32,
            /// The log wanted; absent: the server's.
            log: Option<LogId>,
            /// The epoch of what the viewer has.
            epoch: Option<EpochId>,
            /// The last seq of the last whole segment the viewer has.
            last: Option<Seq>,
        }
        /// The viewer has taken in so many bytes of messages since the connection opened.
        1 Acknowledge {
            /// All bytes, from the first message on.
            bytes: u64,
        }
        /// Asks for the chapter that holds `before` - 1, of any run, in any order.
        2 Backfill {
            /// The log.
            log: LogId,
            /// The run of its writer.
            epoch: EpochId,
            /// The record before which it is wanted.
            before: Seq,
        }
        /// Names the logs wanted.
        3 Subscribe {
            /// The logs.
            logs: Vec<LogId>,
        }
        /// A hidden tab wants no live data; when it comes back it is moved to the head.
        4 Pause {
            /// Whether to pause.
            paused: bool,
        }
        /// Asks for something to be done.
        5 Command {
            /// The command's number, chosen by the viewer.
            command: u64,
            /// What: `use-context`, or `audit` (a watch, and in a second line an object of it).
            verb: Text,
            /// To what.
            argument: String,
        }
    }
}

/// The kind of a [`WriteNote`] among the messages of a viewer.
const WRITE_NOTE: u64 = 6;

/// A text as it came, which may be no UTF-8: whoever takes it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawText(
    /// Its bytes.
    pub Vec<u8>,
);

impl Field for RawText {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.inline(&self.0);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let bytes = reader.inline();
        Self(if reader.charge(bytes.len()) {
            bytes.to_vec()
        } else {
            Vec::new()
        })
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, &String::from_utf8_lossy(&self.0))
    }
}

fields! {
    /// Asks that a person's note be written into the log. The answer is a [`CommandDone`](super::CommandDone).
    ///
    /// It is no [`ClientMessage`], so that the page's first part, which sends none, has no code for it.
    struct WriteNote {
        /// The command's number, chosen by the viewer.
        command: u64,
        /// The text; empty withdraws the note that it replaces.
        text: RawText,
        /// The watch it is about.
        watch: Option<WatchName>,
        /// The object it is about.
        object: Option<Arc<Object>>,
        /// When the time it is about begins.
        from: Option<Time>,
        /// When that time ends.
        to: Option<Time>,
        /// The earlier note that it takes the place of.
        replaces: Option<NoteKey>,
    }
}

/// What a server receives.
#[derive(Clone, Debug, PartialEq)]
pub enum FromViewer {
    /// A message.
    Message(ClientMessage),
    /// A note of a person.
    Note(WriteNote),
}

/// Encodes a person's note.
#[must_use]
pub fn encode_note(note: &WriteNote) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(WRITE_NOTE);
        writer.sized(|fields| note.write_fields(fields));
    })
}

/// Decodes what a viewer sends, notes too. `None` for a kind this build does not know.
///
/// # Errors
/// If the bytes are no message, or too many.
pub fn decode_viewer(bytes: &[u8]) -> Result<Option<FromViewer>, DecodeError> {
    decode_sized(bytes, |kind, fields| match kind {
        WRITE_NOTE => Some(FromViewer::Note(WriteNote::read_fields(fields))),
        _ => ClientMessage::read_fields(kind, fields).map(FromViewer::Message),
    })
}

/// Encodes a viewer's message.
#[must_use]
pub fn encode_client(message: &ClientMessage) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    })
}

/// Decodes a viewer's message. `None` for a kind this build does not know, and for a note.
///
/// # Errors
/// If the bytes are no message, or too many.
pub fn decode_client(bytes: &[u8]) -> Result<Option<ClientMessage>, DecodeError> {
    decode_sized(bytes, ClientMessage::read_fields)
}

fn decode_sized<T>(
    bytes: &[u8],
    read: impl FnOnce(u64, &mut Reader<'_>) -> Option<T>,
) -> Result<Option<T>, DecodeError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(DecodeError::Message("it is longer than a message may be"));
    }
    Ok(decode(bytes, read)?.map(|(message, _)| message))
}
