//! Findings about lists: objects that were deleted without an event (F28), an earlier state (F22), and lists without
//! progress (F14).

use watchscope_model::event::{Change, ListComplete};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, Origin};
use watchscope_model::{ResourceVersion, Row, State};

use super::state::{LISTS_AFTER_EXPIRY_US, ListAfterExpiry, Requests, Streak};
use super::unreadable::STREAM_FAILURES;
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::questions::is_listing;
use crate::findings::registry::FindingRegistry;
use crate::text::{count, seconds};

/// Number of lists that each follow a 410 from which on they are a livelock (F14). They must come within
/// [`LISTS_AFTER_EXPIRY_US`], and the last must not be beyond the first. The number has no source: the first list
/// is the one that every 410 needs.
const LISTS_AFTER_EXPIRY: usize = 3;
/// Most unseen deletions that a finding names as evidence; further deletions are not named. The limit is half of the
/// evidence that a finding may have. The share has no source.
const NAMED: usize = 8;

impl Requests {
    /// Notes a change, which may be a deletion that only a list shows.
    pub(crate) fn changed(&mut self, event: &Change, before: &State, record: Moment) {
        let is_by_list = event.stream.is_none() || (is_listing(before, &event.watch));
        if event.origin != Origin::Inferred || !is_by_list {
            return;
        }
        if let Some(state) = self.watches.get_mut(&event.watch)
            && state.unseen_deletions.len() < NAMED
        {
            state.unseen_deletions.push(record.seq);
        }
    }

    /// Judges a complete list: F28, F22 and F14.
    pub(crate) fn listed(
        &mut self,
        event: &ListComplete,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let watch = &event.watch;
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        let subject = Subject::Watch(watch.clone());
        state.lists += 1;
        state.list_failures = Streak::default();
        state.secret_failures = Streak::default();
        if state.stream_failures.times < STREAM_FAILURES {
            let why = "The server lists the type again.";
            registry.clear(Row::F38, subject.clone(), record.seq, why);
        }
        let mut raise = |row, alike, certainty, evidence, summary| {
            registry.raise(
                FindingDraft::of(
                    row,
                    certainty,
                    subject.clone(),
                    evidence,
                    record.at,
                    summary,
                )
                .alike(alike),
                record.at,
            );
        };
        let mut evidence = std::mem::take(&mut state.unseen_deletions);
        if event.removed > 0 && state.lists > 1 {
            evidence.insert(0, record.seq);
            let summary = format!(
                "The list shows that {} of {watch} disappeared while no stream reported it.",
                count(event.removed, "object")
            );
            raise(Row::F28, &[], Certainty::Definite, evidence, summary);
        }
        let progress = before
            .watches
            .get(watch)
            .and_then(|watch| watch.progress.as_ref())
            .and_then(ResourceVersion::number);
        let version = event
            .resource_version
            .number()
            .filter(|version| *version > 0);
        let (Some(version), is_expired) = (version, std::mem::take(&mut state.is_expired)) else {
            return;
        };
        if let Some(progress) = progress.filter(|progress| version < *progress) {
            let summary = format!(
                "{watch} had reached {progress}, but a list returned the older state at {version}."
            );
            raise(
                Row::F22,
                &[Row::F33],
                Certainty::Definite,
                vec![record.seq],
                summary,
            );
        }
        if !is_expired {
            return;
        }
        if state.lists_after_expiry.len() == LISTS_AFTER_EXPIRY {
            state.lists_after_expiry.pop_front();
        }
        state.lists_after_expiry.push_back(ListAfterExpiry {
            seq: record.seq,
            at: record.at,
            version,
        });
        let Some(first) = state.lists_after_expiry.front() else {
            return;
        };
        let is_quick = record.at.micros_since(first.at) <= LISTS_AFTER_EXPIRY_US;
        if state.lists_after_expiry.len() == LISTS_AFTER_EXPIRY
            && is_quick
            && version <= first.version
        {
            let evidence = state
                .lists_after_expiry
                .iter()
                .map(|list| list.seq)
                .collect();
            let summary = format!(
                "{watch} learned {LISTS_AFTER_EXPIRY} times in {} that its history is gone, and no list went beyond \
                 {version}.",
                seconds(record.at.millis_since(first.at))
            );
            let found = FindingDraft::of(
                Row::F14,
                Certainty::Likely,
                subject,
                evidence,
                record.at,
                summary,
            );
            let shared = self.shared(Row::F14, watch, record.at);
            registry.raise(FindingDraft { shared, ..found }, record.at);
        }
    }
}
