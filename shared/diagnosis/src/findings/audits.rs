//! What the audit's reads show: objects that are wrong (F24 to F27, F45), events that only a second watch told
//! (docs/semantics/checks.md#witness), a revision that went back, or a history that is another one by now (F33), a
//! watch from the future (F32).
//!
//! Which of the causes it was cannot be seen from outside: the event is not there. Only where it must have come first on
//! its stream is the race at a stream's start (F45) named before the others.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Audit, Change, ListComplete, ListPage, Verdict, WatchPhase};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::{self, BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{
    AuditMethod, AuditOutcome, Certainty, Divergence, Phase, PhaseReason, Severity, Standing,
};
use watchscope_model::{Object, ResourceVersion, Row, Seq, State, Text, WatchName};

use super::draft::{FindingDraft, Shared, Subject};
use super::place::Place;
use super::registry::FindingRegistry;
use super::streams::{SILENT_LOSS, Streams};
use crate::attribution::StreamFacts;
use crate::awake::Awake;
use crate::limits::{AHEAD_US, TOO_LARGE_US};
use crate::text::{count, name, seconds};

/// Changes of each watch, the newest, of which it is known which record told them. Of an object that changed before them,
/// the record since which it is held stands for its last event.
const CHANGES_KEPT: usize = 256;
/// Rows that leave an object which is gone.
const GHOST: &[Row] = &[Row::F25, Row::F26, Row::F27, Row::F33, Row::F45];
/// Rows that hide an object, or a change of it.
const HIDDEN: &[Row] = &[Row::F25, Row::F33, Row::F45];

/// The audit looks at each watch in its turn, so what it finds of several watches within this time may be of one cause, in
/// microseconds.
const TURN_US: i64 = 60_000_000;

/// Rows that look like a race at a stream's start.
const LIKE_A_RACE: &[Row] = &[Row::F24, Row::F25, Row::F33];

/// What a watch shares with others whose server is behind what reads show (F31).
fn behind_reads(watch: &WatchName, state: &State) -> Option<Shared> {
    let place = Place::of(watch, state)?;
    let server = place.server_words();
    Some(Shared {
        subject: place.server()?,
        summary: format!(
            "Reads showed newer objects than {server} has told its watches of: it is behind, or something holds its events back."
        ),
        together_us: TURN_US,
        waits_until: None,
    })
}

/// What watches share that were opened beyond what their servers know (F32).
fn beyond_servers() -> Shared {
    Shared {
        subject: Subject::Cluster,
        summary: "Watches were opened beyond what their servers have come to, and these say nothing until they come further."
            .to_owned(),
        together_us: TURN_US,
        waits_until: None,
    }
}

/// Objects that are confirmed to be wrong, by watch, at most as many as verdicts stand; and watches and servers that
/// reads show to be ahead of, or behind, what they should be.
#[derive(Clone, Debug, Default)]
pub(super) struct Audits {
    wrong: BTreeMap<WatchName, BTreeSet<(Option<Text>, Text)>>,
    /// What the evidence of an object that is wrong is taken from, by watch.
    grounds: BTreeMap<WatchName, Grounds>,
    /// Watches whose streams were found to say nothing, until they do, and what that was found to be: opened beyond what
    /// their server knows (F32), left behind by an edit (F17), or behind (F31).
    silent: BTreeMap<WatchName, BTreeSet<Row>>,
    /// Watches of which a list at where they are was refused, since the server had not come so far: of which stream, by its
    /// first record, and by which record first.
    too_large: BTreeMap<WatchName, (Seq, Moment)>,
    /// The last time that etcd was found to have gone back (F33).
    restored: Option<Restored>,
}

/// Records that a finding about an object of a watch may rest on.
#[derive(Clone, Debug, Default)]
struct Grounds {
    /// Its last changes, at most [`CHANGES_KEPT`]; the oldest gives way.
    changes: VecDeque<(Arc<Object>, Seq)>,
    /// The last read of the audit that differed from what the watch held.
    read: Option<Seq>,
    /// The first read that differed of each object, while its verdict is raised and not confirmed.
    first_reads: BTreeMap<(Option<Text>, Text), Seq>,
}

