//! Reads JSON without changing it: keys in their order, numbers and strings as they are spelled.

/// Values may be nested this deep; deeper text is shown as it came.
const MAX_DEPTH: u32 = 128;

/// A value; scalars are slices of the text, strings with their quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    /// A string, number, `true`, `false` or `null`, as spelled.
    Scalar(&'a str),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object: keys (with their quotes) and values, in order.
    Object(Vec<(&'a str, Json<'a>)>),
}

/// Reads a text; `None` if it is no JSON, or nested too deep.
#[must_use]
pub fn parse(text: &str) -> Option<Json<'_>> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    (parser.at == text.len()).then_some(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn value(&mut self, depth: u32) -> Option<Json<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'{' => self
                .members(b'}', |parser| {
                    parser.space();
                    let key = parser.string()?;
                    parser.take(b':')?;
                    Some((key, parser.value(depth + 1)?))
                })
                .map(Json::Object),
            b'[' => self
                .members(b']', |parser| parser.value(depth + 1))
                .map(Json::Array),
            b'"' => self.string().map(Json::Scalar),
            _ => self.word().map(Json::Scalar),
        }
    }

    fn members<T>(
        &mut self,
        close: u8,
        mut member: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(close).is_some() {
            return Some(members);
        }
        loop {
            members.push(member(self)?);
            if self.take(close).is_some() {
                return Some(members);
            }
            self.take(b',')?;
        }
    }

    fn string(&mut self) -> Option<&'a str> {
        let start = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'a'..=b'z' | b'E' | b'0'..=b'9' | b'+' | b'-' | b'.')
        ) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at)?;
        (is_number(word) || matches!(word, "true" | "false" | "null")).then_some(word)
    }
}

/// Whether a word is a number as RFC 8259 section 6 spells them.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

/// A value in lines: two spaces a level, one member a line, empty things on one.
#[must_use]
pub fn lines(value: &Json<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    write(value, 0, String::new(), false, &mut lines);
    lines
}

fn write(value: &Json<'_>, depth: usize, head: String, comma: bool, lines: &mut Vec<String>) {
    let end = if comma { "," } else { "" };
    let indent = "  ".repeat(depth);
    match value {
        Json::Scalar(text) => lines.push(format!("{indent}{head}{text}{end}")),
        Json::Array(items) if items.is_empty() => lines.push(format!("{indent}{head}[]{end}")),
        Json::Object(members) if members.is_empty() => {
            lines.push(format!("{indent}{head}{{}}{end}"));
        }
        Json::Array(items) => {
            lines.push(format!("{indent}{head}["));
            for (place, item) in items.iter().enumerate() {
                write(
                    item,
                    depth + 1,
                    String::new(),
                    place + 1 < items.len(),
                    lines,
                );
            }
            lines.push(format!("{indent}]{end}"));
        }
        Json::Object(members) => {
            lines.push(format!("{indent}{head}{{"));
            for (place, (key, member)) in members.iter().enumerate() {
                let more = place + 1 < members.len();
                write(member, depth + 1, format!("{key}: "), more, lines);
            }
            lines.push(format!("{indent}}}{end}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_keep_their_order_and_numbers_their_spelling() {
        let text = r#"{"z":1.0,"10":[18446744073709551616,"a\"b\\"],"a":{},"2":null}"#;
        let value = parse(text).unwrap();
        insta::assert_snapshot!(lines(&value).join("\n"), @r#"
        {
          "z": 1.0,
          "10": [
            18446744073709551616,
            "a\"b\\"
          ],
          "a": {},
          "2": null
        }
        "#);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "", "{", "[1,]", "{\"a\"}", "tru", "\"", "\"\\", "1 2", "-", "nul l", "01", "1.", ".5",
            "1e", "--1", "inf", "01", "1.", ".5", "1e", "--1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn what_was_laid_out_reads_the_same(text in "[\\[\\]{}:,\"a1 ]{0,40}") {
            if let Some(value) = parse(&text) {
                let laid_out = lines(&value).join("\n");
                prop_assert_eq!(parse(&laid_out), Some(value));
            }
        }
    }
}
