//! Why an object is here: since which event, from which origin, confirmed when, by which read.
//!
//! The answer is of now, or as of a moment of the past. It rests on the records that are loaded up to then, and where some
//! since the beginning of its life are not, on the fold alone; what neither says is not loaded, never not so.

use watchscope_model::event::Event;
use watchscope_model::fold::{Held, Moment, Watch};
use watchscope_model::vocabulary::{AuditOutcome, ChangeType, Origin};
use watchscope_model::{ResourceVersion, Seq, Time};

use crate::format::{clock_ms, count, duration, number, version};
use crate::id::{LaneId, ObjectId, RecordId};
use crate::phrases::verdict_words;
use crate::store::{
    AuditMark, Epoch, GapSpan, Known, LifeSpan, ListMark, ObjectTrace, Span, Store, VerdictSpan,
    WatchTrace, reaches,
};

/// Why an object is held, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Whether the watch holds it.
    pub held: bool,
    /// The answer in a sentence.
    pub answer: String,
    /// What it rests on: a name, and a sentence.
    pub grounds: Vec<(&'static str, String)>,
    /// The record that brought it, or took it away.
    pub record: Option<RecordId>,
}

/// Why the object of a lane is here, or is not; nothing for other lanes.
#[must_use]
pub fn presence(known: Known<'_>, lane: LaneId) -> Option<Presence> {
    let told = Told::of(known, lane)?;
    let now = known.at;
    Some(match told.ended(told.life) {
        None => told.while_held(now),
        Some(end) => told.once_gone(end, now),
    })
}

/// What an answer rests on. While this stays, only its durations can be others, and how far the watch has come.
#[derive(Clone, Debug, PartialEq)]
pub struct PresenceBasis {
    life: (u32, Span<LifeSpan>),
    verdict: Option<Span<VerdictSpan>>,
    gap: Option<Moment>,
    /// What is held, and the list that the fold knows of.
    of_fold: (Option<ResourceVersion>, Option<Seq>, bool),
    /// The newest mark of the object, list and audit, and how many of each are loaded.
    newest: [(Option<Seq>, usize); 3],
    /// Whether the record that brought it is here, and all since; and all since its last mark.
    loaded: [bool; 3],
}

/// What the answer for a lane rests on, which costs less than the answer; nothing for other lanes than objects'.
#[must_use]
pub fn presence_basis(known: Known<'_>, lane: LaneId) -> Option<PresenceBasis> {
    let told = Told::of(known, lane)?;
    let Told { watch, object, .. } = told;
    let start = told.life.start.seq;
    let mark = told.marks().next_back();
    let gap = told.open_gap();
    let list = told.live.and_then(|live| live.list.as_ref()?.complete);
    Some(PresenceBasis {
        life: (told.number, told.life.clone()),
        verdict: told.verdict(),
        gap: gap.map(|gap| gap.start),
        of_fold: (
            told.held.map(|held| held.resource_version.clone()),
            list.map(|complete| complete.seq),
            told.live.is_some(),
        ),
        newest: [
            (mark, object.marks.len()),
            (
                told.lists().next().map(|list| list.moment.seq),
                watch.lists.len(),
            ),
            (
                told.audits().next().map(|audit| audit.moment.seq),
                watch.audits.len(),
            ),
        ],
        loaded: [
            told.epoch.has_record(start),
            told.is_all_loaded(),
            mark.is_some_and(|mark| told.has_since(mark)),
        ],
    })
}

/// What is known of an object, as of its newest life up to then.
struct Told<'a> {
    store: &'a Store,
    epoch: &'a Epoch,
    number: u32,
    /// The last record that counts.
    until: Seq,
    id: ObjectId,
    watch: &'a WatchTrace,
    object: &'a ObjectTrace,
    life: &'a Span<LifeSpan>,
    /// Its watch in the fold, if that is of this run.
    live: Option<&'a Watch>,
    /// What that holds in its place.
    held: Option<&'a Held>,
}

