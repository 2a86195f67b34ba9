//! Words for requests, their answers, and lists.

use watchscope_model::event::{ListComplete, ListPage, RequestAnswered, RequestSent};

use super::fields::Fields;
use crate::format::{count, number, version};
use crate::phrases::name_in;

pub(super) fn request_sent(event: &RequestSent) -> String {
    let query = event
        .query
        .as_ref()
        .map_or(String::new(), |query| format!("?{query}"));
    format!(
        "Request {}: {} {}{query} on connection {}.",
        event.request, event.verb, event.path, event.connection
    )
}

pub(super) fn request_answered(event: &RequestAnswered) -> String {
    match (event.status, &event.error) {
        (Some(status), None) => format!("Request {} was answered {status}.", event.request),
        (Some(status), Some(error)) => {
            format!("Request {} was answered {status}: {error}", event.request)
        }
        (None, Some(error)) => format!("Request {} got no answer: {error}", event.request),
        (None, None) => format!("Request {} got no answer.", event.request),
    }
}

pub(super) fn list_page(event: &ListPage) -> String {
    let rest = event
        .remaining
        .map_or(String::new(), |rest| format!(", {} remain", number(rest)));
    let at = version(&event.resource_version);
    let lower = match (&event.object, &event.listed) {
        (Some(object), Some(listed)) => format!(
            " It has {} at {}, which is held at a later version.",
            name_in(&event.watch, object),
            version(listed)
        ),
        _ => String::new(),
    };
    format!(
        "A page of {} arrived, at resourceVersion {at}{rest}.{lower}",
        count(event.items, "item")
    )
}

pub(super) fn list_complete(event: &ListComplete) -> String {
    format!(
        "The list is complete: {} at resourceVersion {}. Against what was held: {} new, {} changed, {} gone.",
        count(event.items, "item"),
        version(&event.resource_version),
        number(event.added),
        number(event.changed),
        number(event.removed)
    )
}

pub(super) fn request_answered_fields(event: &RequestAnswered, fields: &mut Fields) {
    fields.extend(event.status.map(|status| ("status", status.to_string())));
    fields.extend(
        event
            .retry_after_ms
            .map(|wait| ("Retry-After", format!("{} s", wait / 1_000))),
    );
}

pub(super) fn list_complete_fields(event: &ListComplete, fields: &mut Fields) {
    fields.push(("resourceVersion", version(&event.resource_version)));
    fields.push(("items", number(event.items)));
    fields.push(("new", number(event.added)));
    fields.push(("changed", number(event.changed)));
    fields.push(("gone", number(event.removed)));
}
