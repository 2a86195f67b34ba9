//! Asking for a comparison: what can be compared from a lane, and what came of it.

use watchscope_model::event::Audit;
use watchscope_model::{Seq, WatchName};

use super::event_words;
use crate::id::{LaneId, RecordId};
use crate::store::{Compared, Store};

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

/// What came of a comparison asked for after `asked`, the newest record then: the record that says so, and its words.
#[must_use]
pub fn checked(store: &Store, lane: LaneId, asked: Option<RecordId>) -> Option<(RecordId, String)> {
    let epoch = store.epochs().len().checked_sub(1)?;
    let number = u32::try_from(epoch).ok()?;
    // Of an epoch before this one nothing will come; what this one tells first is as good.
    let after = asked
        .filter(|id| id.epoch == number)
        .map_or(Seq(0), |id| id.seq);
    let trace = store.epochs()[epoch].trace.watch(lane.watch()?)?;
    let mark = trace.audits.iter().find(|audit| {
        let answers = match (lane.object(), audit.of) {
            (None, _) | (Some(_), Compared::All) => true,
            (Some(object), Compared::One(compared)) => object == compared,
            (Some(_), Compared::Some) => &*audit.outcome == Audit::CANNOT_TELL,
        };
        answers && audit.moment.seq > after
    })?;
    let id = RecordId {
        epoch: number,
        seq: mark.moment.seq,
    };
    let record = store.record(id)?;
    Some((id, event_words(&record.event)))
}
