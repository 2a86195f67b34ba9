//! Objects for which a watch got a DELETED. Such objects may only have left the watch's selector (F43). A later list
//! may return a deleted object, or an older version of one, from an older state (F22) or although the list is newer
//! (F24).
//!
//! A server sends DELETED to a watch with a selector when an object no longer matches. Another watch of the resource,
//! or a read of the audit, can show that the object still exists.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Audit, Change, ListComplete, ListPage};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{AuditMethod, Certainty, ChangeType, Origin};
use watchscope_model::{Object, Row, Seq, State, Uid, WatchName};

use super::draft::{FindingDraft, Subject};
use super::questions::{has_selector, is_aggregated};
use super::registry::FindingRegistry;
use crate::text::name;

/// Most objects that are remembered because they may have left a selector, and most that are remembered for each watch
/// because they were deleted. A further object replaces the oldest, which is not judged any more. The limit bounds the
/// memory. The number has no source: the audit looks up eight exits of a watch a minute.
const LEFT: usize = 64;
/// Rows that make a server list a deleted object: the candidates of a finding about it (F24). Each row has a page in
/// docs/findings.
const LIKE_A_GHOST: &[Row] = &[Row::F22, Row::F25, Row::F26, Row::F27, Row::F33];
/// Rows that make a server list an old version of an object: the candidates of a finding about it (F24). Each row has a
/// page in docs/findings.
const LIKE_A_LOSS: &[Row] = &[Row::F22, Row::F25, Row::F33];

/// A DELETED that a watch with a selector delivered.
#[derive(Clone, Debug)]
struct Leaving {
    /// The object's uid, stored apart because each event of another watch is compared with it.
    uid: Uid,
    watch: WatchName,
    object: Arc<Object>,
    version: u64,
    seq: Seq,
}

/// Objects for which watches got a DELETED. [`LEFT`] bounds each list.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectorExits {
    /// Objects that a watch with a selector reported as deleted, and that may still exist.
    unsure: VecDeque<Leaving>,
    /// For each watch without a selector, the objects that it reported as deleted, each with the version of its
    /// deletion.
    deleted: BTreeMap<WatchName, VecDeque<(Uid, Option<u64>)>>,
    /// The versions of lists that are not complete yet, by watch.
    lists: BTreeMap<WatchName, u64>,
}

impl SelectorExits {
    pub(super) fn changed(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let uid = &event.object.uid;
        if uid.is_empty() {
            return;
        }
        match (event.origin, event.change) {
            (Origin::Live, ChangeType::Added | ChangeType::Modified) if self.unsure.is_empty() => {}
            (Origin::Live, ChangeType::Deleted) => self.deleted(event, before, record, registry),
            (Origin::Live, _) => {
                let version = event.resource_version.number().unwrap_or(0);
                let by = (&event.watch, version, record);
                self.note_seen(uid, by, registry);
            }
            (Origin::Inferred, ChangeType::Deleted)
                if selects(before, &event.watch) == Some(false) =>
            {
                self.remember(event);
            }
            (Origin::List | Origin::Initial, ChangeType::Added) => {
                self.report_return(event, before, record, registry);
            }
            (Origin::List, ChangeType::Modified) => {
                self.report_older(event, before, record, registry)
            }
            _ => {}
        }
    }

    fn deleted(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let uid = &event.object.uid;
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        let Some(version) = event.resource_version.number() else {
            return;
        };
        if !has_selector(watch) {
            // The object is really deleted.
            self.unsure.retain(|left| left.uid != *uid);
            self.remember(event);
            return;
        }
        if self.unsure.len() == LEFT {
            self.unsure.pop_front();
        }
        self.unsure.push_back(Leaving {
            uid: uid.clone(),
            watch: event.watch.clone(),
            object: event.object.clone(),
            version,
            seq: record.seq,
        });
        let holds = |other: &Watch| {
            let held = other.held(&event.object)?;
            let is_it = other.resource == watch.resource
                && other.group == watch.group
                && held.object.uid == *uid;
            held.resource_version.number().filter(|_| is_it)
        };
        let mut others = before
            .watches
            .iter()
            .filter(|(name, _)| **name != event.watch)
            .filter_map(|(name, other)| Some((name, holds(other)?)));
        if let Some((other, at)) = others.find(|(_, at)| *at >= version) {
            self.note_seen(uid, (other, at, record), registry);
        }
    }

    /// Remembers a deletion, after which the watch must not deliver the object again.
    fn remember(&mut self, event: &Change) {
        let gone_by = match event.origin {
            Origin::Live => event.resource_version.number(),
            // An object that a list lacks was deleted at some time before the list.
            _ => self.lists.get(&event.watch).copied(),
        };
        if !self.deleted.contains_key(&event.watch) {
            self.deleted.insert(event.watch.clone(), VecDeque::new());
        }
        if let Some(gone) = self.deleted.get_mut(&event.watch) {
            if gone.len() == LEFT {
                gone.pop_front();
            }
            gone.push_back((event.object.uid.clone(), gone_by));
        }
    }

