//! Comparisons with the cluster on request: the comparison that a lane offers, and its result.

use watchscope_model::event::Verdict;
use watchscope_model::vocabulary::{AuditOutcome, Standing};
use watchscope_model::{Event, Object, Seq, WatchName};

use super::event::event_words;
use crate::format::count;
use crate::id::{LaneId, RecordId};
use crate::store::Store;

/// A comparison that the viewer may request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The lane that the comparison is about.
    pub lane: LaneId,
    /// The words of the button that requests the comparison: `Check this watch now`.
    pub offer: &'static str,
    /// The argument of the command `audit`: the watch, and in a second line the object, if the comparison is of one
    /// object: `shop/pods`, line feed, `shop/web-0`. A cluster-scoped object is its name alone. Hostile: show as text.
    pub argument: String,
}

/// Returns the comparison that a lane offers: that of its object, or else that of its watch. `None` for lanes of no
/// watch, and for watches that only check others. Panics as [`Store::lane_names`] does.
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

/// The result of a comparison, so far or final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The record of the result.
    pub record: RecordId,
    /// The result as a sentence, then the confirmed divergences of the lane, if any. These words are for a final
    /// result. Hostile: show as text.
    pub words: String,
    /// What to say while the comparison goes on: why it is not decided yet, or else the result without divergences.
    /// Never empty. Hostile: show as text.
    pub so_far: String,
}

/// Returns the result of a comparison requested after `asked`, the newest record at that time. Without `asked`, or if
/// it is of an earlier epoch, any result of the newest epoch counts. Of several results, one that could be decided is
/// preferred to one that could not. For an object, a comparison of this object alone is then preferred to one of all
/// objects; last, the latest is preferred. For an object, a decided list counts only if it is whole, not from a watch
/// cache, and not older than the object. `None` while there is no result, if its record is not loaded, and for lanes of
/// no watch.
#[must_use]
pub fn checked(store: &Store, lane: LaneId, asked: Option<RecordId>) -> Option<Checked> {
    let epoch = store.epochs().last()?;
    let number = epoch.number();
    // No result of an earlier epoch can come any more, so the first result of this epoch counts.
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
        let is_decided = audit.read.outcome() != AuditOutcome::CannotTell;
        let nearness = match object {
            None => 0,
            Some(object) if audit.object == Some(object) => 1,
            Some(object) if audit.covers(object, since) => 0,
            // A comparison of all objects that could not be made is the result for each object.
            Some(_) if !is_decided && audit.object.is_none() => 0,
            Some(_) => return None,
        };
        let seq = audit.moment.seq;
        (seq > after).then_some((is_decided, nearness, seq))
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

/// Returns the confirmed divergences of a lane, in words: the verdict if there is one, else their number; `None`
/// without any.
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
