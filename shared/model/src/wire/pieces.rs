//! Cuts messages that are too large for the wire into pieces, and joins them again.

use super::message::MAX_MESSAGE_BYTES;
use super::server::{Piece, encode_server};
use crate::codec::DecodeError;

/// The most bytes of a large message that one piece carries; every piece but the last carries exactly this many. 64
/// bytes of [`MAX_MESSAGE_BYTES`] are left for the piece's kind, length and fields, which take at most 22. The 64 bytes
/// have no other source.
pub const PIECE_BYTES: usize = MAX_MESSAGE_BYTES - 64;

/// Cuts a message into encoded pieces of at most [`MAX_MESSAGE_BYTES`], in order; `transfer` is the number of this
/// message. A small message becomes one piece; an empty message becomes none.
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

/// A joiner of pieces into their messages.
///
/// A joiner holds at most two incomplete messages, because a live message may overtake one of the past; a third
/// replaces the older. Together the incomplete messages have at most the limit of [`Joiner::new`] in bytes; above that
/// limit [`Joiner::push`] fails. Pieces of one message must come in order.
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

/// The most incomplete messages at once: a live message and a message of the past. A further message replaces the
/// oldest.
const OPEN_TRANSFERS: usize = 2;

impl Joiner {
    /// A joiner whose incomplete messages have at most `limit` bytes together, the last piece included. A message over
    /// `limit` can therefore not be joined.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            open: Vec::new(),
            limit,
        }
    }

    /// Adds a piece with its data. Returns the whole message if the piece is its last one, else `None`. A piece with
    /// index 0 begins its message anew.
    ///
    /// # Errors
    /// [`DecodeError::Message`] if the piece does not follow the last one of its message, or its index is not below its
    /// count. The same error comes if the incomplete messages would exceed the limit.
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
    use crate::event::NoteKey;
    use crate::id::Seq;
    use crate::time::Time;
    use crate::wire::{
        Acknowledge, Backfill, ClientMessage, Command, FromViewer, Hello, Pause, RawText,
        ServerMessage, WriteNote, decode_client, decode_server, decode_viewer, encode_client,
        encode_note,
    };
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
    fn pieces_join_to_their_message_with_another_message_between_them() {
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
        fn a_note_of_any_bytes_survives_the_wire(command: u64, text: Vec<u8>, from: Option<i64>, seq: Option<u64>) {
            let note = WriteNote {
                command,
                text: RawText(text),
                watch: Some("shop/pods".into()),
                object: None,
                from: from.map(Time),
                to: None,
                replaces: seq.map(|seq| NoteKey { log: "l".into(), epoch: "e".into(), seq: Seq(seq) }),
            };
            let bytes = encode_note(&note);
            prop_assert_eq!(decode_client(&bytes), Ok(None));
            prop_assert_eq!(decode_viewer(&bytes), Ok(Some(FromViewer::Note(note))));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = decode_client(&bytes);
            let _ = decode_viewer(&bytes);
            let _ = decode_server(&bytes);
        }
    }
}
