//! Selects the judgements that are taken as recorded: judgements that rest on reads of the audit, and judgements whose
//! evidence the recording lacks.

use std::collections::{BTreeMap, VecDeque};

use watchscope_diagnosis::MAX_CLIENTS;
use watchscope_model::id::Aside;
use watchscope_model::vocabulary::{LossPlace, Phase};
use watchscope_model::{Event, Record, Seq, State, Text, Time, WatchName};

use super::judgement::{About, Judgement, evidence};

/// The most records of the audit that are remembered. Above this number the oldest is forgotten, and a judgement that
/// rests on the forgotten record alone is judged again. The number bounds the memory to 1 MiB, at 16 bytes a record.
/// The number has no source.
const MAX_READS: usize = 65_536;
/// The most stretches of withheld records that are remembered. Above this number the oldest is forgotten, and a
/// judgement that rests on the forgotten stretch alone is judged again. The number bounds the memory to 1 MiB, at 16
/// bytes a stretch. The number has no source.
const MAX_WITHHELD: usize = 65_536;
/// The most subjects that are taken as recorded at one time. Above this number the stream end with the lowest stream
/// number is forgotten first; without stream ends, the finding with the least code and subject. A forgotten subject is
/// judged again. Only an opening with more open findings begins with all of them. The number bounds the memory, and has
/// no source: it is eight times the findings that may be open at one time.
const MAX_KEPT: usize = 8_192;
/// The time in microseconds in which judgements may still rest on events before the recording's beginning, or before
/// the end of a hole. It counts from that beginning or end. For a watch that already ran, it counts from the watch's
/// next stream or stop. For a client program it counts from its first start. A finding about several programs may rest
/// on such events up to this time after a message of a program that was not started since. The number has no source:
/// diagnosis joins no failures of several watches that are farther apart, except findings that last.
const SETTLED_US: i64 = 60_000_000;

/// Why a judgement cannot be made again, or cannot be compared ([`Missing::Alike`]). Later judgements of its subject
/// get the same reason, except `Alike`, until the subject is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The judgement rests on the record with this recorded seq. The recording begins after that record, lacks it in a
    /// hole, or an export withheld it.
    Record(Seq),
    /// The finding began at this time, which is before the recording begins or before the end of a hole.
    Began(Time),
    /// The finding was already open where the recording begins, or after a hole.
    Stood,
    /// The judgement's watch or client program was, or may have been, already running where the recording begins or
    /// after a hole. This reason ends 60 s after the watch next opens a stream or stops, or the program next starts. A
    /// finding that names neither a watch nor a client has this reason in the first 60 s after that beginning or hole.
    /// Such a finding also has this reason up to 60 s after a message of a client program that was, or may have been,
    /// already running.
    UnderWay,
    /// The judgement was made again and not recorded. Within [`NEAR_US`](super::NEAR_US) of it lies a judgement that
    /// cannot be made again, with the same subject, or the same code and a common watch. A finding with more watches
    /// than it names may share any watch.
    Alike,
}

/// Why a judgement is taken as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The judgement rests on reads of the audit.
    Audit,
    /// The judgement's evidence is missing.
    Missing(Missing),
}

/// A subject whose judgements are taken as recorded, until the subject is over both in the recording and in the new
/// judgements.
#[derive(Clone, Copy, Debug)]
struct Key {
    why: Why,
    stands_recorded: bool,
    stands_again: bool,
}

/// Where a recording begins, or continues after a hole.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// The first record after the beginning or the hole.
    first: Seq,
    /// The time of the last record before that first record.
    after: Time,
}

/// The subjects that are taken as recorded. [`MAX_KEPT`], [`MAX_READS`], [`MAX_WITHHELD`] and [`MAX_CLIENTS`] bound
/// their size, and so does the number of watches that run where the recording begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Where the recording begins, or continues after a hole; `None` for a log from its first record on.
    begins: Option<Beginning>,
    /// The watches that ran at the beginning, and until when earlier events matter to them; `None` while that time is
    /// unknown.
    under_way: BTreeMap<WatchName, Option<Time>>,
    /// The client programs that were started since the beginning, with the time of their first start. These programs
    /// may have run before the beginning, too.
    clients: BTreeMap<Text, Time>,
    /// The last time at which a client program that has not been started since the beginning sent or reported; `None`
    /// if none did.
    old_client_at: Option<Time>,
    keys: BTreeMap<About, Key>,
    /// The records of the audit, as pairs of recorded and new seq, both rising.
    reads: VecDeque<(Seq, Seq)>,
    /// The first and last recorded seqs of the stretches that an extract leaves out, rising.
    withheld: VecDeque<(Seq, Seq)>,
}

