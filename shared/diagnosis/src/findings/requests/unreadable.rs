//! F38: the server cannot read or convert an object, so it returns nothing of its resource.

use watchscope_model::event::{RequestAnswered, StreamError};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, ErrorText};
use watchscope_model::{Row, State, WatchName};

use super::state::{Requests, Streak};
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::server_words;
use crate::text::count;

/// Number of failures in a row from which on an object that cannot be read or converted counts as blocking the watch
/// (F38). A single failure may pass by itself. The number has no source.
const LIST_FAILURES: u64 = 2;
/// Like [`LIST_FAILURES`], for streams in a row while the lists between them succeed. The number is higher by one,
/// because these lists show that the resource can be read. The number has no other source.
pub(super) const STREAM_FAILURES: u64 = 3;
/// Like [`LIST_FAILURES`], for lists of Secrets whose reason is redacted. The number is higher, because the failure may
/// have another reason. The number has no source.
const SECRET_FAILURES: u64 = 5;

impl Requests {
    /// Clears a streak of failed streams, because a stream delivered an event and so the server can read the resource.
    pub(crate) fn delivered(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        let broken = std::mem::take(&mut state.stream_failures);
        if broken.times >= STREAM_FAILURES {
            let why = "The watch's stream delivers the type again.";
            registry.clear(Row::F38, Subject::Watch(watch.clone()), record.seq, why);
        }
    }

    /// Judges an ERROR event of a stream.
    pub(crate) fn stream_error(
        &mut self,
        event: &StreamError,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        match event.code {
            410 => {
                if let Some(state) = self.watches.get_mut(&event.watch) {
                    state.is_expired = true;
                }
            }
            500 => {
                let words = event.message.as_deref().unwrap_or("");
                self.broken(&event.watch, words, record, registry);
            }
            _ => {}
        }
    }

    /// Judges a stream that ended with an ERROR 500. If the lists between such streams fail too, or there are no such
    /// lists, the streak of failed lists reports F38 first.
    pub(super) fn broken(
        &mut self,
        watch: &WatchName,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        self.poisoned(watch, words, record, registry);
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        if !server_words::is_about_objects(words) {
            state.stream_failures = Streak::default();
            return;
        }
        state.stream_failures.add(record);
        if state.stream_failures.times < STREAM_FAILURES
            || state.list_failures.times >= LIST_FAILURES
        {
            return;
        }
        let summary = format!(
            "{} of {watch} in a row ended with an ERROR about an object that cannot be read or converted (500). The \
             lists between them succeeded.",
            count(state.stream_failures.times, "stream")
        );
        let found = unreadable(watch, Certainty::Likely, &state.stream_failures, summary);
        let shared = self.shared(Row::F38, watch, record.at);
        registry.raise(FindingDraft { shared, ..found }, record.at);
    }

    /// Judges a 500, or an ERROR 500, because the server cannot read or convert an object.
    pub(super) fn poisoned(
        &mut self,
        watch: &WatchName,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        if !server_words::is_about_objects(words) {
            return;
        }
        state.list_failures.add(record);
        if state.list_failures.times < LIST_FAILURES {
            return;
        }
        let summary = format!(
            "An object of {watch} cannot be read or converted, so the server returns nothing of its type. It said so \
             {}.",
            count(state.list_failures.times, "time")
        );
        let found = unreadable(watch, Certainty::Likely, &state.list_failures, summary);
        let shared = self.shared(Row::F38, watch, record.at);
        registry.raise(FindingDraft { shared, ..found }, record.at);
    }

    /// Judges a list of Secrets that failed with 500 and whose reason is redacted.
    pub(super) fn fails_unsaid(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        let streak = &mut state.secret_failures;
        streak.add(record);
        if streak.times < SECRET_FAILURES {
            return;
        }
        let summary = format!(
            "The lists of {watch} fail, {} in a row so far (500). watchscope keeps no server's message about \
             Secrets; perhaps the server cannot read or convert one of them.",
            count(streak.times, "time")
        );
        let found = unreadable(watch, Certainty::Suspected, streak, summary);
        registry.raise(found, record.at);
    }
}

/// Returns the finding that a server cannot read or convert objects of a watch (F38). It stays open until its detector
/// clears it.
fn unreadable(
    watch: &WatchName,
    certainty: Certainty,
    failures: &Streak,
    summary: String,
) -> FindingDraft {
    let found = FindingDraft::of(
        Row::F38,
        certainty,
        Subject::Watch(watch.clone()),
        failures.evidence.clone(),
        failures.since,
        summary,
    );
    found.until_cleared()
}

/// Returns whether a refusal's error text is missing, or has only the reason of its Status.
pub(super) fn is_unsaid(event: &RequestAnswered) -> bool {
    event.error_text != Some(ErrorText::Message)
}

/// Returns whether a watch is of Secrets, or of an unknown resource.
pub(super) fn is_secrets(state: &State, watch: &WatchName) -> bool {
    let watch = state.watches.get(watch);
    watch.is_none_or(|watch| &*watch.resource == "secrets")
}
