//! JSON from and as text, byte for byte as serde_json writes it.
//!
//! What reads and writes fractions is large, and the lessons' module has no use for it: it has another reader.

use serde_json::{Number, Value};
use watchscope_model::brief_json::{self, Unreadable};

use crate::WHOLE;
use crate::apiserver::go;

/// A value as text.
#[must_use]
pub fn json_text(value: &Value) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes, value);
    String::from_utf8(bytes).expect("text and ASCII are text")
}

/// Reads a text; why it cannot be read, as Go's decoder says it.
pub(crate) fn read(text: &[u8]) -> Result<Value, String> {
    if WHOLE {
        serde_json::from_slice(text).map_err(|error| go::json_error(text, &error))
    } else {
        brief_json::read(text).ok_or_else(|| "invalid character".to_owned())
    }
}

/// Reads the first value of a text, and says where it ends.
pub(crate) fn read_first(text: &[u8]) -> Result<(Value, usize), Unreadable> {
    if !WHOLE {
        return brief_json::read_first(text);
    }
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) if !error.is_eof() => Err(Unreadable::Malformed),
        _ => Err(Unreadable::Short),
    }
}

/// Appends a value.
pub(crate) fn write(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.extend_from_slice(b"null"),
        Value::Bool(true) => bytes.extend_from_slice(b"true"),
        Value::Bool(false) => bytes.extend_from_slice(b"false"),
        Value::Number(number) => write_number(bytes, number),
        Value::String(text) => write_text(bytes, text),
        Value::Array(items) => {
            bytes.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write(bytes, item);
            }
            bytes.push(b']');
        }
        Value::Object(map) => {
            bytes.push(b'{');
            for (place, (key, item)) in map.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write_text(bytes, key);
                bytes.push(b':');
                write(bytes, item);
            }
            bytes.push(b'}');
        }
    }
}

/// Appends a text in quotes.
pub(crate) fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    let mut rest = text.as_bytes();
    bytes.push(b'"');
    loop {
        let plain = rest.iter().position(|byte| !is_plain(byte));
        let plain = plain.unwrap_or(rest.len());
        bytes.extend_from_slice(&rest[..plain]);
        let Some(byte) = rest.get(plain) else {
            break;
        };
        let short = match byte {
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            12 => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            _ => b'u',
        };
        bytes.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            bytes.extend_from_slice(format!("{byte:04x}").as_bytes());
        }
        rest = &rest[plain + 1..];
    }
    bytes.push(b'"');
}

fn write_number(bytes: &mut Vec<u8>, number: &Number) {
    let text = if let Some(whole) = number.as_u64() {
        whole.to_string()
    } else if let Some(whole) = number.as_i64() {
        whole.to_string()
    } else if WHOLE {
        number.to_string()
    } else {
        // Fractions are seconds of a lesson, to the microsecond.
        let micros = number.as_f64().unwrap_or_default() * 1e6 + 0.5;
        let micros = micros as u64;
        format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    };
    bytes.extend_from_slice(text.as_bytes());
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
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
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

    proptest! {
        #[test]
        fn text_is_what_serde_json_writes(value in value()) {
            prop_assert_eq!(json_text(&value), value.to_string());
        }
    }

    #[test]
    fn every_byte_of_a_text_is_escaped_as_serde_json_does() {
        let all: String = (0..0x200).filter_map(char::from_u32).collect();
        let value = json!({ all.as_str(): all });
        assert_eq!(json_text(&value), value.to_string());
    }
}
