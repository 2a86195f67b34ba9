//! A query: the text that a person looks for.

use thiserror::Error;
use watchscope_model::{Object, ResourceVersion, Uid};

use crate::text::Needle;

/// The most bytes of a query; a longer query is [`QueryError::TooLong`]. The limit is the first power of two above 253,
/// the most bytes of an object's name (`DNS1123SubdomainMaxLength` of apimachinery). The choice has no other source.
pub const MAX_QUERY_BYTES: usize = 256;
/// The fewest characters of a query that finds uids by their beginning, counted in bytes of UTF-8: those of the first
/// group of a UUID. A shorter query finds only an equal uid that is not a UUID.
const MIN_UID_CHARS: usize = 8;
/// The indexes of the hyphens in the text of a UUID (RFC 9562), in bytes from 0. A text with another byte at one of
/// these indexes is not the beginning of a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Why a text cannot be a query.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    /// The text is empty.
    #[error("the text to search for is empty")]
    Empty,
    /// The text is longer than [`MAX_QUERY_BYTES`].
    #[error("the text to search for has {bytes} bytes; at most {MAX_QUERY_BYTES} are allowed")]
    TooLong {
        /// The length of the text in bytes.
        bytes: usize,
    },
}

/// A text that is looked for in records, taken literally. A query has 1 to [`MAX_QUERY_BYTES`] bytes.
///
/// The case of A to Z is ignored. All other characters must be equal. A resourceVersion and the code of a finding or an
/// attribution match as a whole, since a part of a number means nothing. A uid matches if it begins with the query and
/// the query has at least 8 characters; a uid that is not a UUID also matches as a whole. Every other text matches if
/// it contains the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    needle: Needle,
    version: ResourceVersion,
    uuid: Option<UuidStart>,
}

/// The beginning of a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UuidStart {
    bytes: [u8; 16],
    nibbles: usize,
}

impl Query {
    /// Reads a query. Spaces at the text's ends belong to the query.
    ///
    /// # Errors
    /// [`QueryError::Empty`] for the empty text, and [`QueryError::TooLong`] for a text of more than
    /// [`MAX_QUERY_BYTES`].
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        match text.len() {
            0 => Err(QueryError::Empty),
            bytes if bytes > MAX_QUERY_BYTES => Err(QueryError::TooLong { bytes }),
            _ => Ok(Self {
                needle: Needle::new(text),
                version: ResourceVersion::parse(text),
                uuid: UuidStart::read(text.as_bytes()),
            }),
        }
    }

    /// Returns whether a text, as bytes of UTF-8, contains the query; the case of A to Z is ignored. The empty text
    /// does not contain it.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.needle.is_in(text)
    }

    /// Whether a text equals the query, with the case of A to Z ignored.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.needle.is(text.as_bytes())
    }

    /// Returns the query as a number, if it is an ordered resourceVersion.
    pub(crate) fn number(&self) -> Option<u64> {
        self.version.number()
    }

    /// Whether a resourceVersion equals the query.
    pub(crate) fn is_version(&self, version: &ResourceVersion) -> bool {
        match version {
            ResourceVersion::Number(number) => self.number() == Some(*number),
            ResourceVersion::Other(text) => self.is(text),
        }
    }

    /// Returns whether a uid begins with the query, which must have at least 8 characters. A uid that is not a UUID may
    /// also equal a shorter query. The case of A to Z is ignored.
    #[must_use]
    pub fn is_uid(&self, uid: &Uid) -> bool {
        match uid {
            Uid::Uuid(bytes) => self.uuid.is_some_and(|start| start.begins(bytes)),
            Uid::Other(text) if self.needle.len() >= MIN_UID_CHARS => {
                self.needle.begins(text.as_bytes())
            }
            Uid::Other(text) => self.is(text),
        }
    }

    /// Whether the query is in the object's `NAMESPACE/NAME`, and includes that slash.
    pub(crate) fn is_across(&self, object: &Object) -> bool {
        let namespace = object.namespace.as_deref();
        namespace.is_some_and(|of| self.needle.is_across(of.as_bytes(), object.name.as_bytes()))
    }
}

impl UuidStart {
    /// Reads a text as the beginning of a UUID of at least [`MIN_UID_CHARS`] characters, in upper or lower case; `None`
    /// if it is not one.
    fn read(text: &[u8]) -> Option<Self> {
        if !(MIN_UID_CHARS..=36).contains(&text.len()) {
            return None;
        }
        let (mut bytes, mut nibbles) = ([0; 16], 0);
        for (place, &byte) in text.iter().enumerate() {
            if HYPHENS.contains(&place) {
                if byte != b'-' {
                    return None;
                }
                continue;
            }
            let nibble = (byte as char).to_digit(16)? as u8;
            bytes[nibbles / 2] |= if nibbles % 2 == 0 {
                nibble << 4
            } else {
                nibble
            };
            nibbles += 1;
        }
        Some(Self { bytes, nibbles })
    }

    fn begins(&self, bytes: &[u8; 16]) -> bool {
        let whole = self.nibbles / 2;
        self.bytes[..whole] == bytes[..whole]
            && (self.nibbles.is_multiple_of(2) || self.bytes[whole] == bytes[whole] & 0xf0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn an_empty_and_a_too_long_text_are_refused() {
        assert_eq!(Query::parse(""), Err(QueryError::Empty));
        assert!(Query::parse(&"x".repeat(256)).is_ok());
        let long = Query::parse(&"ä".repeat(129));
        assert_eq!(long, Err(QueryError::TooLong { bytes: 258 }));
    }

    #[test]
    fn a_resource_version_matches_as_a_whole() {
        let version = |text: &str| ResourceVersion::parse(text);
        assert!(query("4711").is_version(&version("4711")));
        assert!(!query("471").is_version(&version("4711")));
        assert!(query("4711").is_version(&version("4711").unordered()));
        assert!(query("ABC").is_version(&version("abc")));
        assert!(!query("04711").is_version(&version("4711")));
    }

    #[test]
    fn a_uid_matches_from_its_beginning_with_eight_characters() {
        let uid = Uid::parse("0b5c7f3a-11d2-4e4c-9a57-4e1f0c9d8b6a");
        assert!(query("0b5c7f3a").is_uid(&uid));
        assert!(query("0B5C7F3A-11d2-4").is_uid(&uid));
        assert!(query("0b5c7f3a-11d2-4e4c-9a57-4e1f0c9d8b6a").is_uid(&uid));
        assert!(!query("0b5c7f3").is_uid(&uid));
        assert!(!query("0b5c7f3b").is_uid(&uid));
        assert!(!query("0b5c7f3a11d2").is_uid(&uid));
        let short = Uid::parse("u1");
        assert!(query("U1").is_uid(&short) && !query("u").is_uid(&short));
    }

    proptest! {
        #[test]
        fn every_beginning_of_a_uuid_finds_it(bytes: [u8; 16], length in 8usize..=36) {
            let uid = Uid::Uuid(bytes);
            let text = uid.to_string().to_ascii_uppercase();
            prop_assert!(query(&text[..length]).is_uid(&uid));
        }
    }
}
