//! The binary form of a `change` since format 4: a pattern's number, then the other fields. A pattern has the fields
//! that many changes share.
//!
//! Up to format 3 the fields of a `change` are written in their order, like those of other kinds. New fields of
//! `change` will come after `owner`.

use std::sync::Arc;

use crate::codec::pattern::{Pattern, PatternParts};
use crate::codec::{DecodeError, Reader, Writer};
use crate::event::Change;
use crate::field::{Field, read_field, write_last};
use crate::id::{Object, ResourceVersion, Text, WatchName};

/// The fields of a `change` that a search looks at, borrowed for one call of
/// [`ChapterReader::glance`](crate::chapter::ChapterReader::glance).
#[derive(Clone, Copy, Debug)]
pub struct ChangeGlance<'a> {
    /// The watch.
    pub watch: &'a WatchName,
    /// The object.
    pub object: &'a Arc<Object>,
    /// The object's number in the dictionary of the reader. For this reader the number means this very `Arc`, until a
    /// later segment defines the number again. `None` if the record has the object in place.
    pub number: Option<u64>,
    /// The object's resourceVersion; for a DELETED as in
    /// [`Change::resource_version`](crate::event::Change::resource_version).
    pub resource_version: &'a ResourceVersion,
    /// The field manager, as in [`Change::manager`](crate::event::Change::manager); `None` if it is absent there.
    pub manager: Option<&'a Text>,
}

/// Reads the fields of a `change` that [`write_change`] wrote, up to its object, and passes them to `see`. Returns the
/// resourceVersion; `None` if the bytes cannot be read.
pub(crate) fn glance_change(
    reader: &mut Reader<'_>,
    see: impl FnOnce(ChangeGlance<'_>),
) -> Option<ResourceVersion> {
    let pattern = reader.known_pattern();
    let resource_version = read_field(reader, "resourceVersion");
    let _: Option<u64> = read_field(reader, "generation");
    if reader.is_at_end() {
        reader.fail(DecodeError::MissingField { field: "object" });
    }
    let (number, object) = reader.known_object();
    if reader.has_failed() {
        return None;
    }
    see(ChangeGlance {
        watch: &pattern.watch,
        object: &object,
        number,
        resource_version: &resource_version,
        manager: pattern.manager.as_ref(),
    });
    Some(resource_version)
}

/// Writes the fields of a `change`; absent fields at the end are left out.
pub(crate) fn write_change(change: &Change, writer: &mut Writer<'_>) {
    writer.pattern(PatternParts {
        watch: &change.watch,
        stream: change.stream,
        change: change.change,
        origin: change.origin,
        manager: change.manager.as_ref(),
        subresource: change.subresource.as_ref(),
    });
    change.resource_version.write(writer);
    change.generation.write(writer);
    change.object.write(writer);
    let mut end = writer.position();
    write_last(&change.bytes, &mut end, writer);
    write_last(&change.stray, &mut end, writer);
    write_last(&change.owner, &mut end, writer);
    writer.cut(end);
}

/// Reads the fields that [`write_change`] wrote.
pub(crate) fn read_change(reader: &mut Reader<'_>) -> Change {
    let Pattern {
        watch,
        stream,
        change,
        origin,
        manager,
        subresource,
    } = reader.pattern();
    let resource_version = read_field(reader, "resourceVersion");
    let generation = read_field(reader, "generation");
    let object = read_field(reader, "object");
    Change {
        watch,
        stream,
        change,
        origin,
        object,
        resource_version,
        generation,
        manager,
        subresource,
        bytes: read_field(reader, "bytes"),
        stray: read_field(reader, "stray"),
        owner: read_field(reader, "owner"),
    }
}
