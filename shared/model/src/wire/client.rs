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
    /// server refuses a longer message. A message that needs an answer ends the conversation if 64 answers wait unread.
    ClientMessage {
        /// The first message of a conversation. Another known message before the hello, or a second hello, ends the
        /// conversation.
        0 Hello {
            /// The viewer's protocol version ([`PROTOCOL_VERSION`](super::PROTOCOL_VERSION)).
            protocol: u32,
            /// The log that the viewer wants; absent if it wants the server's. If the viewer names a log that the
            /// server does not have, the server sends its own log, from a snapshot on.
            log: Option<LogId>,
            /// The epoch of the records that the viewer has; absent if it has none.
            epoch: Option<EpochId>,
            /// The last seq of the last whole segment that the viewer has; absent if it has none. Given this seq, the
            /// server may go on without a snapshot.
            last: Option<Seq>,
        }
        /// The viewer has processed `bytes` bytes of messages since the connection opened.
        1 Acknowledge {
            /// The number of bytes, counted from the first message, pieces included. A lower number than an earlier one
            /// changes nothing. A number above what the server sent ends the conversation.
            bytes: u64,
        }
        /// Requests the chapter that holds the record `before` - 1, of any run. A viewer may request chapters in any
        /// order. The server answers in the order of the requests with [`Chapter`](super::Chapter),
        /// [`Expired`](super::Expired) or [`NotRead`](super::NotRead). More than 16 waiting requests end the
        /// conversation.
        2 Backfill {
            /// The log. The answer for a log that is not the server's is [`Expired`](super::Expired).
            log: LogId,
            /// The run of the log's writer. The answer for an unknown run is [`Expired`](super::Expired).
            epoch: EpochId,
            /// The seq after the last record wanted. No chapter holds the record before seq 1 or 0, or a record that is
            /// not sealed; the answer for such records is [`Expired`](super::Expired).
            before: Seq,
        }
        /// Names the logs that the viewer wants, in place of those that it named before. A viewer that never subscribes
        /// gets the server's log.
        3 Subscribe {
            /// The logs, in any order. If the server's log is not among them, as in an empty list, the server sends no
            /// live data.
            logs: Vec<LogId>,
        }
        /// Pauses or resumes live data. A hidden tab pauses. When the viewer resumes and lacks sealed records, the
        /// server moves it to the log's newest record.
        4 Pause {
            /// Whether to pause; false to resume.
            paused: bool,
        }
        /// A command to the server. The answer is a [`CommandDone`](super::CommandDone).
        5 Command {
            /// The command's number, which the viewer chooses and the answer repeats.
            command: u64,
            /// The command's name: `use-context`, or `audit`. Any other name is answered with an error.
            verb: Text,
            /// The command's argument. For `use-context` it is the name of a context. For `audit` it is the name of a
            /// watch, or empty for all watches. A second line of the argument of `audit` may name an object, as
            /// `NAMESPACE/NAME` or `NAME`.
            argument: String,
        }
    }
}

/// The kind number of a [`WriteNote`] among the messages of a viewer. No [`ClientMessage`] has it.
const WRITE_NOTE: u64 = 6;

/// A text as received. It may not be UTF-8; the code that uses it checks that. The size of the message that carries the
/// text bounds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawText(
    /// The bytes of the text.
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
    /// A request that a person's note be written into the log. The answer is a [`CommandDone`](super::CommandDone).
    /// [`NoteRefusal`](crate::vocabulary::NoteRefusal) lists what is refused.
    ///
    /// It is not a [`ClientMessage`], so that the page's first part, which sends no notes, has no code for notes.
    struct WriteNote {
        /// The command's number, which the viewer chooses and the answer repeats.
        command: u64,
        /// The note's text; an empty text withdraws the note that `replaces` names.
        text: RawText,
        /// The watch that the note is about; absent if it is about the whole cluster.
        watch: Option<WatchName>,
        /// The object that the note is about; absent if it is about none.
        object: Option<Arc<Object>>,
        /// Start of the time that the note is about, by `at` of any epoch; absent if it is about the time of its own
        /// record.
        from: Option<Time>,
        /// End of the time that the note is about, included; absent if that time is one moment.
        to: Option<Time>,
        /// The earlier note that this note replaces; absent for a new note.
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

/// Decodes a viewer's message or note; `None` for a kind that this build does not know. Bytes after the message are
/// ignored.
///
/// # Errors
/// [`DecodeError::Message`] if the bytes are longer than [`MAX_MESSAGE_BYTES`]; the first error in the bytes.
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

/// Decodes a viewer's message; `None` for a note, or a kind that this build does not know. Bytes after the message are
/// ignored.
///
/// # Errors
/// [`DecodeError::Message`] if the bytes are longer than [`MAX_MESSAGE_BYTES`]; the first error in the bytes.
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
