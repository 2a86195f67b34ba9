//! Letters of a cluster's texts, escaped for export forms with markup.

/// The most letters (Unicode characters) of a text, so that a cell of a table stays readable; `…` replaces further
/// letters. The number has no source.
pub(crate) const MOST_LETTERS: usize = 400;

/// Writes each letter of a text with `put`, up to [`MOST_LETTERS`]. Letters that change how other letters are shown
/// become spaces.
pub(crate) fn escaped(text: &str, put: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, letter) in text.chars().enumerate() {
        if place == MOST_LETTERS {
            out.push('…');
            break;
        }
        match letter {
            letter if changes_others(letter) => out.push(' '),
            letter => put(letter, &mut out),
        }
    }
    out
}

/// Writes a letter, escaped for HTML, so that elements and quoted attributes show it as it is.
pub(crate) fn put_in_markup(letter: char, out: &mut String) {
    match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        letter => out.push(letter),
    }
}

/// Returns whether a letter is invisible and changes how other letters are shown: control characters, and characters
/// that change the direction of text.
fn changes_others(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
