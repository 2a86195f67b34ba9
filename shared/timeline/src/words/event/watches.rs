//! Words for a watch as a whole: its start, its phases, its gaps, its stop.

use watchscope_model::event::{Gap, WatchPhase, WatchStarted, WatchStopped};

use super::fields::Fields;
use crate::format::{count, version};
use crate::words::phase::phase_sentence;

pub(super) fn watch_started(event: &WatchStarted) -> String {
    let by = event.server.as_ref();
    let by = by.map_or(String::new(), |server| format!(", by {server} only"));
    let versions = if event.aggregated == Some(true) {
        " Its resourceVersions are another apiserver's and are only compared for equality."
    } else {
        ""
    };
    format!("Watch {} started{by}.{versions}", event.watch)
}

pub(super) fn watch_phase(event: &WatchPhase) -> String {
    let sentence = phase_sentence(event.to, event.reason, event.delay_ms);
    match &event.error {
        Some(error) => format!("{} ({error}).", sentence.trim_end_matches('.')),
        None => sentence,
    }
}

pub(super) fn watch_stopped(event: &WatchStopped) -> String {
    format!("Watch {} stopped.", event.watch)
}

pub(super) fn gap(event: &Gap) -> String {
    match (event.resumed, event.lost) {
        (true, _) => {
            "The gap closed: the watch resumed where it stopped, and nothing is lost.".to_string()
        }
        (false, Some(lost)) => format!(
            "The gap closed without a resume: {} missed.",
            count(lost, "event")
        ),
        (false, None) => {
            "The gap closed without a resume: it is unknown how many events were missed."
                .to_string()
        }
    }
}

pub(super) fn watch_phase_fields(event: &WatchPhase, fields: &mut Fields) {
    fields.push(("phase", event.to.to_string()));
    fields.push(("reason", event.reason.to_string()));
    fields.extend(
        event
            .error
            .as_ref()
            .map(|error| ("error", error.to_string())),
    );
}

pub(super) fn gap_fields(event: &Gap, fields: &mut Fields) {
    fields.extend(
        event
            .from
            .as_ref()
            .map(|from| ("from resourceVersion", version(from))),
    );
    fields.extend(
        event
            .to
            .as_ref()
            .map(|to| ("to resourceVersion", version(to))),
    );
    fields.push(("reason", event.reason.to_string()));
}
