//! JSON of the wire → what the machine needs of it, borrowed, in one pass.
//!
//! Absent on purpose: typed objects. An object of any kind, known or not, broken or not, is read by the same few
//! functions; what is not looked at is only checked to be JSON.

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

use crate::json::{JsonError, JsonErrorKind};

/// Why bytes could not become an event. Its text never quotes them: they may hold a Secret.
#[derive(Debug, Error)]
pub(crate) enum DecodeError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {0}")]
    Utf8(usize),
    /// The text is not JSON of the expected shape.
    #[error("{kind} at byte {at}")]
    Json {
        /// Where it broke.
        at: usize,
        /// In what way.
        kind: &'static str,
    },
    /// The event's type is none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR.
    #[error("unknown event type")]
    UnknownType,
    /// Something an object or list must have is missing.
    #[error("no {0}")]
    Missing(&'static str),
    /// Something comes twice in a way that leaves open which one counts.
    #[error("more than one {0}")]
    Twice(&'static str),
    /// The pages of a list do not say the same resourceVersion.
    #[error("pages of one list have different resourceVersions")]
    Pages,
    /// A page says that the list goes on where the page itself began: asking on would never end.
    #[error("a page of a list has the continue token it was asked for with")]
    Circle,
    /// The object is of another kind than was asked for (F39).
    #[error("kind {found} where {expected} was asked for")]
    Kind {
        /// What came, shortened.
        found: String,
        /// What was asked for.
        expected: String,
    },
}

impl DecodeError {
    /// What kind of frame is lost for it.
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

/// A text of the wire, shortened for a sentence.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}
