//! Decodes JSON from the wire in one pass, and borrows the parts that the machine needs.
//!
//! There are no typed objects, on purpose. The same few functions read an object of any kind, known or unknown, valid
//! or broken. Parts of an object that are not needed are only checked for valid JSON.

pub(crate) mod document;
pub(crate) mod object;
pub(crate) mod page;
pub(crate) mod status;
mod value;

pub(crate) use self::document::{Document, decode_line};
pub(crate) use self::object::{Decoder, Object, ObjectHead, decode_object};
pub(crate) use self::page::decode_page;
pub(crate) use self::status::Status;

use thiserror::Error;
use watchscope_model::vocabulary::FrameLoss;

use watchscope_model::json_reader::{JsonError, JsonErrorKind};

/// Why bytes cannot become an event. The error's text never quotes the bytes as a whole, because they may hold a
/// Secret.
#[derive(Debug, Error)]
pub(crate) enum DecodeError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {0}")]
    Utf8(usize),
    /// The text is not JSON of the expected form.
    #[error("{kind} at byte {at}")]
    Json {
        /// The byte offset of the error.
        at: usize,
        /// The kind of error.
        kind: &'static str,
    },
    /// The event's type is not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
    #[error("unknown event type")]
    UnknownType,
    /// A required part of an object or list is missing.
    #[error("no {0}")]
    Missing(&'static str),
    /// A part comes twice, so it is unclear which of the two counts.
    #[error("more than one {0}")]
    Twice(&'static str),
    /// The pages of a list have different resourceVersions.
    #[error("pages of one list have different resourceVersions")]
    Pages,
    /// A page's continue token is the token that the page was requested with. Following that token would never end.
    #[error("a page of a list has the continue token it was asked for with")]
    Circle,
    /// The object has another kind than the requested one (F39).
    #[error("kind {found} where {expected} was asked for")]
    Kind {
        /// The kind that came, shortened.
        found: String,
        /// The kind that was requested.
        expected: String,
    },
}

impl DecodeError {
    /// The kind of loss that the error causes.
    pub(crate) fn loss(&self) -> FrameLoss {
        match self {
            Self::Kind { .. } => FrameLoss::OtherKind,
            _ => FrameLoss::Malformed,
        }
    }
}

impl From<JsonError> for DecodeError {
    fn from(error: JsonError) -> Self {
        Self::Json {
            at: error.at,
            kind: match error.kind {
                JsonErrorKind::Syntax => "not JSON",
                JsonErrorKind::CutShort => "cut short",
                JsonErrorKind::TooDeep => "nested too deep",
                JsonErrorKind::Shape => "of an unexpected shape",
            },
        }
    }
}

/// A text from the wire, cut at 64 characters for a sentence.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}
