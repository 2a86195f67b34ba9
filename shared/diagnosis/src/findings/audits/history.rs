//! An etcd that was restored: its revision went back, or its history is another one (F33).

use watchscope_model::event::{Audit, ListComplete, ListPage, WatchPhase};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::{self};
use watchscope_model::vocabulary::{Certainty, Phase, PhaseReason};
use watchscope_model::{ResourceVersion, Row, Seq, State, WatchName};

use super::restored::{Below, Restored, number, resource_of};
use super::state::Audits;
use crate::awake::Awake;
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::text::name;

impl Audits {
    /// Handles a phase in which the probe reports a list below the version of its watch: etcd went back.
    pub(crate) fn entered(
        &mut self,
        event: &WatchPhase,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if event.reason != PhaseReason::Restored || event.to != Phase::Waiting {
            return;
        }
        let list = before.watches.get(&event.watch).and_then(|watch| {
            let (list, progress) = (watch.list.as_ref()?, watch.progress.as_ref()?);
            progress.is_after(&list.resource_version).then_some(list)
        });
        if let Some(list) = list {
            let delivered = (&event.watch, &list.resource_version);
            self.went_back(delivered, list.since.seq, before, record, registry);
        }
    }

    /// Handles a page of a list that is above the version of its watch, but has an existing object at a lower version
    /// than before, which the probe found: etcd went back.
    pub(crate) fn page(
        &mut self,
        event: &ListPage,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(object), Some(listed)) = (&event.object, &event.listed) else {
            return;
        };
        let watch = before.watches.get(&event.watch);
        let held = watch.and_then(|watch| Some((watch, watch.held(object)?)));
        let Some((_, held)) = held.filter(|(watch, _)| !self.is_to_begin_anew(watch)) else {
            return;
        };
        let held = &held.resource_version;
        let summary = format!(
            "A list at {} has {} at {listed}, but {} holds it at {held}. In one history of etcd the resourceVersion \
             of an existing object never goes down: etcd went back to an older state.",
            event.resource_version,
            name(object),
            event.watch,
        );
        let (sure, evidence) = (Certainty::Likely, vec![record.seq]);
        let found = FindingDraft::of(
            Row::F33,
            sure,
            Subject::Cluster,
            evidence,
            record.at,
            summary,
        );
        let delivered = (&event.watch, number(held));
        self.restored(
            found.alike(&[Row::F24]),
            delivered,
            None,
            before,
            record,
            registry,
        );
    }

    /// Handles a complete list, or complete initial events. After a restore, the first list of a watch shows whether
    /// its server's watch cache went back too.
    pub(crate) fn listed(
        &mut self,
        event: &ListComplete,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(restored) = &self.restored else {
            return;
        };
        let reached = restored.reached.get(&event.watch);
        let is_below = reached.is_some_and(|reached| number(&event.resource_version) < *reached);
        let watch = before.watches.get(&event.watch);
        if let Some(watch) = watch.filter(|watch| is_below && watch.progress.is_none()) {
            self.confirm_restored(watch, record.seq, before, registry);
        }
    }

    /// Handles a newest list below the version of its watch, and so below what the same server delivered before. etcd
    /// itself answers such a list, so etcd went back.
    pub(super) fn went_back(
        &mut self,
        (name, read): (&WatchName, &ResourceVersion),
        evidence: Seq,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(watch) = before.watches.get(name) else {
            return;
        };
        if self.is_to_begin_anew(watch) {
            return self.confirm_restored(watch, evidence, before, registry);
        }
        self.too_large.remove(name);
        let silent = self.silent.get_mut(name);
        if silent.is_some_and(|silent| silent.remove(&Row::F32)) {
            let why = "The newest list is below what the watch has seen: etcd went back, the server's cache is not \
                behind.";
            registry.clear(Row::F32, Subject::Watch(name.clone()), record.seq, why);
        }
        let (read, progress) = (number(read), watch.progress.as_ref().map_or(0, number));
        let below = Below {
            resource: resource_of(watch),
            sentence: format!(
                "A list of the newest state is at {read}, {} below {progress}, which {name} has seen",
                progress.saturating_sub(read)
            ),
            servers: watch.server.iter().cloned().collect(),
        };
        let all = below.answers(before);
        let summary = below.summary(all);
        let sure = match all {
            Some(_) => Certainty::Definite,
            None => Certainty::Likely,
        };
        let subject = Subject::Cluster;
        let found = FindingDraft::of(Row::F33, sure, subject, vec![evidence], record.at, summary);
        let (found, below) = match all {
            Some(_) => (found, None),
            None => (found.alike(&[Row::F32]), Some(below)),
        };
        self.restored(found, (name, progress), below, before, record, registry);
    }

    /// Handles a newest list of a server that watches are pinned to, if the list is below what that server delivered
    /// before. Once all servers have answered, F33 is definite.
    fn confirm_restored(
        &mut self,
        watch: &Watch,
        evidence: Seq,
        before: &State,
        registry: &mut FindingRegistry,
    ) {
        let restored = self.restored.as_mut();
        let Some(Restored { below: open, .. }) = restored else {
            return;
        };
        let (Some(below), Some(server)) = (open.as_mut(), &watch.server) else {
            return;
        };
        if below.resource != resource_of(watch) || !below.servers.insert(server.clone()) {
            return;
        }
        let all = below.answers(before);
        if all.is_none() {
            return;
        }
        let summary = below.summary(all);
        *open = None;
        registry.amend(Row::F33, Subject::Cluster, |found| {
            found.certainty = Certainty::Definite;
            found.alike = &[];
            found.summary = summary;
            found.evidence.push(evidence);
        });
    }

    /// Returns whether a restore is known and the watch has not completed a list since.
    pub(super) fn is_to_begin_anew(&self, watch: &Watch) -> bool {
        let listed = watch.list.as_ref().and_then(|list| list.complete);
        let restored = self.restored.as_ref();
        restored.is_some_and(|restored| listed.is_none_or(|listed| listed.seq <= restored.at))
    }

    /// Raises F33: etcd holds another state than before. Each watch has to list again, even if F33 was raised before.
    /// If a watch listed again and only got the old state from a watch cache, the failure counts as the same restore.
    pub(super) fn restored(
        &mut self,
        mut found: FindingDraft,
        (name, version): (&WatchName, u64),
        below: Option<Below>,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let last = self.restored.as_ref().zip(before.watches.get(name));
        if last.is_some_and(|(last, watch)| last.is_kept(name, watch, version)) {
            found.summary += " Its newer events still come from the time before that. The server's watch cache did \
                not begin anew, and may not until the server restarts.";
            return registry.raise(found, record.at);
        }
        let restored = Restored::now(before, record, below);
        if self.restored.replace(restored).is_some() {
            let why = "etcd went back again.";
            registry.clear(Row::F33, Subject::Cluster, record.seq, why);
        }
        registry.raise(found, record.at);
    }

    /// Handles that etcd does not have an object at a version that was delivered, although its revision is higher by
    /// now. So etcd has another history.
    pub(super) fn note_never_existed(
        &mut self,
        event: &Audit,
        (before, watch): (&State, &Watch),
        awake: &Awake,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(at), Some(object)) = (&event.resource_version, &event.object) else {
            return;
        };
        if self.is_to_begin_anew(watch) {
            return;
        }
        let verdict = watch.verdict_on(object);
        let mut evidence = vec![record.seq];
        evidence.extend(verdict.map(|open| open.since.seq));
        tree::sort(&mut evidence);
        let summary = format!(
            "{} received {} at {at}. Two reads of etcd at that resourceVersion do not show it: etcd has another \
             history now, which has passed that version since.",
            event.watch,
            name(object),
        );
        let since = verdict.map_or(record.at, |open| awake.of(open.since.at));
        let (sure, subject) = (Certainty::Likely, Subject::Cluster);
        let found = FindingDraft::of(Row::F33, sure, subject, evidence, since, summary);
        let delivered = (&event.watch, number(at));
        self.restored(found, delivered, None, before, record, registry);
    }
}
