//! JSON as Go's encoder writes it: characters with a meaning in HTML are escaped.

use bytes::Bytes;
use serde_json::Value;

use super::codec;

/// Returns a JSON value as Go's encoder writes it, in bytes.
pub(crate) fn encode(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    write_json(&mut bytes, value);
    Bytes::from(bytes)
}

/// Appends a map's JSON and returns the offset in `bytes` at which its key `metadata` begins. Only `kind` and
/// `apiVersion` may precede the key `metadata`.
pub(crate) fn encode_into(bytes: &mut Vec<u8>, value: &Value) -> usize {
    let Value::Object(parts) = value else {
        let at = bytes.len();
        write_json(bytes, value);
        return at;
    };
    let mut metadata_at = None;
    bytes.push(b'{');
    for (i, (key, part)) in parts.iter().enumerate() {
        if i > 0 {
            bytes.push(b',');
        }
        if key == "metadata" {
            metadata_at = Some(bytes.len());
        }
        let from = bytes.len();
        codec::write(bytes, key);
        escape_html(bytes, from);
        bytes.push(b':');
        write_json(bytes, part);
    }
    bytes.push(b'}');
    metadata_at.unwrap_or(bytes.len() - 1)
}

/// Appends a JSON value as Go's encoder writes it.
fn write_json(bytes: &mut Vec<u8>, value: &Value) {
    let from = bytes.len();
    codec::write(bytes, value);
    escape_html(bytes, from);
}

/// Escapes characters with a meaning in HTML, from the position `from` on, as Go's encoder does.
fn escape_html(bytes: &mut Vec<u8>, from: usize) {
    let is_html = |byte: &u8| matches!(byte, b'<' | b'>' | b'&');
    let tail = &bytes[from..];
    // E2 80 A8 and E2 80 A9 are the encodings of the line separators U+2028 and U+2029.
    let is_separator = |at: &[u8]| matches!(at, [0xE2, 0x80, 0xA8 | 0xA9]);
    // There is nearly always nothing to escape. A loop without an early exit lets the compiler check many bytes at
    // once.
    let is_suspect = |byte: &u8| is_html(byte) | (*byte == 0xE2);
    if !tail.iter().fold(false, |any, byte| any | is_suspect(byte)) {
        return;
    }
    let mut escaped = Vec::with_capacity(tail.len() + 16);
    let mut rest = tail;
    while let Some((byte, after)) = rest.split_first() {
        if is_html(byte) {
            escaped.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            rest = after;
        } else if rest.get(..3).is_some_and(is_separator) {
            escaped.extend_from_slice(format!("\\u20{:02x}", rest[2] - 0x80).as_bytes());
            rest = &rest[3..];
        } else {
            escaped.push(*byte);
            rest = after;
        }
    }
    bytes.truncate(from);
    bytes.extend_from_slice(&escaped);
}