impl<'a> Told<'a> {
    fn of(known: Known<'a>, lane: LaneId) -> Option<Self> {
        let LaneId::Object(watch_id, id) = lane else {
            return None;
        };
        let store = known.store;
        let (epoch, watch, object, life) = known.epochs().iter().rev().find_map(|epoch| {
            let watch = epoch.trace.watch(watch_id)?;
            let object = watch.objects.get(id.0 as usize)?;
            let until = known.until_in(epoch);
            let mut lives = object.lives.all().iter();
            let life = lives.rfind(|life| life.start.seq <= until)?;
            Some((epoch, watch, object, life))
        })?;
        let number = epoch.number();
        let state = known.state.filter(|_| number == known.epoch);
        let names = store.names();
        let live = state.and_then(|state| state.watches.get(names.watch_name(watch_id)));
        Some(Self {
            store,
            epoch,
            number,
            until: known.until_in(epoch),
            id,
            watch,
            object,
            life,
            live,
            held: live.and_then(|live| live.held(names.object_at(watch_id, id))),
        })
    }

    fn record(&self, seq: Seq) -> RecordId {
        RecordId {
            epoch: self.number,
            seq,
        }
    }

    /// The record that ended something, if it counts.
    fn ended<T>(&self, span: &Span<T>) -> Option<Moment> {
        span.end.filter(|end| end.seq <= self.until)
    }

    /// Whether something goes on.
    fn is_open<T>(&self, span: &Span<T>) -> bool {
        match span.end {
            Some(end) => end.seq > self.until,
            // As of a moment of the past, what is known to last until later did so then.
            None => span.is_open() || self.live.is_some() && self.until < Seq(u64::MAX),
        }
    }

    /// The seqs of its marks, the oldest first.
    fn marks(&self) -> impl DoubleEndedIterator<Item = Seq> {
        let seqs = self.object.marks.iter();
        let seqs = seqs.map(|&mark| self.watch.marks.seq(mark as usize));
        let until = self.until;
        seqs.filter(move |&seq| seq <= until)
    }

