//! Classifies 64 bytes of JSON at once: a mask for each class, with one bit a byte.
//!
//! The instructions are those that every processor of the target has (SSE2, NEON), so nothing is chosen at run time.

use wide::u8x16;

/// The size of a block in bytes: one byte for each bit of a mask.
pub(super) const BLOCK: usize = 64;
/// The size in bytes of a register of SSE2 or NEON: 128 bits. [`plain_bytes`] reads as many bytes at once.
pub(super) const LANE: usize = 16;

/// The classes of a block's bytes. The lowest bit of a mask is the block's first byte. A byte counts whether it is
/// inside a string or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Masks {
    /// `"`
    pub(super) quotes: u64,
    /// `\`
    pub(super) backslashes: u64,
    /// Bytes below a space.
    pub(super) controls: u64,
    /// `{` and `[`
    pub(super) opens: u64,
    /// `}` and `]`
    pub(super) closes: u64,
    /// Bytes with the bit that `{` and `}` have, and `[` and `]` have not.
    pub(super) curly: u64,
    /// `,`
    pub(super) commas: u64,
    /// `:`
    pub(super) colons: u64,
}

impl Masks {
    /// Classifies a block.
    #[inline(always)]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let (lanes, _) = block.as_chunks::<LANE>();
        let lanes = [0, 1, 2, 3].map(|number| u8x16::new(lanes[number]));
        let all = |class: fn(u8x16) -> u8x16| {
            let [a, b, c, d] = lanes.map(|lane| u64::from(class(lane).to_bitmask()));
            a | b << 16 | c << 32 | d << 48
        };
        Self {
            quotes: all(|lane| equal(lane, b'"')),
            backslashes: all(|lane| equal(lane, b'\\')),
            controls: all(is_control),
            opens: all(|lane| equal(curled(lane), b'{')),
            closes: all(|lane| equal(curled(lane), b'}')),
            // Two doublings move the bit to the top of its byte, which the mask takes.
            curly: all(|lane| {
                let doubled = lane + lane;
                doubled + doubled
            }),
            commas: all(|lane| equal(lane, b',')),
            colons: all(|lane| equal(lane, b':')),
        }
    }
}

/// The offset in `bytes` of the first quote, backslash or control character in the first 16 bytes; 16 if there is none,
/// `None` if there are fewer bytes.
#[inline(always)]
pub(super) fn plain_bytes(bytes: &[u8]) -> Option<usize> {
    let lane = u8x16::new(*bytes.first_chunk::<LANE>()?);
    let special = equal(lane, b'"') | equal(lane, b'\\') | is_control(lane);
    Some((special.to_bitmask() | 1 << LANE).trailing_zeros() as usize)
}

#[inline(always)]
fn equal(lane: u8x16, byte: u8) -> u8x16 {
    lane.simd_eq(u8x16::splat(byte))
}

/// Turns square brackets into curly ones: they differ in one bit.
#[inline(always)]
fn curled(lane: u8x16) -> u8x16 {
    lane | u8x16::splat(0x20)
}

#[inline(always)]
fn is_control(lane: u8x16) -> u8x16 {
    lane.min(u8x16::splat(0x1f)).simd_eq(lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_in_its_classes_at_each_place() {
        for place in 0..BLOCK {
            for byte in 0..=u8::MAX {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                let masks = Masks::of(&block);
                let bit = |is_in: bool| u64::from(is_in) << place;
                let curly_letters = !(1 << place);
                let expected = Masks {
                    quotes: bit(byte == b'"'),
                    backslashes: bit(byte == b'\\'),
                    controls: bit(byte < b' '),
                    opens: bit(matches!(byte, b'{' | b'[')),
                    closes: bit(matches!(byte, b'}' | b']')),
                    curly: curly_letters | bit(byte & 0x20 != 0),
                    commas: bit(byte == b','),
                    colons: bit(byte == b':'),
                };
                assert_eq!(masks, expected, "{byte} at {place}");
                let plain = plain_bytes(&block[..LANE.max(place + 1)]);
                let is_special = place < LANE && (byte == b'"' || byte == b'\\' || byte < b' ');
                assert_eq!(plain, Some(if is_special { place } else { LANE }));
            }
        }
        assert_eq!(plain_bytes(&[b'a'; LANE - 1]), None);
    }
}
