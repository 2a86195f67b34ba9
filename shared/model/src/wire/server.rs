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
        /// The first message, in answer to a [`Hello`](super::Hello) of this protocol version.
        0 Welcome {
            /// The server's protocol version.
            protocol: u32,
            /// The log whose records follow.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The seq of the first record in the ring; of an empty one, of the next record.
            first: Seq,
            /// The seq of the last sealed record; if the ring is empty, the seq before `first`.
            head: Seq,
            /// Whether segments continue from the records that the viewer has, without a snapshot.
            resumed: bool,
            /// The server's time, on the log's clock.
            at: Time,
            /// The version of watchscope that serves, such as `1.2.0`.
            version: Text,
            /// The time of the first record in the ring, on the log's clock. If its first chapter is empty, when that
            /// was opened.
            first_at: Time,
            /// The name of a recording; absent for a live log.
            recording: Option<Text>,
            /// The time of the first record that the page shows at once: of the recording's last 160 chapters. Absent
            /// for a live log.
            recorded_from: Option<Time>,
            /// The time of the recording's last record, which serves as the present; absent for a live log.
            recorded_to: Option<Time>,
            /// Whether diagnosis ran again for the recording, so its judgements are not the recorded ones; absent for a
            /// live log.
            judged_again: Option<bool>,
        }
        /// A snapshot: the fold up to `seq` and the open chapter's dictionary. The head frame follows.
        1 Snapshot {
            /// The log.
            log: LogId,
            /// The seq of the last folded record, 0 before the first; the next segment begins after it.
            seq: Seq,
        }
        /// A segment, whose frame follows. Segments continue across chapters: the dictionary's numbers keep their
        /// meaning.
        2 Segment {
            /// The log.
            log: LogId,
        }
        /// The viewer was too far behind, resumed from a pause or subscribed again. A snapshot follows; the viewer may
        /// request the skipped records as any others.
        3 Moved {
            /// The log.
            log: LogId,
            /// The seq of the first record that is not sent.
            from: Seq,
            /// The seq of the last record that is not sent. It is the last one that the snapshot folds.
            to: Seq,
        }
        /// Records that the server does not send. After the welcome, the viewer lacks them, and the ring has dropped
        /// them; a file may hold them. In answer to a [`Backfill`](super::Backfill) it begins at seq 1. Then neither
        /// the ring nor a file holds the last of them, but a file may hold earlier ones.
        4 Expired {
            /// The log.
            log: LogId,
            /// The seq of the first of these records.
            first: Seq,
            /// The seq of the last of these records; 0, before `first`, if the record before seq 1 or 0 was requested.
            last: Seq,
            /// The run of the log's writer.
            epoch: EpochId,
        }
        /// Answers [`Backfill`](super::Backfill): the chapter that holds the record `before` - 1, up to `before`. Head
        /// and segment frames follow.
        ///
        /// Segments are never encoded again. If the requested `before` lies inside one, the server sends it whole, with
        /// records from `before` on.
        5 Chapter {
            /// The log.
            log: LogId,
            /// The seq of the chapter's first record.
            first: Seq,
            /// The seq before which the chapter is cut: from the ring, that of the request; from a file, the seq after
            /// the last record sent.
            before: Seq,
        }
        /// A sign of life, sent soon after the welcome and then every 20 s ([`HEARTBEAT_MS`](super::HEARTBEAT_MS)).
        6 Heartbeat {
            /// The seq of the last sealed record; if the ring is empty, the seq before `first`.
            head: Seq,
            /// The server's time, on the log's clock.
            at: Time,
            /// The bytes in the ring, bookkeeping included.
            ring_bytes: u64,
            /// The most bytes that the ring may hold; [`u64::MAX`] for a recording. Above it closed chapters are
            /// dropped, but the open one stays.
            ring_capacity: u64,
            /// The seq of the first record in the ring; of an empty one, of the next record.
            first: Seq,
            /// The time of that record, on the log's clock. If the ring's first chapter is empty, when that was opened.
            first_at: Time,
        }
        /// The server ends this connection on purpose.
        7 Bye {
            /// Why: `going-away`, `version` or `session-ended`. A viewer accepts any other word, such as `too-slow`.
            reason: Text,
            /// The time after which the viewer should come back, in milliseconds; absent: it should not, except after
            /// `going-away`.
            retry_after_ms: Option<u64>,
        }
        /// A part of a larger message; the part's bytes follow.
        8 Piece {
            /// The number of the larger message on this connection. It rises from one such message to the next, perhaps
            /// by more than 1.
            transfer: u64,
            /// The number of the part, from 0.
            index: u32,
            /// The number of parts, at least 1.
            count: u32,
        }
        /// There is no cluster yet; lists the contexts that a person can choose from.
        9 Contexts {
            /// The names of the kubeconfig's contexts, in its order; not empty. It bounds them; the message is not cut.
            names: Vec<Text>,
            /// Why there is no cluster, in a sentence.
            reason: String,
        }
        /// The outcome of a [`Command`](super::Command) or [`WriteNote`](super::WriteNote). The server sends it after
        /// all records that the command caused, so these hold it back while live data is paused.
        10 CommandDone {
            /// The number of the command or note, as the viewer chose it.
            command: u64,
            /// What went wrong, in a sentence; absent on success, and if a note was refused.
            error: Option<String>,
            /// Why a note was refused; absent for other commands, and for a note that is in the log.
            refused: Option<NoteRefusal>,
        }
        /// The state of the history on disk, if one is kept. The server sends it after the welcome and when it changes,
        /// at most every 10 s. It does so at once if the trouble or `lost` changes, or the first record is kept.
        11 History {
            /// The bytes of all files.
            bytes: u64,
            /// The most bytes that the files may have; above it the oldest file is dropped.
            size_bytes: u64,
            /// The time of the first record in all files; absent while none is kept.
            since: Option<Time>,
            /// The seq of the last record of this run that is in a file; 0 if none is.
            kept_to: Seq,
            /// The number of records of this run that left the ring before they were written.
            lost: u64,
            /// Why the history cannot be written, or only late; absent if neither.
            trouble: Option<DiskTrouble>,
            /// Since when the trouble lasts, on the log's clock; absent without trouble.
            trouble_since: Option<Time>,
        }
        /// Chapters of one run, the newest first; their entries follow
        /// ([`catalogue_entries`](super::catalogue_entries)). After the first snapshot, or a resume, the server sends
        /// all known chapters, later those that changed; none while live data is paused. Several such messages may have
        /// entries of one run. An entry replaces an earlier one with the same first record.
        12 Catalogue {
            /// The log.
            log: LogId,
            /// The run of the log's writer.
            epoch: EpochId,
            /// The place of the run among all runs. The run that is being written has the highest number.
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

    /// The outcome of a note: the reason of its refusal, or written for `None`.
    #[must_use]
    pub fn of_note(command: u64, refused: Option<NoteRefusal>) -> Self {
        Self {
            command,
            error: None,
            refused,
        }
    }
}

/// Encodes a server's message and the data behind it, all parts in order. It does not check
/// [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES); the caller cuts a larger one.
#[must_use]
pub fn encode_server(message: &ServerMessage, data: &[&[u8]]) -> Vec<u8> {
    let mut out = Writer::plain(|writer| {
        writer.varint(message.kind());
        writer.sized(|fields| message.write_fields(fields));
    });
    data.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Decodes a server's message; returns it and the data after it, empty if there is none. `None` for a kind that this
/// build does not know. It accepts any length.
///
/// # Errors
/// The first error in the message. The data is not looked at.
pub fn decode_server(bytes: &[u8]) -> Result<Option<(ServerMessage, &[u8])>, DecodeError> {
    decode(bytes, ServerMessage::read_fields)
}
