//! Why an object is here: the event that brought it, the event's origin, and which read confirmed the object, and when.
//!
//! The answer is for now, or as of a moment of the past. The answer uses the loaded records up to that moment. If
//! records since the begin of the object's life are missing, it uses the fold instead. A fact that neither records nor
//! fold have is called not loaded, never false.

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

/// Why a watch holds an object, or does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Whether the watch holds the object at the moment asked for; `false` also if no loaded record shows whether it
    /// does.
    pub held: bool,
    /// The answer in one or two sentences, with its UTC time of day.
    pub answer: String,
    /// The grounds of the answer: each with a name and one or more sentences; a divergence is first. [`presence`]
    /// always returns at least one. Hostile: show as text.
    pub grounds: Vec<(&'static str, String)>,
    /// The record that brought the object, or removed it. The record need not be loaded; [`presence`] always returns
    /// one.
    pub record: Option<RecordId>,
}

/// Returns why the object of a lane is here, or is not, now or as of a moment. `None` for other lanes, and if loaded
/// chapters show no life of the object up to that moment.
#[must_use]
pub fn presence(known: Known<'_>, lane: LaneId) -> Option<Presence> {
    let knowledge = Knowledge::of(known, lane)?;
    let now = known.at;
    Some(match knowledge.ended(knowledge.life) {
        None => knowledge.while_held(now),
        Some(end) => knowledge.once_gone(end, now),
    })
}

/// The inputs of an answer. While these inputs stay the same, only durations and the watch's progress can change in the
/// answer.
#[derive(Clone, Debug, PartialEq)]
pub struct PresenceBasis {
    life: (u32, Span<LifeSpan>),
    verdict: Option<Span<VerdictSpan>>,
    gap: Option<Moment>,
    /// From the fold: the held resourceVersion, the record of the last complete list, and whether the fold has the
    /// watch.
    of_fold: (Option<ResourceVersion>, Option<Seq>, bool),
    /// For the object's marks, the watch's lists and its audit reads: the newest record, and how many are loaded.
    newest: [(Option<Seq>, usize); 3],
    /// Whether the record that brought the object is loaded, whether all records since that one are, and whether all
    /// since the object's last mark are.
    loaded: [bool; 3],
}

/// Returns the inputs of the answer for a lane, which is cheaper than the answer; `None` if [`presence`] returns
/// `None`.
#[must_use]
pub fn presence_basis(known: Known<'_>, lane: LaneId) -> Option<PresenceBasis> {
    let knowledge = Knowledge::of(known, lane)?;
    let Knowledge { watch, object, .. } = knowledge;
    let start = knowledge.life.start.seq;
    let mark = knowledge.marks().next_back();
    let gap = knowledge.open_gap();
    let list = knowledge.live.and_then(|live| live.list.as_ref()?.complete);
    Some(PresenceBasis {
        life: (knowledge.number, knowledge.life.clone()),
        verdict: knowledge.verdict(),
        gap: gap.map(|gap| gap.start),
        of_fold: (
            knowledge.held.map(|held| held.resource_version.clone()),
            list.map(|complete| complete.seq),
            knowledge.live.is_some(),
        ),
        newest: [
            (mark, object.marks.as_slice().len()),
            (
                knowledge.lists().next().map(|list| list.moment.seq),
                watch.lists.len(),
            ),
            (
                knowledge.audits().next().map(|audit| audit.moment.seq),
                watch.audits.len(),
            ),
        ],
        loaded: [
            knowledge.epoch.has_record(start),
            knowledge.is_all_loaded(),
            mark.is_some_and(|mark| knowledge.has_since(mark)),
        ],
    })
}

/// What records and fold show of an object in its newest life up to a moment.
struct Knowledge<'a> {
    store: &'a Store,
    epoch: &'a Epoch,
    number: u32,
    /// The last record that counts.
    until: Seq,
    id: ObjectId,
    watch: &'a WatchTrace,
    object: &'a ObjectTrace,
    life: &'a Span<LifeSpan>,
    /// The object's watch in the fold, if the fold is of the same epoch.
    live: Option<&'a Watch>,
    /// The object that the watch in the fold holds under this namespace and name.
    held: Option<&'a Held>,
}