    /// Notes that the watch `by` has an object at a version. For each other watch that reported the object as deleted
    /// at or before that version, raises F43: the object only left the selector.
    fn note_seen(
        &mut self,
        uid: &Uid,
        (by, version, record): (&WatchName, u64, Moment),
        registry: &mut FindingRegistry,
    ) {
        self.unsure.retain(|left| {
            let is_it = left.uid == *uid && left.version <= version && left.watch != *by;
            if is_it {
                let summary = format!(
                    "DELETED of {} was delivered to {} at {}, but {by} has it at {version}: it only left the selector.",
                    name(&left.object),
                    left.watch,
                    left.version,
                );
                raise(left, Certainty::Definite, summary, record, registry);
            }
            // An object that is back in its own watch needs no other witness.
            let is_back = left.uid == *uid && left.watch == *by;
            !is_it && !is_back
        });
    }

    /// Raises F22 or F24: a list, or initial events, return an object that the watch reported as deleted.
    fn report_return(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(gone) = self.deleted.get_mut(&event.watch) else {
            return;
        };
        let Some(place) = gone.iter().position(|(uid, _)| *uid == event.object.uid) else {
            return;
        };
        let gone_by = gone.remove(place).and_then(|(_, version)| version);
        // An older state of etcd may have the object. Another apiserver lists what a user may see at the time.
        if is_aggregated(before, &event.watch) || registry.stands(Row::F33, Subject::Cluster) {
            return;
        }
        let listed_at = self.lists.get(&event.watch).copied();
        if let (Origin::List, Some(gone_by), Some(listed_at)) = (event.origin, gone_by, listed_at)
            && listed_at >= gone_by
        {
            let summary = format!(
                "{} came back to {} in a list at {listed_at}, with a uid that was deleted by {gone_by}: the server \
                 that answered missed the deletion.",
                name(&event.object),
                event.watch,
            );
            let (watch, evidence) = (Subject::Watch(event.watch.clone()), vec![record.seq]);
            let sure = Certainty::Likely;
            let found = FindingDraft::of(Row::F24, sure, watch, evidence, record.at, summary);
            registry.raise(found.alike(LIKE_A_GHOST).proven(), record.at);
            return;
        }
        let summary = format!(
            "{} came back to {} in a list, at {} and with the uid that was deleted: the list shows an older state.",
            name(&event.object),
            event.watch,
            event.resource_version,
        );
        let found = FindingDraft::of(
            Row::F22,
            Certainty::Definite,
            Subject::Watch(event.watch.clone()),
            vec![record.seq],
            record.at,
            summary,
        );
        registry.raise(found.alike(&[Row::F33]), record.at);
    }

    /// Raises F24: a list has an older version of an object than the watch holds, although the list's own version is
    /// newer.
    fn report_older(
        &self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let watch = before.watches.get(&event.watch);
        let held = watch.and_then(|watch| watch.held(&event.object)?.resource_version.number());
        let listed_at = self.lists.get(&event.watch).copied();
        let (Some(held), Some(listed_at), Some(version)) =
            (held, listed_at, event.resource_version.number())
        else {
            return;
        };
        if version >= held || held > listed_at || registry.stands(Row::F33, Subject::Cluster) {
            return;
        }
        let summary = format!(
            "A list at {listed_at} has {} at {version}, but {} received it at {held}: the server that answered has \
             lost an event.",
            name(&event.object),
            event.watch,
        );
        let (watch, evidence) = (Subject::Watch(event.watch.clone()), vec![record.seq]);
        let found = FindingDraft::of(
            Row::F24,
            Certainty::Likely,
            watch,
            evidence,
            record.at,
            summary,
        );
        registry.raise(found.alike(LIKE_A_LOSS).proven(), record.at);
    }

    /// Notes the version of a list from one of its pages.
    pub(super) fn page(&mut self, event: &ListPage) {
        if let Some(version) = event.resource_version.number() {
            self.lists.insert(event.watch.clone(), version);
        }
    }

    /// Forgets the version of a complete list, or of complete initial events.
    pub(super) fn listed(&mut self, event: &ListComplete) {
        self.lists.remove(&event.watch);
    }

    /// Handles a read of the audit: etcd has an object that a watch with a selector reported as deleted, with the same
    /// uid.
    pub(super) fn audited(
        &mut self,
        event: &Audit,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(object) = event
            .object
            .as_ref()
            .filter(|_| event.method() == AuditMethod::GetLeft)
        else {
            return;
        };
        let is_it = |left: &Leaving| left.uid == object.uid && left.watch == event.watch;
        self.unsure.retain(|left| {
            if is_it(left) {
                let summary = format!(
                    "DELETED of {} was delivered to {} at {}, but a GET of it returned 200 with the same uid: it \
                     only left the selector.",
                    name(&left.object),
                    left.watch,
                    left.version,
                );
                raise(left, Certainty::Definite, summary, record, registry);
            }
            !is_it(left)
        });
    }

    pub(super) fn forget(&mut self, watch: &WatchName) {
        self.deleted.remove(watch);
        self.lists.remove(watch);
        self.unsure.retain(|left| left.watch != *watch);
    }
}

fn selects(state: &State, watch: &WatchName) -> Option<bool> {
    state.watches.get(watch).map(has_selector)
}

fn raise(
    left: &Leaving,
    certainty: Certainty,
    summary: String,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let mut evidence = vec![left.seq, record.seq];
    evidence.dedup();
    let subject = Subject::Watch(left.watch.clone());
    let found = FindingDraft::of(Row::F43, certainty, subject, evidence, record.at, summary);
    registry.raise(found, record.at);
}
