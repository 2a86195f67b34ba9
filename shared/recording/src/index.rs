//! The index block (`I`): it lists all blocks before it, with the summaries of closed chapters. With an index a file
//! opens in two reads.
//!
//! ```text
//!   I       count; blocks in the order of the file; where this block begins (8 bytes); "WSIX"
//!   block   tag (1 byte), stored length, raw length, CRC-32 (4 bytes), first seq of its chapter if it has one,
//!           and of a C its summary behind its length
//! ```
//!
//! The index does not state where a block begins, because blocks lie one after the other from byte 12 on.

use watchscope_model::Seq;
use watchscope_model::summary::{MAX_SUMMARY_BYTES, Summary};

use crate::block::{BlockPlace, Header};
use crate::error::DamageKind;
use crate::fields::{Cursor, push_varint};
use crate::format::{FILE_HEADER_BYTES, MAX_BLOCKS, Tag};

/// The number of closed chapters from one index to the next. After the 64th closed chapter since the last index,
/// [`Writer::packed`](crate::Writer::packed) appends an index. It does so only if the index fits in a block and at most
/// [`MAX_BLOCKS`] blocks come before it. An index that is left out counts as the last index. A reader uses an index
/// only if it ends the file. An index lists all blocks before it, so more indexes make a larger file. The number has no
/// source.
pub const CHAPTERS_BETWEEN_INDEXES: u32 = 64;
/// The last 4 bytes of an index, and so of a finished file with an index. Without them at its end, a reader finds the
/// blocks header by header.
const MARK: [u8; 4] = *b"WSIX";
/// The number of bytes at the end of an index: the offset of its header (8 bytes), and the mark (4 bytes).
pub(crate) const TRAILER_BYTES: usize = 12;

/// A block as an index lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) header: Header,
    /// The first seq of the block's chapter; `None` if the block belongs to no chapter.
    pub(crate) first: Option<Seq>,
    /// The encoded summary of a closed chapter; empty for other blocks.
    pub(crate) summary: Vec<u8>,
}

/// A block that was found in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) place: BlockPlace,
    /// The summary in a closed block (`C`); `None` for other blocks, and if the summary cannot be read.
    pub(crate) summary: Option<Summary>,
}

/// Returns the payload of an index whose header is at `offset`.
pub(crate) fn encode(blocks: &[Listed], offset: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(blocks.len() as u64, &mut out);
    for block in blocks {
        let header = block.header;
        out.push(header.tag.byte());
        push_varint(header.stored_bytes.into(), &mut out);
        push_varint(header.raw_bytes.into(), &mut out);
        out.extend_from_slice(&header.checksum.to_le_bytes());
        if header.tag.has_key() {
            push_varint(block.first.unwrap_or_default().0, &mut out);
        }
        if header.tag == Tag::Chapter {
            push_varint(block.summary.len() as u64, &mut out);
            out.extend_from_slice(&block.summary);
        }
    }
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&MARK);
    out
}

/// Returns the offset of the index to which a file's last 12 bytes point; `None` if they do not end with the mark.
pub(crate) fn offset_of(trailer: &[u8]) -> Option<u64> {
    let (offset, mark) = trailer.split_first_chunk::<8>()?;
    (mark == MARK).then(|| u64::from_le_bytes(*offset))
}

/// Reads the payload of an index at `offset`. It fails if a field is wrong or cut, if there are over [`MAX_BLOCKS`]
/// blocks, or if the listed blocks do not end at `offset`.
pub(crate) fn decode(payload: &[u8], offset: u64) -> Result<Vec<Found>, DamageKind> {
    /// The damage of every field that contradicts the file or is over its bound. After this error the scan finds the
    /// blocks without the index.
    const WRONG: DamageKind = DamageKind::Payload("the index does not fit the file");
    let end = payload.len().saturating_sub(TRAILER_BYTES);
    let mut cursor = Cursor::new(&payload[..end]);
    let count = cursor.count(7)?;
    if count > MAX_BLOCKS {
        return Err(WRONG);
    }
    let (mut found, mut at) = (Vec::new(), FILE_HEADER_BYTES as u64);
    for number in 0..count as u32 {
        let tag = Tag::of(cursor.byte()?).ok_or(WRONG)?;
        let length = |value: u64| u32::try_from(value).map_err(|_| WRONG);
        let stored_bytes = length(cursor.varint()?)?;
        let raw_bytes = length(cursor.varint()?)?;
        let header = Header {
            tag,
            stored_bytes,
            raw_bytes,
            checksum: cursor.word()?,
        };
        // Applies the bounds of a header in the file.
        if Header::read(&header.bytes()) != Some(header) {
            return Err(WRONG);
        }
        let first = if tag.has_key() {
            Some(Seq(cursor.varint()?))
        } else {
            None
        };
        let summary = if tag == Tag::Chapter {
            let length = cursor.size()?;
            if length > MAX_SUMMARY_BYTES {
                return Err(WRONG);
            }
            let summary = Summary::decode(cursor.take(length)?)?;
            (Some(summary.first) == first)
                .then_some(summary)
                .ok_or(WRONG)?
                .into()
        } else {
            None
        };
        let place = BlockPlace {
            number,
            offset: at,
            header,
            first,
        };
        at = place.end();
        found.push(Found { place, summary });
    }
    if at != offset || !cursor.rest().is_empty() {
        return Err(WRONG);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(tag: Tag, stored_bytes: u32) -> Listed {
        Listed {
            header: Header {
                tag,
                stored_bytes,
                raw_bytes: stored_bytes,
                checksum: 5,
            },
            first: tag.has_key().then_some(Seq(7)),
            summary: Vec::new(),
        }
    }

    #[test]
    fn blocks_lie_one_behind_the_other_up_to_the_index() {
        let blocks = [listed(Tag::File, 10), listed(Tag::Opening, 100)];
        let offset = 12 + 30 + 120;
        let payload = encode(&blocks, offset);
        assert_eq!(offset_of(&payload[payload.len() - 12..]), Some(offset));
        let found = decode(&payload, offset).unwrap();
        let places: Vec<(u64, Option<Seq>)> = found
            .iter()
            .map(|block| (block.place.offset, block.place.first))
            .collect();
        assert_eq!(places, [(12, None), (42, Some(Seq(7)))]);
        assert!(decode(&payload, offset + 1).is_err());
        assert!(decode(&payload[1..], offset).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes: Vec<u8>, offset: u64) {
            let _ = decode(&bytes, offset);
            let _ = offset_of(&bytes);
        }
    }
}
