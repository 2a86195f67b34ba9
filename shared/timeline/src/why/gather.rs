//! Gathers the steps of a "why" from the records of the store. No step claims anything that no record shows.

use std::sync::Arc;

use watchscope_model::event::Verdict;
use watchscope_model::tree;
use watchscope_model::vocabulary::{ChangeType, Severity};
use watchscope_model::{Entry, Event, Inside, Object, Record, Row, Seq, Text, Time, WatchName};

use super::step::{MOST_STEPS, Step, What, Why};
use crate::evidence::Way;
use crate::findings::lane_of;
use crate::id::{LaneId, LayerId, RecordId, WatchId};
use crate::levels::{End, Follower, Layer, WriteMark};
use crate::store::{Epoch, GapSpan, MarkKind, Span, Store, WatchTrace};

/// The most records of a finding's evidence that become steps. Records after the first 6 are left out. The number has
/// no source.
const EVIDENCE_MOST: usize = 6;
/// The most gaps of a watch in the "why" of an object. Gaps before the last 2 are left out. The number has no source.
const GAPS_MOST: usize = 2;
/// Longest time in µs between two steps for which the second counts as following at once: 1 s, included. Steps farther
/// apart are joined as "time passes". The number has no source.
const AT_ONCE_US: i64 = 1_000_000;

/// Returns the "why" of a record: the steps that led to it. A record has a "why" if it raised a finding, is a verdict,
/// or began or closed a gap. A relist, a list older than the watch's progress, and a record at which the
/// resourceVersion jumped or went back have one too. Returns `None` for other records, and for a record that is not
/// loaded. The function reads the chapters of the records that the steps name.
#[must_use]
pub fn why(store: &Store, of: RecordId) -> Option<Why> {
    let epoch = store.epoch(of.epoch)?;
    let record = store.record(of)?;
    let mut thread = Thread {
        store,
        epoch,
        steps: Vec::new(),
    };
    let severity = if let Some(occurrence) = epoch.trace.occurrences.get(of.seq) {
        thread.finding(of, &record, &occurrence.what.evidence);
        occurrence.what.severity
    } else if let Event::Verdict(verdict) = &record.event {
        thread.verdict(of.seq, verdict);
        Severity::Divergence
    } else {
        let watch = record.event.watch()?;
        thread.of_watch(of, watch)?
    };
    let steps = thread.ordered();
    let is_empty = steps.is_empty();
    (!is_empty).then_some(Why {
        of,
        at: record.at,
        severity,
        steps,
    })
}

/// Returns the record that raised the last known verdict of an object's lane, whether the verdict is still open or not.
/// The record of a verdict that was open in a snapshot may lie before all loaded records. Returns `None` if no verdict
/// is known, and for lanes of other kinds.
#[must_use]
pub fn verdict_of(store: &Store, lane: LaneId) -> Option<RecordId> {
    let (watch, object) = (lane.watch()?, lane.object()?);
    store.epochs().iter().rev().find_map(|epoch| {
        let trace = epoch.trace.watch(watch)?;
        let verdicts = &trace.objects.get(object.0 as usize)?.verdicts;
        let last = verdicts.all().last()?;
        Some(RecordId {
            epoch: epoch.number(),
            seq: last.start.seq,
        })
    })
}

/// The steps of a "why" while they are gathered.
struct Thread<'a> {
    store: &'a Store,
    epoch: &'a Epoch,
    steps: Vec<Step>,
}

impl<'a> Thread<'a> {
    /// Returns the steps by time, at most [`MOST_STEPS`]: surplus steps in the middle are left out.
    fn ordered(self) -> Vec<Step> {
        let mut steps = self.steps;
        // Where a write stopped comes after all else of that moment; its record may be an earlier one.
        tree::sort_by_key(&mut steps, |step| {
            (step.at, step.way == Way::NobodyHeard, step.record.seq)
        });
        let surplus = steps.len().saturating_sub(MOST_STEPS);
        let half = MOST_STEPS / 2;
        let middle = half.min(steps.len())..(half + surplus).min(steps.len());
        steps.drain(middle);
        for place in 1..steps.len() {
            let passed_us = steps[place].at.micros_since(steps[place - 1].at);
            let has_stopped = steps[place - 1].way == Way::NobodyHeard;
            if steps[place].way == Way::WentOn && (has_stopped || passed_us > AT_ONCE_US) {
                steps[place].way = Way::TimePasses;
            }
        }
        steps
    }

