//! The order of events on a stream: F21, F23, F29, F30, F35.

use watchscope_model::event::Change;
use watchscope_model::fold::{Held, Moment};
use watchscope_model::vocabulary::{Certainty, ChangeType};
use watchscope_model::{Row, Seq};

use super::state::{GONE, Memory, StreamState, remember};
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::text::name;

/// How an event's version is out of order, compared with what its stream delivered before.
pub(super) enum Order {
    Later,
    /// The stream delivered the same version and object before.
    Again,
    /// A DELETED carries the version that its object had before (docs/semantics/checks.md#deletion-version).
    OldDeleted,
    /// The event's version is below that of a bookmark delivered before (docs/semantics/checks.md#above-bookmark).
    BelowBookmark(u64, Seq),
    /// The event's version is not above the version at which the stream began (docs/semantics/checks.md#above-start).
    BeforeStart,
    /// The event's version is below that of an event delivered before (docs/semantics/checks.md#order).
    Late,
}

pub(super) fn order(
    event: &Change,
    version: u64,
    held: Option<&Held>,
    open: &StreamState,
    memory: &Memory,
) -> Order {
    if version > open.from.max(open.highest)
        && open.bookmark.is_none_or(|last| version > last.version)
    {
        return Order::Later;
    }
    let uid = &event.object.uid;
    if event.change == ChangeType::Deleted {
        let had = held
            .filter(|held| held.object.uid == *uid)
            .and_then(|held| held.resource_version.number());
        if had.is_some_and(|had| version <= had) || memory.deleted_old.contains(uid) {
            return Order::OldDeleted;
        }
    }
    let mut same = memory.recent.iter().filter(|seen| seen.version == version);
    if let Some(other) = same.next() {
        return if other.uid == *uid {
            Order::Again
        } else {
            Order::Later
        };
    }
    match open.bookmark {
        _ if version <= open.from => Order::BeforeStart,
        Some(last) if version <= last.version && version > open.highest => {
            Order::BelowBookmark(last.version, last.seq)
        }
        _ => Order::Late,
    }
}

pub(super) fn disorder(
    order: &Order,
    event: &Change,
    version: u64,
    open: &StreamState,
    memory: &mut Memory,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let (watch, what) = (&event.watch, event.change);
    let object = name(&event.object);
    let reached = open.highest.max(open.from);
    let mut evidence = vec![record.seq, open.opened];
    let (row, alike, summary): (_, &'static [Row], _) = match order {
        Order::Later => return,
        Order::OldDeleted => {
            if !memory.deleted_old.contains(&event.object.uid) {
                remember(&mut memory.deleted_old, event.object.uid.clone(), GONE);
            }
            let summary = format!(
                "DELETED of {object} carried {version}, though {watch} had reached {reached}: a client that resumes \
                 from there sees old events again."
            );
            (Row::F23, &[], summary)
        }
        Order::Again => {
            let summary =
                format!("{what} of {object} at {version} was delivered to {watch} a second time.");
            (Row::F29, &[Row::F21], summary)
        }
        Order::BelowBookmark(last, seq) => {
            evidence.push(*seq);
            let summary = format!(
                "A bookmark said that {watch} had everything up to {last}; then {what} of {object} came at {version}."
            );
            (Row::F35, &[], summary)
        }
        Order::BeforeStart => {
            let summary = format!(
                "{watch} asked for events after {}, but got {what} of {object} at {version}.",
                open.from
            );
            (Row::F29, &[Row::F21, Row::F30], summary)
        }
        Order::Late => {
            let summary = format!(
                "{what} of {object} was delivered to {watch} at {version}, after {reached}."
            );
            (Row::F30, &[], summary)
        }
    };
    registry.raise(
        FindingDraft::of(
            row,
            Certainty::Definite,
            Subject::Watch(watch.clone()),
            evidence,
            record.at,
            summary,
        )
        .alike(alike),
        record.at,
    );
}
