//! Decodes a page of a list into its metadata and its items.

use std::borrow::Cow;
use std::ops::Range;

use super::DecodeError;
use super::object::{Decoder, Object};
use watchscope_model::json_reader::{JsonError, JsonErrorKind, Next, Reader};

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page<'a> {
    /// The list's resourceVersion.
    pub(crate) resource_version: Cow<'a, str>,
    /// The continue token of the next page; absent on the last page.
    pub(crate) token: Option<Cow<'a, str>>,
    /// The number of items after this page, by the server's count; absent if the server states none.
    pub(crate) remaining: Option<u64>,
    /// The items.
    pub(crate) items: Vec<Item<'a>>,
    /// Whether the items are whole objects, not metadata alone.
    pub(crate) is_whole: bool,
}

/// An item of a list: an object, or JSON that cannot be read as an object.
pub(crate) type Item<'a> = Result<Object<'a>, Broken<'a>>;

/// A namespace and a name.
type PlaceName<'a> = (Option<Cow<'a, str>>, Cow<'a, str>);

/// An item that is no object with metadata, or is nested too deep to read.
#[derive(Debug)]
pub(crate) struct Broken<'a> {
    /// The item's namespace and name, if they can be read nevertheless.
    pub(crate) name: Option<PlaceName<'a>>,
    /// The item's size in bytes.
    pub(crate) bytes: u64,
    /// The first error in the item.
    pub(crate) error: JsonError,
}

/// Decodes a page of a list. With `own_list_kind` the list may have any kind but Status and Table, because a CRD may
/// choose the name of its list kind (`names.listKind`). The list kind of a built-in resource is always its kind plus
/// `List`. It fails for a list of another kind, and if the body is not UTF-8, not JSON, or has no metadata.
pub(crate) fn decode_page<'a>(
    body: &'a [u8],
    decoder: &mut Decoder,
    own_list_kind: bool,
) -> Result<Page<'a>, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|error| DecodeError::Utf8(error.valid_up_to()))?;
    let mut reader = Reader::new(text);
    let mut page = Page::default();
    let mut kind = None;
    let mut has_metadata = false;
    decoder.begin();
    reader.object(|reader, key| {
        match &*key {
            "kind" => kind = reader.optional_string()?,
            "metadata" => {
                has_metadata = true;
                read_metadata(reader, &mut page)?;
            }
            // An empty list may be null, because Go writes a nil slice as null.
            "items" if reader.peek()? != Next::Null => {
                reader.array(|reader| {
                    page.items.push(read_item(reader, decoder)?);
                    Ok(())
                })?;
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    reader.end()?;
    let found = kind.as_deref().unwrap_or("");
    let fits = found == "PartialObjectMetadataList"
        || found.strip_suffix("List") == Some(decoder.kind())
        || own_list_kind && !matches!(found, "" | "Status" | "Table");
    if !fits {
        return Err(DecodeError::Kind {
            found: super::shortened(found),
            expected: format!("{}List", decoder.kind()),
        });
    }
    if !has_metadata {
        return Err(DecodeError::Missing("metadata"));
    }
    page.is_whole = found != "PartialObjectMetadataList";
    Ok(page)
}

fn read_metadata<'a>(reader: &mut Reader<'a>, page: &mut Page<'a>) -> Result<(), JsonError> {
    reader.object(|reader, key| {
        match &*key {
            "resourceVersion" => {
                page.resource_version = reader.optional_string()?.unwrap_or_default();
            }
            "continue" => {
                page.token = reader.optional_string()?.filter(|token| !token.is_empty());
            }
            "remainingItemCount" => {
                let place: Range<usize> = reader.skip()?;
                page.remaining = reader.text()[place].parse().ok();
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

fn read_item<'a>(reader: &mut Reader<'a>, decoder: &mut Decoder) -> Result<Item<'a>, JsonError> {
    let again = reader.clone();
    match decoder.object(reader) {
        Err(error) if matches!(error.kind, JsonErrorKind::Shape | JsonErrorKind::TooDeep) => {
            let name = read_name(&mut again.clone()).unwrap_or_default();
            *reader = again;
            let place = reader.skip_deep()?;
            Ok(Err(Broken {
                name,
                bytes: place.len() as u64,
                error,
            }))
        }
        read => read.map(Ok),
    }
}

/// Reads the namespace and name of an item that is otherwise broken; `None` if it has no name. It fails if they cannot
/// be read.
fn read_name<'a>(reader: &mut Reader<'a>) -> Result<Option<PlaceName<'a>>, JsonError> {
    let (mut namespace, mut name) = (None, None);
    reader.object(|reader, key| {
        if &*key != "metadata" {
            reader.skip_deep()?;
            return Ok(());
        }
        reader.object(|reader, key| {
            match &*key {
                "namespace" => namespace = reader.optional_string()?,
                "name" => name = reader.optional_string()?,
                _ => {
                    reader.skip_deep()?;
                }
            }
            Ok(())
        })
    })?;
    Ok(name
        .filter(|name| !name.is_empty())
        .map(|name| (namespace, name)))
}
