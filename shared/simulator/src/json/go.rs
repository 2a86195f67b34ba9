//! The errors of Go's decoders in Go's words, which clients see in the messages of refusals.

/// Returns an error in the words of Go's base64 decoder.
pub(crate) fn base64_error(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _)
        | base64::DecodeError::InvalidLastSymbol(at, _)
        | base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

/// Returns the error of Go's JSON decoder for a text that ends early or does not begin with a JSON value.
pub(crate) fn json_error(bytes: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let first = bytes.first().copied().unwrap_or_default();
    for word in ["null", "true", "false"] {
        if !word.starts_with(char::from(first)) {
            continue;
        }
        for (byte, wanted) in bytes.iter().zip(word.bytes()) {
            if *byte != wanted {
                return format!(
                    "invalid character {} in literal {word} (expecting {})",
                    quoted(*byte),
                    quoted(wanted)
                );
            }
        }
    }
    format!(
        "invalid character {} looking for beginning of value",
        quoted(first)
    )
}

fn quoted(byte: u8) -> String {
    match byte {
        b if b.is_ascii_graphic() || b == b' ' => format!("'{}'", char::from(b)),
        b if b < 0x20 || b == 0x7f => format!("'\\x{b:02x}'"),
        // Go takes the byte for a code point of Latin-1. There only these two and the controls are not printable.
        b @ (0x80..=0xa0 | 0xad) => format!("'\\u{b:04x}'"),
        b => format!("'{}'", char::from(b)),
    }
}

/// Returns the name of a JSON value's type as Go's errors write it.
pub(crate) fn kind_of(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_json_are_in_gos_words() {
        let error = |text: &[u8]| {
            json_error(
                text,
                &serde_json::from_slice::<serde_json::Value>(text).unwrap_err(),
            )
        };
        assert_eq!(error(b"{"), "unexpected end of JSON input");
        assert_eq!(
            error(b"not json"),
            "invalid character 'o' in literal null (expecting 'u')"
        );
        assert_eq!(
            error(b"\x9e"),
            "invalid character '\\u009e' looking for beginning of value"
        );
    }
}
