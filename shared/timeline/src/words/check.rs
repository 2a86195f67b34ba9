//! Asking for a comparison: what can be compared from a lane, and what came of it.

use watchscope_model::event::Verdict;
use watchscope_model::vocabulary::{AuditOutcome, Standing};
use watchscope_model::{Event, Object, Seq, WatchName};

use super::event::event_words;
use crate::format::count;
use crate::id::{LaneId, RecordId};
use crate::store::Store;

/// A comparison that a person may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The lane it is about.
    pub lane: LaneId,
    /// What to ask, for a button.
    pub offer: &'static str,
    /// The argument of the command `audit`: the watch, and in a second line the object, if it is about one.
    pub argument: String,
}

/// What can be compared from a lane; nothing for the lanes of layers and findings, and of watches that prove others.
#[must_use]
pub fn check(store: &Store, lane: LaneId) -> Option<Check> {
    let (watch, object) = store.lane_names(lane);
    let watch = watch.filter(|watch| !WatchName::is_aside(watch))?;
    let (offer, argument) = match object {
        None => ("Check this watch now", watch.to_string()),
        Some(object) => {
            let namespace = object.namespace.as_deref().map(|name| format!("{name}/"));
            let place = format!("{}{}", namespace.unwrap_or_default(), object.name);
            ("Check this object now", format!("{watch}\n{place}"))
        }
    };
    Some(Check {
        lane,
        offer,
        argument,
    })
}

/// What came of a comparison, so far or at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The record that says so.
    pub record: RecordId,
    /// What it says, and what is confirmed to be wrong.
    pub words: String,
    /// What is waited for, as long as more may come.
    pub so_far: String,
}

/// What came of a comparison asked for after `asked`, the newest record then. What was told counts before what could not
/// be, and the last before the others.
#[must_use]
pub fn checked(store: &Store, lane: LaneId, asked: Option<RecordId>) -> Option<Checked> {
    let epoch = store.epochs().last()?;
    let number = epoch.number();
    // Of an epoch before this one nothing will come; what this one tells first is as good.
    let after = asked
        .filter(|id| id.epoch == number)
        .map_or(Seq(0), |id| id.seq);
    let trace = epoch.trace.watch(lane.watch()?)?;
    let object = lane.object();
    let since = object.and_then(|object| {
        let object = trace.objects.get(object.0 as usize)?;
        let life = object.lives.all().last()?;
        trace.version_since(object, life.start.seq)
    });
    let answers = trace.audits.iter().filter_map(|audit| {
        let is_told = audit.read.outcome() != AuditOutcome::CannotTell;
        let nearness = match object {
            None => 0,
            Some(object) if audit.object == Some(object) => 1,
            Some(object) if audit.tells_of(object, since) => 0,
            // That nothing can be told is told of all.
            Some(_) if !is_told && audit.object.is_none() => 0,
            Some(_) => return None,
        };
        let seq = audit.moment.seq;
        (seq > after).then_some((is_told, nearness, seq))
    });
    let (_, _, seq) = answers.max()?;
    let record = RecordId { epoch: number, seq };
    let event = &store.record(record)?.event;
    let words = event_words(event);
    let reason = match event {
        Event::Audit(audit) if audit.outcome() == AuditOutcome::CannotTell => audit.reason.as_ref(),
        _ => None,
    };
    Some(Checked {
        record,
        so_far: reason.map_or_else(|| words.clone(), |why| format!("{why}.")),
        words: match confirmed(store, lane) {
            Some(wrong) => format!("{words} {wrong}"),
            None => words,
        },
    })
}

/// What is known to be wrong of a lane.
fn confirmed(store: &Store, lane: LaneId) -> Option<String> {
    let (watch, object) = store.lane_names(lane);
    let watch = store.state()?.watches.get(watch?)?;
    let is_its = |verdict: &Verdict| {
        let place = |of: &Object| (of.namespace.clone(), of.name.clone());
        object.is_none_or(|object| place(object) == place(&verdict.object))
    };
    let mut wrong = watch
        .verdicts
        .values()
        .map(|open| &open.verdict)
        .filter(|verdict| verdict.state == Standing::Confirmed && is_its(verdict));
    let first = wrong.next()?;
    Some(match wrong.count() {
        0 => event_words(&Event::from(first.clone())),
        others => format!(
            "{} are confirmed to be wrong.",
            count(others as u64 + 1, "object")
        ),
    })
}
