//! Reads JSON as clusters and clients that we simulate write it: without fractions.
//!
//! serde_json reads all JSON, says well what is wrong with the rest, and brings the reading and writing of fractions with
//! it, a tenth of what a browser would have to fetch for a lesson.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read; serde_json's limit.
const DEPTH_LIMIT: u32 = 128;

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It ends too early: more may come.
    Short,
    /// It is no JSON, has a fraction, or is nested too deep.
    Malformed,
}

/// Reads a text that is one value; none if it is not.
#[must_use]
pub fn read(text: &[u8]) -> Option<Value> {
    let (value, end) = read_first(text).ok()?;
    let is_over = text[end..].iter().all(|byte| is_space(*byte));
    is_over.then_some(value)
}

/// Reads the first value of a text that may have more, and says where it ends.
///
/// # Errors
/// If there is none; what is short may be read once more of it is there.
pub fn read_first(text: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    Ok((value, reader.at))
}

/// What stands between the quotes of a JSON string, without its escapes.
#[must_use]
pub fn unescaped(inner: &str) -> Option<String> {
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

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    /// What comes next, white space passed over.
    fn peek(&mut self) -> Result<u8, Unreadable> {
        loop {
            let byte = *self.text.get(self.at).ok_or(Unreadable::Short)?;
            if !is_space(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Unreadable> {
        if self.peek()? != wanted {
            return Err(Unreadable::Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// Whether a list or map goes on after an item, or begins with one.
    fn goes_on(&mut self, is_first: bool, end: u8) -> Result<bool, Unreadable> {
        if self.peek()? == end {
            self.at += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !is_first {
            self.expect(b',')?;
        }
        Ok(true)
    }

    fn enter(&mut self) -> Result<(), Unreadable> {
        self.at += 1;
        self.depth += 1;
        if self.depth >= DEPTH_LIMIT {
            return Err(Unreadable::Malformed);
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Value, Unreadable> {
        match self.peek()? {
            b'{' => {
                self.enter()?;
                let mut map = Map::new();
                while self.goes_on(map.is_empty(), b'}')? {
                    self.peek()?;
                    let key = self.string()?;
                    self.expect(b':')?;
                    let value = self.value()?;
                    map.insert(key, value);
                }
                Ok(Value::Object(map))
            }
            b'[' => {
                self.enter()?;
                let mut items = Vec::new();
                while self.goes_on(items.is_empty(), b']')? {
                    items.push(self.value()?);
                }
                Ok(Value::Array(items))
            }
            b'"' => self.string().map(Value::String),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Unreadable> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else if word.as_bytes().starts_with(rest) {
            Err(Unreadable::Short)
        } else {
            Err(Unreadable::Malformed)
        }
    }

    fn string(&mut self) -> Result<String, Unreadable> {
        let malformed = Unreadable::Malformed;
        if self.text[self.at] != b'"' {
            return Err(malformed);
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at).ok_or(Unreadable::Short)? {
                b'"' => break,
                b'\\' => at += 2,
                0..b' ' => return Err(malformed),
                _ => at += 1,
            }
        }
        self.at = at + 1;
        let inner = std::str::from_utf8(&self.text[start..at]).map_err(|_| malformed)?;
        unescaped(inner).ok_or(malformed)
    }

    fn number(&mut self) -> Result<Value, Unreadable> {
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest
            .iter()
            .position(|byte| !(byte.is_ascii_digit() || b"+-.eE".contains(byte)));
        let length = length.unwrap_or(rest.len());
        self.at += length;
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| Unreadable::Malformed)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !digits.starts_with('0'));
        let number = if text.starts_with('-') {
            text.parse().map(|number: i64| Number::from(number))
        } else {
            text.parse().map(|number: u64| Number::from(number))
        };
        match number {
            Ok(number) if is_whole => Ok(Value::Number(number)),
            _ if self.at == self.text.len() => Err(Unreadable::Short),
            _ => Err(Unreadable::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (i64::MIN..0).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    /// What serde_json reads of a text; fractions count as unreadable, as do whole numbers it makes fractions of.
    fn expected(text: &[u8]) -> Option<Value> {
        fn has_fraction(value: &Value) -> bool {
            match value {
                Value::Number(number) => number.is_f64(),
                Value::Array(items) => items.iter().any(has_fraction),
                Value::Object(map) => map.values().any(has_fraction),
                _ => false,
            }
        }
        let value = serde_json::from_slice(text).ok()?;
        (!has_fraction(&value)).then_some(value)
    }

    proptest! {
        #[test]
        fn values_are_read_as_serde_json_reads_them(value in value(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            prop_assert_eq!(read(text.as_bytes()), Some(value.clone()));
            prop_assert_eq!(read_first(format!("{text} {text}").as_bytes()).unwrap().0, value);
        }

        #[test]
        fn what_is_no_json_is_refused_as_serde_json_refuses_it(value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cuts in any::<bool>()) {
            let mut text = value.to_string().into_bytes();
            let at = at.index(text.len());
            if cuts {
                text.truncate(at);
            } else {
                text[at] = byte;
            }
            prop_assert_eq!(read(&text), expected(&text));
        }

        #[test]
        fn escapes_are_read_as_serde_json_reads_them(text in r#"([a-z"/é]|\\["\\/bfnrtux]|\\u[dD][89cCdDfF][0-9a-f]{2}|\\u[0-9a-fA-F]{4}){0,9}"#) {
            let quoted = format!("\"{text}\"");
            prop_assert_eq!(read(quoted.as_bytes()), expected(quoted.as_bytes()));
        }
    }

    #[test]
    fn what_is_short_may_become_a_value() {
        let text = br#" {"a": [1, -2, "b\u00e9", true, null]} "#;
        let end = text.len() - 1;
        assert_eq!(
            read_first(text),
            Ok((json!({"a": [1, -2, "bé", true, null]}), end))
        );
        for at in 0..end {
            assert_eq!(read_first(&text[..at]), Err(Unreadable::Short), "{at}");
        }
        assert_eq!(read_first(b"{,"), Err(Unreadable::Malformed));
        let deep = "[".repeat(200);
        assert_eq!(read_first(deep.as_bytes()), Err(Unreadable::Malformed));
        for text in [
            "1.5",
            "1e3",
            "01",
            "-",
            "-0",
            "18446744073709551616",
            "[1,]",
            "{\"a\" 1}",
            // The byte behind a backslash need not be a character.
            "\"\\é\"",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
