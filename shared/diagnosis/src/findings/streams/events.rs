//! Checks each event of a stream against the events before it, and finds objects that the watch did not request (F42).

use watchscope_model::event::Change;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, Origin};
use watchscope_model::{Row, Seq, State};

use super::bookmarks::NO_BOOKMARK;
use super::lives::check_life;
use super::lost::{LostEvent, lost};
use super::order::{Order, disorder, order};
use super::state::{Delivered, REMEMBERED, STARTS, Span, Start, Streams, memory, remember};
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::questions::is_listing;
use crate::findings::registry::FindingRegistry;
use crate::text::name;

impl Streams {
    /// Checks a change that a watch delivered.
    pub(crate) fn changed(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if event.stray == Some(true) {
            let why = "whose selectors do not match it";
            return unasked(event, why, vec![record.seq], record, registry);
        }
        let Some(stream) = event.stream else {
            return;
        };
        let (Some(open), Some(watch)) = (
            self.streams.get_mut(&stream),
            before.watches.get(&event.watch),
        ) else {
            return;
        };
        if std::mem::take(&mut open.may_be_dead) {
            let subject = Subject::Watch(open.watch.clone());
            registry.amend(NO_BOOKMARK, subject, |found| {
                found.alike = &[];
                found.evidence.push(record.seq);
            });
        }
        match event.origin {
            Origin::Live => {
                let first = open.moved.map_or(record.at, |moved| moved.first);
                open.moved = Some(Span {
                    first,
                    last: record.at,
                });
            }
            // Objects that initial events lack, or return with another uid, were deleted while no stream was open
            // (F28).
            Origin::Inferred if is_listing(before, &event.watch) => return,
            Origin::Inferred => {
                // The name came back with another uid (docs/semantics/checks.md#life).
                lost(LostEvent::Deleted, event, open, record, registry);
                return;
            }
            Origin::Initial => {
                if let Some(initial) = open.initial.as_mut() {
                    initial.last = record.at;
                }
                return;
            }
            Origin::List | Origin::Unknown => return,
        }
        let is_elsewhere = |namespace| event.object.namespace.as_ref() != Some(namespace);
        if watch.namespace.as_ref().is_some_and(is_elsewhere) {
            let why = "which does not watch its namespace";
            return unasked(event, why, vec![record.seq, open.opened], record, registry);
        }
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let memory = memory(&mut self.memories, &event.watch);
        let held = watch.held(&event.object);
        let order = order(event, version, held, open, memory);
        if !matches!(order, Order::Later) {
            disorder(&order, event, version, open, memory, record, registry);
            return;
        }
        check_life(event, held, watch, open, memory, record, registry);
        if let Some(from) = open.start() {
            let start = Start {
                from,
                until: version,
            };
            remember(&mut memory.starts, start, STARTS);
        }
        open.highest = version;
        remember(
            &mut memory.recent,
            Delivered {
                version,
                uid: event.object.uid.clone(),
                at: record.at,
            },
            REMEMBERED,
        );
    }
}

/// Raises F42: a stream delivered an object that its watch did not request (docs/semantics/checks.md#scope).
fn unasked(
    event: &Change,
    why: &str,
    evidence: Vec<Seq>,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let summary = format!(
        "{} was delivered to {} at {}, {why}.",
        name(&event.object),
        event.watch,
        event.resource_version
    );
    let (sure, subject) = (Certainty::Definite, Subject::Watch(event.watch.clone()));
    let found = FindingDraft::of(Row::F42, sure, subject, evidence, record.at, summary);
    registry.raise(found, record.at);
}
