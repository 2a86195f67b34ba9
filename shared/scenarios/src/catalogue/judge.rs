//! Plays a row, and compares the result with the row's expectations.

use std::fmt::Debug;
use std::ops::{RangeBounds, RangeInclusive};
use std::time::Duration;

use watchscope_diagnosis::audit::Level;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{Event, Record, Time, WatchName};
use watchscope_probe::{Served, WatchSpec};
use watchscope_simulator::{Belief, Scope};

use super::transcript::Transcript;
use super::{Expected, Row, Wire};
use crate::Run;

impl Row {
    /// Plays the row's story with our probe and the row's clients; `seed` determines every random choice. Returns a
    /// sentence for each expectation that was not met, those about the wire first; no sentence if all were met. A
    /// sentence begins with the row's code and the seed.
    #[must_use]
    pub fn play(&self, seed: u64) -> Vec<String> {
        let began = Run::of_story(self.story.clone(), seed).now();
        let run = self.run(seed);
        let watch = self.spec().name;
        let wire = self
            .wire
            .iter()
            .filter_map(|wire| unseen(wire, run.records(), began, &watch));
        let clients = self
            .clients
            .iter()
            .flat_map(|client| departures(client, &run, &watch));
        wire.chain(clients)
            .map(|wrong| format!("{} (seed {seed}): {wrong}", self.code))
            .collect()
    }

    /// Plays the row's story to the end (`lasts`) with its probes; `seed` determines all random choices.
    #[must_use]
    pub fn run(&self, seed: u64) -> Run {
        self.run_beside(seed, &[], false)
    }

    /// Like [`run`](Self::run), with probes of `others` beside the row's own. A watch of `others` with the name of a
    /// watch in `beside` is left out; other duplicates are kept. `tells_inside` adds inside records.
    #[must_use]
    pub fn run_beside(&self, seed: u64, others: &[WatchSpec], tells_inside: bool) -> Run {
        self.run_audited(seed, others, tells_inside, Level::Off)
    }

    /// Like [`run_beside`](Self::run_beside), with an audit of this level; [`Level::Off`] means no audit.
    #[must_use]
    pub fn run_audited(
        &self,
        seed: u64,
        others: &[WatchSpec],
        tells_inside: bool,
        audit: Level,
    ) -> Run {
        let mut run = Run::of_story(self.story.clone(), seed);
        if tells_inside {
            run.world.tell_inside();
        }
        if audit != Level::Off {
            run.audit(audit);
        }
        // The objects of the beginning exist before the probe lists.
        run.run_for(Duration::from_millis(500));
        for other in &self.shares_with {
            run.watch_sharing(spec_of(other), self.probe.clone(), seed);
        }
        if self.shares_with.is_empty() {
            run.watch(self.spec(), self.probe.clone(), seed);
        } else {
            run.watch_sharing(self.spec(), self.probe.clone(), seed);
        }
        let beside: Vec<WatchSpec> = self.beside.iter().map(spec_of).collect();
        let is_known = |spec: &&WatchSpec| beside.iter().any(|known| known.name == spec.name);
        let others = others.iter().filter(|spec| !is_known(spec));
        for spec in beside.iter().chain(others) {
            run.watch(spec.clone(), self.probe.clone(), seed);
        }
        run.run_for(self.lasts);
        run
    }

    fn spec(&self) -> WatchSpec {
        spec_of(&self.scope)
    }
}

fn spec_of(scope: &Scope) -> WatchSpec {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (labels, fields) = (some(&scope.label_selector), some(&scope.field_selector));
    let namespace = match scope.namespace.as_str() {
        "" => "*",
        namespace => namespace,
    };
    WatchSpec {
        name: WatchName::new(
            namespace,
            &scope.resource,
            &scope.group,
            labels.as_deref(),
            fields.as_deref(),
            1,
        ),
        group: scope.group.as_str().into(),
        resource: scope.resource.as_str().into(),
        served: Some(Served {
            version: scope.version.as_str().into(),
            kind: scope.kind.as_str().into(),
            is_aggregated: false,
        }),
        namespace: some(&scope.namespace).map(|text| text.as_str().into()),
        label_selector: labels.map(|text| text.as_str().into()),
        field_selector: fields.map(|text| text.as_str().into()),
        server: None,
    }
}