impl Grounds {
    fn changed(&mut self, object: &Arc<Object>, seq: Seq) {
        if self.changes.len() == CHANGES_KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back((object.clone(), seq));
    }

    /// The object's last event, the bookmark after which it should be right, and the two reads that say it is not. Of those
    /// that are not known none is named.
    fn evidence(&mut self, event: &Verdict, watch: Option<&Watch>) -> Vec<Seq> {
        let place = (event.object.namespace.clone(), event.object.name.clone());
        let mut changes = self.changes.iter().rev();
        let changed = changes.find(|(object, _)| **object == *event.object);
        let held = watch.and_then(|watch| watch.held(&event.object));
        let last = changed.map(|(_, seq)| *seq);
        let last = last.or_else(|| Some(held?.since.seq));
        let stream = watch.and_then(|watch| watch.stream.as_ref());
        let bookmark = stream.and_then(|stream| Some(stream.bookmark?.seq));
        let mut evidence = Vec::new();
        evidence.extend(last);
        evidence.extend(bookmark);
        evidence.extend(self.first_reads.remove(&place));
        evidence.extend(self.read);
        tree::sort(&mut evidence);
        evidence.dedup();
        evidence
    }
}

/// What was so when etcd was found to have gone back.
#[derive(Clone, Debug)]
struct Restored {
    at: Seq,
    /// The version each watch had come to.
    reached: BTreeMap<WatchName, u64>,
    /// Who else is asked, where a list below what a watch had seen showed it; absent once all have answered.
    below: Option<Below>,
}

/// A list of the newest state was below what a watch had seen.
#[derive(Clone, Debug)]
struct Below {
    /// The resource whose servers are asked: each resource may have an etcd of its own.
    resource: Resource,
    /// The sentence about it, up to what the other servers say.
    sentence: String,
    /// The servers whose newest list was below what they had sent.
    servers: BTreeSet<Text>,
}

impl Restored {
    fn now(before: &State, record: Moment, below: Option<Below>) -> Self {
        let reached = before.watches.iter().filter_map(|(name, watch)| {
            let progress = watch.progress.as_ref()?;
            Some((name.clone(), progress.number()?))
        });
        Self {
            at: record.seq,
            reached: reached.collect(),
            below,
        }
    }

    /// Whether what a watch was told up to a version may be from before, since it has come as far as then again: a
    /// server's watch cache does not begin anew because etcd went back, and tells the same once more.
    fn is_kept(&self, name: &WatchName, watch: &Watch, version: u64) -> bool {
        let progress = watch.progress.as_ref().map_or(0, number);
        let mut reached = self.reached.get(name).into_iter();
        reached.any(|reached| version <= *reached && *reached <= progress)
    }
}

/// Group and plural name.
type Resource = (Text, Text);

impl Audits {
    /// A change of an object came, which the evidence of a later verdict names.
    pub(super) fn changed(&mut self, event: &Change, record: Moment) {
        let grounds = self.grounds.entry(event.watch.clone()).or_default();
        grounds.changed(&event.object, record.seq);
    }

