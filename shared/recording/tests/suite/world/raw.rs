//! Blocks made by hand, with the right checksums. The tests of `watchscope-replay` use them too.

use watchscope_model::codec::checksum;
use watchscope_recording::{Header, MAGIC, Tag};

/// A block; `tag` may be one that no version writes.
pub fn block(tag: u8, payload: &[u8], raw_bytes: u32) -> Vec<u8> {
    let header = Header {
        tag: Tag::of(tag).unwrap(),
        stored_bytes: payload.len() as u32,
        raw_bytes,
        checksum: checksum(&[payload]),
    };
    [&header.bytes()[..], payload].concat()
}

/// The first bytes of a file of format 1, before its first block.
pub fn begun() -> Vec<u8> {
    [&MAGIC[..], &1u32.to_le_bytes()].concat()
}