    /// The watch's lists, the newest first.
    fn lists(&self) -> impl Iterator<Item = &'a ListMark> + Clone {
        let (lists, until) = (self.watch.lists.iter().rev(), self.until);
        lists.filter(move |list| list.moment.seq <= until)
    }

    /// The reads of the audit, the newest first.
    fn audits(&self) -> impl Iterator<Item = &'a AuditMark> + Clone {
        let (audits, until) = (self.watch.audits.iter().rev(), self.until);
        audits.filter(move |audit| audit.moment.seq <= until)
    }

    /// The gap in which the watch is.
    fn open_gap(&self) -> Option<&'a Span<GapSpan>> {
        let mut gaps = self.watch.gaps.all().iter();
        let last = gaps.rfind(|gap| gap.start.seq <= self.until)?;
        self.is_open(last).then_some(last)
    }

    /// Whether all records from one on are here.
    fn has_since(&self, first: Seq) -> bool {
        self.epoch.has_all(first, self.until)
    }

    /// Whether all records since its life began are here.
    fn is_all_loaded(&self) -> bool {
        self.has_since(self.life.start.seq)
    }

    /// It is held, or what became of it is not loaded.
    fn while_held(&self, now: Time) -> Presence {
        let life = self.life;
        let from = clock_ms(life.start.at);
        let answer = if self.is_open(life) {
            let held_for = duration(now.micros_since(life.start.at));
            format!("Held since {from} ({held_for}).")
        } else if self.live.is_some() {
            format!("Not held now. It was held from {from}; what took it away is not loaded.")
        } else {
            format!("It was held from {from}; what became of it is not known.")
        };
        let mut grounds = Vec::new();
        // What speaks against it first: it is what one came for.
        grounds.extend(self.doubted(now));
        grounds.push(("from", self.origin()));
        grounds.extend(self.last_event());
        grounds.push(("confirmed", self.confirmed()));
        grounds.extend(self.proved());
        Presence {
            held: self.is_open(life),
            answer,
            grounds,
            record: Some(self.record(life.start.seq)),
        }
    }

    fn once_gone(&self, end: Moment, now: Time) -> Presence {
        let answer = format!(
            "Not held since {} ({}).",
            clock_ms(end.at),
            duration(now.micros_since(end.at))
        );
        let mut grounds = Vec::new();
        grounds.extend(self.doubted(now));
        grounds.push(("gone by", self.departure(end)));
        if let Some(doubt) = self.watch.doubt(self.object, self.life) {
            grounds.push((
                "not known",
                format!(
                    "From {} on nobody here knows whether it existed.",
                    clock_ms(doubt)
                ),
            ));
        }
        Presence {
            held: false,
            answer,
            grounds,
            record: Some(self.record(end.seq)),
        }
    }

    /// Which event brought it.
    fn origin(&self) -> String {
        let Some(record) = self.store.record(self.record(self.life.start.seq)) else {
            return "The record that brought it is not loaded.".to_owned();
        };
        let at = clock_ms(record.at);
        let Event::Change(change) = record.event else {
            return format!("It was there when the watch was first told of, at {at}.");
        };
        let at_version = version(&change.resource_version);
        match (change.origin, change.change) {
            (Origin::Live, ChangeType::Added) => {
                format!("ADDED by the stream at {at}, at resourceVersion {at_version}.")
            }
            (Origin::Live, kind) => format!(
                "{kind} by the stream at {at}, at resourceVersion {at_version}, though nothing had told of it: its ADDED \
                 never came."
            ),
            (Origin::List, _) => format!(
                "The list of {at} had it, at resourceVersion {at_version}: it is older than that."
            ),
            (Origin::Initial, _) => format!(
                "The initial events of a stream, at {at}, had it at resourceVersion {at_version}: it is older than that."
            ),
            (Origin::Inferred | Origin::Unknown, _) => {
                format!("It was inferred at {at}, at resourceVersion {at_version}.")
            }
        }
    }

    /// What took it away.
    fn departure(&self, end: Moment) -> String {
        let record = self.store.record(self.record(end.seq));
        let at = clock_ms(end.at);
        match record.map(|record| record.event) {
            None => "The record that took it away is not loaded.".to_owned(),
            Some(Event::Change(change)) if change.change == ChangeType::Deleted => {
                if change.origin != Origin::Inferred {
                    let at_version = version(&change.resource_version);
                    format!("DELETED by the stream at {at}, at resourceVersion {at_version}.")
                } else {
                    let gone = match change.stream {
                        Some(stream) => format!("Stream {stream} showed at {at} that it is gone"),
                        None => format!("A list of {at} had it no longer"),
                    };
                    format!("{gone}, so its DELETED is inferred: none came.")
                }
            }
            Some(_) => format!("The watch ended at {at}."),
        }
    }

    /// The last event of it. One that is loaded is the last only if nothing after it is missing, or if it told of what is
    /// held now.
    fn last_event(&self) -> Option<(&'static str, String)> {
        let seq = self.marks().next_back();
        let seq = seq.filter(|&seq| seq >= self.life.start.seq);
        let record = seq.and_then(|seq| self.store.record(self.record(seq)));
        let words = match record.map(|record| (record.seq, record.at, record.event)) {
            Some((seq, at, Event::Change(change)))
                if self.has_since(seq)
                    || self
                        .held
                        .is_some_and(|held| held.resource_version == change.resource_version) =>
            {
                let by = match change.origin {
                    Origin::Live => "by the stream",
                    Origin::List => "by a list",
                    Origin::Initial => "in initial events",
                    Origin::Inferred | Origin::Unknown => "inferred",
                };
                format!(
                    "{} {by} at {}, at resourceVersion {}.",
                    change.change,
                    clock_ms(at),
                    version(&change.resource_version)
                )
            }
            _ => format!(
                "It is held at resourceVersion {}; the event that told of it is not loaded.",
                version(&self.held?.resource_version)
            ),
        };
        Some(("last told", words))
    }

    /// The least resourceVersion that it is known to have had in this life, if that is a number.
    fn first_version(&self) -> Option<u64> {
        let first = self.watch.version_since(self.object, self.life.start.seq);
        first.or_else(|| self.held?.resource_version.number())
    }

    /// Which read had it last.
    fn confirmed(&self) -> String {
        let (since, first) = (self.life.start.seq, self.first_version());
        let marks = &self.watch.marks;
        let mut lists = self
            .lists()
            .filter(|list| !list.older && list.moment.seq > since);
        let list = lists.find(|list| {
            let at = marks.version(marks.place_of(list.moment.seq));
            reaches(Some(at), first)
        });
        let list = list
            .map(|list| (list.moment, list.items))
            .max(self.list_of_fold(first));
        let list = list.map(|(moment, items)| {
            let (at, among) = (clock_ms(moment.at), count(items, "object"));
            let words = format!(
                "The watch's own list of {at} had it, among {among}; from Kubernetes 1.31 on such a list may be the watch cache's."
            );
            (moment, words)
        });
        let agreeing = self.audits().filter(|audit| {
            audit.read.outcome() == AuditOutcome::Agrees && audit.moment.seq > since
        });
        let audit = agreeing
            .clone()
            .find(|audit| audit.tells_of(self.id, first));
        let audit = audit.map(|audit| (audit.moment, read_words(audit)));
        if let Some((_, words)) = list.max(audit) {
            return words;
        }
        let none = if self.is_all_loaded() {
            "No read has confirmed it since"
        } else {
            "None of the reads that are loaded has confirmed it since"
        };
        let mut blind =
            agreeing.filter(|audit| audit.read.is_whole() && audit.read.may_be_a_caches());
        match blind.next() {
            None => format!("{none}."),
            Some(audit) => format!("{none}. {}", read_words(audit)),
        }
    }

    /// The last list that the fold knows of, if it had the object and its record is not loaded: when, and of how many.
    fn list_of_fold(&self, first: Option<u64>) -> Option<(Moment, u64)> {
        let list = self.live?.list.as_ref()?;
        let complete = list.complete?;
        let is_loaded = self.epoch.has_record(complete.seq);
        let had_it =
            complete.seq > self.life.start.seq && reaches(list.resource_version.number(), first);
        (had_it && !is_loaded).then_some((complete, list.items))
    }

    /// Up to when the stream proves that nothing of it is missing.
    fn proved(&self) -> Option<(&'static str, String)> {
        let marks = &self.watch.marks;
        let words = match self.open_gap() {
            Some(gap) => format!(
                "Nothing since {}: the watch has no stream.",
                clock_ms(gap.start.at)
            ),
            None => {
                let newest = marks
                    .place_of(Seq(self.until.0.saturating_add(1)))
                    .checked_sub(1);
                let newest = newest.filter(|&place| self.has_since(marks.seq(place)));
                let (at, to) = match newest {
                    Some(place) => (marks.at(place), marks.moved_to(place)?),
                    None => {
                        let live = self.live?;
                        (live.totals.heard()?, live.progress.as_ref()?.number()?)
                    }
                };
                format!(
                    "At {} the watch was at resourceVersion {}: by its own account it missed nothing up to there.",
                    clock_ms(at),
                    number(to)
                )
            }
        };
        Some(("up to date", words))
    }

    /// What a read says against it, while that stands.
    fn doubted(&self, now: Time) -> Option<(&'static str, String)> {
        let span = self.verdict()?;
        let lasting_us = now.micros_since(span.start.at);
        Some(("but", format!("{}.", verdict_words(&span.what, lasting_us))))
    }

    /// The verdict that stands. A later record may have said more of it; the fold has what was said by then.
    fn verdict(&self) -> Option<Span<VerdictSpan>> {
        let mut spans = self.object.verdicts.all().iter();
        let last = spans.rfind(|span| span.start.seq <= self.until)?;
        if !self.is_open(last) {
            return None;
        }
        let mut verdicts = self.live?.verdicts.values();
        let mut span = last.clone();
        if let Some(open) = verdicts.find(|open| open.since.seq == last.start.seq) {
            span.what = VerdictSpan::of(&open.verdict);
        }
        Some(span)
    }
}

/// A read that agrees: when, how, at which resourceVersion, and what it cannot reveal.
fn read_words(audit: &AuditMark) -> String {
    let read = &audit.read;
    let (when, method) = (clock_ms(audit.moment.at), &read.method);
    let at = read.resource_version.as_ref();
    let at = at.map_or(String::new(), |at| {
        format!(", at resourceVersion {}", version(at))
    });
    let what = match audit.object {
        Some(_) => "it".to_owned(),
        None => count(read.compared, "object"),
    };
    let why = read.reason.as_ref();
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    format!("A read of {when} ({method}{at}) compared {what} and agrees{why}.")
}
