//! The messages that a server sends.

use super::message::{decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{Fields, fields};
use crate::id::{EpochId, LogId, Seq, Text};
use crate::time::Time;
use crate::vocabulary::{DiskTrouble, NoteRefusal};

messages! {
    /// A message from a server. Encoded data follows after a [`Snapshot`], [`Segment`], [`Chapter`], [`Piece`] or
    /// [`Catalogue`].
    ServerMessage {
        /// The first message, in answer to a [`Hello`](super::Hello) of this protocol version.
        0 Welcome {
            /// The server's protocol version.
            protocol: u32,
            /// The log whose records follow.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The seq of the first record in the ring; if the ring is empty, the seq of the next record.
            first: Seq,
            /// The seq of the last sealed record; if the ring is empty, `first` - 1.
            head: Seq,
            /// Whether segments continue from the records that the viewer has, without a snapshot.
            resumed: bool,
            /// The server's time, on the log's clock.
            at: Time,
            /// The version of watchscope that serves, such as `1.2.0`.
            version: Text,
            /// The time of the first record in the ring, on the log's clock. If the ring's first chapter has no record,
            /// it is the time at which that chapter was opened.
            first_at: Time,
            /// The name of a recording; absent for a live log.
            recording: Option<Text>,
            /// The time of the first record that the page shows without a request: the first of the recording's last
            /// 160 chapters. Absent for a live log.
            recorded_from: Option<Time>,
            /// The time of the recording's last record, which serves as the present; absent for a live log.
            recorded_to: Option<Time>,
            /// Whether diagnosis ran again for the recording, so that the judgements shown are not the recorded ones;
            /// absent for a live log.
            judged_again: Option<bool>,
        }
        /// A snapshot: the fold up to `seq`, included, and the open chapter's dictionary. The head frame follows the
        /// message.
        1 Snapshot {
            /// The log.
            log: LogId,
            /// The seq of the last folded record, 0 before the first; the next segment begins with the next seq.
            seq: Seq,
        }
        /// A segment, whose frame follows. Segments continue from chapter to chapter, because the dictionary's numbers
        /// keep their meaning.
        2 Segment {
            /// The log.
            log: LogId,
        }
        /// The viewer is moved to the log's newest record: it was too far behind, resumed from a pause or subscribed
        /// again. A snapshot follows this message; the viewer may request the skipped records with a
        /// [`Backfill`](super::Backfill).
        3 Moved {
            /// The log.
            log: LogId,
            /// The seq of the first record that is not sent.
            from: Seq,
            /// The seq of the last record that is not sent. This record is the last one that the snapshot folds.
            to: Seq,
        }
        /// The records from `first` to `last`, which the server does not send. After the welcome, the viewer lacks
        /// them and the ring has dropped them; a file may hold them. In answer to a [`Backfill`](super::Backfill),
        /// `first` is 1. Neither the ring nor a file then holds the record `last`, but a file may hold earlier ones.
        4 Expired {
            /// The log.
            log: LogId,
            /// The seq of the first record that the server does not send.
            first: Seq,
            /// The seq of the last record that the server does not send; 0, before `first`, if the record before seq 1
            /// or 0 was requested.
            last: Seq,
            /// The run of the log's writer.
            epoch: EpochId,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter that holds the record `before` - 1, cut before `before`.
        /// Head and segment frames follow the message.
        ///
        /// Segments are never encoded again. If the requested `before` lies inside a segment, the server sends that
        /// segment whole, with its records from `before` on.
        5 Chapter {
            /// The log.
            log: LogId,
            /// The seq of the chapter's first record.
            first: Seq,
            /// The seq before which the chapter is cut. For a chapter from the ring it is the seq in the request; for
            /// one from a file, the seq after the last record sent.
            before: Seq,
        }
        /// A heartbeat, sent soon after the welcome and then every 20 s ([`HEARTBEAT_MS`](super::HEARTBEAT_MS)).
        6 Heartbeat {
            /// The seq of the last sealed record; if the ring is empty, `first` - 1.
            head: Seq,
            /// The server's time, on the log's clock.
            at: Time,
            /// The number of bytes that the ring holds, bookkeeping included.
            ring_bytes: u64,
            /// The most bytes that the ring may hold; [`u64::MAX`] for a recording. Above this bound closed chapters
            /// are dropped, but the open chapter stays.
            ring_capacity: u64,
            /// The seq of the first record in the ring; if the ring is empty, the seq of the next record.
            first: Seq,
            /// The time of the first record in the ring, on the log's clock. If the ring's first chapter has no record,
            /// it is the time at which that chapter was opened.
            first_at: Time,
        }
        /// The server ends this connection on purpose.
        7 Bye {
            /// Why: `going-away`, `version` or `session-ended`. A viewer accepts any other word, such as `too-slow`.
            reason: Text,
            /// The time after which the viewer should connect again, in milliseconds. If absent, it should not connect
            /// again, except after `going-away`.
            retry_after_ms: Option<u64>,
        }
        /// A part of a larger message; the part's bytes follow.
        8 Piece {
            /// The number of the larger message on this connection. The number rises from one larger message to the
            /// next, perhaps by more than 1.
            transfer: u64,
            /// The number of the part, from 0.
            index: u32,
            /// The number of parts, at least 1.
            count: u32,
        }
        /// There is no cluster yet; lists the contexts that a person can choose from.
        9 Contexts {
            /// The names of the kubeconfig's contexts, in the order of the file; not empty. The kubeconfig bounds their
            /// number; the message is not cut into pieces.
            names: Vec<Text>,
            /// Why there is no cluster, in a sentence.
            reason: String,
        }
        /// The outcome of a [`Command`](super::Command) or [`WriteNote`](super::WriteNote). The server sends the
        /// outcome after all records that the command caused. While live data is paused, these records hold the outcome
        /// back.
        10 CommandDone {
            /// The number of the command or note, as the viewer chose it.
            command: u64,
            /// What went wrong, in a sentence; absent on success, and if a note was refused.
            error: Option<String>,
            /// Why a note was refused; absent for other commands, and for a note that is in the log.
            refused: Option<NoteRefusal>,
        }
        /// The state of the history on disk, if one is kept. The server sends this state after the welcome and when it
        /// changes, at most every 10 s. The server sends the state at once if the trouble or `lost` changes, or when
        /// the first record is kept.
        11 History {
            /// The size of all files of the history, in bytes.
            bytes: u64,
            /// The budget of the history's files in bytes, bodies included. To stay within its budget, the server drops
            /// the oldest files or the bodies in them.
            size_bytes: u64,
            /// The time of the first record in all files of the history; absent while no record is kept.
            since: Option<Time>,
            /// The seq of the last record of this epoch that is in a file; 0 if none is.
            kept_to: Seq,
            /// The number of records of this epoch that left the ring before they were written to a file.
            lost: u64,
            /// Why the history cannot be written, or only late; absent without such trouble.
            trouble: Option<DiskTrouble>,
            /// Since when the trouble lasts, on the log's clock; absent without trouble.
            trouble_since: Option<Time>,
        }
        /// Chapters of one epoch, the newest first; their entries follow the message
        /// ([`catalogue_entries`](super::catalogue_entries)). After the first snapshot, or after a resumed connection,
        /// the server sends all known chapters, and later those that changed. While live data is paused, the server
        /// sends no catalogue. Several catalogue messages may have entries of one epoch. An entry replaces an earlier
        /// entry with the same first record.
        12 Catalogue {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The position of the run among all runs. The run that is being written has the highest number.
            order: u64,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter is in a file, and the server could not read it.
        13 NotRead {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The seq from the request.
            before: Seq,
            /// Why, in a sentence.
            reason: String,
        }
    }
}

impl CommandDone {
    /// The outcome of a command: the error in a sentence, or success for `None`.
    #[must_use]
    pub fn of(command: u64, error: Option<String>) -> Self {
        Self {
            command,
            error,
            refused: None,
        }
    }

    /// The outcome of a note: the reason of its refusal, or success for `None`.
    #[must_use]
    pub fn of_note(command: u64, refused: Option<NoteRefusal>) -> Self {
        Self {
            command,
            error: None,
            refused,
        }
    }
}

/// Encodes a server's message and the data after it, all parts of the data in order. It does not check
/// [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES); the caller cuts a larger message.
#[must_use]
pub fn encode_server(message: &ServerMessage, data: &[&[u8]]) -> Vec<u8> {
    let mut out = Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    });
    data.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Decodes a server's message; returns the message and the data after it, which may be empty. `None` for a kind that
/// this build does not know. It accepts any length.
///
/// # Errors
/// The first error in the message. The data after the message is not read.
pub fn decode_server(bytes: &[u8]) -> Result<Option<(ServerMessage, &[u8])>, DecodeError> {
    decode(bytes, ServerMessage::read_fields)
}
