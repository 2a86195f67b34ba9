//! JSON from and as text, with errors in the words of Go's decoder.

use serde_json::Value;

use super::go;

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It ends too early: more may come.
    Short,
    /// It is no JSON.
    Malformed,
}

/// A value as text.
#[must_use]
pub fn json_text(value: &Value) -> String {
    value.to_string()
}

/// Appends a value as text.
pub(crate) fn write(bytes: &mut Vec<u8>, value: &impl serde::Serialize) {
    serde_json::to_writer(bytes, value).expect("keys are texts, and a vector takes all bytes");
}

/// Reads a text; why it cannot be read, as Go's decoder says it.
pub(crate) fn read(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|error| go::json_error(text, &error))
}

/// Reads the first value of a text, and says where it ends.
pub(crate) fn read_first(text: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) if !error.is_eof() => Err(Unreadable::Malformed),
        _ => Err(Unreadable::Short),
    }
}
