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
    /// A message from a viewer, other than a note ([`WriteNote`]). [`MAX_MESSAGE_BYTES`] bounds its texts and lists: a
    /// server refuses a longer message. One that needs an answer ends the conversation if 64 answers wait unread.
    ClientMessage {
        /// The first message of a conversation. Another known message before it, or a second hello, ends the
        /// conversation.
        0 Hello {
            /// The viewer's protocol version ([`PROTOCOL_VERSION`](super::PROTOCOL_VERSION)).
            protocol: u32,
            /// The log that the viewer wants; absent: the server's. For another log the server sends its own, from a
            /// snapshot on.
            log: Option<LogId>,
            /// The epoch of the records that the viewer has; absent if it has none.
            epoch: Option<EpochId>,
            /// The last seq of the last whole segment that the viewer has; absent if it has none. With it the server
            /// may go on without a snapshot.
            last: Option<Seq>,
        }
        /// The viewer has processed `bytes` bytes of messages since the connection opened.
        1 Acknowledge {
            /// The number of bytes, counted from the first message, pieces included. A lower number than before changes
            /// nothing. More than the server sent ends the conversation.
            bytes: u64,
        }
        /// Requests the chapter that holds the record `before` - 1, of any run. A viewer may request chapters in any
        /// order. The server answers in the order of the requests with [`Chapter`](super::Chapter),
        /// [`Expired`](super::Expired) or [`NotRead`](super::NotRead). More than 16 waiting requests end the
        /// conversation.
        2 Backfill {
            /// The log. The answer for another one than the server's is [`Expired`](super::Expired).
            log: LogId,
            /// The run of the log's writer. The answer for an unknown one is [`Expired`](super::Expired).
            epoch: EpochId,
            /// The seq after the last record wanted. No chapter holds the record before seq 1 or 0, nor one that is not
            /// sealed; the answer is [`Expired`](super::Expired).
            before: Seq,
        }
        /// Names the logs that the viewer wants, in place of those before. Without it a viewer gets the server's log.
        3 Subscribe {
            /// The logs, in any order. If the server's is not among them, as in an empty list, the server sends no live
            /// data.
            logs: Vec<LogId>,
        }
        /// Pauses or resumes live data. A hidden tab pauses. When it resumes and records were sealed since, the server
        /// moves it to the head.
        4 Pause {
            /// Whether to pause; false: resume.
            paused: bool,
        }
        /// A command to the server. The answer is a [`CommandDone`](super::CommandDone).
        5 Command {
            /// The command's number, which the viewer chooses and the answer repeats.
            command: u64,
            /// Its name: `use-context`, or `audit`. Any other one is answered with an error.
            verb: Text,
            /// Its argument. For `use-context` it is the name of a context. For `audit` it is the name of a watch, or
            /// empty for all watches. A second line may name an object, as `NAMESPACE/NAME` or `NAME`.
            argument: String,
        }
    }
}

/// The kind number of a [`WriteNote`] among the messages of a viewer. No [`ClientMessage`] has it.
const WRITE_NOTE: u64 = 6;

/// A text as received. It may not be UTF-8; the code that uses it checks that. The size of its message bounds it.
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
    /// [`NoteRefusal`](crate::vocabulary::NoteRefusal) lists what is refused.
    ///
    /// It is not a [`ClientMessage`], so that the page's first part, which sends no notes, has no code for it.
    struct WriteNote {
        /// The command's number, which the viewer chooses and the answer repeats.
        command: u64,
        /// The text; an empty one withdraws the note that it replaces.
        text: RawText,
        /// The watch that it is about; absent: the whole cluster.
        watch: Option<WatchName>,
        /// The object that it is about; absent if it is about none.
        object: Option<Arc<Object>>,
        /// Start of the time that it is about, by `at` of any epoch; absent: the time of its record.
        from: Option<Time>,
        /// End of that time, included; absent: the time is one moment.
        to: Option<Time>,
        /// The earlier note that it replaces; absent for a new note.
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

/// Encodes a person's note as a message. It does not check [`MAX_MESSAGE_BYTES`].
#[must_use]
pub fn encode_note(note: &WriteNote) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(WRITE_NOTE);
        writer.sized(|fields| note.write_fields(fields));
    })
}

/// Decodes a viewer's message or note; `None` for a kind that this build does not know. Bytes after it are ignored.
///
/// # Errors
/// [`DecodeError::Message`] if the bytes are longer than [`MAX_MESSAGE_BYTES`]; the first error in them.
pub fn decode_viewer(bytes: &[u8]) -> Result<Option<FromViewer>, DecodeError> {
    decode_sized(bytes, |kind, fields| match kind {
        WRITE_NOTE => Some(FromViewer::Note(WriteNote::read_fields(fields))),
        _ => ClientMessage::read_fields(kind, fields).map(FromViewer::Message),
    })
}

/// Encodes a viewer's message. It does not check [`MAX_MESSAGE_BYTES`].
#[must_use]
pub fn encode_client(message: &ClientMessage) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    })
}

/// Decodes a viewer's message; `None` for a note, or a kind that this build does not know. Bytes after it are ignored.
///
/// # Errors
/// [`DecodeError::Message`] if the bytes are longer than [`MAX_MESSAGE_BYTES`]; the first error in them.
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