    pub(super) fn judged(
        &mut self,
        event: &Verdict,
        before: &State,
        streams: &Streams,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let place = (event.object.namespace.clone(), event.object.name.clone());
        let subject = Subject::Watch(event.watch.clone());
        let wrong = self.wrong.entry(event.watch.clone()).or_default();
        let grounds = self.grounds.entry(event.watch.clone()).or_default();
        match event.state {
            Standing::Raised => {
                let read = grounds.read.unwrap_or(record.seq);
                grounds.first_reads.insert(place, read);
            }
            Standing::Cleared => {
                grounds.first_reads.remove(&place);
                let was_wrong = wrong.remove(&place);
                if was_wrong && wrong.is_empty() {
                    for row in [Row::F24, Row::F45] {
                        let why = "What the watch holds is so again.";
                        registry.clear(row, subject.clone(), record.seq, why);
                    }
                } else if was_wrong {
                    let (before, now) = (are_wrong(wrong.len() + 1), are_wrong(wrong.len()));
                    for row in [Row::F24, Row::F45] {
                        registry.amend(row, subject.clone(), |found| {
                            found.summary = found.summary.replace(&before, &now);
                        });
                    }
                }
            }
            Standing::Confirmed => {
                let alike = match event.kind {
                    Divergence::Ghost => GHOST,
                    Divergence::Missing | Divergence::Stale => HIDDEN,
                    // The list is behind, or of another etcd: nothing is wrong with the watch.
                    _ => return,
                };
                wrong.insert(place);
                let watch = before.watches.get(&event.watch);
                let (certainty, why) = registry.unread.unless_why(&event.watch, Certainty::Likely);
                let mut summary = sentence(event, wrong.len());
                // The event that was missed is that of the version read; of a ghost it is not known.
                let missed = event.listed.as_ref().and_then(ResourceVersion::number);
                let start = missed.and_then(|missed| streams.start_around(&event.watch, missed));
                let (row, alike) = match start {
                    Some((from, until)) => {
                        summary += &format!(
                            " Its event should have begun the stream from {from}, which brought nothing below {until}."
                        );
                        (Row::F45, LIKE_A_RACE)
                    }
                    None => (Row::F24, alike),
                };
                let summary = summary + why;
                let mut evidence = grounds.evidence(event, watch);
                if evidence.is_empty() {
                    evidence.push(record.seq);
                }
                let found = FindingDraft::of(row, certainty, subject, evidence, record.at, summary);
                registry.raise(found.alike(alike).proven().until_cleared(), record.at);
            }
            _ => {}
        }
    }

    pub(super) fn audited(
        &mut self,
        event: &Audit,
        before: &State,
        record: Moment,
        (awake, facts): (&Awake, &StreamFacts),
        registry: &mut FindingRegistry,
    ) {
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        if event.outcome() == AuditOutcome::Differs {
            let grounds = self.grounds.entry(event.watch.clone()).or_default();
            grounds.read = Some(record.seq);
        }
        let (Some(read), Some(progress)) = (&event.resource_version, &watch.progress) else {
            return;
        };
        let back = progress.number().unwrap_or(0).saturating_sub(number(read));
        match event.method() {
            AuditMethod::ListNewestTwice => {
                self.went_back((&event.watch, read), record.seq, before, record, registry);
            }
            AuditMethod::ListOneTwice if event.outcome() == AuditOutcome::Differs => {
                self.never_was(event, (before, watch), awake, record, registry);
            }
            AuditMethod::SecondWatch if event.outcome() == AuditOutcome::Differs => {
                let mut evidence = vec![record.seq];
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let unread = &registry.unread;
                let (certainty, why) = unread.unless_why(&event.watch, Certainty::Definite);
                let told = event.reason.as_deref().unwrap_or("");
                let summary = format!("Of {}, {told}.{why}", event.watch);
                let subject = Subject::Watch(event.watch.clone());
                let found =
                    FindingDraft::of(Row::F24, certainty, subject, evidence, record.at, summary);
                registry.raise(found.alike(SILENT_LOSS).proven(), record.at);
            }
            AuditMethod::ListAnyTwice => {
                let mut evidence = vec![record.seq];
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let summary = format!(
                    "The watch was opened at {progress}; its server knows nothing beyond {read}, {back} before that, and \
                     says nothing until it does, though lists have changed."
                );
                let subject = Subject::Watch(event.watch.clone());
                let since = watch
                    .stream
                    .as_ref()
                    .map_or(record.at, |stream| awake.of(stream.since.at));
                let found = FindingDraft::of(
                    Row::F32,
                    Certainty::Likely,
                    subject,
                    evidence,
                    since,
                    summary,
                );
                let silent = self.silent.entry(event.watch.clone()).or_default();
                silent.insert(Row::F32);
                let found = found.alike(&[Row::F31]).sharing(Some(beyond_servers()));
                registry.raise(found.until_cleared(), record.at);
            }
            AuditMethod::ListExactTooLarge => self.too_large(event, watch, awake, record, registry),
            // A stream that an edit left behind is known by a longer silence.
            AuditMethod::AheadTwice if facts.silent_since_edit(&event.watch, before).is_none() => {
                let shared = behind_reads(&event.watch, before);
                self.lags(event, (watch, progress, shared), record, registry);
            }
            // The watch does not come to where a list differed from what it holds.
            AuditMethod::List
                if event.outcome() == AuditOutcome::CannotTell
                    && number(read) > number(progress) =>
            {
                let edit = facts.silent_since_edit(&event.watch, before);
                let shared = behind_reads(&event.watch, before);
                self.stands_still(event, (progress, shared), edit, record, registry);
            }
            _ => {}
        }
    }

