//! Encodes bytes as characters of seven bits each, for elements of an HTML document: 7 bytes become about 8.2 bytes,
//! where base64 needs 9.3.
//!
//! xtask encodes the WebAssembly modules of the page in one file likewise. assets/single.js decodes both the recording
//! and the modules.

/// The seven-bit values whose own characters an HTML document changes (NUL, CR) or reads as markup (`<`).
const MOVED: [u8; 3] = [0, b'\r', b'<'];
/// A value of [`MOVED`] becomes the character with this code plus the value. Such a character takes two bytes of UTF-8.
/// The code is above all values of seven bits, and has no other source. `assets/single.js`, which decodes the
/// characters, has the same code.
const MOVED_FROM: u8 = 0xc0;

/// Encodes `bytes`, the highest bit of the first byte first: one character for seven bits, with zeros after the last
/// bit. A character's code is its value; only the three values of [`MOVED`] become 0xC0 plus the value.
pub(crate) fn seven_bits(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 5 + 2);
    let (mut bits, mut count) = (0_u16, 0);
    for byte in bytes {
        bits = bits << 8 | u16::from(*byte);
        count += 8;
        while count >= 7 {
            count -= 7;
            out.push(character(bits >> count));
        }
    }
    if count > 0 {
        out.push(character(bits << (7 - count)));
    }
    out
}

/// Returns the character for the lowest seven bits of `bits`.
fn character(bits: u16) -> char {
    let value = (bits & 0x7f) as u8;
    char::from(if MOVED.contains(&value) {
        MOVED_FROM + value
    } else {
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes characters to bytes as assets/single.js does.
    fn decoded(text: &str) -> Vec<u8> {
        let values = text.chars().map(|letter| match u32::from(letter) {
            code @ 0..0x80 => code,
            code => code - u32::from(MOVED_FROM),
        });
        let bits: String = values.map(|value| format!("{value:07b}")).collect();
        let whole = bits.as_bytes().chunks_exact(8);
        whole
            .map(|byte| u8::from_str_radix(str::from_utf8(byte).unwrap(), 2).unwrap())
            .collect()
    }

    #[test]
    fn seven_bits_are_one_character_from_the_first_bit_on() {
        for (bytes, expected) in [
            (&[][..], ""),
            (&[0xff], "\u{7f}@"),
            (&[0; 7], "ÀÀÀÀÀÀÀÀ"),
            (&[0x1a, 0xf0], "ÍüÀ"),
        ] {
            assert_eq!(seven_bits(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn all_pairs_of_bytes_at_each_place_decode_and_have_no_character_of_markup() {
        for before in 0..7 {
            for pair in 0..=u16::MAX {
                let bytes = [&[0xa5; 7][..before], &pair.to_be_bytes()].concat();
                let text = seven_bits(&bytes);
                assert_eq!(decoded(&text), bytes);
                assert!(!text.contains(['\0', '\r', '<']), "{bytes:?}");
            }
        }
    }

    #[test]
    fn the_script_that_decodes_moves_values_from_the_same_code() {
        let script = include_str!("../../../assets/single.js");
        assert!(script.contains(&format!("const MOVED_FROM = {MOVED_FROM};")));
    }
}
