//! The frame around all encoded data: tag, version, length, checksum.

use super::checksum::checksum;

use thiserror::Error;

/// The format version that this build writes. It reads this version and all earlier ones; later ones are refused.
pub const FORMAT_VERSION: u8 = 4;

/// The largest payload of a frame in bytes. A frame that states more is refused before anything is allocated.
pub const MAX_FRAME_BYTES: usize = 256 << 20;

/// Bytes of a frame's header: tag, version, and four bytes each of length and checksum.
const HEADER_BYTES: usize = 10;

/// Why bytes cannot be decoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The input ends too early.
    #[error("the data ends early: {needed} more bytes are needed at byte {at}")]
    Truncated {
        /// Byte offset in the input.
        at: usize,
        /// The number of missing bytes.
        needed: usize,
    },
    /// The checksum of a frame does not match.
    #[error("the data is damaged: its checksum is {found:08x}, it should be {expected:08x}")]
    Checksum {
        /// The checksum in the frame's header.
        expected: u32,
        /// The checksum of the payload as read.
        found: u32,
    },
    /// A later version wrote the data.
    #[error(
        "the data has format version {0}; this watchscope reads up to version {FORMAT_VERSION}"
    )]
    Version(u8),
    /// The frame's tag is unknown, or of the wrong kind for this place.
    #[error("a frame with tag {0:#04x} stands where another belongs")]
    Tag(u8),
    /// A number is larger than its type holds.
    #[error("a number at byte {at} is too large")]
    NumberTooLarge {
        /// Byte offset in the payload.
        at: usize,
    },
    /// A length or count needs more memory than the size of the input allows.
    #[error("the data asks for more memory than its {input} bytes justify")]
    OverBudget {
        /// The size of the input in bytes.
        input: usize,
    },
    /// A text is not UTF-8.
    #[error("a text at byte {at} is not UTF-8")]
    Utf8 {
        /// Byte offset in the payload.
        at: usize,
    },
    /// The dictionary does not define an id.
    #[error("dictionary id {id} is used before it is defined")]
    UnknownId {
        /// The id.
        id: u64,
    },
    /// A required field is missing.
    #[error("the field {field} is missing")]
    MissingField {
        /// The field's JSON name.
        field: &'static str,
    },
    /// A segment does not follow the one before.
    #[error("a segment starts at record {found}, {expected} was expected")]
    Discontinuous {
        /// The seq that was expected.
        expected: u64,
        /// The seq of the segment's first record.
        found: u64,
    },
    /// A wire message has an unknown type or a wrong shape.
    #[error("the message is no watchscope message: {0}")]
    Message(&'static str),
}

/// What a frame contains.
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

/// A frame whose checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What the frame contains.
    pub kind: FrameKind,
    /// The format version of its payload.
    pub version: u8,
    /// The payload.
    pub payload: &'a [u8],
    /// The whole frame, header included.
    pub bytes: &'a [u8],
}

/// Splits the first frame off `bytes`; returns it and the bytes after it.
///
/// # Errors
/// If the frame is cut or damaged, has an unknown tag, a later version, or a payload over [`MAX_FRAME_BYTES`].
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

/// Returns a payload with its header.
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
