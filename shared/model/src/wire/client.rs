//! What a viewer sends.

use super::message::{MAX_MESSAGE_BYTES, decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{Fields, fields};
use crate::id::{EpochId, LogId, Seq, Text};

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

/// Encodes a viewer's message.
#[must_use]
pub fn encode_client(message: &ClientMessage) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    })
}

/// Decodes a viewer's message. `None` for a kind this build does not know.
///
/// # Errors
/// If the bytes are no message, or too many.
pub fn decode_client(bytes: &[u8]) -> Result<Option<ClientMessage>, DecodeError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(DecodeError::Message("it is longer than a message may be"));
    }
    Ok(decode(bytes, ClientMessage::read_fields)?.map(|(message, _)| message))
}
