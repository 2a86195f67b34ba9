//! A JSON reader that passes through a text once, value by value, and knows each value's position.
//!
//! The probe needs three properties that serde_json does not combine. The probe needs the position of each value,
//! because redaction cuts values out at their positions. The probe needs a nesting limit for skipped values. And the
//! probe needs fast skipping, because nine tenths of the work is skipping. The page reads clients' beliefs with this
//! reader: serde_json's values and errors were 11 kB gzip of the page's second part.
//!
//! On x86-64 and arm64 a skipped object or array is checked 64 bytes at a time (`blocks.rs`), if it is compact JSON.
//! All else is read byte by byte. Both find the same ends; a property test compares them.
//!
//! Measured with the probe's `examples/decode_speed.rs` on one busy machine, a line of 6.3 kB, redacted and copied,
//! costs 3.1 µs of CPU. Byte by byte it cost 4.7 µs. With serde_json's borrowing seeds it cost half as much again,
//! without a nesting limit for ignored values.
//!
//! The reader checks all text for valid JSON (RFC 8259), as strictly as serde_json; a test compares the two. Only
//! [`Reader::skip_deep`] does not check the inside of objects and arrays. The reader does not convert numbers, on
//! purpose.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod masks;
mod steps;

use std::borrow::Cow;
use std::ops::Range;

use self::steps::{
    At, escaped_size, expect, key_end, literal_end, number_end, plain_end, space, string_end,
};

/// The deepest nesting that is read, in levels of objects and arrays; a deeper value is an error. Only
/// [`Reader::skip_deep`] has no limit. The number is that of serde_json's limit, which refuses level 128 itself.
pub const DEPTH_LIMIT: u32 = 128;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte offset of the error in the text.
    pub at: usize,
    /// The kind of error.
    pub kind: JsonErrorKind,
}

/// How a text differs from what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text is not JSON.
    Syntax,
    /// The text ends too early.
    CutShort,
    /// The text is nested deeper than [`DEPTH_LIMIT`].
    TooDeep,
    /// The text is JSON of an unexpected form.
    Shape,
}

/// The type of the next value, by its first byte alone. The rest of the value may be no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// Null.
    Null,
    /// A number, a boolean, or a byte with which no value begins.
    Other,
}

