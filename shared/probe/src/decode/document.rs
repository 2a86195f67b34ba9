//! One line of a watch stream → one document.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use watchscope_model::vocabulary::ChangeType;

use super::DecodeError;
use super::object::{Decoder, ObjectHead};
use super::status::Status;

/// A document of a watch stream.
#[derive(Debug)]
pub(crate) enum Document<'a> {
    /// ADDED, MODIFIED or DELETED.
    Data {
        /// Which.
        change: ChangeType,
        /// The object's JSON as it came.
        raw: &'a str,
        /// What it says of itself.
        head: ObjectHead<'a>,
    },
    /// BOOKMARK: of the object only resourceVersion and annotations mean anything (kube-rs #285).
    Bookmark(ObjectHead<'a>),
    /// ERROR; its object is a Status whatever was asked for.
    Error(Status<'a>),
}

/// The beginnings of a line as apiservers write it, up to the object.
const BEGINNINGS: [(&str, Type); 5] = [
    (
        r#"{"type":"ADDED","object":"#,
        Type::Change(ChangeType::Added),
    ),
    (
        r#"{"type":"MODIFIED","object":"#,
        Type::Change(ChangeType::Modified),
    ),
    (
        r#"{"type":"DELETED","object":"#,
        Type::Change(ChangeType::Deleted),
    ),
    (r#"{"type":"BOOKMARK","object":"#, Type::Bookmark),
    (r#"{"type":"ERROR","object":"#, Type::Error),
];

#[derive(Clone, Copy)]
enum Type {
    Change(ChangeType),
    Bookmark,
    Error,
}

/// Decodes a line.
///
/// The object is read once: a line that begins and ends as apiservers write it is taken apart by its text, and what
/// lies between is the object if, and only if, it reads as exactly one JSON object. Any other spelling of the same
/// document is found by reading the envelope first, so that the object is read twice.
pub(crate) fn decode_line<'a>(
    line: &'a [u8],
    decoder: &mut Decoder,
) -> Result<Document<'a>, DecodeError> {
    let line = std::str::from_utf8(line).map_err(|error| DecodeError::Utf8(error.valid_up_to()))?;
    for (beginning, kind) in BEGINNINGS {
        if let Some(rest) = line.strip_prefix(beginning)
            && let Some(raw) = rest.trim_ascii_end().strip_suffix('}')
            && let Ok(document) = read(kind, raw, decoder)
        {
            return Ok(document);
        }
    }
    let envelope: Envelope<'a> =
        serde_json::from_str(line).map_err(|error| DecodeError::json("event", &error))?;
    let kind = match &*envelope.kind {
        "ADDED" => Type::Change(ChangeType::Added),
        "MODIFIED" => Type::Change(ChangeType::Modified),
        "DELETED" => Type::Change(ChangeType::Deleted),
        "BOOKMARK" => Type::Bookmark,
        "ERROR" => Type::Error,
        _ => return Err(DecodeError::UnknownType),
    };
    read(kind, envelope.object.get(), decoder)
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

fn read<'a>(kind: Type, raw: &'a str, decoder: &mut Decoder) -> Result<Document<'a>, DecodeError> {
    Ok(match kind {
        Type::Change(change) => Document::Data {
            change,
            raw,
            head: decoder.object(raw)?,
        },
        Type::Bookmark => Document::Bookmark(decoder.object(raw)?),
        Type::Error => Document::Error(Status::parse(raw)?),
    })
}
