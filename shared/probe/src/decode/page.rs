//! A page of a list → its metadata and its items as they came.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::DecodeError;

/// A page of a list. Items are read one after the other from their raw JSON, so a page costs two words an item.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The list's resourceVersion.
    pub(crate) resource_version: Cow<'a, str>,
    /// Where the next page begins.
    pub(crate) token: Option<Cow<'a, str>>,
    /// Items the server says remain.
    pub(crate) remaining: Option<u64>,
    /// The items.
    pub(crate) items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: Option<ListMetadata<'a>>,
    // An empty list may be null: Go writes a nil slice so.
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct ListMetadata<'a> {
    #[serde(rename = "resourceVersion", borrow, default)]
    resource_version: Option<Cow<'a, str>>,
    #[serde(rename = "continue", borrow, default)]
    token: Option<Cow<'a, str>>,
    #[serde(rename = "remainingItemCount", default)]
    remaining: Option<u64>,
}

/// Decodes a page of a list of `kind`. `own_list_kind`: the resource may name its list as it likes (CRDs do, by
/// `names.listKind`); built-in ones add `List`.
pub(crate) fn decode_page<'a>(
    body: &'a [u8],
    kind: &str,
    own_list_kind: bool,
) -> Result<Page<'a>, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|error| DecodeError::Utf8(error.valid_up_to()))?;
    let list: List<'a> =
        serde_json::from_str(text).map_err(|error| DecodeError::json("list", &error))?;
    let found = list.kind.as_deref().unwrap_or("");
    let fits = found == "PartialObjectMetadataList"
        || found.strip_suffix("List") == Some(kind)
        || own_list_kind && !matches!(found, "Status" | "Table");
    if !fits {
        return Err(DecodeError::Kind {
            found: super::shortened(found),
            expected: format!("{kind}List"),
        });
    }
    let metadata = list.metadata.ok_or(DecodeError::Missing("metadata"))?;
    Ok(Page {
        resource_version: metadata.resource_version.unwrap_or_default(),
        token: metadata.token.filter(|token| !token.is_empty()),
        remaining: metadata.remaining,
        items: list.items.unwrap_or_default(),
    })
}