/// A reader of one JSON text, value by value. All offsets and ranges are in bytes of the text, from 0.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    /// A reader for a text that was quoted inside this reader's text. It starts at this reader's depth, so that
    /// [`DEPTH_LIMIT`] bounds both together.
    pub fn inside<'b>(&self, text: &'b str) -> Reader<'b> {
        Reader {
            text,
            at: 0,
            depth: self.depth,
        }
    }

    /// The text that is read.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Skips white space, and returns the offset of the byte after it, with which the next value begins. At the end of
    /// the text it is the text's length.
    pub fn position(&mut self) -> usize {
        self.at = space(self.text.as_bytes(), self.at);
        self.at
    }

    /// The offset after the last part read: a value, a bracket, a colon or a comma. White space that follows a value is
    /// skipped only by the next call. Before any call the offset is 0.
    pub fn position_after(&self) -> usize {
        self.at
    }

    /// The type of the next value, which stays unread.
    ///
    /// # Errors
    /// A [`JsonError`] with the kind [`JsonErrorKind::CutShort`] if the text has ended.
    pub fn peek(&mut self) -> Result<Next> {
        let at = self.position();
        Ok(match self.text.as_bytes().get(at) {
            Some(b'{') => Next::Object,
            Some(b'[') => Next::Array,
            Some(b'"') => Next::String,
            Some(b'n') => Next::Null,
            Some(_) => Next::Other,
            None => return Err(fail(at, JsonErrorKind::CutShort)),
        })
    }

    /// Reads an object: `each` gets every key, in the order of the text and perhaps repeated, and must read its value.
    ///
    /// # Errors
    /// A [`JsonError`] if no object follows, it is not JSON, a key has half of a surrogate pair, or it is nested deeper
    /// than [`DEPTH_LIMIT`]. The first error of `each` is returned, too. After an error the reader's position means
    /// nothing.
    pub fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<()>,
    ) -> Result<()> {
        self.object_placed(|reader, key, _| each(reader, key))
    }

    /// Like [`Reader::object`], but `each` also gets the range of the key, quotes included.
    ///
    /// # Errors
    /// The errors of [`Reader::object`].
    pub fn object_placed(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        self.open(b'{')?;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            let start = self.position();
            let key = self.string()?;
            let place = start..self.at;
            self.expect(b':')?;
            each(self, key, place)?;
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array: `each` is called once for every element, in order, and must read it.
    ///
    /// # Errors
    /// The errors of [`Reader::object`], for an array, which has no keys.
    pub fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.open(b'[')?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads a string; returns its decoded text, which is borrowed unless it has escapes.
    ///
    /// # Errors
    /// A [`JsonError`] if no string follows, it is not JSON, or an escape is half of a surrogate pair.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        let start = self.position();
        let bytes = self.text.as_bytes();
        if bytes.get(start) != Some(&b'"') {
            return Err(self.unexpected());
        }
        let plain = plain_end(bytes, start + 1);
        if bytes.get(plain) == Some(&b'"') {
            self.at = plain + 1;
            return Ok(Cow::Borrowed(&self.text[start + 1..plain]));
        }
        self.escaped_string(start, plain)
    }

    /// Reads a string or null; null is `None`.
    ///
    /// # Errors
    /// The errors of [`Reader::string`] if neither follows, or the text has ended.
    pub fn optional_string(&mut self) -> Result<Option<Cow<'a, str>>> {
        let at = self.position();
        match self.text.as_bytes().get(at) {
            Some(b'"') => self.string().map(Some),
            Some(b'n') => self.skip().map(|_| None),
            _ => Err(self.unexpected()),
        }
    }

    /// Skips a value; returns its range, quotes or brackets included. Half of a surrogate pair in a string is no error.
    ///
    /// # Errors
    /// A [`JsonError`] if no valid value follows, or the value is nested deeper than [`DEPTH_LIMIT`]. The reader then
    /// stays before the value.
    pub fn skip(&mut self) -> Result<Range<usize>> {
        let start = self.position();
        let bytes = self.text.as_bytes();
        if bytes.get(start) == Some(&b'"') {
            let plain = plain_end(bytes, start + 1);
            if bytes.get(plain) == Some(&b'"') {
                self.at = plain + 1;
                return Ok(start..self.at);
            }
        }
        self.at = match compact_end(bytes, start, self.depth) {
            Some(end) => end,
            None => value_end(bytes, start, self.depth)?,
        };
        Ok(start..self.at)
    }

    /// Skips a value of any depth; returns its range. The end of an object or array is found by counting its brackets
    /// outside of strings, so its other content may be no JSON.
    ///
    /// # Errors
    /// A [`JsonError`] if the text ends before the value does, or if a string or a value without brackets is not JSON.
    /// The reader then stays before the value.
    pub fn skip_deep(&mut self) -> Result<Range<usize>> {
        let start = self.position();
        let bytes = self.text.as_bytes();
        let (mut at, mut open) = (start, 0_usize);
        loop {
            at = match bytes.get(at) {
                Some(b'"') => string_end(bytes, at + 1).map_err(|At(at)| wrong(bytes, at))?,
                Some(b'{' | b'[') => {
                    open += 1;
                    at + 1
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    at + 1
                }
                Some(_) if open > 0 => at + 1,
                // A value without brackets has no depth.
                _ => value_end(bytes, at, self.depth)?,
            };
            if open == 0 {
                self.at = at;
                return Ok(start..at);
            }
        }
    }

    /// Skips a value; returns its range, quotes included, and its size, both in bytes of UTF-8. The size of a string is
    /// that of its decoded text; that of any other value is the size of its JSON.
    ///
    /// # Errors
    /// The errors of [`Reader::skip`]; the reader then stays before the value.
    pub fn skip_sized(&mut self) -> Result<(Range<usize>, usize)> {
        let start = self.position();
        let bytes = self.text.as_bytes();
        if bytes.get(start) != Some(&b'"') {
            let place = self.skip()?;
            return Ok((place.clone(), place.len()));
        }
        let plain = plain_end(bytes, start + 1);
        let (end, saved) = string_size(bytes, plain)?;
        self.at = end;
        Ok((start..end, end - start - 2 - saved))
    }

    /// Checks that only white space follows.
    ///
    /// # Errors
    /// A [`JsonError`] with the kind [`JsonErrorKind::Syntax`] if anything else follows.
    pub fn end(&mut self) -> Result<()> {
        let at = self.position();
        if at == self.text.len() {
            Ok(())
        } else {
            Err(fail(at, JsonErrorKind::Syntax))
        }
    }

    /// The error for a value of the wrong type at the present position, before which no white space is skipped. Its
    /// kind is [`JsonErrorKind::Shape`] if a value may begin with the byte there. At the end of the text it is
    /// [`JsonErrorKind::CutShort`], else [`JsonErrorKind::Syntax`].
    pub fn unexpected(&self) -> JsonError {
        let kind = match self.text.as_bytes().get(self.at) {
            None => JsonErrorKind::CutShort,
            Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                JsonErrorKind::Shape
            }
            Some(_) => JsonErrorKind::Syntax,
        };
        fail(self.at, kind)
    }

    /// The error for a string whose content cannot be judged: [`JsonErrorKind::Shape`] at the present position.
    pub fn unjudged(&self) -> JsonError {
        fail(self.at, JsonErrorKind::Shape)
    }

    fn open(&mut self, bracket: u8) -> Result<()> {
        let at = self.position();
        if self.text.as_bytes().get(at) != Some(&bracket) {
            return Err(self.unexpected());
        }
        if self.depth == DEPTH_LIMIT {
            return Err(fail(at, JsonErrorKind::TooDeep));
        }
        self.depth += 1;
        self.at = at + 1;
        Ok(())
    }

    /// Reads the rest of a string, from its first escape on. It is a function of its own, because nearly no string has
    /// an escape.
    #[cold]
    #[inline(never)]
    fn escaped_string(&mut self, start: usize, escape: usize) -> Result<Cow<'a, str>> {
        (self.at, _) = string_size(self.text.as_bytes(), escape)?;
        unescaped(&self.text[start + 1..self.at - 1])
            .map(Cow::Owned)
            .ok_or_else(|| fail(start, JsonErrorKind::Syntax))
    }

    /// After a member or element: takes a comma and returns `true`, or takes the closing bracket and returns `false`.
    #[inline]
    fn goes_on(&mut self, bracket: u8) -> Result<bool> {
        if self.text.as_bytes().get(self.at) == Some(&b',') {
            self.at += 1;
            return Ok(true);
        }
        if self.closes(bracket) {
            return Ok(false);
        }
        self.expect(b',').map(|()| true)
    }

    fn closes(&mut self, bracket: u8) -> bool {
        let at = self.position();
        let closes = self.text.as_bytes().get(at) == Some(&bracket);
        if closes {
            self.depth -= 1;
            self.at = at + 1;
        }
        closes
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        let bytes = self.text.as_bytes();
        self.at = expect(bytes, self.at, byte).map_err(|At(at)| wrong(bytes, at))?;
        Ok(())
    }
}

