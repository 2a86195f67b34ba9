//! Letters that have to be taken out of texts of a cluster.

/// Whether a letter changes how others are read, and is none itself: control characters and those that turn the direction.
pub(crate) fn changes_others(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
