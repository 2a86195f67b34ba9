//! Rewrites texts in which names stand between other words.

use crate::address::leading_ip;
use crate::words::is_harmless;

/// Which words of a text may stay, besides known names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// All words may stay: only known names are replaced.
    None,
    /// Numbers, and words of the list in `words.txt`, may stay; any other unknown word hides the whole text.
    Words,
    /// Like [`Check::Words`], but between two `"` only words of digits (0 to 9) may stay, because servers put names
    /// there.
    Quoting,
}

/// The known names and their new forms, by which a text is rewritten.
pub(crate) trait Names {
    /// Returns the new form of a known text, which may be the text itself; `None` if the text is unknown.
    fn shown<'a>(&'a self, text: &'a str) -> Option<&'a str>;
    /// Whether a known text is also a number or an ordinary word. Such a text counts as a name only directly before or
    /// after `"`, `'`, `/` or `=`.
    fn is_weak(&self, text: &str) -> bool;
    /// Returns the length of the longest known text, in bytes.
    fn longest(&self) -> usize;
    /// Returns the length and the new form of the known text at the start of `rest`, if its first or last character is
    /// neither a letter nor a digit.
    fn odd<'a>(&'a self, rest: &str) -> Option<(usize, &'a str)>;
    /// Writes the new form of a text with the form of a uid.
    fn uid(&self, uid: &str, out: &mut String);
    /// Writes the new form of an IP address.
    fn ip(&self, ip: &str, out: &mut String);
}

/// Replaces known names in a text, the longest first. `None` if a word remains that may name something.
pub(crate) fn rewritten(text: &str, names: &impl Names, check: Check) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    let mut is_quoted = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if let Some((length, shown)) = names.odd(rest) {
            out.push_str(shown);
            length
        } else if !first.is_alphanumeric() {
            is_quoted ^= first == '"';
            out.push(first);
            first.len_utf8()
        } else if let Some(length) = name(rest, before, names, &mut out) {
            length
        } else {
            let length = word_end(rest);
            let word = &rest[..length];
            let is_allowed = match check {
                Check::None => true,
                Check::Words => is_harmless(word),
                Check::Quoting if is_quoted => word.bytes().all(|byte| byte.is_ascii_digit()),
                Check::Quoting => is_harmless(word),
            };
            if !is_allowed {
                return None;
            }
            out.push_str(word);
            length
        };
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    Some(out)
}

/// Writes the new form of the name, uid or IP address at the start of a text, and returns its length in bytes. `None`
/// if the text begins with none.
fn name(text: &str, before: Option<char>, names: &impl Names, out: &mut String) -> Option<usize> {
    if let Some(uid) = leading_uid(text) {
        names.uid(uid, out);
        return Some(uid.len());
    }
    let mut ends = Vec::new();
    let mut end = 0;
    while end < text.len() {
        let begin = text[end..].find(char::is_alphanumeric).map(|at| end + at);
        let Some(begin) = begin else { break };
        end = begin + word_end(&text[begin..]);
        if end > names.longest() {
            break;
        }
        ends.push(end);
    }
    for end in ends.into_iter().rev() {
        let Some(shown) = names.shown(&text[..end]) else {
            continue;
        };
        let is_mark = |c: Option<char>| matches!(c, Some('"' | '\'' | '/' | '='));
        if names.is_weak(&text[..end]) && !is_mark(before) && !is_mark(text[end..].chars().next()) {
            continue;
        }
        out.push_str(shown);
        return Some(end);
    }
    let end = leading_ip(text)?;
    names.ip(&text[..end], out);
    Some(end)
}

fn word_end(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric())
        .unwrap_or(text.len())
}

/// Returns the uid at the start of a text, if it begins with one: 36 characters, in groups of 8, 4, 4, 4 and 12
/// hexadecimal digits.
fn leading_uid(text: &str) -> Option<&str> {
    let uid = text.get(..36)?;
    let is_right = uid.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (is_right && !text[36..].starts_with(char::is_alphanumeric)).then_some(uid)
}
