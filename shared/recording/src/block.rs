//! The outermost layer of a recording: the file's first bytes, then blocks, each after a header with checksums.

use watchscope_model::Seq;
use watchscope_model::codec::checksum;

use crate::error::{Damage, DamageKind, ReadError, WriteError};
use crate::format::{
    BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, FORMAT_VERSION, MAGIC, MAX_RAW_BYTES, MAX_STORED_BYTES,
    Tag,
};

/// The 20 bytes before a block's payload ([`BLOCK_HEADER_BYTES`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The block's tag, which states what it holds.
    pub tag: Tag,
    /// The number of bytes of the payload in the file, at most [`MAX_STORED_BYTES`].
    pub stored_bytes: u32,
    /// The number of bytes of the deflated part once inflated, at most [`MAX_RAW_BYTES`]. In a block without a deflated
    /// part, the writer states the number of bytes of the payload; no reader compares the two.
    pub raw_bytes: u32,
    /// CRC-32 of the payload, as stored in the file.
    pub checksum: u32,
}

impl Header {
    /// Reads a header from the first 20 bytes of `bytes`. Returns `None` if there are fewer bytes, or if a field is
    /// wrong: the tag, the zeros, a length, or the header's own CRC-32. The payload is not checked.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BLOCK_HEADER_BYTES] = bytes.first_chunk()?;
        // The cheap checks come first, because a search for the next block reads a header at every byte.
        let tag = Tag::of(bytes[0])?;
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let header = Self {
            tag,
            stored_bytes: word(4),
            raw_bytes: word(8),
            checksum: word(12),
        };
        let is_sensible = bytes[1..4] == [0; 3]
            && header.stored_bytes <= MAX_STORED_BYTES
            && header.raw_bytes <= MAX_RAW_BYTES;
        (is_sensible && word(16) == checksum(&[&bytes[..16]])).then_some(header)
    }

    /// Returns the header's 20 bytes: tag, three zeros, stored length, raw length, CRC-32 of the payload, and the
    /// CRC-32 of these 16 bytes (docs/recordings.md#a-block). Numbers have 4 bytes and are little-endian. No bound is
    /// checked.
    #[must_use]
    pub fn bytes(self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[0] = self.tag.byte();
        bytes[4..8].copy_from_slice(&self.stored_bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.raw_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.checksum.to_le_bytes());
        let own = checksum(&[&bytes[..16]]);
        bytes[16..].copy_from_slice(&own.to_le_bytes());
        bytes
    }
}

/// A block's header and its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// The block's number in the file, from 0. A stretch in which no header can be read counts as one block.
    pub number: u32,
    /// Byte of the file at which the block's header begins.
    pub offset: u64,
    /// The block's header.
    pub header: Header,
    /// The first seq of the block's chapter. `None` if the block belongs to no chapter, or if that seq cannot be read.
    /// For a closed block (`C`) it is also `None` if the block's summary cannot be read or is of another chapter.
    pub first: Option<Seq>,
}

impl BlockPlace {
    /// Returns a report that this block is damaged.
    pub(crate) fn damage(self, kind: DamageKind) -> Damage {
        Damage {
            block: self.number,
            offset: self.offset,
            kind,
        }
    }

    /// Returns the length of header and payload together, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        BLOCK_HEADER_BYTES as u64 + u64::from(self.header.stored_bytes)
    }

    /// Returns `false`, because a block has at least a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the byte of the file at which the next block begins, or at which the file ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.len()
    }

    /// Returns the payload of `block` (the bytes of the whole block), if its header equals this header and the checksum
    /// is right. The error is [`DamageKind::Header`] or [`DamageKind::Checksum`].
    pub(crate) fn payload<'a>(&self, block: &'a [u8]) -> Result<&'a [u8], DamageKind> {
        if Header::read(block) != Some(self.header) {
            return Err(DamageKind::Header);
        }
        let payload = &block[BLOCK_HEADER_BYTES..];
        let found = checksum(&[payload]);
        if found != self.header.checksum {
            return Err(DamageKind::Checksum {
                expected: self.header.checksum,
                found,
            });
        }
        Ok(payload)
    }
}

