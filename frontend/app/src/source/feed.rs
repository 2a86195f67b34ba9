//! Decodes the server's messages into deliveries for the store and the panels.

use watchscope_model::codec::{DecodeError, MAX_FRAME_BYTES};
use watchscope_model::id::{EpochId, Seq, Text};
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::{
    Bye, Catalogue, Heartbeat, History, Joiner, NotRead, Piece, ServerMessage, Welcome,
    decode_server,
};

/// The content of a message. Encoded data goes to the store unchanged.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// The server accepted the connection.
    Welcome(Welcome),
    /// A head frame: the live log continues from here.
    Head(Vec<u8>),
    /// A segment frame: the next records.
    Segment(Vec<u8>),
    /// The frames of a chapter of the past.
    Chapter(Vec<u8>),
    /// The catalogue of a run's chapters; its entries go to the store unchanged.
    Catalogue(Catalogue, Vec<u8>),
    /// A chapter exists but cannot be read.
    NotRead(NotRead),
    /// These records are no longer at the server.
    Expired {
        /// The run that they belong to.
        epoch: EpochId,
        /// The last of them.
        last: Seq,
    },
    /// This viewer was too slow, and this number of records was not sent.
    Moved {
        /// The number of records.
        records: u64,
    },
    /// A sign that the connection lives.
    Heartbeat(Heartbeat),
    /// There is no cluster; one of these contexts can be chosen.
    Contexts {
        /// Names of contexts.
        names: Vec<Text>,
        /// The reason that there is none.
        reason: String,
    },
    /// The outcome of a command.
    CommandDone {
        /// Its number.
        command: u64,
        /// The error, if it failed.
        error: Option<String>,
        /// The reason that a note was refused.
        refused: Option<NoteRefusal>,
    },
    /// The state of the history on disk.
    History(History),
    /// The server ends the connection.
    Bye(Bye),
}

/// Decodes one connection's messages; holds the pieces of at most two unfinished ones.
#[derive(Debug)]
pub struct Feed {
    joiner: Joiner,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            joiner: Joiner::new(MAX_FRAME_BYTES),
        }
    }
}

impl Feed {
    /// Takes one message. `None` if this build does not know its kind, or if it is a piece of an unfinished message.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub fn take(&mut self, message: &[u8]) -> Result<Option<Delivery>, DecodeError> {
        match decode_server(message)? {
            Some((ServerMessage::Piece(piece), data)) => self.join(&piece, data),
            Some((message, data)) => Ok(delivery(message, data)),
            None => Ok(None),
        }
    }

    fn join(&mut self, piece: &Piece, data: &[u8]) -> Result<Option<Delivery>, DecodeError> {
        let Some(whole) = self.joiner.push(piece, data)? else {
            return Ok(None);
        };
        match decode_server(&whole)? {
            Some((ServerMessage::Piece(_), _)) => {
                Err(DecodeError::Message("a piece holds a piece"))
            }
            Some((message, data)) => Ok(delivery(message, data)),
            None => Ok(None),
        }
    }
}

fn delivery(message: ServerMessage, data: &[u8]) -> Option<Delivery> {
    Some(match message {
        ServerMessage::Welcome(welcome) => Delivery::Welcome(welcome),
        ServerMessage::Snapshot(_) => Delivery::Head(data.to_vec()),
        ServerMessage::Segment(_) => Delivery::Segment(data.to_vec()),
        ServerMessage::Chapter(_) => Delivery::Chapter(data.to_vec()),
        ServerMessage::Catalogue(catalogue) => Delivery::Catalogue(catalogue, data.to_vec()),
        ServerMessage::NotRead(not_read) => Delivery::NotRead(not_read),
        ServerMessage::Moved(moved) => Delivery::Moved {
            records: moved.to.0.saturating_add(1).saturating_sub(moved.from.0),
        },
        ServerMessage::Expired(expired) => Delivery::Expired {
            epoch: expired.epoch,
            last: expired.last,
        },
        ServerMessage::Heartbeat(heartbeat) => Delivery::Heartbeat(heartbeat),
        ServerMessage::Contexts(contexts) => Delivery::Contexts {
            names: contexts.names,
            reason: contexts.reason,
        },
        ServerMessage::CommandDone(done) => Delivery::CommandDone {
            command: done.command,
            error: done.error,
            refused: done.refused,
        },
        ServerMessage::History(history) => Delivery::History(history),
        ServerMessage::Bye(bye) => Delivery::Bye(bye),
        ServerMessage::Piece(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchscope_model::wire::{Chapter, Segment, cut_into_pieces, encode_server};

    #[test]
    fn a_chapter_in_pieces_is_delivered_whole_and_live_segments_pass_between() {
        let data: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        let chapter = Chapter {
            log: "l".into(),
            first: Seq(1),
            before: Seq(9),
        };
        let pieces = cut_into_pieces(&encode_server(&chapter.into(), &[&data]), 1);
        let segment = encode_server(&Segment { log: "l".into() }.into(), &[b"live"]);
        let mut feed = Feed::default();
        let mut delivered = Vec::new();
        for piece in &pieces {
            delivered.extend(feed.take(piece).unwrap());
            delivered.extend(feed.take(&segment).unwrap());
        }
        let live = |delivery: &&Delivery| **delivery == Delivery::Segment(b"live".to_vec());
        assert_eq!(delivered.iter().filter(live).count(), pieces.len());
        assert!(delivered.contains(&Delivery::Chapter(data)));
    }

    #[test]
    fn a_message_of_a_later_kind_is_passed_over_and_damage_is_an_error() {
        let mut feed = Feed::default();
        assert_eq!(feed.take(&[99, 0]), Ok(None));
        assert!(feed.take(&[2, 9, 1]).is_err());
    }
}
