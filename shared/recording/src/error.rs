//! Errors: of opening a file, of its damaged parts, of writing a file, and of making an extract.

use thiserror::Error;
use watchscope_model::Seq;
use watchscope_model::codec::DecodeError;

use crate::format::{FORMAT_VERSION, MAX_BLOCKS, MAX_CHAPTERS, MAX_RAW_BYTES, Tag};

/// Why a file cannot be opened at all.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The file does not begin with [`MAGIC`](crate::MAGIC), or its version is 0. An empty file gives this error.
    /// [`CutInHeader`](Self::CutInHeader) and [`Transferred`](Self::Transferred) are reported instead if they apply.
    #[error("byte 0: this is no watchscope recording")]
    NotARecording,
    /// The file begins like a recording, and ends inside the first 12 bytes.
    #[error("byte 0: the recording ends inside its first 12 bytes")]
    CutInHeader,
    /// A transfer as text changed the file: bytes 1 to 3 are `WSR`, and other bytes of [`MAGIC`](crate::MAGIC) are
    /// wrong. A file under 12 bytes does not give this error.
    #[error(
        "byte 0: the recording was changed by a transfer as text; copy it again as a binary file"
    )]
    Transferred,
    /// A later version of watchscope wrote the file.
    #[error(
        "byte 8: the recording has format version {version}; this watchscope reads up to version {FORMAT_VERSION}"
    )]
    Newer {
        /// The file's format version, above [`FORMAT_VERSION`].
        version: u32,
    },
    /// The host handed in another number of bytes than was requested.
    #[error("byte {offset}: the file gave fewer bytes than it has")]
    ShortRead {
        /// Byte of the file at which the request began.
        offset: u64,
    },
}

/// A part of a file that cannot be read. The blocks after this part are read nevertheless, unless [`DamageKind`] says
/// otherwise.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("block {block} at byte {offset} is damaged: {kind}")]
pub struct Damage {
    /// Number of the block, from 0. A stretch in which no header can be read counts as one block.
    pub block: u32,
    /// Byte of the file at which the block begins.
    pub offset: u64,
    /// How the block is damaged.
    pub kind: DamageKind,
}

/// How a block is damaged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes at the block's offset do not begin with the header that the scan or the index found. The file has
    /// changed, only the index has the header, or the host handed in fewer than the header's 20 bytes.
    #[error("its header is not readable")]
    Header,
    /// No header could be read here. The reader searched for the next header, and counts all bytes up to that header as
    /// one block.
    #[error("no block can be read in {bytes} bytes")]
    Skipped {
        /// Bytes from here to the next block, or to the file's end.
        bytes: u64,
    },
    /// The checksum of the payload is wrong, or that of the summary in a `C` block.
    #[error("its checksum is {found:08x}, it should be {expected:08x}")]
    Checksum {
        /// CRC-32 that the file states.
        expected: u32,
        /// CRC-32 of the bytes that were read.
        found: u32,
    },
    /// The payload has the wrong form, or is over a bound; the text states the problem.
    #[error("{0}")]
    Payload(&'static str),
    /// The deflated part is no deflate stream.
    #[error("it does not inflate")]
    Inflate,
    /// The inflated length is not the one in the header.
    #[error("it inflates to {found} bytes, it should be {stated}")]
    RawLength {
        /// Bytes according to the header.
        stated: u32,
        /// Bytes that the host handed in. If the number is above the stated one, the host stopped inflating at this
        /// number.
        found: usize,
    },
    /// A frame in the block cannot be read, or does not follow the frame before. The damage is also reported this way
    /// if the summary of a `C` block, or a note of an `N` block, cannot be decoded.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// The JSON of a file block (`F`) cannot be read; the text states why, and at which line and column.
    #[error("its JSON cannot be read: {0}")]
    Json(String),
    /// The block is the first over [`MAX_BLOCKS`]. This block and all blocks after it are not read.
    #[error("only {MAX_BLOCKS} blocks are read, and none from here on")]
    TooManyBlocks,
    /// The block's chapter is the first over [`MAX_CHAPTERS`]. This block and all blocks after it are read into no
    /// chapter, and this block is the last in [`Contents::blocks`](crate::Contents::blocks). Notes after this block are
    /// still read.
    #[error("only {MAX_CHAPTERS} chapters are read, and none from here on")]
    TooManyChapters,
    /// The segments block (`S`) names a chapter that has neither a readable opening (`O`) nor a readable closed block
    /// (`C`) after the same `F` block. An opening is readable here if its header and seq are; a closed block, if its
    /// summary is. Only the first such segments block (`S`) of a chapter is reported.
    #[error("the opening of its chapter, from record {first}, cannot be read")]
    NoOpening {
        /// Seq of the chapter's first record.
        first: Seq,
    },
    /// The segments block (`S`) names a chapter that has a readable opening (`O`) or closed block (`C`) after the same
    /// `F` block. But between that `F` block and the segments block, the last readable opening is of another chapter,
    /// or there is none. Only the first such segments block (`S`) of a chapter is reported.
    #[error("it stands in another chapter than it says, the one from record {first}")]
    WrongChapter {
        /// Seq of the first record of the named chapter.
        first: Seq,
    },
    /// The block holds bodies of a chapter that has neither a readable opening (`O`) nor a readable closed block (`C`).
    /// Only one bodies block without a chapter is reported for each file.
    #[error("the chapter that it says it is of, from record {first}, is not in the file")]
    NoChapter {
        /// Seq of the first record of the named chapter.
        first: Seq,
    },
}

/// Why the writer cannot write.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// The payload, or the part of it that is deflated, does not fit in a block.
    #[error("{bytes} bytes do not fit in a block {tag}, which holds {MAX_RAW_BYTES}")]
    TooLarge {
        /// Tag of the block.
        tag: Tag,
        /// The length in bytes of the payload in the file, or of the frames or bodies before deflating.
        bytes: usize,
    },
    /// The previous chapter is still open.
    #[error("the chapter from record {first} is still open")]
    ChapterOpen {
        /// Seq of the open chapter's first record.
        first: Seq,
    },
    /// No chapter is open, or an [`ExcerptFile`](crate::ExcerptFile) has no file yet.
    #[error("no chapter is open")]
    NoChapter,
    /// The host passed no deflated bytes to [`ExcerptFile::step`](crate::ExcerptFile::step).
    #[error("the file could not be deflated")]
    NotDeflated,
    /// A frame cannot be read, is of the wrong kind, or does not follow the frame before.
    #[error("a frame cannot be written to a recording: {0}")]
    Frame(#[from] DecodeError),
}

/// Why no extract can be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExtractError {
    /// No record is in the stretch. A record in the stretch counts even if the choice of watches and clients leaves it
    /// out.
    #[error("no record is in the range")]
    Empty,
    /// A frame cannot be read.
    #[error("the chapter from record {first} cannot be read: {error}")]
    Frame {
        /// Seq of the chapter's first record; 0 if the chapter's head frame cannot be read.
        first: Seq,
        /// The decoder's error.
        error: DecodeError,
    },
}