impl Kept {
    /// Begins with a fold. Findings that are open in the fold cannot be judged again.
    pub(super) fn since(state: &State) -> Self {
        let stands = Key {
            why: Why::Missing(Missing::Stood),
            stands_recorded: true,
            stands_again: false,
        };
        let findings = state.findings.values();
        let keys = findings.map(|open| (About::of(&open.finding), stands));
        let watches = state.watches.iter().filter(|(_, watch)| {
            let phase = watch.phase.as_ref().map(|phase| phase.phase);
            phase != Some(Phase::Stopped)
        });
        Self {
            begins: (state.seq > Seq(0)).then(|| Beginning {
                first: state.seq.next(),
                after: state.at,
            }),
            under_way: watches.map(|(watch, _)| (watch.clone(), None)).collect(),
            clients: BTreeMap::new(),
            old_client_at: None,
            keys: keys.collect(),
            reads: VecDeque::new(),
            withheld: VecDeque::new(),
        }
    }

    /// Processes a record of the output. `recorded` is its recorded seq; `record` has the new one.
    pub(super) fn observe(&mut self, recorded: Seq, record: &Record) {
        match &record.event {
            Event::StreamOpened(event) => self.begins_anew(&event.watch, record.at),
            Event::WatchStopped(event) => self.begins_anew(&event.watch, record.at),
            Event::ClientStarted(event) if self.clients.len() < MAX_CLIENTS => {
                let client = event.client.clone();
                self.clients.entry(client).or_insert(record.at);
            }
            Event::Loss(event) if event.place == LossPlace::Withheld => self.withholds(recorded),
            Event::ClientRequest(event) => self.hears_of(&event.client, record.at),
            Event::ClientReport(event) => self.hears_of(&event.client, record.at),
            _ => {}
        }
        let is_read = match &record.event {
            Event::Audit(_) | Event::Verdict(_) => true,
            event => event.watch().and_then(|watch| watch.as_aside()) == Some(Aside::Audit),
        };
        if is_read {
            if self.reads.len() == MAX_READS {
                self.reads.pop_front();
            }
            self.reads.push_back((recorded, record.seq));
        }
    }

    fn begins_anew(&mut self, watch: &WatchName, at: Time) {
        if let Some(until) = self.under_way.get_mut(watch) {
            until.get_or_insert(at.plus_micros(SETTLED_US));
        }
    }

    /// Notes a `loss` record that replaces a withheld record.
    fn withholds(&mut self, seq: Seq) {
        if let Some((_, last)) = self.withheld.back_mut()
            && last.next() == seq
        {
            *last = seq;
            return;
        }
        if self.withheld.len() == MAX_WITHHELD {
            self.withheld.pop_front();
        }
        self.withheld.push_back((seq, seq));
    }

    fn is_withheld(&self, seq: Seq) -> bool {
        let place = self.withheld.partition_point(|(_, last)| *last < seq);
        let stretch = self.withheld.get(place);
        stretch.is_some_and(|(first, _)| *first <= seq)
    }

    fn hears_of(&mut self, client: &Text, at: Time) {
        if self.begins.is_some() && !self.clients.contains_key(client) {
            self.old_client_at = Some(at);
        }
    }