fn fail(at: usize, kind: JsonErrorKind) -> JsonError {
    JsonError { at, kind }
}

fn wrong(bytes: &[u8], at: usize) -> JsonError {
    let kind = if at < bytes.len() {
        JsonErrorKind::Syntax
    } else {
        JsonErrorKind::CutShort
    };
    fail(at, kind)
}

/// Returns the end of the value that begins at `at`, if it is an object or array that the scan by blocks can read. It
/// is the end that [`value_end`] finds. `None` leaves the value to [`value_end`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
fn compact_end(bytes: &[u8], at: usize, depth: u32) -> Option<usize> {
    match bytes.get(at..at + 2)? {
        b"{}" | b"[]" => None,
        // One level is left for an empty container inside.
        [b'{' | b'[', _] => {
            blocks::container_end(bytes, at, (DEPTH_LIMIT - depth).saturating_sub(1))
        }
        _ => None,
    }
}

/// Without vector instructions, every value is read byte by byte.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn compact_end(_bytes: &[u8], _at: usize, _depth: u32) -> Option<usize> {
    None
}

/// Returns the end of a string whose text goes on at `at`. Also returns the number of bytes by which the text from
/// there is shorter than its JSON. It fails if the string is not JSON.
fn string_size(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(size) = blocks::string_size(bytes, at) {
        return Ok(size);
    }
    escaped_size(bytes, at).map_err(|At(at)| wrong(bytes, at))
}

