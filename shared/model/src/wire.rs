//! Wire messages between the hub and a viewer, over a WebSocket, a worker's port or a pipe.
//!
//! ```text
//!   viewer   hello ─► welcome, snapshot, segment…   acknowledge ─►   backfill ─► chapter   pause, command ─►
//! ```
//!
//! A message is a kind (varint), then its fields; the server's messages that carry encoded data end in its bytes as
//! they are in the ring. No message exceeds [`MAX_MESSAGE_BYTES`]; larger ones come as numbered pieces, with live
//! messages between them.

use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{Field, Fields, fields};
use crate::id::{EpochId, LogId, Seq, Text};
use crate::time::Time;

/// The version of the wire protocol; a viewer and a server of different versions do not talk.
pub const PROTOCOL_VERSION: u32 = 1;

/// The page sends this header, with any value, when it fetches from `/api`; see the origin rules in ARCHITECTURE.md.
pub const PAGE_HEADER: &str = "x-watchscope-page";

/// No message is larger.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// How much may be on its way to a viewer without being acknowledged.
pub const WINDOW_BYTES: u64 = 1 << 20;

/// A viewer acknowledges after this many bytes…
pub const ACKNOWLEDGE_BYTES: u64 = 256 << 10;

/// …or after this long, in milliseconds.
pub const ACKNOWLEDGE_MS: u64 = 250;

/// The server sends a heartbeat at least this often, in milliseconds.
pub const HEARTBEAT_MS: u64 = 20_000;

/// Bytes of a large message that one piece carries; leaves room for the piece's own fields.
pub const PIECE_BYTES: usize = MAX_MESSAGE_BYTES - 64;