/// Returns the first 12 bytes of a file of a format version.
pub(crate) fn file_header(version: u32) -> [u8; FILE_HEADER_BYTES] {
    let mut bytes = [0; FILE_HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// Checks the file's first 12 bytes, and returns the file's format version. The error states why they are not those of a
/// recording that this build reads.
pub(crate) fn check_file_header(bytes: &[u8]) -> Result<u32, ReadError> {
    let Some((magic, version)) = bytes
        .first_chunk::<FILE_HEADER_BYTES>()
        .and_then(|header| header.split_first_chunk::<8>())
    else {
        let shown = &bytes[..bytes.len().min(MAGIC.len())];
        return Err(if !shown.is_empty() && MAGIC.starts_with(shown) {
            ReadError::CutInHeader
        } else {
            ReadError::NotARecording
        });
    };
    if *magic != MAGIC {
        // The letters are right and the line ends are not: a transfer as text has changed them.
        return Err(if magic[1..4] == MAGIC[1..4] {
            ReadError::Transferred
        } else {
            ReadError::NotARecording
        });
    }
    match u32::from_le_bytes([version[0], version[1], version[2], version[3]]) {
        0 => Err(ReadError::NotARecording),
        version @ 1..=FORMAT_VERSION => Ok(version),
        version => Err(ReadError::Newer { version }),
    }
}

/// Encodes a whole block. `raw_bytes` is the inflated length of the block's deflated part, and `None` for a block
/// without a deflated part. [`WriteError::TooLarge`] if the payload is over [`MAX_STORED_BYTES`], or its length before
/// deflating over [`MAX_RAW_BYTES`].
pub(crate) fn block(
    tag: Tag,
    payload: &[&[u8]],
    raw_bytes: Option<u32>,
) -> Result<(Header, Vec<u8>), WriteError> {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    let stored_bytes = u32::try_from(length)
        .ok()
        .filter(|&bytes| bytes <= MAX_STORED_BYTES)
        .ok_or(WriteError::TooLarge { tag, bytes: length })?;
    let raw_bytes = raw_bytes.unwrap_or(stored_bytes);
    if raw_bytes > MAX_RAW_BYTES {
        return Err(WriteError::TooLarge { tag, bytes: length });
    }
    let header = Header {
        tag,
        stored_bytes,
        raw_bytes,
        checksum: checksum(payload),
    };
    let mut bytes = Vec::with_capacity(BLOCK_HEADER_BYTES + length);
    bytes.extend_from_slice(&header.bytes());
    payload
        .iter()
        .for_each(|part| bytes.extend_from_slice(part));
    Ok((header, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(payload: &[u8]) -> (BlockPlace, Vec<u8>) {
        let (header, bytes) = block(Tag::Segments, &[payload], None).unwrap();
        let place = BlockPlace {
            number: 0,
            offset: 12,
            header,
            first: None,
        };
        (place, bytes)
    }

    #[test]
    fn a_block_reads_back() {
        let (place, bytes) = whole(b"abc");
        assert_eq!(Header::read(&bytes), Some(place.header));
        assert_eq!(place.payload(&bytes), Ok(&b"abc"[..]));
        assert_eq!(place.end(), 12 + 20 + 3);
    }

    #[test]
    fn every_letter_is_a_tag_and_reads_back() {
        for byte in b'A'..=b'Z' {
            assert_eq!(Tag::of(byte).unwrap().byte(), byte);
        }
        assert_eq!(Tag::of(b'a'), None);
        assert_eq!(Tag::of(0), None);
    }

    #[test]
    fn a_block_over_its_bounds_is_refused() {
        let bytes = vec![0; MAX_STORED_BYTES as usize + 1];
        assert!(block(Tag::Chapter, &[&bytes], Some(1)).is_err());
        assert!(block(Tag::Chapter, &[b"x"], Some(MAX_RAW_BYTES + 1)).is_err());
        let header = Header {
            raw_bytes: MAX_RAW_BYTES + 1,
            ..whole(b"x").0.header
        };
        assert_eq!(Header::read(&header.bytes()), None);
    }

    #[test]
    fn a_wrong_file_header_is_refused_with_its_reason() {
        let own = file_header(FORMAT_VERSION);
        assert_eq!(check_file_header(&own), Ok(FORMAT_VERSION));
        let mut newer = own;
        newer[8] = 7;
        assert_eq!(
            check_file_header(&newer),
            Err(ReadError::Newer { version: 7 })
        );
        assert_eq!(
            check_file_header(b"\x89WSR\n\x1a\n\x01\x00\x00\x00F"),
            Err(ReadError::Transferred)
        );
        assert_eq!(check_file_header(&own[..9]), Err(ReadError::CutInHeader));
        assert_eq!(check_file_header(&own[..5]), Err(ReadError::CutInHeader));
        assert_eq!(
            check_file_header(b"PK\x03\x04 and more"),
            Err(ReadError::NotARecording)
        );
        assert_eq!(check_file_header(b""), Err(ReadError::NotARecording));
    }

    proptest! {
        #[test]
        fn a_block_with_any_byte_changed_is_refused(payload: Vec<u8>, at: prop::sample::Index, flip in 1u8..) {
            let (place, mut bytes) = whole(&payload);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(place.payload(&bytes).is_err());
            if at < BLOCK_HEADER_BYTES {
                prop_assert_eq!(Header::read(&bytes), None);
            }
        }
    }
}