    /// Whether a judgement may rest on events before the recording's beginning or in a hole, because its watch or
    /// client already ran before.
    fn is_under_way(&self, event: &Event, at: Time) -> bool {
        let Some(Beginning { after: began, .. }) = self.begins else {
            return false;
        };
        let is_soon_after = |moment: Time| at <= moment.plus_micros(SETTLED_US);
        let is_early = is_soon_after(began);
        let is_old = |watch: &WatchName| {
            let about = watch.about();
            let until = self.under_way.get(about.as_ref().unwrap_or(watch));
            until.map_or(about.is_some() && is_early, |until| {
                until.is_none_or(|until| at <= until)
            })
        };
        match event {
            Event::Attribution(attribution) => is_old(&attribution.watch),
            Event::Finding(finding) => {
                if let Some(client) = &finding.client {
                    let started = self.clients.get(client);
                    return started.is_none_or(|started| is_soon_after(*started));
                }
                let mut watches = finding.watch.iter().chain(&finding.names);
                let has_none = watches.clone().next().is_none();
                // It may be about several client programs.
                let is_early = is_early || self.old_client_at.is_some_and(is_soon_after);
                has_none && is_early || watches.any(is_old)
            }
            _ => false,
        }
    }

    /// Returns why a recorded judgement that was not made again is taken as recorded; `None` if it is not. The
    /// judgement may rest on events before the beginning, or earlier judgements about its subject are already taken as
    /// recorded.
    pub(super) fn not_again(&mut self, event: &Event, judgement: &Judgement) -> Option<Why> {
        let known = self.keys.get(&judgement.about).map(|key| key.why);
        let under_way = Why::Missing(Missing::UnderWay);
        let is_under_way = || self.is_under_way(event, judgement.at);
        let why = known.or_else(|| is_under_way().then_some(under_way))?;
        let key = self.key(&judgement.about, why);
        key.stands_recorded = judgement.stands();
        Some(why)
    }

    /// Returns why a recorded judgement is taken as recorded; `None` if it is not.
    pub(super) fn recorded(&mut self, event: &Event, judgement: &Judgement) -> Option<Why> {
        let mut evidence = evidence(event).iter();
        let is_read = |seq: &Seq| self.reads.binary_search_by_key(seq, |(of, _)| *of).is_ok();
        let known = self.keys.get(&judgement.about).map(|key| key.why);
        let why = if evidence.any(is_read) {
            Why::Audit
        } else {
            known.or_else(|| self.missing(event).map(Why::Missing))?
        };
        let key = self.key(&judgement.about, why);
        key.stands_recorded = judgement.stands();
        Some(why)
    }

    /// Whether a judgement made again is dropped, because the recorded judgements about its subject (there may be none)
    /// count. `is_recorded` states whether the same judgement is recorded.
    pub(super) fn again(
        &mut self,
        event: &Event,
        judgement: &Judgement,
        is_recorded: bool,
    ) -> bool {
        let mut evidence = evidence(event).iter();
        let is_read = |seq: &Seq| self.reads.binary_search_by_key(seq, |(_, of)| *of).is_ok();
        let why = if self.keys.contains_key(&judgement.about) || evidence.any(is_read) {
            Why::Audit
        } else if !is_recorded && self.is_under_way(event, judgement.at) {
            Why::Missing(Missing::UnderWay)
        } else {
            return false;
        };
        let key = self.key(&judgement.about, why);
        key.stands_again = judgement.stands();
        true
    }

    /// Forgets subjects that are over.
    pub(super) fn forget(&mut self) {
        let stands = |_: &About, key: &mut Key| key.stands_recorded || key.stands_again;
        self.keys.retain(stands);
    }

    fn key(&mut self, about: &About, why: Why) -> &mut Key {
        if self.keys.len() >= MAX_KEPT && !self.keys.contains_key(about) {
            self.keys.pop_first();
        }
        self.keys.entry(about.clone()).or_insert(Key {
            why,
            stands_recorded: false,
            stands_again: false,
        })
    }

    /// Returns which evidence of a recorded judgement diagnosis cannot have; `None` if none is missing.
    fn missing(&self, event: &Event) -> Option<Missing> {
        let first = self.begins.map_or(Seq(0), |begins| begins.first);
        let mut evidence = evidence(event).iter();
        let is_missing = |seq: &&Seq| **seq < first || self.is_withheld(**seq);
        if let Some(seq) = evidence.find(is_missing) {
            return Some(Missing::Record(*seq));
        }
        let began = self.begins?.after;
        let Event::Finding(finding) = event else {
            return None;
        };
        if let Some(client) = &finding.client {
            return (!self.clients.contains_key(client)).then_some(Missing::UnderWay);
        }
        let since = finding.since.filter(|since| *since < began);
        since.map(Missing::Began)
    }
}
