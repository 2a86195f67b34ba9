//! Reads the answers to single requests that the audit, and no probe, makes. From each object it takes the identity,
//! the version, the deletion timestamp and the owners.

use watchscope_model::field::Headers;
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::{ResourceVersion, Uid};

use crate::decode::{
    DecodeError, Decoder, Document, Object, Status, decode_line, decode_object, decode_page,
};
use crate::held::new_object;
use crate::list::identity;
use crate::refusal;
use watchscope_model::json_reader::{JsonError, Next, Reader};

/// Reads a page of a list of any kind. The page's items keep their order. An item that cannot be read, or has no name
/// or version, is only counted ([`Page::unreadable`]). A body without `items` gives a page without items; without a
/// resourceVersion, the page's version is the empty text. `None` if the body is not UTF-8, not JSON, has no `metadata`,
/// or is no list: without a kind, a Status or a Table. The result is also `None` if a field that is read has a wrong
/// type, or the nesting outside of items exceeds 128 levels.
#[must_use]
pub fn read_page(body: &[u8]) -> Option<Page> {
    let mut decoder = Decoder::new("", "", false);
    let page = decode_page(body, &mut decoder, true).ok()?;
    let found = page.items.len();
    let items: Vec<Seen> = page
        .items
        .into_iter()
        .filter_map(|item| read(&item.ok()?).ok())
        .collect();
    Some(Page {
        version: ResourceVersion::parse(&page.resource_version),
        token: page.token.map(|token| token.into_owned()),
        unreadable: (found - items.len()) as u64,
        is_whole: page.is_whole,
        items,
    })
}

/// Reads an object of any kind, without its content. `None` if the body is not UTF-8, not JSON, nested deeper than 128
/// levels, or has no name or no resourceVersion. The result is also `None` if a field that is read has a wrong type,
/// except the deletion timestamp and the owners. A timestamp that is no text, and owners that are no array, count as
/// none. After a wrong type in an owner, the owners that follow are left out, and so is a timestamp after them.
#[must_use]
pub fn read_object(body: &[u8]) -> Option<Seen> {
    let mut decoder = Decoder::new("", "", false);
    let object = decode_object(body, &mut decoder).ok()?;
    read(&object).ok()
}

/// Reads the whole body of a watch: its events in order, and the version of its last event or bookmark. Without events
/// and bookmarks, [`Told::reached`] is `None`. Empty lines are passed over, and the last line may lack its line feed.
/// The result is `None` if a line is an ERROR or cannot be read. The result is also `None` if an object lacks its name
/// or version, or a bookmark its version. An object with an empty text there lacks it; a bookmark does not.
#[must_use]
pub fn read_watch(body: &[u8]) -> Option<Told> {
    let mut decoder = Decoder::new("", "", false);
    let mut watch = Told {
        events: Vec::new(),
        reached: None,
    };
    for line in body.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        match decode_line(line, &mut decoder).ok()? {
            Document::Data { object, .. } => {
                let seen = read(&object).ok()?;
                watch.reached = Some(seen.version.clone());
                watch.events.push(seen);
            }
            Document::Bookmark(object) => {
                let version = object.head.resource_version.as_deref()?;
                watch.reached = Some(ResourceVersion::parse(version));
            }
            Document::Error(_) => return None,
        }
    }
    Some(watch)
}

/// Returns the milliseconds that a refusing server asks the client to wait: from the header Retry-After, else from the
/// body's Status (docs/semantics/requests.md#errors). `None` if neither states a time. A header that is no whole number
/// of seconds, such as a date, counts as absent, and so do 0 s in a Status. A header with 0 gives 0. Nothing bounds the
/// time; a product above 64 bits saturates. The names in `headers` must be in lower case.
#[must_use]
pub fn asked_to_wait_ms(headers: &Headers, body: &[u8]) -> Option<u64> {
    let of_status = || Status::parse(std::str::from_utf8(body).ok()?)?.retry_after_ms();
    refusal::retry_after_ms(headers).or_else(of_status)
}

/// Returns the resourceVersion that a server has reached, from the body of its refusal of a higher one (504;
/// docs/semantics/requests.md#too-large). The body's cause, or the beginning of its message, identifies that refusal,
/// whatever the status code. `None` for any other body, and if the body's message does not end with `, current: ` and a
/// number.
#[must_use]
pub fn read_current(body: &[u8]) -> Option<ResourceVersion> {
    let status = Status::parse(std::str::from_utf8(body).ok()?)?;
    status.current().map(ResourceVersion::from)
}

/// Returns the headers of an answer that its record keeps, in their order; there may be none. Kept are the audit id,
/// Connection, Content-Type, Retry-After, Warning, and the two uids of priority and fairness. At most the first 16 kept
/// headers remain, and each value is cut at 512 characters. The names in `headers` must be in lower case.
#[must_use]
pub fn headers_worth_keeping(headers: Headers) -> Headers {
    crate::journal::worth_keeping(headers)
}

fn read(object: &Object<'_>) -> Result<Seen, DecodeError> {
    let head = &object.head;
    let (name, version) = identity(head)?;
    let uid = head.uid.as_deref().unwrap_or("");
    let mut seen = Seen {
        object: new_object(head.namespace.as_deref(), name, uid),
        version,
        deleted_at: None,
        owners: Vec::new(),
    };
    // The object was read before, so its JSON is valid.
    let _ = read_ends(&mut Reader::new(object.raw), &mut seen);
    Ok(seen)
}