    /// Reads show newer versions of objects than the stream of a watch, which has delivered nothing meanwhile.
    fn lags(
        &mut self,
        event: &Audit,
        (watch, progress, shared): (&Watch, &ResourceVersion, Option<Shared>),
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let silent = self.silent.get(&event.watch);
        if silent.is_some_and(|silent| !silent.is_empty()) {
            return;
        }
        let (Some(read), Some(stream)) = (&event.resource_version, &watch.stream) else {
            return;
        };
        let lag_s = AHEAD_US / 1_000_000;
        let summary = format!(
            "Reads showed objects of {} at up to {read}. Its stream stands at {progress} and has delivered nothing for {lag_s} s \
             since the first of these reads: its server is behind, or something holds its events back.",
            event.watch,
        );
        // One that has brought something was not opened beyond what its server knows.
        let is_resumed = stream.bookmark.is_none() && stream.resource_version == watch.progress;
        let alike: &'static [Row] = if is_resumed {
            &[Row::F04, Row::F32, Row::F44]
        } else {
            &[Row::F04, Row::F44]
        };
        let subject = Subject::Watch(event.watch.clone());
        let since = record.at.plus_micros(-AHEAD_US);
        let evidence = vec![record.seq];
        let found = FindingDraft::of(
            Row::F31,
            Certainty::Likely,
            subject,
            evidence,
            since,
            summary,
        );
        let found = FindingDraft {
            // It may end by itself; one that lasts for two periods of bookmarks is more than that.
            severity: Severity::Note,
            ..found.alike(alike).sharing(shared)
        };
        let silent = self.silent.entry(event.watch.clone()).or_default();
        silent.insert(found.row);
        registry.raise(found.until_cleared(), record.at);
    }

    /// A list at where a watch is was refused, since the server has not come so far. Twice, a while apart, of one stream
    /// that was opened beyond there and has brought nothing: the stream waits for its server (F32).
    fn too_large(
        &mut self,
        event: &Audit,
        watch: &Watch,
        awake: &Awake,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(current), Some(stream)) = (&event.resource_version, &watch.stream) else {
            return;
        };
        let from = stream.resource_version.as_ref();
        let Some(from) = from.filter(|from| from.is_after(current)) else {
            return;
        };
        let has_come = stream.bookmark.is_some() || watch.progress.as_ref() != Some(from);
        if has_come || self.is_to_begin_anew(watch) {
            return;
        }
        let opened = stream.since;
        let known = self.too_large.get(&event.watch);
        let Some((_, first)) = known.filter(|(of, _)| *of == opened.seq) else {
            let first = (opened.seq, record);
            self.too_large.insert(event.watch.clone(), first);
            return;
        };
        let apart_us = record.at.micros_since(first.at);
        let silent = self.silent.entry(event.watch.clone()).or_default();
        if apart_us < TOO_LARGE_US || !silent.insert(Row::F32) {
            return;
        }
        let back = number(from).saturating_sub(number(current));
        let summary = format!(
            "The watch was opened at {from}; its server has come to {current}, {back} before that, and says nothing until \
             it comes further: two lists at {from}, {} apart, were refused (504).",
            seconds(u64::try_from(apart_us / 1_000).unwrap_or(0)),
        );
        let evidence = vec![opened.seq, first.seq, record.seq];
        let (sure, subject) = (Certainty::Likely, Subject::Watch(event.watch.clone()));
        let since = awake.of(opened.at);
        let found = FindingDraft::of(Row::F32, sure, subject, evidence, since, summary);
        let found = found.alike(&[Row::F31]).sharing(Some(beyond_servers()));
        registry.raise(found.until_cleared(), record.at);
    }

    /// A list differs from what a watch holds, and the watch has not come to its version for long
    /// (docs/semantics/checks.md#behind).
    fn stands_still(
        &mut self,
        event: &Audit,
        (progress, shared): (&ResourceVersion, Option<Shared>),
        edit: Option<Moment>,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (watch, Some(read)) = (&event.watch, &event.resource_version) else {
            return;
        };
        let what = format!(
            "A list at {read} differs from what {watch} holds, whose stream stands at {progress}"
        );
        let subject = Subject::Watch(watch.clone());
        let found = if let Some(Moment { seq, at }) = edit {
            let ago = seconds(record.at.millis_since(at));
            let summary = format!(
                "{what} and has said nothing for {ago}, since its definition was edited: the server left it behind."
            );
            let evidence = vec![seq, record.seq];
            let found =
                FindingDraft::of(Row::F17, Certainty::Likely, subject, evidence, at, summary);
            FindingDraft {
                // Nothing ends it by itself.
                severity: Severity::Error,
                ..found.alike(&[Row::F04, Row::F31])
            }
        } else {
            let summary =
                format!("{what} and does not come to it: its server is behind, or nothing passes.");
            // Reads may have shown newer objects than it holds before.
            let silent = self.silent.get(watch);
            let sure = match silent.is_some_and(|silent| silent.contains(&Row::F31)) {
                true => Certainty::Likely,
                false => Certainty::Suspected,
            };
            let evidence = vec![record.seq];
            let found = FindingDraft::of(Row::F31, sure, subject, evidence, record.at, summary);
            found.alike(&[Row::F04, Row::F32]).sharing(shared)
        };
        let silent = self.silent.entry(watch.clone()).or_default();
        silent.insert(found.row);
        registry.raise(found.until_cleared(), record.at);
    }

    /// A list shows the probe that etcd went back, since it is below what the watch has seen.
    pub(super) fn entered(
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
            let told = (&event.watch, &list.resource_version);
            self.went_back(told, list.since.seq, before, record, registry);
        }
    }

    /// A list above what the watch has seen shows the probe that etcd went back, by a living object at a lower version.
    pub(super) fn page(
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
            "A list at {} has {} at {listed}, which {} holds at {held}. In one history of etcd the resourceVersion of a \
             living object never goes down: etcd holds an older state than it did.",
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
        let told = (&event.watch, number(held));
        self.restored(
            found.alike(&[Row::F24]),
            told,
            None,
            before,
            record,
            registry,
        );
    }

    /// A list, or initial events, are complete: after a restore the first of a watch says whether its server went back too.
    pub(super) fn listed(
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
            self.says_so(watch, record.seq, before, registry);
        }
    }

    /// A list of the newest state is at a version below what its watch has seen, and so below what the same server sent
    /// before. Who answers it goes by etcd, so etcd went back.
    fn went_back(
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
            return self.says_so(watch, evidence, before, registry);
        }
        self.too_large.remove(name);
        let silent = self.silent.get_mut(name);
        if silent.is_some_and(|silent| silent.remove(&Row::F32)) {
            let why = "The newest list is below what the watch has seen: it is not its server's cache that is behind.";
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

    /// The newest list of the server that a watch is pinned to is below what it sent before, too.
    fn says_so(
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

    /// Whether that etcd holds another state than it did was told already, and a watch has not listed since.
    fn is_to_begin_anew(&self, watch: &Watch) -> bool {
        let listed = watch.list.as_ref().and_then(|list| list.complete);
        let restored = self.restored.as_ref();
        restored.is_some_and(|restored| listed.is_none_or(|listed| listed.seq <= restored.at))
    }

    /// etcd holds another state than it did: whoever watches has to begin anew, again if that happened before. What
    /// shows it of a watch that did so, and was given the old state once more, is no other time.
    fn restored(
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
            found.summary += " What it was given since is from before that still: the server's watch cache did not begin anew, \
                              and may not until the server is restarted.";
            return registry.raise(found, record.at);
        }
        let restored = Restored::now(before, record, below);
        if self.restored.replace(restored).is_some() {
            let why = "etcd went back another time.";
            registry.clear(Row::F33, Subject::Cluster, record.seq, why);
        }
        registry.raise(found, record.at);
    }

    /// What a watch was told is at its very version not in etcd, which has come further: it has another history than it
    /// did.
    fn never_was(
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
            "{} was told of {} at {at}, and read twice at that resourceVersion etcd has it not so: it has another history \
             than it did, and has come further in it since.",
            event.watch,
            name(object),
        );
        let since = verdict.map_or(record.at, |open| awake.of(open.since.at));
        let (sure, subject) = (Certainty::Likely, Subject::Cluster);
        let found = FindingDraft::of(Row::F33, sure, subject, evidence, since, summary);
        let told = (&event.watch, number(at));
        self.restored(found, told, None, before, record, registry);
    }

    /// The stream of a watch brought something, or is over: it says nothing no more.
    pub(super) fn came(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if !self.too_large.is_empty() {
            self.too_large.remove(watch);
        }
        if self.silent.is_empty() {
            return;
        }
        for row in self.silent.remove(watch).unwrap_or_default() {
            let why = "Its stream goes on, or is over.";
            registry.clear(row, Subject::Watch(watch.clone()), record.seq, why);
        }
    }

    /// A watch is stopped.
    pub(super) fn forget(&mut self, watch: &WatchName) {
        self.wrong.remove(watch);
        self.grounds.remove(watch);
        self.silent.remove(watch);
        self.too_large.remove(watch);
    }
}

