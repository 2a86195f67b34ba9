//! The messages that a server sends.

use super::message::{decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{Fields, fields};
use crate::id::{EpochId, LogId, Seq, Text};
use crate::time::Time;
use crate::vocabulary::{DiskTrouble, NoteRefusal};

messages! {
    /// A message from a server. Data follows a [`Snapshot`], [`Segment`], [`Chapter`], [`Piece`] and [`Catalogue`].
    ServerMessage {
        /// The first message, in answer to [`Hello`](super::Hello).
        0 Welcome {
            /// The server's protocol version.
            protocol: u32,
            /// The log whose records follow.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The first record in the ring.
            first: Seq,
            /// The last sealed record.
            head: Seq,
            /// Whether segments continue from the records that the viewer has, without a snapshot.
            resumed: bool,
            /// The server's time.
            at: Time,
            /// watchscope's version.
            version: Text,
            /// The wall clock when the first record in the ring was taken.
            first_at: Time,
            /// The name of a recording; absent for a live log.
            recording: Option<Text>,
            /// The time of the first record of a recording that is shown at once.
            recorded_from: Option<Time>,
            /// The time of the recording's last record, which serves as the present.
            recorded_to: Option<Time>,
            /// Whether diagnosis ran again for the recording, so its judgements are not the recorded ones.
            judged_again: Option<bool>,
        }
        /// A snapshot: the fold up to `seq` and the open chapter's dictionary. The head frame follows.
        1 Snapshot {
            /// The log.
            log: LogId,
            /// The last folded record.
            seq: Seq,
        }
        /// A segment, whose frame follows. Segments continue across chapters: the dictionary's numbers keep their
        /// meaning.
        2 Segment {
            /// The log.
            log: LogId,
        }
        /// The viewer was too far behind, or resumed from a pause. A snapshot follows; the viewer may request the
        /// skipped records as any others.
        3 Moved {
            /// The log.
            log: LogId,
            /// The first record that is not sent.
            from: Seq,
            /// The last record that is not sent.
            to: Seq,
        }
        /// The records are neither in the ring nor in a file. It also answers a [`Backfill`](super::Backfill) of them.
        4 Expired {
            /// The log.
            log: LogId,
            /// The first of these records.
            first: Seq,
            /// The last of these records.
            last: Seq,
            /// The run of the log's writer.
            epoch: EpochId,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter that holds the record `before` - 1, up to `before`. Head
        /// and segment frames follow.
        ///
        /// Segments are never encoded again. If `before` lies inside one, the server sends it whole, and the viewer
        /// leaves out the records from `before` on.
        5 Chapter {
            /// The log.
            log: LogId,
            /// The chapter's first record.
            first: Seq,
            /// The record before which the chapter is cut.
            before: Seq,
        }
        /// A sign of life, sent every 20 s ([`HEARTBEAT_MS`](super::HEARTBEAT_MS)).
        6 Heartbeat {
            /// The last sealed record.
            head: Seq,
            /// The server's time.
            at: Time,
            /// The bytes in the ring.
            ring_bytes: u64,
            /// The most bytes that the ring may hold.
            ring_capacity: u64,
            /// The first record in the ring.
            first: Seq,
            /// The wall clock when that record was taken.
            first_at: Time,
        }
        /// The server ends this connection on purpose.
        7 Bye {
            /// Why: `going-away`, `version`, `session-ended` or `too-slow`.
            reason: Text,
            /// The time after which the viewer should come back, in milliseconds; absent: it should not.
            retry_after_ms: Option<u64>,
        }
        /// A part of a larger message; the part's bytes follow.
        8 Piece {
            /// The number of the larger message; it rises by 1.
            transfer: u64,
            /// The number of the part, from 0.
            index: u32,
            /// The number of parts.
            count: u32,
        }
        /// There is no cluster yet; lists the contexts that a person can choose from.
        9 Contexts {
            /// The names of the kubeconfig's contexts.
            names: Vec<Text>,
            /// Why there is no cluster, in a sentence.
            reason: String,
        }
        /// The outcome of a [`Command`](super::Command) or [`WriteNote`](super::WriteNote). The server sends it after
        /// all records that the command caused.
        10 CommandDone {
            /// The command's number.
            command: u64,
            /// What went wrong, in a sentence; absent on success.
            error: Option<String>,
            /// Why a note was refused; absent for other commands, and for a note that is in the log.
            refused: Option<NoteRefusal>,
        }
        /// The state of the history on disk, if one is kept. The server sends it after the welcome and when it
        /// changes, at most every 10 s unless there is trouble.
        11 History {
            /// The bytes of all files.
            bytes: u64,
            /// The most bytes that the files may have.
            size_bytes: u64,
            /// The time of the first record in all files.
            since: Option<Time>,
            /// The last record of this run that is in a file.
            kept_to: Seq,
            /// The number of records of this run that left the ring before they were written.
            lost: u64,
            /// Why the history cannot be written; absent if it can.
            trouble: Option<DiskTrouble>,
            /// Since when it cannot be written.
            trouble_since: Option<Time>,
        }
        /// Chapters of one run, the newest first; their entries follow
        /// ([`catalogue_entries`](super::catalogue_entries)). After the first snapshot the server sends all known
        /// chapters, later those that changed. An entry replaces an earlier one with the same first record.
        12 Catalogue {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The place of the run among all runs. The run that is being written has the highest number.
            order: u64,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter is in a file that cannot be read.
        13 NotRead {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The record from the request.
            before: Seq,
            /// Why, in a sentence.
            reason: String,
        }
    }
}

impl CommandDone {
    /// The outcome of a command: success, or the error in a sentence.
    #[must_use]
    pub fn of(command: u64, error: Option<String>) -> Self {
        Self {
            command,
            error,
            refused: None,
        }
    }

    /// The outcome of a note: written, or the reason of its refusal.
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

/// Decodes a server's message; returns it and the data after it. `None` for a kind that this build does not know.
///
/// # Errors
/// If the bytes are not a message.
pub fn decode_server(bytes: &[u8]) -> Result<Option<(ServerMessage, &[u8])>, DecodeError> {
    decode(bytes, ServerMessage::read_fields)
}
