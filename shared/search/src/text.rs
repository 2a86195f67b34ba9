//! A text that is looked for in other texts, with the case of the letters A to Z ignored.

use memchr::memchr2_iter;

/// Bytes that are frequent in names and in JSON, the most frequent first. Bytes that are not listed are rarer. The
/// order decides only at which byte a search begins, and so its speed. The order has no source.
const FREQUENT: &[u8] = b"\"e-a:, tosirnlcdmupfh.0g1/bkv{}_2[]3yw4567898\\xjqz";

/// A text that is looked for.
///
/// The case of A to Z is ignored; all other characters must be equal. So no text changes its length, and a search needs
/// no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    /// The text that is looked for, with A to Z as a to z.
    lower: Box<[u8]>,
    /// The index of the rarest byte of the text, at which a search begins.
    anchor: usize,
    has_slash: bool,
}

impl Needle {
    pub(crate) fn new(text: &str) -> Self {
        let lower: Box<[u8]> = text.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
        let frequency = |byte: u8| {
            let place = FREQUENT.iter().position(|&frequent| frequent == byte);
            place.map_or(0, |place| FREQUENT.len() - place)
        };
        let rarest = (0..lower.len()).min_by_key(|&place| frequency(lower[place]));
        Self {
            anchor: rarest.unwrap_or(0),
            has_slash: lower.contains(&b'/'),
            lower,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether `text` contains the text that is looked for. Every text contains the empty text.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        let Some(room) = text.len().checked_sub(self.lower.len()) else {
            return false;
        };
        let Some(&rare) = self.lower.get(self.anchor) else {
            return true;
        };
        let from = &text[self.anchor..=self.anchor + room];
        memchr2_iter(rare, rare.to_ascii_uppercase(), from)
            .any(|place| text[place..place + self.lower.len()].eq_ignore_ascii_case(&self.lower))
    }

    /// Whether `text` equals the text that is looked for.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        text.eq_ignore_ascii_case(&self.lower)
    }

    /// Whether `text` begins with the text that is looked for.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let begin = text.get(..self.lower.len());
        begin.is_some_and(|begin| self.is(begin))
    }

    /// Whether the text that is looked for is in `first`, `/` and `second` joined, and that slash is in the match.
    pub(crate) fn is_across(&self, first: &[u8], second: &[u8]) -> bool {
        let mut slashes = self.lower.iter().enumerate();
        self.has_slash
            && slashes.any(|(place, &byte)| {
                let (before, after) = (&self.lower[..place], &self.lower[place + 1..]);
                byte == b'/'
                    && first.len() >= before.len()
                    && first[first.len() - before.len()..].eq_ignore_ascii_case(before)
                    && second.len() >= after.len()
                    && second[..after.len()].eq_ignore_ascii_case(after)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_case_of_a_to_z_is_ignored() {
        assert!(Needle::new("WeB").is_in(b"my-web-1"));
        assert!(Needle::new("web").is_in(b"MY-WEB-1"));
        assert!(!Needle::new("größe").is_in("GRÖSSE".as_bytes()));
        assert!(Needle::new("größe").is_in("die Größe".as_bytes()));
        // The sign for kelvin folds to k in Unicode. Here it stays another character.
        assert!(!Needle::new("k").is_in("\u{212a}".as_bytes()));
    }

    #[test]
    fn a_text_with_a_slash_is_found_across_namespace_and_name() {
        let across = |needle: &str| Needle::new(needle).is_across(b"shop", b"web-1");
        assert!(across("shop/web"));
        assert!(across("OP/W"));
        assert!(across("shop/"));
        assert!(across("/web-1"));
        assert!(!across("web"));
        assert!(!across("x/web"));
        assert!(!across("shop/web-12"));
    }

    fn naive(needle: &str, text: &str) -> bool {
        text.to_ascii_lowercase()
            .contains(&needle.to_ascii_lowercase())
    }

    proptest! {
        #[test]
        fn it_is_found_where_the_plain_way_finds_it(needle in "[abAB/-]{1,3}", first in "[abAB/-]{0,12}", second in "[abAB/-]{0,6}") {
            let looked = Needle::new(&needle);
            prop_assert_eq!(looked.is_in(first.as_bytes()), naive(&needle, &first));
            prop_assert_eq!(looked.is(first.as_bytes()), needle.eq_ignore_ascii_case(&first));
            let joined = format!("{first}/{second}");
            let found = looked.is_in(first.as_bytes())
                || looked.is_in(second.as_bytes())
                || looked.is_across(first.as_bytes(), second.as_bytes());
            prop_assert_eq!(found, naive(&needle, &joined));
        }

        #[test]
        fn any_text_is_looked_for_in_any_other(needle in "\\PC{1,8}", text: String) {
            prop_assert_eq!(Needle::new(&needle).is_in(text.as_bytes()), naive(&needle, &text));
        }
    }
}
