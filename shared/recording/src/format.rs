//! The fixed numbers and letters of the format.

use std::fmt;

/// How a recording begins: no text starts so, and a transfer that takes it for text changes the line ends in it.
pub const MAGIC: [u8; 8] = *b"\x89WSR\r\n\x1a\n";
/// The version this build writes. It reads this and all earlier ones.
pub const FORMAT_VERSION: u32 = 1;
/// Bytes before the first block: magic and version.
pub const FILE_HEADER_BYTES: usize = 12;
/// Bytes before a block's payload.
pub const BLOCK_HEADER_BYTES: usize = 20;
/// The most that a block holds once it is inflated.
pub const MAX_RAW_BYTES: u32 = 64 << 20;
/// The most that a block takes in the file: what deflate cannot make smaller grows by less than a hundredth, and what
/// stands before the deflated part is under 64 KiB.
pub const MAX_STORED_BYTES: u32 = MAX_RAW_BYTES + (1 << 20);

/// The most blocks that a file is read with: eleven days of one a second.
pub const MAX_BLOCKS: usize = 1_000_000;
/// The most chapters that a file is read with.
pub const MAX_CHAPTERS: usize = 65_536;
/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// What the file is of, as JSON.
    File,
    /// The opening of a chapter that was being written.
    Opening,
    /// Segments of that chapter.
    Segments,
    /// A closed chapter.
    Chapter,
    /// Bodies of a chapter.
    Bodies,
    /// Notes about records outside the chapters.
    Notes,
    /// The index of all blocks before it.
    Index,
    /// Something of a later version, by its letter.
    Later(u8),
}

impl Tag {
    /// The byte in the header.
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

    /// What a byte stands for; `None` if it is no capital letter.
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

    /// Whether the payload begins with the first seq of the chapter that the block belongs to.
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
