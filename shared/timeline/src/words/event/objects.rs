//! Words for changes of objects.

use watchscope_model::event::Change;
use watchscope_model::vocabulary::{ChangeType, Origin};

use super::fields::Fields;
use crate::format::{number, version};
use crate::phrases::name_in;

pub(super) fn change_fields(event: &Change, fields: &mut Fields) {
    let object = &event.object;
    fields.extend(
        object
            .namespace
            .as_ref()
            .map(|namespace| ("namespace", namespace.to_string())),
    );
    fields.push(("name", object.name.to_string()));
    fields.push(("uid", object.uid.to_string()));
    fields.push(("resourceVersion", version(&event.resource_version)));
    fields.extend(
        event
            .generation
            .map(|generation| ("generation", number(generation))),
    );
    fields.extend(
        event
            .manager
            .as_ref()
            .map(|manager| ("manager", manager.to_string())),
    );
    fields.extend(
        event
            .subresource
            .as_ref()
            .map(|sub| ("subresource", sub.to_string())),
    );
    fields.push(("origin", event.origin.to_string()));
    fields.extend(event.stream.map(|stream| ("stream", stream.to_string())));
    fields.extend(event.bytes.map(|bytes| ("bytes", number(bytes))));
}

pub(super) fn change(change: &Change) -> String {
    let name = name_in(&change.watch, &change.object);
    let at = version(&change.resource_version);
    let status = change
        .subresource
        .as_deref()
        .map_or(String::new(), |sub| format!(" ({sub})"));
    match (change.change, change.origin) {
        (ChangeType::Deleted, Origin::Inferred) => {
            // On a stream, another object has replaced it, or the initial events ended without it.
            let why = match change.stream {
                Some(stream) => {
                    format!("stream {stream} shows that it is gone: deleted without a DELETED")
                }
                None => "is not in the list: deleted while the watch was away".to_owned(),
            };
            format!("{name} was held and {why}, last seen at resourceVersion {at}.")
        }
        (kind, Origin::List) => {
            format!("{kind} {name} at resourceVersion {at}, learned from a list.")
        }
        (kind, Origin::Initial) => {
            format!("{kind} {name} at resourceVersion {at}, one of the initial events.")
        }
        (kind, _) => match &change.manager {
            Some(manager) => format!("{kind} {name} at resourceVersion {at} by {manager}{status}."),
            None => format!("{kind} {name} at resourceVersion {at}."),
        },
    }
}