macro_rules! messages {
    ($(#[$meta:meta])* $enum:ident { $($(#[$message_meta:meta])* $kind:literal $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* })* }) => {
        fields! {$(
            $(#[$message_meta])*
            struct $name { $($(#[$field_meta])* $field: $type,)* }
        )*}

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $enum {
            $($(#[$message_meta])* $name($name),)*
        }

        $(impl From<$name> for $enum {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        })*

        impl $enum {
            fn kind(&self) -> u64 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            fn write_fields(&self, writer: &mut Writer<'_>) {
                match self { $(Self::$name(message) => message.write_fields(writer),)* }
            }

            fn read_fields(kind: u64, reader: &mut Reader<'_>) -> Option<Self> {
                Some(match kind {
                    $($kind => Self::$name($name::read_fields(reader)),)*
                    _ => return None,
                })
            }
        }
    };
}

messages! {
    /// What a server sends. [`Snapshot`], [`Segment`], [`Chapter`] and [`Piece`] are followed by data.
    ServerMessage {
        /// First, in answer to [`Hello`].
        0 Welcome {
            /// The server's protocol version.
            protocol: u32,
            /// The log that follows.
            log: LogId,
            /// The run of its writer.
            epoch: EpochId,
            /// First record kept in the ring.
            first: Seq,
            /// Last record sealed.
            head: Seq,
            /// Whether segments go on from what the viewer has, without a snapshot.
            resumed: bool,
            /// The server's time.
            at: Time,
            /// watchscope's version.
            version: Text,
            /// The wall clock at which the ring's first record was taken.
            first_at: Time,
        }
        /// A head frame: the fold up to `seq`, and the open chapter's dictionary. The frame follows.
        1 Snapshot {
            /// The log.
            log: LogId,
            /// The last record folded.
            seq: Seq,
        }
        /// A segment frame follows. Segments go on across chapters: the numbers of the dictionary keep their meaning.
        2 Segment {
            /// The log.
            log: LogId,
        }
        /// The viewer was too far behind; a snapshot follows, and the stretch between is past like any other.
        3 Moved {
            /// The log.
            log: LogId,
            /// First record not sent.
            from: Seq,
            /// Last record not sent.
            to: Seq,
        }
        /// These records are no longer in the ring. Also answers a [`Backfill`] of them.
        4 Expired {
            /// The log.
            log: LogId,
            /// First.
            first: Seq,
            /// Last.
            last: Seq,
            /// The run of its writer.
            epoch: EpochId,
        }
        /// Answers [`Backfill`]: the chapter that holds `before` - 1, cut at `before`. Head and segment frames follow.
        /// Segments are never encoded again: where `before` falls inside one, it comes whole, and the viewer leaves
        /// out the records from `before` on.
        5 Chapter {
            /// The log.
            log: LogId,
            /// First record in it.
            first: Seq,
            /// The record it was cut before.
            before: Seq,
        }
        /// Nothing is wrong; sent every 20 s.
        6 Heartbeat {
            /// Last record sealed.
            head: Seq,
            /// The server's time.
            at: Time,
            /// Bytes in the ring.
            ring_bytes: u64,
            /// Bytes the ring may hold.
            ring_capacity: u64,
            /// First record kept in the ring.
            first: Seq,
            /// The wall clock at which it was taken.
            first_at: Time,
        }
        /// The server ends this connection on purpose.
        7 Bye {
            /// Why, as a word: `going-away`, `version`, `session-ended`, `too-slow`.
            reason: Text,
            /// When to come back, in milliseconds; absent: do not.
            retry_after_ms: Option<u64>,
        }
        /// Part of a larger message; its bytes follow.
        8 Piece {
            /// Which message; rises by one.
            transfer: u64,
            /// Which part, from 0.
            index: u32,
            /// How many parts.
            count: u32,
        }
        /// There is no cluster yet: the contexts one can choose from.
        9 Contexts {
            /// Names of the kubeconfig's contexts.
            names: Vec<Text>,
            /// Why there is no cluster, in a sentence.
            reason: String,
        }
        /// What became of a [`Command`]; after all records that it made.
        10 CommandDone {
            /// The command's number.
            command: u64,
            /// What went wrong, in a sentence; absent on success.
            error: Option<String>,
        }
    }
}

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
        /// Asks for the chapter that holds `before` - 1.
        2 Backfill {
            /// The log.
            log: LogId,
            /// The run of its writer.
            epoch: EpochId,
            /// The first record the viewer has.
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

macro_rules! id_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn write(&self, writer: &mut Writer<'_>) {
                writer.text(Some(&self.0), 0);
            }
            fn read(reader: &mut Reader<'_>) -> Self {
                Self(reader.text())
            }
            fn entry<M: serde::ser::SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
                map.serialize_entry(name, self)
            }
        }
    )*};
}
id_fields!(LogId, EpochId);

/// Encodes a server's message and the data behind it.
#[must_use]
pub fn encode_server(message: &ServerMessage, data: &[&[u8]]) -> Vec<u8> {
    let mut out = Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    });
    data.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Decodes a server's message; returns it and the data behind it. `None` for a kind this build does not know.
///
/// # Errors
/// If the bytes are no message.
pub fn decode_server(bytes: &[u8]) -> Result<Option<(ServerMessage, &[u8])>, DecodeError> {
    decode(bytes, ServerMessage::read_fields)
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

fn decode<T>(
    bytes: &[u8],
    read: impl FnOnce(u64, &mut Reader<'_>) -> Option<T>,
) -> Result<Option<(T, &[u8])>, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let kind = reader.varint();
    let message = reader.sized(|fields| read(kind, fields));
    let rest = reader.rest();
    reader.finish(message.map(|message| (message, rest)))
}

/// Cuts a message that is too large for the wire into encoded pieces; `transfer` numbers such messages.
#[must_use]
pub fn cut_into_pieces(message: &[u8], transfer: u64) -> Vec<Vec<u8>> {
    let count = u32::try_from(message.len().div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX);
    (0..)
        .zip(message.chunks(PIECE_BYTES))
        .map(|(index, part)| {
            encode_server(
                &Piece {
                    transfer,
                    index,
                    count,
                }
                .into(),
                &[part],
            )
        })
        .collect()
}

/// Joins pieces to the messages they were cut from.
///
/// Holds at most two messages that have not ended, since a live one may overtake one of the past; a third replaces the
/// older. Together they are of at most `limit` bytes. Pieces of one message come in order.
#[derive(Clone, Debug)]
pub struct Joiner {
    open: Vec<OpenTransfer>,
    limit: usize,
}

#[derive(Clone, Debug)]
struct OpenTransfer {
    transfer: u64,
    next: u32,
    bytes: Vec<u8>,
}

/// Messages that may be open at once.
const OPEN_TRANSFERS: usize = 2;

impl Joiner {
    /// Joins messages of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            open: Vec::new(),
            limit,
        }
    }

    /// Takes a piece; returns the whole message with its last piece.
    ///
    /// # Errors
    /// If the piece does not follow the one before of its message, or what is open grows larger than the limit.
    pub fn push(&mut self, piece: &Piece, data: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        if piece.index == 0 {
            self.open.retain(|open| open.transfer != piece.transfer);
            if self.open.len() == OPEN_TRANSFERS {
                self.open.remove(0);
            }
            self.open.push(OpenTransfer {
                transfer: piece.transfer,
                next: 0,
                bytes: Vec::new(),
            });
        }
        let held: usize = self.open.iter().map(|open| open.bytes.len()).sum();
        let place = self
            .open
            .iter()
            .position(|open| open.transfer == piece.transfer && open.next == piece.index)
            .filter(|_| piece.index < piece.count)
            .ok_or(DecodeError::Message("a piece is out of order"))?;
        if held + data.len() > self.limit {
            return Err(DecodeError::Message(
                "its pieces are more than a viewer takes",
            ));
        }
        let open = &mut self.open[place];
        open.bytes.extend_from_slice(data);
        open.next += 1;
        Ok((open.next == piece.count).then(|| self.open.remove(place).bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_of_a_later_version_is_skipped_and_a_short_one_is_read() {
        assert_eq!(decode_server(&[99, 2, 1, 2, 7]), Ok(None));
        let hello = ClientMessage::from(Hello {
            protocol: 1,
            log: None,
            epoch: None,
            last: None,
        });
        assert_eq!(decode_client(&[0, 1, 1]), Ok(Some(hello)));
    }

    #[test]
    fn pieces_join_to_their_message_and_another_one_may_come_between() {
        let past: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        let live: Vec<u8> = (0..70_000u32).map(|i| (i / 7) as u8).collect();
        let (past_pieces, live_pieces) = (cut_into_pieces(&past, 3), cut_into_pieces(&live, 4));
        assert!(past_pieces.len() > 3);
        let mut joiner = Joiner::new(1 << 20);
        let mut joined = Vec::new();
        for bytes in past_pieces[..2]
            .iter()
            .chain(&live_pieces)
            .chain(&past_pieces[2..])
        {
            assert!(bytes.len() <= MAX_MESSAGE_BYTES);
            let Ok(Some((ServerMessage::Piece(piece), data))) = decode_server(bytes) else {
                panic!("no piece")
            };
            joined.extend(joiner.push(&piece, data).unwrap());
        }
        assert_eq!(joined, [live, past]);
    }

    #[test]
    fn a_piece_out_of_order_and_a_message_over_the_limit_are_refused() {
        let mut joiner = Joiner::new(10);
        assert!(
            joiner
                .push(
                    &Piece {
                        transfer: 1,
                        index: 1,
                        count: 2
                    },
                    b"x"
                )
                .is_err()
        );
        assert!(
            joiner
                .push(
                    &Piece {
                        transfer: 1,
                        index: 0,
                        count: 2
                    },
                    b"0123456789a"
                )
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn client_messages_survive_the_wire(bytes: u64, log in "[a-z0-9-]{1,20}", before: u64, paused: bool, argument: String) {
            let messages: [ClientMessage; 4] = [
                Acknowledge { bytes }.into(),
                Backfill { log: log.as_str().into(), epoch: "e".into(), before: Seq(before) }.into(),
                Pause { paused }.into(),
                Command { command: before, verb: log.as_str().into(), argument }.into(),
            ];
            for message in messages {
                prop_assert_eq!(decode_client(&encode_client(&message)), Ok(Some(message)));
            }
        }

        #[test]
        fn arbitrary_bytes_are_no_reason_to_panic(bytes: Vec<u8>) {
            let _ = decode_client(&bytes);
            let _ = decode_server(&bytes);
        }
    }
}
