//! Why an object is here: since which event, from which origin, confirmed when, by which read.

use watchscope_model::event::{Audit, Event};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Seq, Time};

use crate::draw::verdict_words;
use crate::format::{clock_ms, count, duration, version};
use crate::id::{LaneId, ObjectId, RecordId};
use crate::store::{Compared, ObjectTrace, Store, WatchTrace};

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
pub fn presence(store: &Store, lane: LaneId, now: Time) -> Option<Presence> {
    let LaneId::Object(watch_id, object_id) = lane else {
        return None;
    };
    let (epoch, watch, object) = (0..store.epochs().len()).rev().find_map(|number| {
        let watch = store.epochs()[number].trace.watch(watch_id)?;
        let object = watch.objects.get(object_id.0 as usize)?;
        (!object.lives.all().is_empty()).then_some((number as u32, watch, object))
    })?;
    let life = object.lives.all().last()?;
    let id = |seq: Seq| RecordId { epoch, seq };
    let mut grounds = Vec::new();
    let Some(end) = life.end else {
        let held_for = duration(life.end_at(now).micros_since(life.start.at));
        let answer = if life.is_open() {
            format!("Held since {} ({held_for}).", clock_ms(life.start.at))
        } else {
            format!(
                "It was held from {}; what became of it is not known.",
                clock_ms(life.start.at)
            )
        };
        // What speaks against it first: it is what one came for.
        grounds.extend(doubted(object, now));
        grounds.push(("from", origin(store, id(life.start.seq))));
        grounds.extend(last_event(store, watch, object, epoch));
        let since = (life.start.seq, life.start.at);
        grounds.push(("confirmed", confirmed(watch, object_id, since)));
        grounds.extend(proved(watch));
        return Some(Presence {
            held: life.is_open(),
            answer,
            grounds,
            record: Some(id(life.start.seq)),
        });
    };
    let answer = format!(
        "Not held since {} ({}).",
        clock_ms(end.at),
        duration(now.micros_since(end.at))
    );
    grounds.extend(doubted(object, now));
    grounds.push(("gone by", departure(store, id(end.seq))));
    if let Some(doubt) = life.what.doubt {
        grounds.push((
            "not known",
            format!(
                "From {} on nobody here knows whether it existed.",
                clock_ms(doubt)
            ),
        ));
    }
    Some(Presence {
        held: false,
        answer,
        grounds,
        record: Some(id(end.seq)),
    })
}

/// Which event brought it.
fn origin(store: &Store, id: RecordId) -> String {
    let Some(record) = store.record(id) else {
        return "The record that brought it is not loaded.".to_owned();
    };
    let at = clock_ms(record.at);
    let Event::Change(change) = record.event else {
        return format!("It was there when the watch was first told of, at {at}.");
    };
    let at_version = version(&change.resource_version);
    match change.origin {
        Origin::Live => format!("ADDED by the stream at {at}, at resourceVersion {at_version}."),
        Origin::List => {
            format!(
                "The list of {at} had it, at resourceVersion {at_version}: it is older than that."
            )
        }
        Origin::Initial => format!(
            "The initial events of a stream, at {at}, had it at resourceVersion {at_version}: it is older than that."
        ),
        Origin::Inferred | Origin::Unknown => {
            format!("It was inferred at {at}, at resourceVersion {at_version}.")
        }
    }
}

/// What took it away.
fn departure(store: &Store, id: RecordId) -> String {
    match store.record(id).map(|record| (record.at, record.event)) {
        None => "The record that took it away is not loaded.".to_owned(),
        Some((at, Event::Change(change))) if change.change == ChangeType::Deleted => {
            let at = clock_ms(at);
            if change.origin == Origin::Inferred {
                format!("A list of {at} had it no longer, so its DELETED is inferred: none came.")
            } else {
                format!(
                    "DELETED by the stream at {at}, at resourceVersion {}.",
                    version(&change.resource_version)
                )
            }
        }
        Some((at, _)) => format!("The watch ended at {}.", clock_ms(at)),
    }
}

/// The last event of it.
fn last_event(
    store: &Store,
    watch: &WatchTrace,
    object: &ObjectTrace,
    epoch: u32,
) -> Option<(&'static str, String)> {
    let seq = watch.marks.seq(*object.marks.last()? as usize);
    let record = store.record(RecordId { epoch, seq })?;
    let Event::Change(change) = &record.event else {
        return None;
    };
    let by = match change.origin {
        Origin::Live => "by the stream",
        Origin::List => "by a list",
        Origin::Initial => "in initial events",
        Origin::Inferred | Origin::Unknown => "inferred",
    };
    Some((
        "last told",
        format!(
            "{} {by} at {}, at resourceVersion {}.",
            change.change,
            clock_ms(record.at),
            version(&change.resource_version)
        ),
    ))
}

/// Which read had it last.
fn confirmed(watch: &WatchTrace, object: ObjectId, (since, since_at): (Seq, Time)) -> String {
    let list = watch
        .lists
        .iter()
        .rev()
        .find(|list| !list.older && list.moment.seq > since);
    let audit = watch.audits.iter().rev().find(|audit| {
        let is_of_it = match audit.of {
            Compared::All => true,
            Compared::One(compared) => compared == object,
            Compared::Some => false,
        };
        is_of_it && &*audit.outcome == Audit::AGREES && audit.moment.at >= since_at
    });
    let list_words = list.map(|list| {
        let words = format!(
            "The list of {} had it, among {}.",
            clock_ms(list.moment.at),
            count(list.items, "object")
        );
        (list.moment, words)
    });
    let audit_words = audit.map(|audit| {
        let at = clock_ms(audit.moment.at);
        let words = match audit.of {
            Compared::One(_) => format!("A read of {at} compared it and agrees."),
            _ => format!(
                "A read of {at} compared {} and agrees.",
                count(audit.compared, "object")
            ),
        };
        (audit.moment, words)
    });
    let newest = [list_words, audit_words].into_iter().flatten().max();
    newest.map_or_else(
        || "No read has confirmed it since.".to_owned(),
        |(_, words)| words,
    )
}

/// Up to when the stream proves that nothing of it is missing.
fn proved(watch: &WatchTrace) -> Option<(&'static str, String)> {
    let place = watch.marks.len().checked_sub(1)?;
    let to = watch.marks.moved_to(place)?;
    let at = clock_ms(watch.marks.at(place));
    let words = match watch.gaps.all().last().filter(|gap| gap.is_open()) {
        Some(gap) => format!(
            "Nothing since {}: the watch has no stream.",
            clock_ms(gap.start.at)
        ),
        None => format!(
            "At {at} the watch was at resourceVersion {}: by its own account it missed nothing up to there.",
            crate::format::number(to)
        ),
    };
    Some(("up to date", words))
}

/// What a read says against it, while that stands.
fn doubted(object: &ObjectTrace, now: Time) -> Option<(&'static str, String)> {
    let span = object.verdicts.all().last().filter(|span| span.is_open())?;
    let lasting_us = span.end_at(now).micros_since(span.start.at);
    Some(("but", format!("{}.", verdict_words(&span.what, lasting_us))))
}