    fn id(&self, seq: Seq) -> RecordId {
        RecordId {
            epoch: self.epoch.number(),
            seq,
        }
    }

    /// Adds a step, unless a step of the same record and lane is known already, or its record is not loaded.
    fn add(&mut self, step: Step) {
        let is_known = |known: &Step| known.record == step.record && known.lane == step.lane;
        if !self.steps.iter().any(is_known) && self.store.has(step.record) {
            self.steps.push(step);
        }
    }

    /// Adds a step for a moment that a record shows.
    fn moment(&mut self, seq: Seq, lane: LaneId, at: Time, what: What) {
        let record = self.id(seq);
        self.add(Step {
            record,
            lane,
            at,
            until: None,
            way: Way::WentOn,
            what,
        });
    }

    /// Adds a step that shows a record in its own words.
    fn record(&mut self, seq: Seq) {
        let id = self.id(seq);
        let Some(entry) = self.store.entry(id) else {
            return;
        };
        let names = self.store.layer_names();
        let layer = match &entry {
            Entry::Record(record) => match &record.event {
                Event::ClientStarted(event) => Some(Layer::Client(event.client.clone())),
                Event::ClientRequest(event) => Some(Layer::Client(event.client.clone())),
                Event::ClientReport(event) => Some(Layer::Client(event.client.clone())),
                _ => None,
            },
            Entry::Inside(record) => match &record.inside {
                Inside::InsideWrite(_) | Inside::InsideEtcd(_) => Some(Layer::Etcd),
                _ => None,
            },
        };
        let layer = layer.and_then(|layer| names.find(&layer));
        let lane = layer.map(LaneId::Layer).or_else(|| lane_of(self.store, id));
        let at = entry.at();
        self.moment(seq, lane.unwrap_or(LaneId::Findings), at, What::Record);
    }

    /// Adds the evidence of a finding, the gaps and objects behind it, and the record that raised it.
    fn finding(&mut self, of: RecordId, raised: &Record, evidence: &[Seq]) {
        for &seq in evidence.iter().take(EVIDENCE_MOST) {
            let found = self.store.record(self.id(seq)).map(|record| record.event);
            match &found {
                Some(Event::Verdict(verdict)) => self.verdict(seq, verdict),
                Some(Event::Change(change)) if self.has_verdict(&change.watch, &change.object) => {
                    self.object(&change.watch, &change.object, of.seq);
                }
                Some(event) => {
                    if let Some((watch, trace)) = event.watch().and_then(|of| self.trace(of))
                        && let Some(gap) = gap_at(trace, seq)
                    {
                        self.gap(watch, trace, gap, None);
                    }
                }
                None => {}
            }
            self.record(seq);
        }
        if let Event::Finding(finding) = &raised.event {
            if let Some(client) = &finding.client {
                self.client(client, evidence.first().copied().unwrap_or(of.seq));
            }
            if Row::of(&finding.code) == Some(Row::F33) {
                self.restored(of.seq, &finding.code);
            }
        }
        self.moment(of.seq, LaneId::Findings, raised.at, What::Record);
    }

