//! The binary form of a `change` since format 4: a pattern's number, then the other fields. A pattern is the fields
//! that many changes share.
//!
//! Up to format 3 the fields of a `change` stand in their order, as those of other kinds do. New fields of `change`
//! come after `owner`.

use crate::codec::pattern::{Pattern, PatternParts};
use crate::codec::{Reader, Writer};
use crate::event::Change;
use crate::field::{Field, read_field, write_last};

/// Writes the fields; absent fields at the end are left out.
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