impl<'a> Knowledge<'a> {
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

    /// Returns the record that ended a span, if it is not after the last record that counts.
    fn ended<T>(&self, span: &Span<T>) -> Option<Moment> {
        span.end.filter(|end| end.seq <= self.until)
    }

    /// Whether a span is open at the last record that counts.
    fn is_open<T>(&self, span: &Span<T>) -> bool {
        match span.end {
            Some(end) => end.seq > self.until,
            // A span that is known to last until later was also open at that moment of the past.
            None => span.is_open() || self.live.is_some() && self.until < Seq(u64::MAX),
        }
    }

    /// Returns the seqs of the object's marks, the oldest first.
    fn marks(&self) -> impl DoubleEndedIterator<Item = Seq> {
        let places = self.object.marks.places();
        let seqs = places.map(|place| self.watch.marks.seq(place));
        let until = self.until;
        seqs.filter(move |&seq| seq <= until)
    }

    /// Returns the watch's lists, the newest first.
    fn lists(&self) -> impl Iterator<Item = &'a ListMark> + Clone {
        let (lists, until) = (self.watch.lists.iter().rev(), self.until);
        lists.filter(move |list| list.moment.seq <= until)
    }

    /// Returns the reads of the audit, the newest first.
    fn audits(&self) -> impl Iterator<Item = &'a AuditMark> + Clone {
        let (audits, until) = (self.watch.audits.iter().rev(), self.until);
        audits.filter(move |audit| audit.moment.seq <= until)
    }

    /// Returns the gap that the watch is in.
    fn open_gap(&self) -> Option<&'a Span<GapSpan>> {
        let mut gaps = self.watch.gaps.all().iter();
        let last = gaps.rfind(|gap| gap.start.seq <= self.until)?;
        self.is_open(last).then_some(last)
    }

    /// Whether all records from `first` up to the last that counts are loaded.
    fn has_since(&self, first: Seq) -> bool {
        self.epoch.has_all(first, self.until)
    }

    /// Whether all records since the object's life began are loaded.
    fn is_all_loaded(&self) -> bool {
        self.has_since(self.life.start.seq)
    }

    /// Returns the answer for an object that is held, or whose end is not loaded.
    fn while_held(&self, now: Time) -> Presence {
        let life = self.life;
        let from = clock_ms(life.start.at);
        let answer = if self.is_open(life) {
            let held_for = duration(now.micros_since(life.start.at));
            format!("Held since {from} ({held_for}).")
        } else if self.live.is_some() {
            format!("Not held now. It was held from {from}; the record of its end is not loaded.")
        } else {
            format!("It was held from {from}; what happened to it then is unknown.")
        };
        let mut grounds = Vec::new();
        // A divergence comes first, because the viewer came for it.
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
                    "From {} on, it is unknown whether it existed.",
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

    /// Returns the words for the event that brought the object.
    fn origin(&self) -> String {
        let Some(record) = self.store.record(self.record(self.life.start.seq)) else {
            return "The record that brought it is not loaded.".to_owned();
        };
        let at = clock_ms(record.at);
        let Event::Change(change) = record.event else {
            return format!("It existed at the first record of the watch, at {at}.");
        };
        let at_version = version(&change.resource_version);
        match (change.origin, change.change) {
            (Origin::Live, ChangeType::Added) => {
                format!("ADDED by the stream at {at}, at resourceVersion {at_version}.")
            }
            (Origin::Live, kind) => format!(
                "{kind} by the stream at {at}, at resourceVersion {at_version}, though no earlier event had it: its \
                 ADDED never came."
            ),
            (Origin::List, _) => format!(
                "The list at {at} had it, at resourceVersion {at_version}: it is older than the list."
            ),
            (Origin::Initial, _) => format!(
                "The initial events of a stream, at {at}, had it at resourceVersion {at_version}: it is older than \
                 these events."
            ),
            (Origin::Inferred | Origin::Unknown, _) => {
                format!("It was inferred at {at}, at resourceVersion {at_version}.")
            }
        }
    }

    /// Returns the words for the event that removed the object.
    fn departure(&self, end: Moment) -> String {
        let record = self.store.record(self.record(end.seq));
        let at = clock_ms(end.at);
        match record.map(|record| record.event) {
            None => "The record of its end is not loaded.".to_owned(),
            Some(Event::Change(change)) if change.change == ChangeType::Deleted => {
                if change.origin != Origin::Inferred {
                    let at_version = version(&change.resource_version);
                    format!("DELETED by the stream at {at}, at resourceVersion {at_version}.")
                } else {
                    let gone = match change.stream {
                        Some(stream) => format!("Stream {stream} showed at {at} that it is gone"),
                        None => format!("A list at {at} no longer had it"),
                    };
                    format!("{gone}, so its DELETED is inferred: no DELETED came.")
                }
            }
            Some(_) => format!("The watch ended at {at}."),
        }
    }

    /// Returns the words for the object's last event. The last loaded event counts only if no later record is missing,
    /// or if its resourceVersion is the held one.
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
                "It is held at resourceVersion {}; the event with that version is not loaded.",
                version(&self.held?.resource_version)
            ),
        };
        Some(("last event", words))
    }

    /// Returns the first resourceVersion that the object is known to have had in this life, if it is a number.
    fn first_version(&self) -> Option<u64> {
        let first = self.watch.version_since(self.object, self.life.start.seq);
        first.or_else(|| self.held?.resource_version.number())
    }

    /// Returns the words for the last read that had the object.
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
                "The watch's own list at {at} had it, among {among}; from Kubernetes 1.31 on such a list may come \
                 from the watch cache."
            );
            (moment, words)
        });
        let agreeing = self.audits().filter(|audit| {
            audit.read.outcome() == AuditOutcome::Agrees && audit.moment.seq > since
        });
        let audit = agreeing.clone().find(|audit| audit.covers(self.id, first));
        let audit = audit.map(|audit| (audit.moment, read_words(audit)));
        if let Some((_, words)) = list.max(audit) {
            return words;
        }
        let none = if self.is_all_loaded() {
            "No read has confirmed it since"
        } else {
            "No loaded read has confirmed it since"
        };
        let mut blind =
            agreeing.filter(|audit| audit.read.is_whole() && audit.read.may_be_a_caches());
        match blind.next() {
            None => format!("{none}."),
            Some(audit) => format!("{none}. {}", read_words(audit)),
        }
    }

    /// Returns the time and the number of items of the fold's last list, if this list had the object and the list's
    /// record is not loaded.
    fn list_of_fold(&self, first: Option<u64>) -> Option<(Moment, u64)> {
        let list = self.live?.list.as_ref()?;
        let complete = list.complete?;
        let is_loaded = self.epoch.has_record(complete.seq);
        let had_it =
            complete.seq > self.life.start.seq && reaches(list.resource_version.number(), first);
        (had_it && !is_loaded).then_some((complete, list.items))
    }

    /// Returns the words that say up to when the stream proves that no event of the object is missing.
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

    /// Returns the open verdict on the object, in words.
    fn doubted(&self, now: Time) -> Option<(&'static str, String)> {
        let span = self.verdict()?;
        let lasting_us = now.micros_since(span.start.at);
        Some(("but", format!("{}.", verdict_words(&span.what, lasting_us))))
    }

    /// Returns the open verdict. A record that is not loaded may have changed the verdict, so the fold's state of the
    /// verdict counts.
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

/// Returns the words for an audit read that agrees: when and how it was made, at which resourceVersion, and what it
/// cannot reveal.
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
    format!("A read at {when} ({method}{at}) compared {what} and agrees{why}.")
}
