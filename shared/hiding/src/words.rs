//! The words of a sentence that name nothing in a cluster: numbers, and the words in `words.txt`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The words of apiservers' messages (Kubernetes 1.20 to 1.36), of Go's and Rust's network errors, and of watchscope's
/// own sentences. The words are sorted and in lower case, one a line.
const LIST: &str = include_str!("words.txt");

/// Whether a word names nothing in a cluster.
pub(crate) fn is_harmless(word: &str) -> bool {
    /// The words of [`LIST`] as a set, made at the first call.
    static WORDS: OnceLock<BTreeSet<&str>> = OnceLock::new();
    let words = WORDS.get_or_init(|| LIST.lines().collect());
    words.contains(word) || is_number(word) || words.contains(&*word.to_lowercase())
}

/// Whether a word is a number (with or without a unit), a version, or a part of a time or of a Go duration.
fn is_number(word: &str) -> bool {
    /// The units that may follow a number, in lower case; the empty text stands for no unit.
    const UNITS: [&str; 19] = [
        "", "ns", "us", "µs", "ms", "s", "m", "min", "h", "d", "x", "k", "b", "kb", "mb", "gb",
        "kib", "mib", "gib",
    ];
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if is_row(word) {
        return true;
    }
    let word = word.to_lowercase();
    let word = word.strip_prefix('v').unwrap_or(&word);
    let (number, unit) = word.split_at(digits(word));
    if number.is_empty() {
        return false;
    }
    if UNITS.contains(&unit) || unit == "z" {
        return true;
    }
    // `19T03`, `1h2m3s`, `2m30s`.
    let mut rest = unit;
    let parts: &[&str] = match rest.as_bytes()[0] {
        b't' => return digits(&rest[1..]) == 2 && rest.len() == 3,
        b'h' => &["h", "m", "s"],
        b'm' => &["m", "s"],
        _ => return false,
    };
    for (place, part) in parts.iter().enumerate() {
        let Some(behind) = rest.strip_prefix(part) else {
            return false;
        };
        let is_last = place + 1 == parts.len();
        let count = digits(behind);
        if is_last || count == 0 {
            return behind.is_empty();
        }
        rest = &behind[count..];
    }
    false
}

/// Whether a word is a row of the catalogue of failures: `F11`.
fn is_row(word: &str) -> bool {
    matches!(word.as_bytes(), [b'F', b'0'..=b'9', b'0'..=b'9'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_harmless_and_hashes_are_not() {
        for number in [
            "0", "1165", "19s", "300ms", "64KiB", "v1", "1m30s", "1h2m3s", "19T03", "48Z",
        ] {
            assert!(is_harmless(number), "{number}");
        }
        for hash in ["7d9f8b", "5d8s7", "4xk2p", "x7", "", "1e5f", "6c9d"] {
            assert!(!is_harmless(hash), "{hash}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_in_lower_case() {
        let words: Vec<&str> = LIST.lines().collect();
        assert!(words.is_sorted_by(|one, other| one < other));
        assert!(words.iter().all(|word| {
            word.chars()
                .all(|c| c.is_alphanumeric() && !c.is_uppercase())
        }));
    }
}
