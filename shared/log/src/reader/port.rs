//! The values that a reader and its driver pass to each other: the next act, a fetched chapter, requests, refusals and
//! counters.

use bytes::Bytes;
use thiserror::Error;
use watchscope_model::codec::DecodeError;
use watchscope_model::wire::{Backfill, Command, WriteNote};
use watchscope_model::{Seq, Text, Time};

/// The most requested chapters of a viewer that wait, besides the one in transit. A further request ends the
/// conversation ([`Refusal::Backfills`]). The number bounds the memory, and has no source: the page has one request at
/// a time.
pub const MAX_BACKFILLS: usize = 16;
/// The number of waiting control messages at which a message of the viewer that needs an answer ends the conversation
/// ([`Refusal::Unread`]). Control messages wait only while the driver cannot send, so only a viewer that does not read
/// reaches this number. The driver bounds the control messages that it adds itself. The number bounds the memory, and
/// has no source.
pub(super) const MAX_CONTROL: usize = 64;

/// A recording that is read in place of a live log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The recording's name, as people see it.
    pub name: Text,
    /// The time of the first record that the page shows at once, before the viewer requests earlier chapters.
    pub from: Time,
    /// The time of the recording's last record.
    pub to: Time,
    /// Whether diagnosis ran again for the recording. If it did not, the recording has the judgements that were
    /// recorded.
    pub is_judged_again: bool,
}

/// Counters of one viewer, from its first message on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The number of messages sent to the viewer, of all kinds.
    pub messages: u64,
    /// The number of bytes of all messages sent to the viewer.
    pub bytes: u64,
    /// The number of sent bytes that the viewer has not acknowledged.
    pub unacknowledged_bytes: u64,
    /// The number of times that the viewer was moved to the head because it was left behind; moves after a pause do not
    /// count.
    pub moves: u64,
    /// The number of records that those moves to the head skipped; the viewer has them only as part of a snapshot.
    pub moved_past: u64,
    /// The time that the first record of a segment waited since it was written, in microseconds. It has a value only if
    /// the last call of [`crate::Reader::next`] returned a whole segment, or the first piece of one; else `None`.
    pub waited_us: Option<i64>,
}

/// The result of a host's look into its files for [`Step::Fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The host found the chapter.
    Chapter {
        /// The chapter's first record.
        first: Seq,
        /// The chapter's last record.
        last: Seq,
        /// The chapter's head frame and segment frames, in order. The reader sends them up to the segment that holds
        /// the record before [`Backfill::before`], which it includes. The reader sends all frames if it meets a damaged
        /// frame before that segment, or if there are no segments.
        frames: Bytes,
    },
    /// No file holds the chapter any more. The viewer gets [`watchscope_model::wire::Expired`].
    Gone,
    /// The chapter cannot be read. The viewer gets [`watchscope_model::wire::NotRead`].
    NotRead {
        /// Why, in a sentence for people.
        reason: String,
    },
}

/// A viewer's request that the host must carry out, because a reader cannot.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A command.
    Command(Command),
    /// A person's note for the log.
    Note(WriteNote),
}

/// The next act of the driver for a viewer.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send this message: one whole message of the wire protocol. After sending it, call [`crate::Reader::next`] again.
    Send(Bytes),
    /// Read the chapter that holds the record before `before` from a file, and pass it to [`crate::Reader::fetched`].
    /// Call [`crate::Reader::next`] again without waiting for the file.
    Fetch(Backfill),
    /// Nothing can be sent. Call [`crate::Reader::next`] again when the ring changed, `until` has come, or the viewer
    /// sent a message. Call it also after [`crate::Reader::fetched`], [`crate::Reader::tell`] and
    /// [`crate::Reader::part`].
    Wait {
        /// The latest time for the next call, on the log's clock; `None` before hello.
        until: Option<Time>,
        /// Whether the ring has no suitable head snapshot, so that the log's writer must set a new one.
        needs_snapshot: bool,
    },
    /// The conversation is over; close the connection.
    End(Parting),
}

/// Why the server ends a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The `reason` of [`watchscope_model::wire::Bye`]: a word of the protocol, such as `version`.
    pub reason: Text,
    /// The time after which the viewer should connect again, in milliseconds. If `None`, it should not connect again,
    /// except after the reason `going-away`.
    pub retry_after_ms: Option<u64>,
}

/// A viewer's message that breaks the protocol, so the conversation ends.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes are not a message of this protocol; the error states why.
    #[error("not a message of this protocol: {0}")]
    Undecodable(#[from] DecodeError),
    /// A message came before a hello in the protocol version of this server, or a hello came after one.
    #[error("the first message, and only the first, is hello")]
    Hello,
    /// The viewer acknowledged more bytes than were sent to it.
    #[error("{acknowledged} bytes were acknowledged, fewer were sent")]
    Acknowledged {
        /// The total of bytes that the viewer acknowledged, from the first message on.
        acknowledged: u64,
    },
    /// The viewer requested a further chapter while [`MAX_BACKFILLS`] requests wait.
    #[error("more than {MAX_BACKFILLS} chapters were asked for at once")]
    Backfills,
    /// The viewer sent a request that needs an answer while 64 control messages wait: it does not read the answers.
    #[error("more than {MAX_CONTROL} answers wait to be read")]
    Unread,
}
