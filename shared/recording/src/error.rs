//! What can fail: opening a file, a part of it that is damaged, writing one, and making an extract.

use thiserror::Error;
use watchscope_model::Seq;
use watchscope_model::codec::DecodeError;

use crate::format::{FORMAT_VERSION, MAX_BLOCKS, MAX_CHAPTERS, MAX_RAW_BYTES, Tag};

/// Why a file cannot be opened at all.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// It does not begin as a recording does.
    #[error("byte 0: this is no watchscope recording")]
    NotARecording,
    /// It ends before its first block.
    #[error("byte 0: the recording ends inside its first 12 bytes")]
    CutInHeader,
    /// Its line ends were changed on its way.
    #[error(
        "byte 0: the recording was changed by a transfer as text; copy it again as a binary file"
    )]
    Transferred,
    /// Written by a later version.
    #[error(
        "byte 8: the recording has format version {version}; this watchscope reads up to version {FORMAT_VERSION}"
    )]
    Newer {
        /// The version.
        version: u32,
    },
    /// The host handed in what was not asked for.
    #[error("byte {offset}: the file gave fewer bytes than it has")]
    ShortRead {
        /// Where it was read.
        offset: u64,
    },
}

/// A part of a file that cannot be read, though others can.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("block {block} at byte {offset} is damaged: {kind}")]
pub struct Damage {
    /// Which block, from 0.
    pub block: u32,
    /// Where its header begins.
    pub offset: u64,
    /// How it is damaged.
    pub kind: DamageKind,
}

/// How a block is damaged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DamageKind {
    /// Its header is not what it should be.
    #[error("its header is not readable")]
    Header,
    /// Its header cannot be read; the next one was looked for.
    #[error("no block can be read in {bytes} bytes")]
    Skipped {
        /// From here to the next block, or to the file's end.
        bytes: u64,
    },
    /// Its payload is not what was written.
    #[error("its checksum is {found:08x}, it should be {expected:08x}")]
    Checksum {
        /// As written.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// Its payload is not what its tag promises.
    #[error("{0}")]
    Payload(&'static str),
    /// It does not inflate.
    #[error("it does not inflate")]
    Inflate,
    /// It inflates to another length than it says.
    #[error("it inflates to {found} bytes, it should be {stated}")]
    RawLength {
        /// As written.
        stated: u32,
        /// As found; one more than stated if inflating was stopped.
        found: usize,
    },
    /// A frame in it cannot be read, or does not follow the one before.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// Its JSON cannot be read.
    #[error("its JSON cannot be read: {0}")]
    Json(String),
    /// It is one more than are read; so are all behind it.
    #[error("only {MAX_BLOCKS} blocks are read, and none from here on")]
    TooManyBlocks,
    /// Its chapter is one more than are read; so are all behind it.
    #[error("only {MAX_CHAPTERS} chapters are read, and none from here on")]
    TooManyChapters,
    /// It belongs to a chapter whose opening cannot be read.
    #[error("the opening of its chapter, from record {first}, cannot be read")]
    NoOpening {
        /// The chapter's first record.
        first: Seq,
    },
    /// It says that it is of one chapter and stands behind the opening of another.
    #[error("it stands in another chapter than it says, the one from record {first}")]
    WrongChapter {
        /// The first record of the chapter that it names.
        first: Seq,
    },
    /// It says that it is of a chapter that has no other block.
    #[error("the chapter that it says it is of, from record {first}, is not in the file")]
    NoChapter {
        /// The first record of the chapter that it names.
        first: Seq,
    },
}

/// Why something cannot be written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// It does not fit in a block.
    #[error("{bytes} bytes do not fit in a block {tag}, which holds {MAX_RAW_BYTES}")]
    TooLarge {
        /// What the block was to hold.
        tag: Tag,
        /// How many bytes there are.
        bytes: usize,
    },
    /// The chapter before is still open.
    #[error("the chapter from record {first} is still open")]
    ChapterOpen {
        /// Its first record.
        first: Seq,
    },
    /// No chapter is open.
    #[error("no chapter is open")]
    NoChapter,
    /// The host did not deflate what it was asked to.
    #[error("the file could not be deflated")]
    NotDeflated,
    /// A frame cannot be read, or does not follow the one before.
    #[error("a frame cannot be written to a recording: {0}")]
    Frame(#[from] DecodeError),
}

/// Why an extract cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExtractError {
    /// No record is in the range.
    #[error("no record is in the range")]
    Empty,
    /// A frame cannot be read.
    #[error("the chapter from record {first} cannot be read: {error}")]
    Frame {
        /// The chapter's first record.
        first: Seq,
        /// Why.
        error: DecodeError,
    },
}
