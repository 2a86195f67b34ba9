//! Words for client programs.

use watchscope_model::event::{ClientReport, ClientRequest, ClientStarted};
use watchscope_model::vocabulary::ClientPhase;

use super::fields::Fields;
use crate::format::{count, number};

pub(super) fn client_started(event: &ClientStarted) -> String {
    format!("Client {} ({}) started.", event.client, event.program)
}

pub(super) fn client_request(event: &ClientRequest) -> String {
    format!("Client {} asked {}.", event.client, event.request)
}

pub(super) fn client_report(event: &ClientReport) -> String {
    let (turns, handled) = (
        count(event.iterations, "turn"),
        count(event.handled, "event"),
    );
    if event.doing() == ClientPhase::Spinning {
        return format!(
            "Client {} is spinning: its loop reads a stream that has ended, {turns} so far; it handled {handled}.",
            event.client
        );
    }
    format!(
        "Client {} is {}; it handled {handled} in {turns} of its loop.",
        event.client, event.phase
    )
}

pub(super) fn client_report_fields(event: &ClientReport, fields: &mut Fields) {
    fields.push(("phase", event.phase.to_string()));
    fields.push(("turns of its loop", number(event.iterations)));
    fields.push(("events handled", number(event.handled)));
}
