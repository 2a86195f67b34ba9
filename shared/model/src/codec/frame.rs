//! The frame around every encoded thing: tag, version, length, checksum.

use super::checksum::checksum;

use thiserror::Error;

/// The version this build writes. It reads this and all earlier ones.
pub const FORMAT_VERSION: u8 = 4;

/// The largest payload a frame may have; a length beyond is refused before anything is allocated.
pub const MAX_FRAME_BYTES: usize = 256 << 20;

const HEADER_BYTES: usize = 10;

/// Why bytes could not be decoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The input ends inside something.
    #[error("the data ends early: {needed} more bytes are needed at byte {at}")]
    Truncated {
        /// Offset in the input.
        at: usize,
        /// Bytes missing.
        needed: usize,
    },
    /// The checksum of a frame does not match.
    #[error("the data is damaged: its checksum is {found:08x}, it should be {expected:08x}")]
    Checksum {
        /// As written.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// Written by a later version.
    #[error(
        "the data has format version {0}; this watchscope reads up to version {FORMAT_VERSION}"
    )]
    Version(u8),
    /// Not the kind of frame that belongs here.
    #[error("a frame with tag {0:#04x} stands where another belongs")]
    Tag(u8),
    /// A number is larger than its field holds.
    #[error("a number at byte {at} is too large")]
    NumberTooLarge {
        /// Offset in the payload.
        at: usize,
    },
    /// A length or count is larger than the data justifies.
    #[error("the data asks for more memory than its {input} bytes justify")]
    OverBudget {
        /// Size of the input.
        input: usize,
    },
    /// Text that is not UTF-8.
    #[error("a text at byte {at} is not UTF-8")]
    Utf8 {
        /// Offset in the payload.
        at: usize,
    },
    /// An id that the dictionary does not define.
    #[error("dictionary id {id} is used before it is defined")]
    UnknownId {
        /// The id.
        id: u64,
    },
    /// A field that cannot be absent is missing.
    #[error("the field {field} is missing")]
    MissingField {
        /// Its JSON name.
        field: &'static str,
    },
    /// A segment that does not follow the one before.
    #[error("a segment starts at record {found}, {expected} was expected")]
    Discontinuous {
        /// The seq that should come next.
        expected: u64,
        /// The seq that came.
        found: u64,
    },
    /// A wire message of an unknown or wrong shape.
    #[error("the message is no watchscope message: {0}")]
    Message(&'static str),
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The opening of a chapter, or a head snapshot.
    Head,
    /// A segment.
    Segment,
}

impl FrameKind {
    fn tag(self) -> u8 {
        match self {
            Self::Head => b'H',
            Self::Segment => b'S',
        }
    }
}

/// A frame whose checksum was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it holds.
    pub kind: FrameKind,
    /// Format version of its payload.
    pub version: u8,
    /// The payload.
    pub payload: &'a [u8],
    /// The whole frame, header included.
    pub bytes: &'a [u8],
}

/// Takes the first frame off `bytes`; returns it and what follows.
///
/// # Errors
/// If the frame is cut, damaged, too large, of a later version or of an unknown kind.
pub fn split_frame(bytes: &[u8]) -> Result<(Frame<'_>, &[u8]), DecodeError> {
    let header = bytes
        .get(..HEADER_BYTES)
        .ok_or_else(|| DecodeError::Truncated {
            at: bytes.len(),
            needed: HEADER_BYTES - bytes.len(),
        })?;
    let kind = match header[0] {
        b'H' => FrameKind::Head,
        b'S' => FrameKind::Segment,
        other => return Err(DecodeError::Tag(other)),
    };
    let version = header[1];
    if version == 0 || version > FORMAT_VERSION {
        return Err(DecodeError::Version(version));
    }
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = word(2) as usize;
    if length > MAX_FRAME_BYTES {
        return Err(DecodeError::OverBudget { input: bytes.len() });
    }
    let end = HEADER_BYTES + length;
    let payload = bytes
        .get(HEADER_BYTES..end)
        .ok_or_else(|| DecodeError::Truncated {
            at: bytes.len(),
            needed: end - bytes.len(),
        })?;
    let (expected, found) = (word(6), checksum(&[payload]));
    if expected != found {
        return Err(DecodeError::Checksum { expected, found });
    }
    Ok((
        Frame {
            kind,
            version,
            payload,
            bytes: &bytes[..end],
        },
        &bytes[end..],
    ))
}

/// Puts a header before a payload.
pub(crate) fn seal_frame(kind: FrameKind, payload: &[&[u8]]) -> Vec<u8> {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + length);
    bytes.push(kind.tag());
    bytes.push(FORMAT_VERSION);
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&checksum(payload).to_le_bytes());
    payload
        .iter()
        .for_each(|part| bytes.extend_from_slice(part));
    bytes
}
