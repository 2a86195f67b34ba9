//! Bytes as digits of base 85, for elements of a document: four bytes take five characters, where base64 takes six.
//!
//! xtask writes the modules of a page in one file with it. assets/single.js decodes both.

/// The digits: printable ASCII without the characters that have a meaning in markup or in a script's strings.
const DIGITS: &[u8; 85] =
    b"#%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~";

/// Returns the digits of `bytes`. A last group of one to three bytes has one digit more than bytes.
pub(crate) fn digits(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(4) * 5);
    for group in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(four);
        let mut five = [0; 5];
        for digit in five.iter_mut().rev() {
            *digit = DIGITS[(value % 85) as usize];
            value /= 85;
        }
        out.extend(five[..=group.len()].iter().copied().map(char::from));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_all_printable_characters_without_a_meaning_in_markup() {
        let skipped = b"!\"$&'<>\\`";
        let expected = (b'!'..=b'~').filter(|digit| !skipped.contains(digit));
        assert!(DIGITS.iter().copied().eq(expected));
    }

    #[test]
    fn the_script_that_decodes_digits_skips_the_same_characters() {
        let script = include_str!("../../../assets/single.js");
        let skipped = "const NO_DIGITS = [33, 34, 36, 38, 39, 60, 62, 92, 96];";
        assert!(script.contains(skipped));
        let codes = (b'!'..=b'~').filter(|code| !DIGITS.contains(code));
        let codes: Vec<String> = codes.map(|code| code.to_string()).collect();
        assert!(skipped.contains(&codes.join(", ")));
    }

    /// The expected digits are those of Python's base64.b85encode, translated into this table.
    #[test]
    fn four_bytes_are_five_digits_and_an_end_has_one_more_than_bytes() {
        for (bytes, expected) in [
            (&[][..], ""),
            (&[0], "##"),
            (&[255], "{{"),
            (&[0, 0, 0, 1], "####%"),
            (&[255; 4], "|?_2#"),
            (&[255; 6], "|?_2#|?U"),
        ] {
            assert_eq!(digits(bytes), expected, "{bytes:?}");
        }
    }
}
