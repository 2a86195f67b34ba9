//! Parses JSON from text and writes JSON as text, with errors in the words of Go's decoder.

use serde_json::Value;

use super::go;

/// The reason why a text cannot be read as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The text ends before its JSON value ends; more of the text may come.
    Short,
    /// The text is not JSON.
    Malformed,
}

/// Returns a value as JSON text: on one line, without spaces between tokens, keys in the order of the value.
#[must_use]
pub fn json_text(value: &Value) -> String {
    value.to_string()
}

/// Appends a value as JSON text.
pub(crate) fn write(bytes: &mut Vec<u8>, value: &impl serde::Serialize) {
    serde_json::to_writer(bytes, value).expect("keys are texts, and a vector takes all bytes");
}

/// Parses a text as JSON. The error is in the words of Go's decoder.
pub(crate) fn read(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|error| go::json_error(text, &error))
}

/// Parses the first JSON value of a text. Returns the value and the byte position of its end; [`Unreadable`] without a
/// whole value. A text of white space alone is [`Unreadable::Short`].
pub(crate) fn read_first(text: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) if !error.is_eof() => Err(Unreadable::Malformed),
        _ => Err(Unreadable::Short),
    }
}
