//! What a server sends.

use super::message::{decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{Fields, fields};
use crate::id::{EpochId, LogId, Seq, Text};
use crate::time::Time;
use crate::vocabulary::{DiskTrouble, NoteRefusal};

messages! {
    /// What a server sends. [`Snapshot`], [`Segment`], [`Chapter`], [`Piece`] and [`Catalogue`] are followed by data.
    ServerMessage {
        /// First, in answer to [`Hello`](super::Hello).
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
            /// If this is no live log but a recording: its name.
            recording: Option<Text>,
            /// The time of the first record of a recording that is shown at once.
            recorded_from: Option<Time>,
            /// The time of its last record: it is always then.
            recorded_to: Option<Time>,
            /// Whether diagnosis was done anew for it, and is not the one that was recorded.
            judged_again: Option<bool>,
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
        /// These records are neither in the ring nor in a file. Also answers a [`Backfill`](super::Backfill) of them.
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
        /// Answers [`Backfill`](super::Backfill): the chapter that holds `before` - 1, cut at `before`. Head and segment frames follow.
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
        /// What became of a [`Command`](super::Command) or of a [`WriteNote`](super::WriteNote); after all records that it
        /// made.
        10 CommandDone {
            /// The command's number.
            command: u64,
            /// What went wrong, in a sentence; absent on success.
            error: Option<String>,
            /// Why a note was not taken; absent of other commands, and of a note that is in the log.
            refused: Option<NoteRefusal>,
        }
        /// How the history on disk fares; sent where one is kept, after the welcome and as that changes, at most every 10 s
        /// unless there is trouble.
        11 History {
            /// Bytes of all files.
            bytes: u64,
            /// The most bytes that they may have.
            size_bytes: u64,
            /// The first record of all files.
            since: Option<Time>,
            /// The last record of this run that is in a file.
            kept_to: Seq,
            /// Records of this run that left the ring before they could be written.
            lost: u64,
            /// What keeps it from being written.
            trouble: Option<DiskTrouble>,
            /// Since when.
            trouble_since: Option<Time>,
        }
        /// Chapters of one run, the newest first; entries follow ([`catalogue_entries`](super::catalogue_entries)). All that
        /// are known come after the first snapshot, and after that those that change. An entry takes the place of an
        /// earlier one with the same first record.
        12 Catalogue {
            /// The log.
            log: LogId,
            /// The run of its writer.
            epoch: EpochId,
            /// Runs are in the order of this number; the one that is being written has the highest there is.
            order: u64,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter is in a file, and cannot be read.
        13 NotRead {
            /// The log.
            log: LogId,
            /// The run of its writer.
            epoch: EpochId,
            /// As it was asked for.
            before: Seq,
            /// Why, in a sentence.
            reason: String,
        }
    }
}

impl CommandDone {
    /// A command that was carried out, or why not, in a sentence.
    #[must_use]
    pub fn of(command: u64, error: Option<String>) -> Self {
        Self {
            command,
            error,
            refused: None,
        }
    }

    /// A note that is in the log, or why it is not.
    #[must_use]
    pub fn of_note(command: u64, refused: Option<NoteRefusal>) -> Self {
        Self {
            command,
            error: None,
            refused,
        }
    }
}

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