/// Returns what was found instead of an expectation on the wire; `None` if the expectation was met.
fn unseen(wire: &Wire, records: &[Record], began: Time, watch: &WatchName) -> Option<String> {
    let count = |is: &dyn Fn(&Event) -> bool| {
        let of_watch = |record: &&Record| record.event.watch() == Some(watch);
        let records = records.iter().filter(of_watch);
        records.filter(|record| is(&record.event)).count()
    };
    let (found, is_met) = match wire {
        Wire::By(secs, wire) => {
            let until = |record: &Record| {
                let micros = record.at.micros_since(began);
                u64::try_from(micros).unwrap_or(0) <= secs * 1_000_000
            };
            let until = records.partition_point(until);
            let unseen = unseen(wire, &records[..until], began, watch)?;
            return Some(format!("by {secs} s {unseen}"));
        }
        Wire::InTurn(wires) => {
            let mut rest = records;
            for wire in wires {
                let is_met = |to: &usize| unseen(wire, &rest[..*to], began, watch).is_none();
                let Some(to) = (0..=rest.len()).find(is_met) else {
                    return unseen(wire, rest, began, watch)
                        .map(|unseen| format!("{unseen}, in its turn of {wires:?}"));
                };
                rest = &rest[to..];
            }
            return None;
        }
        Wire::FromTheSame(times) => {
            let of_watch = |record: &&Record| record.event.watch() == Some(watch);
            let from = records
                .iter()
                .filter(of_watch)
                .filter_map(|record| match &record.event {
                    Event::StreamOpened(opened) => Some(opened.resource_version.clone()),
                    _ => None,
                });
            let (mut last, mut run, mut found) = (None, 0, 0);
            for from in from {
                run = if from == last { run + 1 } else { 1 };
                found = found.max(run);
                last = from;
            }
            (found, times.contains(&found))
        }
        Wire::Ended(cause, times) => {
            let found = count(&|e| matches!(e, Event::StreamEnded(end) if end.cause == *cause));
            (found, times.contains(&found))
        }
        Wire::EndedAtAge(secs) => {
            let found = count(&|e| {
                matches!(e, Event::StreamEnded(end)
                    if end.cause == Cause::End && secs.contains(&(end.age_ms / 1000)))
            });
            (found, found > 0)
        }
        Wire::Error(code, words) => {
            let found = count(&|e| {
                matches!(e, Event::StreamError(error) if error.code == *code
                    && error.message.as_deref().unwrap_or("").contains(words))
            });
            (found, found > 0)
        }
        Wire::Status(status, times) => {
            let found = count(
                &|e| matches!(e, Event::RequestAnswered(answer) if answer.status == Some(*status)),
            );
            (found, times.contains(&found))
        }
        Wire::NotConnected => {
            let found = count(&|e| matches!(e, Event::WatchPhase(phase) if phase.error.is_some()));
            (found, found > 0)
        }
        Wire::Changes(change, origin, times) => {
            let found = count(
                &|e| matches!(e, Event::Change(c) if c.change == *change && c.origin == *origin),
            );
            (found, times.contains(&found))
        }
        Wire::Bookmarks(times) => {
            let found = count(&|e| matches!(e, Event::Bookmark(_)));
            (found, times.contains(&found))
        }
        Wire::GoneAway(times) => {
            let is = |record: &&Record| matches!(record.event, Event::ConnectionGoaway(_));
            let found = records.iter().filter(is).count();
            (found, times.contains(&found))
        }
        Wire::Streams(times) => {
            let found = count(&|e| matches!(e, Event::StreamOpened(_)));
            (found, times.contains(&found))
        }
        Wire::Lost(times) => {
            let found = count(&|e| matches!(e, Event::Loss(_)));
            (found, times.contains(&found))
        }
        Wire::Lists(times) => {
            let found = count(&|e| matches!(e, Event::ListComplete(_)));
            (found, times.contains(&found))
        }
    };
    (!is_met).then(|| format!("on the wire {wire:?}, but found {found}"))
}

/// Returns a text for each point in which a client differs from its expectation.
fn departures(expected: &Expected, run: &Run, watch: &WatchName) -> Vec<String> {
    let id = run
        .clients()
        .and_then(|clients| clients.get(expected.client));
    let Some((id, report)) = id.and_then(|id| Some((*id, run.world.client_report(*id)?))) else {
        return vec![format!("there is no client {}", expected.client)];
    };
    let transcript = Transcript::of(expected.client, run.records(), watch);
    let comparisons = match &expected.takes_it_for {
        None => run.world.compare_client(id),
        Some(scope) => {
            let truth = run.world.truth().selected(scope);
            let beliefs = run.world.client_beliefs(id).into_iter();
            let compare = |belief: &Belief| belief.compare(truth.iter().map(|object| &**object));
            beliefs.map(compare).collect()
        }
    };
    let sum = |of: fn(&watchscope_simulator::Comparison) -> usize| -> usize {
        comparisons.iter().map(of).sum()
    };
    let mut wrong = Vec::new();
    let mut is_in = |what: &str, found: u64, range: &dyn Among| {
        if !range.has(found) {
            wrong.push(format!(
                "{} has {found} {what}, not {range:?}",
                expected.client
            ));
        }
    };
    is_in(
        "ghosts",
        size(sum(|c| c.ghosts.len())),
        &exactly(expected.ghosts),
    );
    is_in(
        "missing",
        size(sum(|c| c.missing.len())),
        &exactly(expected.missing),
    );
    is_in(
        "stale",
        size(sum(|c| c.stale.len())),
        &exactly(expected.stale),
    );
    is_in("iterations", report.iterations, &expected.iterations);
    is_in("handled", report.handled, &expected.handled);
    is_in(
        "requests",
        size(transcript.requests),
        &sizes(&expected.requests),
    );
    for asked in &expected.asked {
        let (what, found, range) = transcript.count(asked);
        is_in(what, size(found), &sizes(range));
    }
    if report.phase != expected.phase {
        wrong.push(format!(
            "{} is {}, not {}",
            expected.client, report.phase, expected.phase
        ));
    }
    wrong
}

trait Among: Debug {
    fn has(&self, found: u64) -> bool;
}

impl<R: RangeBounds<u64> + Debug> Among for R {
    fn has(&self, found: u64) -> bool {
        self.contains(&found)
    }
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn sizes(range: &RangeInclusive<usize>) -> RangeInclusive<u64> {
    size(*range.start())..=size(*range.end())
}

fn exactly(count: usize) -> RangeInclusive<u64> {
    size(count)..=size(count)
}