/// Returns the end of the value that begins at `at`, in one pass without recursion. One bit for each open container
/// records whether it is an object; because of the nesting limit, 128 bits suffice. It fails if the value is not JSON,
/// or is nested too deep.
fn value_end(bytes: &[u8], mut at: usize, floor: u32) -> Result<usize> {
    let misplaced = |At(at)| wrong(bytes, at);
    let mut depth = floor;
    let mut objects: u128 = 0;
    loop {
        at = space(bytes, at);
        let Some(&first) = bytes.get(at) else {
            return Err(wrong(bytes, at));
        };
        match first {
            b'"' => at = string_end(bytes, at + 1).map_err(misplaced)?,
            b'{' | b'[' => {
                if depth == DEPTH_LIMIT {
                    return Err(fail(at, JsonErrorKind::TooDeep));
                }
                let is_object = first == b'{';
                // An empty container closes at once. In ASCII the closing bracket is the opening one plus 2.
                at = space(bytes, at + 1);
                if bytes.get(at) == Some(&(first + 2)) {
                    at += 1;
                } else {
                    objects = objects << 1 | u128::from(is_object);
                    depth += 1;
                    if is_object {
                        at = key_end(bytes, at).map_err(misplaced)?;
                    }
                    continue;
                }
            }
            b't' => at = literal_end(bytes, at, b"true").map_err(misplaced)?,
            b'f' => at = literal_end(bytes, at, b"false").map_err(misplaced)?,
            b'n' => at = literal_end(bytes, at, b"null").map_err(misplaced)?,
            _ => at = number_end(bytes, at).map_err(misplaced)?,
        }
        // The value has ended, so look at the container around it.
        loop {
            if depth == floor {
                return Ok(at);
            }
            at = space(bytes, at);
            let is_object = objects & 1 == 1;
            match bytes.get(at) {
                Some(b',') => {
                    at += 1;
                    if is_object {
                        at = key_end(bytes, at).map_err(misplaced)?;
                    }
                    break;
                }
                Some(b'}') if is_object => {}
                Some(b']') if !is_object => {}
                _ => return Err(wrong(bytes, at)),
            }
            at += 1;
            objects >>= 1;
            depth -= 1;
        }
    }
}

/// The text between the quotes of a JSON string, with its escapes decoded.
fn unescaped(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = *rest.as_bytes().get(at + 1)?;
        rest = rest.get(at + 2..)?;
        text.push(match escape {
            b'"' | b'\\' | b'/' => char::from(escape),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = code(&mut rest)?;
                let whole = if (0xd800..0xdc00).contains(&first) {
                    rest = rest.strip_prefix("\\u")?;
                    let low = code(&mut rest)?;
                    let low = (0xdc00..0xe000).contains(&low).then(|| low - 0xdc00)?;
                    0x10000 + ((first - 0xd800) << 10) + low
                } else {
                    first
                };
                char::from_u32(whole)?
            }
            _ => return None,
        });
    }
    text.push_str(rest);
    Some(text)
}

