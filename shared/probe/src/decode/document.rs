//! Decodes one line of a watch stream into a document.

use watchscope_model::vocabulary::ChangeType;

use super::DecodeError;
use super::object::{Decoder, Object};
use super::status::Status;
use watchscope_model::json_reader::Reader;

/// A document of a watch stream.
#[derive(Debug)]
pub(crate) enum Document<'a> {
    /// ADDED, MODIFIED or DELETED.
    Data {
        /// The type of the event.
        change: ChangeType,
        /// The object.
        object: Object<'a>,
    },
    /// A BOOKMARK. Only the resourceVersion and the annotations of its object mean anything (kube-rs #285).
    Bookmark(Object<'a>),
    /// An ERROR. The object of an ERROR is a Status, whatever kind was requested.
    Error(Status<'a>),
}

#[derive(Clone, Copy)]
enum Type {
    Change(ChangeType),
    Bookmark,
    Error,
}

/// Decodes a line. Apiservers write the event's type before its object; in the other order the object is read twice. It
/// fails if the line is no event: not UTF-8, not JSON, of an unknown type, or with no object or two.
pub(crate) fn decode_line<'a>(
    line: &'a [u8],
    decoder: &mut Decoder,
) -> Result<Document<'a>, DecodeError> {
    let line = std::str::from_utf8(line).map_err(|error| DecodeError::Utf8(error.valid_up_to()))?;
    let mut reader = Reader::new(line);
    let mut kind = None;
    let mut object = None;
    let mut unread = None;
    decoder.begin();
    reader.object(|reader, key| {
        match &*key {
            "type" => kind = Some(reader.string()?),
            "object" => match kind.as_deref() {
                Some("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK") => {
                    object = Some(decoder.object(reader)?);
                }
                _ => {
                    let place = reader.skip()?;
                    unread = Some(&reader.text()[place]);
                }
            },
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    reader.end()?;
    let kind = match kind.as_deref() {
        Some("ADDED") => Type::Change(ChangeType::Added),
        Some("MODIFIED") => Type::Change(ChangeType::Modified),
        Some("DELETED") => Type::Change(ChangeType::Deleted),
        Some("BOOKMARK") => Type::Bookmark,
        Some("ERROR") => Type::Error,
        _ => return Err(DecodeError::UnknownType),
    };
    if let Type::Error = kind {
        let status = unread.and_then(Status::parse);
        return status
            .map(Document::Error)
            .ok_or(DecodeError::Missing("Status in an ERROR event"));
    }
    let object = match (object, unread) {
        (Some(object), None) => object,
        (None, Some(raw)) => {
            decoder.begin();
            decoder.object(&mut Reader::new(raw))?
        }
        (None, None) => return Err(DecodeError::Missing("object")),
        (Some(_), Some(_)) => return Err(DecodeError::Twice("object")),
    };
    Ok(match kind {
        Type::Change(change) => Document::Data { change, object },
        Type::Bookmark | Type::Error => Document::Bookmark(object),
    })
}