    /// Adds the steps at which etcd went back since an earlier F33: the last report of a simulated etcd with a lower
    /// revision, and the first record at which a watch's resourceVersion went back. In the log of a real cluster a
    /// watch may show this only later, or never.
    fn restored(&mut self, until: Seq, code: &Text) {
        let occurrences = &self.epoch.trace.occurrences;
        let own = occurrences.get(until).map(|own| own.what.since);
        // Later occurrences of one finding are about the same restore.
        let earlier = occurrences.all().iter().filter(|of| {
            of.what.code == *code && of.start.seq < until && Some(of.what.since) != own
        });
        let since = earlier.map(|of| of.start.seq).max().unwrap_or_default();
        let within = |seq: Seq| seq > since && seq < until;
        if let Some(etcd) = self.store.layer_names().find(&Layer::Etcd) {
            let levels = self.epoch.layer_trace.levels(etcd);
            let back = levels.windows(2).rev().find(|pair| {
                within(pair[1].moment.seq) && pair[1].level.revision < pair[0].level.revision
            });
            if let Some([before, after]) = back {
                let what = What::WentBack(before.level.revision);
                let moment = after.moment;
                self.moment(moment.seq, LaneId::Layer(etcd), moment.at, what);
            }
        }
        let watches = (0..).zip(&self.epoch.trace.watches);
        let steps = watches.filter_map(|(watch, trace)| {
            let mut steps = trace.as_ref()?.steps.iter();
            let step = steps.find(|step| step.back && within(step.moment.seq))?;
            Some((step.moment, LaneId::Version(WatchId(watch))))
        });
        if let Some((moment, lane)) = steps.min_by_key(|(moment, _)| moment.seq) {
            self.moment(moment.seq, lane, moment.at, What::Record);
        }
    }

    fn trace(&self, watch: &WatchName) -> Option<(WatchId, &'a WatchTrace)> {
        let id = self.store.names().find_watch(watch)?;
        Some((id, self.epoch.trace.watch(id)?))
    }

    /// Adds the steps of a gap, a relist, an older list, or a jump or reversal of the resourceVersion. Returns its
    /// severity; `None` if the record is none of these.
    fn of_watch(&mut self, of: RecordId, watch: &WatchName) -> Option<Severity> {
        let (id, trace) = self.trace(watch)?;
        if let Some(gap) = gap_at(trace, of.seq) {
            let is_resumed = gap.what.outcome.is_some_and(|outcome| outcome.resumed);
            self.gap(id, trace, gap, None);
            return Some(match is_resumed {
                true => Severity::Note,
                false => Severity::Error,
            });
        }
        let is_it = |seq: Seq| seq == of.seq;
        if let Some(list) = trace.lists.iter().find(|list| is_it(list.moment.seq)) {
            if !(list.relist || list.older) {
                return None;
            }
            let reaches = |gap: &&Span<GapSpan>| {
                gap.start.seq < of.seq && gap.end.is_none_or(|end| end.seq >= of.seq)
            };
            if let Some(gap) = trace.gaps.all().iter().rfind(reaches) {
                self.gap(id, trace, gap, None);
            }
            self.moment(of.seq, LaneId::Watch(id), list.moment.at, What::Record);
            return Some(Severity::Warning);
        }
        let step = trace.steps.iter().find(|step| is_it(step.moment.seq))?;
        let place = trace.marks.place_of(of.seq);
        let before = (0..place)
            .rev()
            .find(|&place| trace.marks.kind(place).moves_version());
        if let Some(before) = before {
            let (seq, at) = (trace.marks.seq(before), trace.marks.at(before));
            self.moment(seq, LaneId::Version(id), at, What::VersionBefore);
            let within = |gap: &&Span<GapSpan>| gap.start.seq > seq && gap.start.seq < of.seq;
            if let Some(gap) = trace.gaps.all().iter().rfind(within) {
                self.gap(id, trace, gap, None);
            }
        }
        let lane = LaneId::Version(id);
        self.moment(of.seq, lane, step.moment.at, What::Record);
        Some(if step.back {
            Severity::Error
        } else {
            Severity::Warning
        })
    }

    /// Adds the steps of a gap: the record that began it, the stretch without a stream, and how the watch went on. If
    /// `write` falls into a stretch from which the watch did not resume, the write stopped there.
    fn gap(
        &mut self,
        watch: WatchId,
        trace: &WatchTrace,
        gap: &Span<GapSpan>,
        write: Option<Time>,
    ) {
        let lane = LaneId::Watch(watch);
        self.record(gap.start.seq);
        let Some(end) = gap.end else {
            return;
        };
        let within = |seq: Seq| seq > gap.start.seq && seq <= end.seq;
        let mut lists = trace.lists.iter();
        let list = lists
            .find(|list| within(list.moment.seq))
            .map(|list| list.moment);
        let record = self.id(end.seq);
        let stretch = Step {
            record,
            lane,
            at: gap.start.at,
            until: Some(end.at),
            way: Way::NotKnown,
            what: What::NotKnown(None),
        };
        match gap.what.outcome {
            Some(outcome) if outcome.resumed => self.add(Step {
                at: end.at,
                until: None,
                way: Way::TimePasses,
                what: What::Resumed,
                ..stretch
            }),
            outcome => match write.filter(|at| (gap.start.at..=end.at).contains(at)) {
                Some(at) => self.add(Step {
                    at,
                    way: Way::NobodyHeard,
                    what: What::NotOpen,
                    ..stretch
                }),
                None => self.add(Step {
                    what: What::NotKnown(outcome.and_then(|outcome| outcome.lost)),
                    ..stretch
                }),
            },
        }
        if let Some(list) = list {
            self.moment(list.seq, lane, list.at, What::Record);
        }
    }