/// Takes four hexadecimal digits.
fn code(rest: &mut &str) -> Option<u32> {
    let digits = rest.get(..4)?;
    *rest = &rest[4..];
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    /// Reads a whole text value by value.
    fn read_all(reader: &mut Reader<'_>) -> Result<()> {
        match reader.peek()? {
            Next::Object => reader.object(|reader, _| read_all(reader)),
            Next::Array => reader.array(read_all),
            Next::String => reader.string().map(|_| ()),
            Next::Null | Next::Other => reader.skip().map(|_| ()),
        }
    }

    /// Compact JSON of any form, nested at most six deep.
    fn nested() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            2 => r#""([a-z ,:{}\[\]]{0,9}|\\["\\/bfnrt]|\\u00e9|é){0,6}""#,
            1 => Just("\"\"".to_owned()),
            1 => "-?(0|[1-9][0-9]{0,18})([.][0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
            1 => "-?[1-9][0-9]{0,150}",
            1 => "true|false|null",
            2 => r"\{\}|\[\]",
        ];
        leaf.prop_recursive(6, 96, 8, |inner| {
            let key = r#""([a-z.:/]{0,7}|\\"){0,4}""#;
            let members = proptest::collection::vec((key, inner.clone()), 0..6);
            prop_oneof![
                2 => members.prop_map(|members| {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
                1 => proptest::collection::vec(inner, 0..6)
                    .prop_map(|elements| format!("[{}]", elements.join(","))),
            ]
        })
    }

    fn skips(text: &str) -> bool {
        let mut reader = Reader::new(text);
        reader.skip().and_then(|_| reader.end()).is_ok()
    }

    fn reads(text: &str) -> bool {
        let mut reader = Reader::new(text);
        read_all(&mut reader).and_then(|()| reader.end()).is_ok()
    }

    /// Parses with serde_json, without its nesting limit or its ranges of numbers.
    fn is_json(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }

    #[test]
    fn values_are_found_at_their_positions() {
        let text = r#" {"a" : [1, {"b":"x\"y"}] , "ab\u0063": -0.5e+7 }"#;
        let mut reader = Reader::new(text);
        let mut found = Vec::new();
        reader
            .object(|reader, key| {
                found.push((key.into_owned(), reader.skip()?));
                Ok(())
            })
            .unwrap();
        reader.end().unwrap();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(key, place)| (&**key, &text[place.clone()]))
            .collect();
        assert_eq!(found, [("a", r#"[1, {"b":"x\"y"}]"#), ("abc", "-0.5e+7")]);
    }

    #[test]
    fn the_size_of_a_string_is_its_texts() {
        let size = |json: &str| Reader::new(json).skip_sized().unwrap();
        for text in ["", "abc", "a\"b\\c\n\u{1}", "é€😀"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(size(&json), (0..json.len(), text.len()), "{json}");
        }
        assert_eq!(size(r#""\u00e9\u20ac\ud83d\ude00\/""#), (0..28, 10));
        assert_eq!(size("[1, 2]"), (0..6, 6));
    }

    #[test]
    fn nesting_is_limited_in_read_and_in_skipped_values() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert!(skips(&nested(128)) && reads(&nested(128)));
            for text in [nested(129), nested(100_000)] {
                assert!(!skips(&text) && !reads(&text));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        /// The scan by blocks against the bytewise reading, wherever it finds an end.
        #[test]
        fn a_value_ends_where_the_bytewise_reading_ends_it(
            value in nested(),
            before in "[ a]{0,70}",
            change in proptest::option::of((0_usize..400, any::<u8>())),
            cut in proptest::option::of(0_usize..400),
        ) {
            let mut text = format!("{before}{value},1]}}").into_bytes();
            if let Some((at, byte)) = change {
                let at = before.len() + at % value.len();
                text[at] = byte;
            }
            if let Some(cut) = cut {
                text.truncate(before.len() + cut % value.len());
            }
            for depth in [0, 60, 120, 126, 127, 128] {
                let found = compact_end(&text, before.len(), depth);
                let expected = value_end(&text, before.len(), depth);
                if let Some(end) = found {
                    prop_assert_eq!(Ok(end), expected, "{}", String::from_utf8_lossy(&text));
                }
            }
        }

        #[test]
        fn compact_json_is_read_by_blocks(value in nested()) {
            let is_container = value.len() > 2 && value.starts_with(['{', '[']);
            let found = compact_end(format!("{value},").as_bytes(), 0, 0);
            prop_assert_eq!(found, (is_container && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))).then_some(value.len()));
        }

        #[test]
        fn a_strings_size_is_that_of_the_bytewise_reading(
            text in r#"([a-z]{0,9}|\\["\\/bfnrtux]|\\u[0-9a-fA-F]{3,4}|é|"|\x02){0,60}"#,
            after in "[a-z]{0,80}",
        ) {
            let text = format!("{text}\"{after}");
            let bytes = text.as_bytes();
            let first_escape = plain_end(bytes, 0);
            let bytewise = escaped_size(bytes, first_escape).map_err(|At(at)| wrong(bytes, at));
            prop_assert_eq!(string_size(bytes, first_escape), bytewise, "{}", text);
        }

        #[test]
        fn json_for_serde_json_is_json_here(
            text in r#"([\[\]{}:,"\\a0-9.eE+ \n\t-]|null|true|false|"a"|\\u00e9|é|\x01|"a":|,"b":1|\{\}|\[\]){0,14}"#,
        ) {
            prop_assert_eq!(skips(&text), is_json(&text), "skipping {}", text);
            prop_assert_eq!(reads(&text), is_json(&text), "reading {}", text);
        }

        #[test]
        fn a_mutated_object_is_json_for_both_or_for_neither(at in 0usize..300, byte in any::<u8>()) {
            let mut text = r#"{"kind":"Pod","metadata":{"name":"a\n","labels":{"x":"é\u00e9"},"n":[1,-2.5e3,0,true,false,null,[],{}]},"spec":{"a":[{"b":[{"c":{}}]}],"long":"0123456789012345678901234567890123456789 \\ \" / and more of it"}}"#.as_bytes().to_vec();
            let at = at % text.len();
            text[at] = byte;
            if let Ok(text) = std::str::from_utf8(&text) {
                prop_assert_eq!(skips(text), is_json(text), "skipping {}", text);
                // serde_json's RawValue does not check for lone surrogates; a reader of the string does.
                prop_assert!(!reads(text) || is_json(text), "reading {}", text);
            }
        }
    }
}
