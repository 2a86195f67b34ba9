//! Letters of a cluster's texts, escaped for forms with markup.

/// The most letters (Unicode characters) of a text, so that a cell of a table stays readable; `…` stands for the rest.
/// The number has no source.
pub(crate) const MOST_LETTERS: usize = 400;

/// Writes each letter of a text with `put`, up to [`MOST_LETTERS`]. Letters that change how others are shown become
/// spaces.
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

/// Writes a letter as HTML shows it, in elements and in quoted attributes.
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

/// Returns whether a letter is invisible and changes how others are shown: control characters, and those that turn the
/// direction.
fn changes_others(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