    /// Adds the last event of a verdict's object that the watch received, the write that the watch lacks, another watch
    /// that received this write, the gaps in between, and the verdict.
    fn verdict(&mut self, seq: Seq, verdict: &Verdict) {
        self.object(&verdict.watch, &verdict.object, seq);
        self.record(seq);
    }

    /// Whether any loaded verdict says that a watch holds an object otherwise than etcd.
    fn has_verdict(&self, name: &WatchName, object: &Arc<Object>) -> bool {
        let number = |watch| self.store.names().find_object(watch, object);
        self.trace(name).is_some_and(|(watch, trace)| {
            let object = number(watch).and_then(|number| trace.objects.get(number.0 as usize));
            object.is_some_and(|object| !object.verdicts.all().is_empty())
        })
    }

    fn object(&mut self, name: &WatchName, object: &Arc<Object>, until: Seq) {
        let Some((watch, trace)) = self.trace(name) else {
            return;
        };
        let number = self.store.names().find_object(watch, object);
        let lane = number.map_or(LaneId::Watch(watch), |number| LaneId::Object(watch, number));
        let marks = number
            .and_then(|number| trace.objects.get(number.0 as usize))
            .map(|object| &object.marks);
        let last = marks.and_then(|marks| {
            let mut places = marks.places();
            places.rfind(|&mark| trace.marks.seq(mark) < until)
        });
        let mut since = Seq(0);
        if let Some(last) = last {
            since = trace.marks.seq(last);
            self.moment(since, lane, trace.marks.at(last), What::LastLearned);
        }
        let resource = resource_of(name);
        let writes = self.epoch.layer_trace.writes.iter();
        let mut writes = writes.filter(|write| {
            let seq = write.moment.seq;
            seq > since && seq < until && *write.resource == *resource && write.is_of(object)
        });
        let write = writes.next().map(|write| write.moment);
        if let Some(write) = write {
            self.record(write.seq);
        }
        let heard = self.heard_elsewhere(watch, name, object, (since, until));
        let begun = write.map(|write| write.at).or(heard);
        let gaps = trace.gaps.all().iter().rev();
        let gaps =
            gaps.filter(|gap| gap.start.seq < until && gap.end.is_none_or(|end| end.seq > since));
        let gaps: Vec<&Span<GapSpan>> = gaps.take(GAPS_MOST).collect();
        for gap in gaps {
            self.gap(watch, trace, gap, begun);
        }
    }

    /// Adds the first event of an object that a stream of another watch of the same resource delivered after `since`
    /// and before `until`. Returns the event's time.
    fn heard_elsewhere(
        &mut self,
        watch: WatchId,
        name: &WatchName,
        object: &Arc<Object>,
        (since, until): (Seq, Seq),
    ) -> Option<Time> {
        let names = self.store.names();
        let mut found: Option<(Seq, Time, LaneId)> = None;
        for &other in names.watches_by_name() {
            let is_alike = resource_of(names.watch_name(other)) == resource_of(name);
            let trace = self
                .epoch
                .trace
                .watch(other)
                .filter(|_| is_alike && other != watch);
            let number = names.find_object(other, object);
            let (Some(trace), Some(number)) = (trace, number) else {
                continue;
            };
            let Some(known) = trace.objects.get(number.0 as usize) else {
                continue;
            };
            let first = known.marks.places().find(|&mark| {
                let seq = trace.marks.seq(mark);
                seq > since
                    && seq < until
                    && !trace.marks.kind(mark).is_by_list()
                    && trace.marks.kind(mark) != MarkKind::Bookmark
            });
            if let Some(first) = first {
                let seq = trace.marks.seq(first);
                if found.is_none_or(|found| seq < found.0) {
                    found = Some((seq, trace.marks.at(first), LaneId::Object(other, number)));
                }
            }
        }
        let (seq, at, lane) = found?;
        self.moment(seq, lane, at, What::ReceivedElsewhere);
        Some(at)
    }

