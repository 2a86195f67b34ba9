//! Converts the reports of client programs to events of the log.

use watchscope_model::Event;
use watchscope_model::event::{ClientReport, ClientRequest, ClientStarted};
use watchscope_simulator::{ClientEvent, ClientRecord};

/// Returns the event of a client's record.
pub(crate) fn event(record: ClientRecord) -> Event {
    let client = record.client.as_ref().into();
    match record.event {
        ClientEvent::Started { program, version } => ClientStarted {
            client,
            program: program.into(),
            version: version.map(Into::into),
        }
        .into(),
        ClientEvent::Request(request) => ClientRequest { client, request }.into(),
        ClientEvent::Report(report) => ClientReport {
            client,
            phase: report.phase.word().into(),
            iterations: report.iterations,
            handled: report.handled,
            belief: report.belief.as_deref().map(str::to_owned),
        }
        .into(),
    }
}
