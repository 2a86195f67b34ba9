//! Reads JSON without changing it: keys in their order, numbers and strings as they are spelled.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The deepest nesting of values that is parsed; deeper text is shown as it came.
const MAX_DEPTH: u32 = 128;

/// A value. Scalars are slices of the text; strings include their quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    /// A string, number, `true`, `false` or `null`, as spelled.
    Scalar(&'a str),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object: keys (with their quotes) and values, in order.
    Object(Vec<(&'a str, Json<'a>)>),
}

/// Parses a text; `None` if it is not JSON, or nested deeper than [`MAX_DEPTH`].
#[must_use]
pub fn parse(text: &str) -> Option<Json<'_>> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    read(value.get(), 0)
}

/// Reads a value that is known to be JSON without space around it. Each level is parsed again for the values in it.
fn read(text: &str, depth: u32) -> Option<Json<'_>> {
    if depth > MAX_DEPTH {
        return None;
    }
    match text.as_bytes().first()? {
        b'{' => {
            let members: Members<'_> = serde_json::from_str(text).ok()?;
            let members = members.0.into_iter();
            let member = |(key, value)| Some((key, read(value, depth + 1)?));
            members.map(member).collect::<Option<_>>().map(Json::Object)
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items = items.iter().map(|item| read(item.get(), depth + 1));
            items.collect::<Option<_>>().map(Json::Array)
        }
        _ => Some(Json::Scalar(text)),
    }
}

/// The members of an object in their order, keys and values as they are spelled.
struct Members<'a>(Vec<(&'a str, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push((key.get(), value.get()));
        }
        Ok(Members(members))
    }
}

/// Returns a value in lines: two spaces a level, one member a line, empty arrays and objects on one line.
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
    fn text_that_is_not_json_is_refused() {
        for text in [
            "", "{", "[1,]", "{\"a\"}", "tru", "\"", "\"\\", "1 2", "-", "nul l", "01", "1.", ".5",
            "1e", "--1", "inf", "01", "1.", ".5", "1e", "--1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(parse(&nested(100_000)), None);
        assert!(parse(&nested(MAX_DEPTH as usize + 1)).is_some());
        assert_eq!(parse(&nested(MAX_DEPTH as usize + 2)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn laid_out_json_reads_the_same(text in "[\\[\\]{}:,\"a1 ]{0,40}") {
            if let Some(value) = parse(&text) {
                let laid_out = lines(&value).join("\n");
                prop_assert_eq!(parse(&laid_out), Some(value));
            }
        }
    }
}