impl Below {
    /// How many servers the resource is watched by, if each has answered: all of them by a newest list below what they
    /// had sent. A server that is not reached has not. None where watches are not pinned to servers.
    fn answers(&self, before: &State) -> Option<usize> {
        let watches = before.watches.values();
        let of_it = watches.filter(|watch| {
            let phase = watch.phase.as_ref().map(|phase| phase.phase);
            phase != Some(Phase::Stopped) && resource_of(watch) == self.resource
        });
        let servers: BTreeSet<&Text> = of_it.filter_map(|watch| watch.server.as_ref()).collect();
        let have_all = servers.iter().all(|server| self.servers.contains(*server));
        (have_all && !servers.is_empty()).then_some(servers.len())
    }

    /// The finding's sentence; `all` servers have answered, if it is known how many there are.
    fn summary(&self, all: Option<usize>) -> String {
        let others = match all {
            None => String::new(),
            Some(1) => ", and there is no other server".to_owned(),
            Some(servers) => format!(", and so say all {servers} servers"),
        };
        format!(
            "{}{others}: etcd holds an older state than it did.",
            self.sentence
        )
    }
}

fn resource_of(watch: &Watch) -> Resource {
    (watch.group.clone(), watch.resource.clone())
}

fn number(version: &ResourceVersion) -> u64 {
    version.number().unwrap_or(0)
}

fn sentence(event: &Verdict, wrong: usize) -> String {
    let name = name(&event.object as &Object);
    let version = |version: &Option<ResourceVersion>| {
        version
            .as_ref()
            .map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    let (held, listed) = (version(&event.held), version(&event.listed));
    let what = match event.kind {
        Divergence::Ghost => format!("{name} is held at {held} and is not in etcd"),
        Divergence::Missing => format!("{name} is in etcd at {listed} and is not held"),
        _ => format!("{name} is held at {held}, and etcd has it at {listed}"),
    };
    let wrong = are_wrong(wrong);
    format!("Read twice at one resourceVersion, {what}; the stream never said so. {wrong}")
}

fn are_wrong(objects: usize) -> String {
    let are = if objects == 1 { "is" } else { "are" };
    format!(
        "{} of this watch {are} wrong.",
        count(objects as u64, "object")
    )
}
