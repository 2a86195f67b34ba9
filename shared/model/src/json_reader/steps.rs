//! Steps over single parts of JSON, byte by byte: white space, strings, escapes, literals, numbers.

/// The offset of a misplaced byte. The inner functions return it in registers; a whole `JsonError` does not fit in
/// registers.
pub(super) struct At(pub(super) usize);

/// The offset after a part, or that of its first misplaced byte.
pub(super) type Place = std::result::Result<usize, At>;

/// The first offset from `at` on that is no white space; the text's length if only white space follows.
#[inline]
pub(super) fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The offset after the byte that is expected next, behind white space; an error if another byte stands there.
#[inline]
pub(super) fn expect(bytes: &[u8], at: usize, byte: u8) -> Place {
    let at = space(bytes, at);
    if bytes.get(at) == Some(&byte) {
        Ok(at + 1)
    } else {
        Err(At(at))
    }
}

/// The offset after a key and its colon. It fails as [`string_end`] does, or if the first quote or the colon is
/// missing.
#[inline]
pub(super) fn key_end(bytes: &[u8], at: usize) -> Place {
    let at = expect(bytes, at, b'"')?;
    let at = string_end(bytes, at)?;
    expect(bytes, at, b':')
}

/// The offset after the closing quote of a string whose text begins at `at`. It fails if the text ends before the
/// quote, has a control character, or has an escape that JSON lacks.
#[inline(always)]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Place {
    let at = plain_end(bytes, at);
    if bytes.get(at) == Some(&b'"') {
        Ok(at + 1)
    } else {
        escaped_end(bytes, at)
    }
}

/// Like [`string_end`], from the first escape on. It is a separate function, so that a string without escapes costs no
/// call. Nearly all strings have none.
#[inline(never)]
pub(super) fn escaped_end(bytes: &[u8], at: usize) -> Place {
    escaped_size(bytes, at).map(|(end, _)| end)
}

/// Like [`escaped_end`], but also returns the number of bytes by which the text from `at` is shorter than its JSON.
pub(super) fn escaped_size(bytes: &[u8], mut at: usize) -> std::result::Result<(usize, usize), At> {
    let mut saved = 0;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, saved)),
            Some(b'\\') => {
                let end = escape_end(bytes, at + 1)?;
                saved += match end - at {
                    2 => 1,
                    length => length - utf8_len(&bytes[at + 2..end]),
                };
                at = plain_end(bytes, end);
            }
            _ => return Err(At(at)),
        }
    }
}

/// The number of UTF-8 bytes of the character in an escape's four hexadecimal digits; for half of a surrogate pair,
/// half of the pair's number.
pub(super) fn utf8_len(digits: &[u8]) -> usize {
    let digit = |&digit: &u8| char::from(digit).to_digit(16).unwrap_or(0);
    match digits
        .iter()
        .map(digit)
        .fold(0, |code, digit| code * 16 + digit)
    {
        0..0x80 => 1,
        0x80..0x800 | 0xD800..0xE000 => 2,
        _ => 3,
    }
}

/// The first offset from `at` on with a quote, a backslash or a control character; the text's length if there is none.
/// The function reads 16 or eight bytes at a time. Most strings of an object are too short for a call of memchr to pay
/// off.
#[inline(always)]
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    /// A one in each of eight bytes.
    const ONES: u64 = 0x0101_0101_0101_0101;
    /// The high bit of each of eight bytes.
    const HIGH: u64 = 0x8080_8080_8080_8080;
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    while let Some(plain) = bytes.get(at..).and_then(super::masks::plain_bytes) {
        at += plain;
        if plain < super::masks::LANE {
            return at;
        }
    }
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let special = has_zero(word ^ (ONES * b'"' as u64))
            | has_zero(word ^ (ONES * b'\\' as u64))
            | word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        if special != 0 {
            // A borrow can only change bytes above the first special one.
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// The offset after an escape whose letter is at `at`. It fails if JSON lacks the escape.
pub(super) fn escape_end(bytes: &[u8], at: usize) -> Place {
    match bytes.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            for place in at + 1..at + 5 {
                if !bytes.get(place).is_some_and(u8::is_ascii_hexdigit) {
                    return Err(At(place));
                }
            }
            Ok(at + 5)
        }
        _ => Err(At(at)),
    }
}

/// The offset after a literal that begins at `at`; an error if another text stands there.
pub(super) fn literal_end(bytes: &[u8], at: usize, literal: &[u8]) -> Place {
    let end = at + literal.len();
    if bytes.get(at..end) == Some(literal) {
        Ok(end)
    } else {
        Err(At(at))
    }
}

/// The offset after the number that begins at `at`; an error if no number of JSON stands there.
pub(super) fn number_end(bytes: &[u8], mut at: usize) -> Place {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits_end(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits_end(bytes, at)?;
    }
    Ok(at)
}

/// The offset after the digits that begin at `at`; an error if there is no digit.
fn digits_end(bytes: &[u8], mut at: usize) -> Place {
    let start = at;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start { Err(At(at)) } else { Ok(at) }
}
