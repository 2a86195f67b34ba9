//! The errors of Go's decoders in their own words; clients see them in messages.

/// Of base64.
pub(crate) fn base64_error(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _)
        | base64::DecodeError::InvalidLastSymbol(at, _)
        | base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

/// Of JSON that breaks off, or whose first word is none.
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
        // Go takes the byte for a code point: Latin-1, of which these two and the controls do not print.
        b @ (0x80..=0xa0 | 0xad) => format!("'\\u{b:04x}'"),
        b => format!("'{}'", char::from(b)),
    }
}

/// What a JSON value is called when it is not what was expected.
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
    fn what_cannot_be_read_is_told_as_go_tells_it() {
        let told = |text: &[u8]| {
            json_error(
                text,
                &serde_json::from_slice::<serde_json::Value>(text).unwrap_err(),
            )
        };
        assert_eq!(told(b"{"), "unexpected end of JSON input");
        assert_eq!(
            told(b"not json"),
            "invalid character 'o' in literal null (expecting 'u')"
        );
        assert_eq!(
            told(b"\x9e"),
            "invalid character '\\u009e' looking for beginning of value"
        );
    }
}
