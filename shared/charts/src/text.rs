//! Texts that fit: shortened names, and sentences broken into lines.

use watchscope_timeline::Px;
use watchscope_timeline::format::text_width;

/// Returns `text` if it has at most `most` characters; else its first `most` − 1 characters and `…`. With a `most` of
/// 0, each text that is not empty becomes `…`.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Returns a text shortened so that it is at most `width` wide, with `…` at its end; `…` alone if nothing more fits. A
/// text of one letter is never shortened.
pub(crate) fn fitted(text: &str, size: u8, weight: u16, width: Px) -> String {
    let mut letters = text.chars().count();
    let mut fitted = text.to_owned();
    while text_width(&fitted, size, weight) > width && letters > 1 {
        letters -= 1;
        fitted = shortened(text, letters);
    }
    fitted
}

/// Breaks a text into at most `most` lines no wider than `width`. `…` stands for the words without room, and for the
/// end of a word that is wider than a line.
pub(crate) fn lines(text: &str, size: u8, weight: u16, width: Px, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer {
            Some(longer) if text_width(&longer, size, weight) <= width => {
                lines.pop();
                lines.push(longer);
            }
            _ if lines.len() == most => {
                let last = lines.pop().unwrap_or_default();
                let cut = format!("{last} {word}");
                let mut fit = fitted(&cut, size, weight, width);
                if fit == cut {
                    fit.push('…');
                }
                lines.push(fit);
                return lines;
            }
            _ => lines.push(fitted(word, size, weight, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis() {
        assert_eq!(shortened("shop/pods", 9), "shop/pods");
        assert_eq!(shortened("shop/pods", 8), "shop/po…");
        let width = Px::whole(60);
        let broken = lines("one two three four five six seven eight", 12, 400, width, 2);
        assert_eq!(broken, ["one two", "three fou…"]);
        for text in [
            &broken[0],
            &broken[1],
            &fitted(&"x".repeat(999), 12, 400, width),
        ] {
            assert!(text_width(text, 12, 400) <= width, "{text}");
        }
    }
}