/// Reads the deletion timestamp and the uids of the owners. It fails at the first owner of a wrong type.
fn read_ends(reader: &mut Reader<'_>, seen: &mut Seen) -> Result<(), JsonError> {
    in_field(reader, "metadata", |reader| {
        reader.object(|reader, key| {
            match &*key {
                "deletionTimestamp" if reader.peek()? == Next::String => {
                    seen.deleted_at = reader.optional_string()?.map(|at| (&*at).into());
                }
                "ownerReferences" if reader.peek()? == Next::Array => {
                    reader.array(|reader| {
                        in_field(reader, "uid", |reader| {
                            let uid = reader.optional_string()?;
                            seen.owners.extend(uid.map(|uid| Uid::parse(&uid)));
                            Ok(())
                        })
                    })?;
                }
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })
    })
}

/// Reads one field of an object and skips the others. It fails if the value is no object, or `read` fails.
fn in_field<'a>(
    reader: &mut Reader<'a>,
    field: &str,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    reader.object(|reader, key| {
        if &*key == field {
            read(reader)
        } else {
            reader.skip().map(drop)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_metadata_is_read() {
        let body = br#"{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"14","continue":"abc"},
            "items":[{"metadata":{"namespace":"shop","name":"a","uid":"u1","resourceVersion":"11"}},{"metadata":{}}]}"#;
        let page = read_page(body).unwrap();
        assert_eq!(
            (page.version, page.token.as_deref(), page.unreadable),
            (14.into(), Some("abc"), 1)
        );
        assert!(!page.is_whole);
        let whole = br#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"14"},"items":[]}"#;
        assert!(read_page(whole).unwrap().is_whole);
        let Seen {
            object, version, ..
        } = &page.items[0];
        assert_eq!((&*object.name, version), ("a", &11.into()));
        assert!(object.uid.is("u1"));
    }

    #[test]
    fn the_deletion_and_the_owners_of_an_object_are_read() {
        let body = br#"{"kind":"Pod","spec":{"metadata":{"deletionTimestamp":"no"}},"metadata":{"name":"a","resourceVersion":"11",
            "deletionTimestamp":"2026-01-02T03:04:05Z","ownerReferences":[{"kind":"ReplicaSet","name":"r","uid":"u7"},{"uid":"u8"}]}}"#;
        let seen = read_object(body).unwrap();
        assert_eq!(seen.deleted_at.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(seen.owners, [Uid::parse("u7"), Uid::parse("u8")]);
    }

    #[test]
    fn a_deletion_timestamp_that_is_no_text_leaves_the_owners() {
        let body = br#"{"kind":"Pod","metadata":{"deletionTimestamp":7,"name":"a","resourceVersion":"11","ownerReferences":[{"uid":"u7"}]}}"#;
        let seen = read_object(body).unwrap();
        assert_eq!(seen.deleted_at, None);
        assert_eq!(seen.owners, [Uid::parse("u7")]);
    }

    #[test]
    fn a_watch_is_read_to_its_end_or_not_at_all() {
        let event = r#"{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"11"}}}"#;
        let bookmark =
            r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"15"}}}"#;
        let watch = read_watch(format!("{event}\n{bookmark}\n").as_bytes()).unwrap();
        assert_eq!(watch.reached, Some(15.into()));
        assert_eq!(watch.events[0].version, 11.into());
        assert_eq!(read_watch(b"").unwrap().reached, None);
        assert_eq!(read_watch(format!("{event}\n{{").as_bytes()), None);
    }

    #[test]
    fn an_object_is_read_and_a_refusal_is_not_an_object() {
        let body = br#"{"kind":"ConfigMap","data":{"a":"b"},"metadata":{"name":"a","resourceVersion":"11"}}"#;
        assert_eq!(read_object(body).unwrap().version, 11.into());
        let status = br#"{"kind":"Status","status":"Failure","metadata":{},"details":{"retryAfterSeconds":3},"code":429}"#;
        assert_eq!((read_object(status), read_page(status)), (None, None));
        assert_eq!(asked_to_wait_ms(&Headers::default(), status), Some(3_000));
        assert_eq!((read_object(b"\xff"), read_page(b"")), (None, None));
    }

    #[test]
    fn a_server_that_is_behind_names_the_version_that_it_has_reached() {
        let status = |message: &str| {
            let cause = r#"{"reason":"ResourceVersionTooLarge","message":"Too large"}"#;
            format!(r#"{{"code":504,"message":"{message}","details":{{"causes":[{cause}]}}}}"#)
        };
        let current = |message: &str| read_current(status(message).as_bytes());
        let current_version = current("Timeout: Too large resource version: 9, current: 7");
        assert_eq!(current_version, Some(7.into()));
        assert_eq!(current("Timeout: Too large resource version: 9"), None);
        assert_eq!(
            current("Too large resource version: 9, current: many"),
            None
        );
        let other = br#"{"code":504,"message":"upstream timed out, current: 7"}"#;
        assert_eq!(read_current(other), None);
    }
}
