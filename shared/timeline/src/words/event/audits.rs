//! Words for the audit: its reads, its verdicts, and findings.

use watchscope_model::event::{Audit, Finding, Verdict};
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Standing};

use super::fields::Fields;
use crate::findings::watches_of;
use crate::format::{count, number, version};
use crate::phrases::name_in;

pub(super) fn audit(event: &Audit) -> String {
    let why = event.reason.as_ref().map(|why| format!(": {why}"));
    let what = match (&event.object, event.method()) {
        (Some(object), _) => name_in(&event.watch, object),
        // A second watch compares the events that both watches received.
        (None, AuditMethod::SecondWatch) => count(event.compared, "event"),
        // One object may be read more than once.
        (None, AuditMethod::Get | AuditMethod::ListOne) => count(event.compared, "sample"),
        (None, _) => count(event.compared, "object"),
    };
    if event.outcome() == AuditOutcome::CannotTell {
        let why = why.unwrap_or_default();
        return format!("An audit ({}) cannot tell{why}.", event.method);
    }
    format!(
        "An audit read of {what} ({}): {}{}.",
        event.method,
        event.outcome,
        why.unwrap_or_default()
    )
}

pub(super) fn verdict(event: &Verdict) -> String {
    let state = if event.state == Standing::Cleared {
        "no longer"
    } else {
        "now"
    };
    format!(
        "{} is {state} {} ({}).",
        name_in(&event.watch, &event.object),
        event.kind,
        event.certainty
    )
}

pub(super) fn finding(event: &Finding) -> String {
    let times = match event.count {
        Some(count) if count > 1 => format!(" ({} times)", number(count)),
        _ => String::new(),
    };
    format!(
        "{} {} {}{times}: {}",
        event.code, event.name, event.state, event.summary
    )
}

pub(super) fn finding_fields(event: &Finding, fields: &mut Fields) {
    fields.push(("severity", event.severity.to_string()));
    fields.push(("certainty", event.certainty.to_string()));
    if !event.candidates.is_empty() {
        fields.push(("looks like", event.candidates.join(" ")));
    }
    fields.extend(event.count.map(|count| ("times", number(count))));
    fields.extend(
        event
            .client
            .as_ref()
            .map(|name| ("client", name.to_string())),
    );
    fields.extend(watches_of(event).map(|names| ("watches", names)));
    let evidence = event
        .evidence
        .iter()
        .map(|seq| number(seq.0))
        .collect::<Vec<_>>()
        .join(" ");
    fields.push(("evidence", evidence));
}

pub(super) fn verdict_fields(event: &Verdict, fields: &mut Fields) {
    fields.extend(event.held.as_ref().map(|held| ("held at", version(held))));
    fields.extend(
        event
            .listed
            .as_ref()
            .map(|listed| ("listed at", version(listed))),
    );
}
