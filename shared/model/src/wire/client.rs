//! The messages that a viewer sends.

use std::sync::Arc;

use serde::ser::SerializeMap;

use super::message::{MAX_MESSAGE_BYTES, decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::event::NoteKey;
use crate::field::{Field, Fields, fields};
use crate::id::{EpochId, LogId, Object, Seq, Text, WatchName};
use crate::time::Time;

messages! {
    /// A message from a viewer.
    ClientMessage {
        /// The first message of a conversation.
        0 Hello {
            /// The viewer's protocol version.
            protocol: u32,
            /// The log that the viewer wants; absent: the server's.
            log: Option<LogId>,
            /// The epoch of the records that the viewer has.
            epoch: Option<EpochId>,
            /// The last seq of the last whole segment that the viewer has.
            last: Option<Seq>,
        }
        /// The viewer has processed `bytes` bytes of messages since the connection opened.
        1 Acknowledge {
            /// The number of bytes, counted from the first message.
            bytes: u64,
        }
        /// Requests the chapter that holds the record `before` - 1, of any run. A viewer may request chapters in any
        /// order.
        2 Backfill {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The record after the last one wanted.
            before: Seq,
        }
        /// Names the logs that the viewer wants.
        3 Subscribe {
            /// The logs.
            logs: Vec<LogId>,
        }
        /// Pauses or resumes live data. A hidden tab pauses; when it resumes, the server moves it to the head.
        4 Pause {
            /// Whether to pause.
            paused: bool,
        }
        /// A command to the server.
        5 Command {
            /// The command's number, which the viewer chooses.
            command: u64,
            /// Its name: `use-context`, or `audit`.
            verb: Text,
            /// Its argument: for `audit`, a watch, and optionally an object of it on a second line.
            argument: String,
        }
    }
}

/// The kind number of a [`WriteNote`] among the messages of a viewer.
const WRITE_NOTE: u64 = 6;

/// A text as received. It may not be UTF-8; the code that uses it checks that.
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
    /// Requests that a person's note be written into the log. The answer is a [`CommandDone`](super::CommandDone).
    ///
    /// It is not a [`ClientMessage`], so that the page's first part, which sends no notes, has no code for it.
    struct WriteNote {
        /// The command's number, which the viewer chooses.
        command: u64,
        /// The text; an empty one withdraws the note that it replaces.
        text: RawText,
        /// The watch that it is about.
        watch: Option<WatchName>,
        /// The object that it is about.
        object: Option<Arc<Object>>,
        /// Start of the time that it is about.
        from: Option<Time>,
        /// End of that time.
        to: Option<Time>,
        /// The earlier note that it replaces.
        replaces: Option<NoteKey>,
    }
}

/// A message as a server receives it.
#[derive(Clone, Debug, PartialEq)]
pub enum FromViewer {
    /// A message other than a note.
    Message(ClientMessage),
    /// A person's note.
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

/// Decodes a viewer's message or note; `None` for a kind that this build does not know.
///
/// # Errors
/// If the bytes are not a message, or longer than [`MAX_MESSAGE_BYTES`].
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

/// Decodes a viewer's message; `None` for a note, or a kind that this build does not know.
///
/// # Errors
/// If the bytes are not a message, or longer than [`MAX_MESSAGE_BYTES`].
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
