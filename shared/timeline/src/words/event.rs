//! Each kind of event as a sentence and as named fields. The page and the terminal use only these words.
//!
//! Each family of records has its words in a file of its own.

mod audits;
mod clients;
mod connections;
mod fields;
mod objects;
mod ours;
mod requests;
mod streams;
mod watches;

use watchscope_model::event::Event;

use self::fields::Fields;

/// Returns an event as one or more sentences. Texts in the sentences are not cut. A narrator's note is returned as it
/// is, so it may be empty; the words of no other event are empty. Hostile: show as text.
#[must_use]
pub fn event_words(event: &Event) -> String {
    match event {
        Event::ClusterConnected(event) => connections::cluster_connected(event),
        Event::ConnectionOpened(event) => connections::connection_opened(event),
        Event::ConnectionGoaway(event) => connections::connection_goaway(event),
        Event::ConnectionClosed(event) => connections::connection_closed(event),
        Event::WatchStarted(event) => watches::watch_started(event),
        Event::WatchPhase(event) => watches::watch_phase(event),
        Event::WatchStopped(event) => watches::watch_stopped(event),
        Event::RequestSent(event) => requests::request_sent(event),
        Event::RequestAnswered(event) => requests::request_answered(event),
        Event::ListPage(event) => requests::list_page(event),
        Event::ListComplete(event) => requests::list_complete(event),
        Event::StreamOpened(event) => streams::stream_opened(event),
        Event::StreamEnded(event) => streams::stream_ended(event),
        Event::Attribution(event) => streams::attribution(event),
        Event::Change(event) => objects::change(event),
        Event::Bookmark(event) => streams::bookmark(event),
        Event::StreamError(event) => streams::stream_error(event),
        Event::Gap(event) => watches::gap(event),
        Event::Audit(event) => audits::audit(event),
        Event::Verdict(event) => audits::verdict(event),
        Event::Finding(event) => audits::finding(event),
        Event::Loss(event) => ours::loss(event),
        Event::Clock(event) => ours::clock(event),
        Event::ClientStarted(event) => clients::client_started(event),
        Event::ClientRequest(event) => clients::client_request(event),
        Event::ClientReport(event) => clients::client_report(event),
        Event::Note(event) => ours::note(event),
    }
}

/// Returns the fields of an event, name and value each.
pub(super) fn fields(event: &Event) -> Fields {
    let mut fields = Vec::new();
    if let Some(watch) = event.watch() {
        fields.push(("watch", watch.to_string()));
    }
    match event {
        Event::Change(event) => objects::change_fields(event, &mut fields),
        Event::ClientReport(event) => clients::client_report_fields(event, &mut fields),
        Event::WatchPhase(event) => watches::watch_phase_fields(event, &mut fields),
        Event::RequestAnswered(event) => requests::request_answered_fields(event, &mut fields),
        Event::StreamError(event) => streams::stream_error_fields(event, &mut fields),
        Event::ListComplete(event) => requests::list_complete_fields(event, &mut fields),
        Event::Bookmark(event) => streams::bookmark_fields(event, &mut fields),
        Event::StreamEnded(event) => streams::stream_ended_fields(event, &mut fields),
        Event::Gap(event) => watches::gap_fields(event, &mut fields),
        Event::Finding(event) => audits::finding_fields(event, &mut fields),
        Event::Verdict(event) => audits::verdict_fields(event, &mut fields),
        _ => {}
    }
    fields
}