    /// Adds the last deletion before `until` that stopped on its way to a client program: where the deletion was, and
    /// where it stopped.
    fn client(&mut self, client: &Text, until: Seq) {
        let names = self.store.layer_names();
        let layers = &self.epoch.layer_trace;
        let Some(layer) = names.find(&Layer::Client(client.clone())) else {
            return;
        };
        let end = layers.levels(layer).last().map(|point| point.moment.at);
        let Some(follower) = end.and_then(|end| Follower::of(names, layers, layer, end)) else {
            return;
        };
        let writes = &layers.writes;
        let before = writes.partition_point(|write| write.moment.seq < until);
        let stopped = writes[..before].iter().rev().find_map(|write| {
            let is_candidate = write.change == ChangeType::Deleted && follower.follows(write);
            let propagation = is_candidate.then(|| follower.propagation(write))?;
            Some((write, propagation, propagation.end?))
        });
        let Some((write, propagation, end)) = stopped else {
            return;
        };
        self.written(write);
        let mut at = write.moment.at;
        if let Some((cache, Some(taken))) = propagation.cache.map(|stop| (stop.layer, stop.at)) {
            at = taken;
            if let Some(seq) = self.held_at(cache, write, taken) {
                self.moment(seq, LaneId::Layer(cache), taken, What::Cached);
            }
        }
        self.stopped(layer, at, end);
    }

    fn written(&mut self, write: &WriteMark) {
        let etcd = self.store.layer_names().find(&Layer::Etcd);
        let lane = etcd.map_or(LaneId::Findings, LaneId::Layer);
        self.moment(write.moment.seq, lane, write.moment.at, What::Written);
    }

    /// Returns the record by which a watch cache reported a write at a time; `None` if it is not a record of its own.
    fn held_at(&self, cache: LayerId, write: &WriteMark, at: Time) -> Option<Seq> {
        let trace = &self.epoch.layer_trace;
        let mut held = trace.held(cache).iter();
        let of_object = held.find(|mark| mark.moment.at == at && write.is_of(&mark.object));
        let mut levels = trace.levels(cache).iter();
        let mut of_level = || levels.find(|point| point.moment.at == at);
        let moment = of_object.map(|mark| mark.moment);
        let moment = moment.or_else(|| of_level().map(|point| point.moment))?;
        (moment.seq != write.moment.seq).then_some(moment.seq)
    }

    /// Adds the step at which a write stopped. The record of this step is the client's last report up to `at`, which
    /// lacks the write.
    fn stopped(&mut self, client: LayerId, at: Time, end: End) {
        let levels = self.epoch.layer_trace.levels(client);
        let place = levels.partition_point(|point| point.moment.at <= at);
        let Some(point) = place.checked_sub(1).map(|place| &levels[place]) else {
            return;
        };
        let record = self.id(point.moment.seq);
        self.add(Step {
            record,
            lane: LaneId::Layer(client),
            at,
            until: None,
            way: Way::NobodyHeard,
            what: What::StoppedAt(end),
        });
    }
}

/// Returns the gap that the record `seq` began or closed.
fn gap_at(trace: &WatchTrace, seq: Seq) -> Option<&Span<GapSpan>> {
    let mut gaps = trace.gaps.all().iter();
    gaps.find(|gap| gap.start.seq == seq || gap.end.is_some_and(|end| end.seq == seq))
}

/// Returns the resource of a watch with its group, without selectors and number: `deployments.apps`.
fn resource_of(watch: &WatchName) -> &str {
    let (what, _) = watch.what_and_ordinal();
    let resource = what.split_once('/').map_or("", |(_, resource)| resource);
    resource
        .split_once('?')
        .map_or(resource, |(resource, _)| resource)
}
