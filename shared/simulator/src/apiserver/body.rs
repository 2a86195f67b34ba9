//! The bodies of answers with objects: one object, or a list in chunks, in the requested form.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::context::Context;
use super::negotiate::Representation;
use super::route::Target;
use crate::fault::Fault;
use crate::json::{encode, json_text, sort_all};
use crate::kinds::{Printer, ResourceId, ResourceType};
use crate::kubectl::table::Rows;
use crate::object::Object;
use crate::status::{self, ApiError};

/// Size in bytes at which a chunk of a list ends: after the item that reaches this size, so a chunk may be longer. The
/// size is far below the network's window of 256 KiB, so that a client reads while later chunks are sent. The number
/// has no other source.
const CHUNK_BYTES: usize = 32 * 1024;

/// Returns the body of an answer with one object in a form.
pub(super) fn object_body(
    object: &Arc<Object>,
    form: Representation,
    target: &Target,
    ctx: &Context<'_>,
) -> Bytes {
    match form {
        Representation::Whole => object.json(),
        Representation::Metadata => object.metadata_json(),
        Representation::Table(include) => {
            let rows = Rows {
                objects: std::slice::from_ref(object),
                kind: ctx.kinds.get(target.resource),
                include,
                with_columns: true,
                wall: ctx.wall,
                now: ctx.now,
            };
            let table = ctx.answers.watch_event(rows);
            table.map_or_else(|| object.json(), |table| encode(&table))
        }
    }
}

/// Returns an error if a fault makes one of the objects impossible to convert (F38).
pub(super) fn readable<'a>(
    mut objects: impl Iterator<Item = &'a Arc<Object>>,
    resource: ResourceId,
    ctx: &Context<'_>,
) -> Result<(), ApiError> {
    if ctx.faults.is_empty() {
        return Ok(());
    }
    let kind = ctx.kinds.get(resource);
    let struck = ctx.faults.iter().find_map(|fault| match fault {
        Fault::CannotConvert { resource, name } if kind.qualified() == *resource => Some(name),
        _ => None,
    });
    match struck {
        Some(name) if objects.any(|o| o.name() == name) => {
            Err(status::cannot_convert(&kind.api_version(), &kind.kind))
        }
        _ => Ok(()),
    }
}

/// Returns the body of a list of whole objects. A built-in kind has its fields in the schema's order, a custom kind in
/// alphabetical order.
pub(super) fn whole_list(
    kind: &ResourceType,
    mut metadata: Value,
    objects: &[Arc<Object>],
) -> Vec<Bytes> {
    let list_kind = format!("{}List", kind.kind);
    let api_version = kind.api_version();
    if matches!(kind.printer, Printer::BuiltIn) {
        let items = objects.iter().map(|o| ("{", o.item_json()));
        return list_chunks(list_opening(&list_kind, &api_version, &metadata), items, "");
    }
    if metadata.get("continue").is_none() {
        metadata["continue"] = json!("");
    }
    sort_all(&mut metadata);
    let items = objects.iter().map(|o| ("", o.json()));
    list_chunks(
        format!(
            "{{\"apiVersion\":{},\"items\":[",
            json_text(&json!(api_version))
        ),
        items,
        &format!(
            ",\"kind\":{},\"metadata\":{}",
            json_text(&json!(list_kind)),
            json_text(&metadata)
        ),
    )
}

pub(super) fn list_opening(kind: &str, api_version: &str, metadata: &Value) -> String {
    format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{},\"items\":[",
        json_text(&json!(kind)),
        json_text(&json!(api_version)),
        json_text(metadata)
    )
}

/// Builds the body of a list in chunks from its opening, its items, each in two parts, and its closing.
pub(super) fn list_chunks(
    opening: String,
    items: impl Iterator<Item = (&'static str, Bytes)>,
    closing: &str,
) -> Vec<Bytes> {
    let mut chunks = Vec::new();
    let mut chunk = opening.into_bytes();
    for (i, (opening, item)) in items.enumerate() {
        if i > 0 {
            chunk.push(b',');
        }
        chunk.extend_from_slice(opening.as_bytes());
        chunk.extend_from_slice(&item);
        if chunk.len() >= CHUNK_BYTES {
            chunks.push(Bytes::from(std::mem::take(&mut chunk)));
        }
    }
    chunk.push(b']');
    chunk.extend_from_slice(closing.as_bytes());
    chunk.extend_from_slice(b"}\n");
    chunks.push(Bytes::from(chunk));
    chunks
}
