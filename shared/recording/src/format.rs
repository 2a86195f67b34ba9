//! The constants and tags of the format.

use std::fmt;

/// The first 8 bytes of a recording. The first byte is not ASCII, so no text in UTF-8 begins like this. A transfer as
/// text changes the line ends among these bytes. A file with other first bytes is
/// [`ReadError::NotARecording`](crate::ReadError::NotARecording) or
/// [`ReadError::Transferred`](crate::ReadError::Transferred).
pub const MAGIC: [u8; 8] = *b"\x89WSR\r\n\x1a\n";
/// The format version that this build writes. This build reads all versions from 1 to this one. A later version is
/// [`ReadError::Newer`](crate::ReadError::Newer). docs/recordings.md#versions states when the version rises.
///
/// The feature `one-higher` adds 1: a test's program with it stands for a later watchscope.
pub const FORMAT_VERSION: u32 = if cfg!(feature = "one-higher") { 2 } else { 1 };
/// The number of bytes of the file before the first block: magic (8 bytes) and version (4 bytes).
pub const FILE_HEADER_BYTES: usize = 12;
/// The number of bytes of a block before its payload: [`Header::bytes`](crate::Header::bytes) lists them.
pub const BLOCK_HEADER_BYTES: usize = 20;
/// The most bytes to which a block inflates; the writer also allows no more bytes in a payload without a deflated part.
/// The number bounds the memory in which a reader inflates a block. The number has no source. The segments of a chapter
/// mostly have a little over 1 MiB, and more only if the chapter's opening has more.
///
/// The writer refuses a larger block with [`WriteError::TooLarge`](crate::WriteError::TooLarge). But the writer leaves
/// a larger open chapter in `O` and `S` blocks, and leaves out a larger index. A reader takes a header with a larger
/// length as damaged.
pub const MAX_RAW_BYTES: u32 = 64 << 20;
/// The most bytes of a payload in the file: 65 MiB. Writer and reader refuse a larger payload as for [`MAX_RAW_BYTES`].
/// Deflate enlarges incompressible bytes by less than 1 % (RFC 1951, section 3.2.4). Less than 64 KiB come before the
/// deflated part. The additional 1 MiB has no other source.
pub const MAX_STORED_BYTES: u32 = MAX_RAW_BYTES + (1 << 20);

/// The most blocks that are read of a file, apart from a good index at its end. The number has no source: it is eleven
/// days of one block a second. A stretch in which no header can be read counts as one block. At the first further
/// block, reading stops with [`DamageKind::TooManyBlocks`](crate::DamageKind::TooManyBlocks). A writer with more than
/// this number of blocks writes no index.
pub const MAX_BLOCKS: usize = 1_000_000;
/// The most chapters that are read of a file. At the first block of a further chapter, the list of blocks ends with
/// [`DamageKind::TooManyChapters`](crate::DamageKind::TooManyChapters). Bodies (`B`) whose chapter is missing count as
/// one chapter for each first seq. Segments (`S`) without their opening are reported for at most as many chapters. The
/// number has no source. A run of the log reaches this number at 64 GiB before deflating, because its chapters close
/// above 1 MiB of segments.
pub const MAX_CHAPTERS: usize = 65_536;
/// The kind of a block: a capital letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// `F`: which log and watches the chapters belong to, as JSON.
    File,
    /// `O`: the opening of a chapter that was being written.
    Opening,
    /// `S`: segments of a chapter that was being written.
    Segments,
    /// `C`: a closed chapter.
    Chapter,
    /// `B`: bodies of a chapter.
    Bodies,
    /// `N`: notes of persons whose records lie outside the chapters.
    Notes,
    /// `I`: the index of all blocks before it.
    Index,
    /// A tag of a later version, as its letter in ASCII. Readers pass over such a block.
    Later(u8),
}

impl Tag {
    /// Returns the tag's byte in the header: its letter in ASCII. For [`Tag::Later`] it is the byte that the value
    /// holds, whatever it is.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::File => b'F',
            Self::Opening => b'O',
            Self::Segments => b'S',
            Self::Chapter => b'C',
            Self::Bodies => b'B',
            Self::Notes => b'N',
            Self::Index => b'I',
            Self::Later(byte) => byte,
        }
    }

    /// Returns the tag of a byte; [`Tag::Later`] for a capital letter without a meaning in this version. `None` if the
    /// byte is no capital letter of ASCII.
    #[must_use]
    pub fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            b'F' => Self::File,
            b'O' => Self::Opening,
            b'S' => Self::Segments,
            b'C' => Self::Chapter,
            b'B' => Self::Bodies,
            b'N' => Self::Notes,
            b'I' => Self::Index,
            b'A'..=b'Z' => Self::Later(byte),
            _ => return None,
        })
    }

    /// Returns whether the payload begins with the first seq of the block's chapter.
    pub(crate) fn has_key(self) -> bool {
        matches!(
            self,
            Self::Opening | Self::Segments | Self::Chapter | Self::Bodies
        )
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        char::from(self.byte()).fmt(f)
    }
}
