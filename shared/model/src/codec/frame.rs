//! The frame around all encoded data: tag, version, length, checksum.

use super::checksum::checksum;

use thiserror::Error;

/// The format version of payloads that this build writes. This build reads the versions 1 to this one, and refuses 0
/// and later versions with [`DecodeError::Version`]. The documentation of [`crate::codec`] lists how the versions
/// differ.
///
/// The feature `one-higher` adds 1: a test's program with it stands for a later watchscope.
pub const FORMAT_VERSION: u8 = if cfg!(feature = "one-higher") { 5 } else { 4 };

/// The largest payload of a frame in bytes: 256 MiB. A frame that states a larger payload is refused before anything is
/// allocated. The page also joins no more bytes of incomplete messages than this. The bound protects against hostile
/// lengths. The number has no source.
pub const MAX_FRAME_BYTES: usize = 256 << 20;

/// Bytes of a frame's header: tag, version, and four bytes each of length and checksum.
const HEADER_BYTES: usize = 10;

/// Why bytes cannot be decoded. Byte offsets count from 0 in the payload of the frame, or in the message, notes,
/// summary, entries or layers that are decoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The input ends too early.
    #[error("the data ends early: {needed} more bytes are needed at byte {at}")]
    Truncated {
        /// The byte offset of the part that is cut short; from [`split_frame`], the length of its input.
        at: usize,
        /// The number of missing bytes. If a count of entries is too large, it is the least size in bytes of that many
        /// entries.
        needed: usize,
    },
    /// The checksum of a frame does not match.
    #[error("the data is damaged: its checksum is {found:08x}, it should be {expected:08x}")]
    Checksum {
        /// The CRC-32 in the frame's header.
        expected: u32,
        /// The CRC-32 of the payload as read.
        found: u32,
    },
    /// A later version wrote the data, or the version is 0, which no build wrote. The value is the version.
    #[error(
        "the data has format version {0}; this watchscope reads up to version {FORMAT_VERSION}"
    )]
    Version(u8),
    /// The frame's tag is unknown, or another kind of frame was expected. The value is the tag's byte.
    #[error("a frame with tag {0:#04x} stands where another belongs")]
    Tag(u8),
    /// A number is larger than its type holds, or a seq would pass the largest seq. A text of the dictionary that
    /// shares more bytes with the text before than that text has gives this error, too.
    #[error("a number at byte {at} is too large")]
    NumberTooLarge {
        /// The byte offset of the number; 0 for a seq.
        at: usize,
    },
    /// A length or count needs more memory than the input allows: 16 times its size plus 1 MiB. A payload of over
    /// [`MAX_FRAME_BYTES`] gives this error, too.
    #[error("the data asks for more memory than its {input} bytes justify")]
    OverBudget {
        /// The size of the input in bytes.
        input: usize,
    },
    /// A text is not UTF-8.
    #[error("a text at byte {at} is not UTF-8")]
    Utf8 {
        /// The byte offset at which the text or its length begins.
        at: usize,
    },
    /// The dictionary does not define an id.
    #[error("dictionary id {id} is used before it is defined")]
    UnknownId {
        /// The dictionary's number of a text, object or pattern.
        id: u64,
    },
    /// A required field is missing.
    #[error("the field {field} is missing")]
    MissingField {
        /// The field's JSON name.
        field: &'static str,
    },
    /// A segment does not follow the opening or the segment before.
    #[error("a segment starts at record {found}, {expected} was expected")]
    Discontinuous {
        /// The seq that was expected.
        expected: u64,
        /// The first seq that the segment states.
        found: u64,
    },
    /// A message, note, summary, catalogue entry, or the name of a recorded log or run has a wrong shape or exceeds a
    /// bound. A chapter without frames gives this error, too. The value is the reason, in words.
    #[error("the message is no watchscope message: {0}")]
    Message(&'static str),
}

/// What a frame contains, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The opening of a chapter, or a head snapshot; tag `H`.
    Head,
    /// A segment; tag `S`.
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

/// A frame whose checksum is right, unless the bytes were damaged in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What the frame contains, by its tag.
    pub kind: FrameKind,
    /// The format version of its payload, 1 to [`FORMAT_VERSION`].
    pub version: u8,
    /// The payload, at most [`MAX_FRAME_BYTES`]; may be empty.
    pub payload: &'a [u8],
    /// The whole frame, header included.
    pub bytes: &'a [u8],
}

/// Splits the first frame off `bytes`; returns the frame and the bytes after it, which may be none.
///
/// # Errors
/// * [`DecodeError::Truncated`]: the bytes end within the frame, or there are no bytes.
/// * [`DecodeError::Tag`] and [`DecodeError::Version`]: the tag or the version is unknown.
/// * [`DecodeError::OverBudget`]: the frame states a payload over [`MAX_FRAME_BYTES`].
/// * [`DecodeError::Checksum`]: the payload is damaged.
pub fn split_frame(bytes: &[u8]) -> Result<(Frame<'_>, &[u8]), DecodeError> {
    let (frame, expected, rest) = split(bytes)?;
    let found = checksum(&[frame.payload]);
    if expected != found {
        return Err(DecodeError::Checksum { expected, found });
    }
    Ok((frame, rest))
}

/// Splits the first frame off bytes that [`split_frame`] has split before, and that have stayed in memory since. The
/// checksum is not compared again, because the comparison is a large part of the time of each look-up of a record.
///
/// # Errors
/// As those of [`split_frame`], without [`DecodeError::Checksum`].
pub fn split_known_frame(bytes: &[u8]) -> Result<(Frame<'_>, &[u8]), DecodeError> {
    split(bytes).map(|(frame, _, rest)| (frame, rest))
}

/// Returns the first frame, the checksum that its header states, and the bytes after the frame.
fn split(bytes: &[u8]) -> Result<(Frame<'_>, u32, &[u8]), DecodeError> {
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
    let frame = Frame {
        kind,
        version,
        payload,
        bytes: &bytes[..end],
    };
    Ok((frame, word(6), &bytes[end..]))
}

/// Returns the frame of a payload: its header and the payload. A length over 32 bits is written as the largest number
/// of 32 bits, so that the frame cannot be read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_was_split_before_splits_the_same_without_its_checksum() {
        let mut bytes = seal_frame(FrameKind::Head, &[b"head"]);
        bytes.extend(seal_frame(FrameKind::Segment, &[b"seg", b"ment"]));
        let (head, rest) = split_frame(&bytes).unwrap();
        assert_eq!(split_known_frame(&bytes), Ok((head, rest)));
        assert_eq!(split_known_frame(rest), split_frame(rest));
        assert_eq!(split_known_frame(&rest[..12]), split_frame(&rest[..12]));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let rest = &bytes[HEADER_BYTES + 4..];
        assert!(matches!(
            split_frame(rest),
            Err(DecodeError::Checksum { .. })
        ));
        assert_eq!(split_known_frame(rest).unwrap().0.payload, b"segmenu");
    }
}
