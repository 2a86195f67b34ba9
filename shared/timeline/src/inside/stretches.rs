//! The stretches of time in which a client of a simulated cluster had no stream, or held a ghost.

use watchscope_model::{Text, Time};

use super::ghosts::UNDER_WAY_US;
use crate::levels::{Layer, Level, Tone};
use crate::store::Store;

/// The stretches in which any client was in trouble, in no order; they may overlap. An end is at most the requested
/// time. Stretches of at most 1 s are left out: they are mere propagation delay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches {
    /// The stretches in which a client had no stream.
    pub away: Vec<(Time, Time)>,
    /// The stretches in which a client held an object that was not in etcd.
    pub haunted: Vec<(Time, Time)>,
}

/// Returns the stretches of all clients up to a time. A stretch that is open at the end of an epoch lasts until that
/// time, too. A cluster that reports nothing of its inside has none.
#[must_use]
pub fn stretches(store: &Store, until: Time) -> Stretches {
    let mut found = Stretches::default();
    for (layer, id) in store.layer_names().sorted() {
        if !matches!(layer, Layer::Client(_)) {
            continue;
        }
        for epoch in store.epochs() {
            let points = epoch.layer_trace.levels(id);
            let collect = |holds: fn(&Level) -> bool, into: &mut Vec<(Time, Time)>| {
                let mut since = None;
                for point in points.iter().filter(|point| point.moment.at <= until) {
                    match (since, holds(&point.level)) {
                        (None, true) => since = Some(point.moment.at),
                        (Some(from), false) => {
                            into.push((from, point.moment.at));
                            since = None;
                        }
                        _ => {}
                    }
                }
                into.extend(since.map(|from| (from, until)));
            };
            collect(|level| level.tone != Tone::Open, &mut found.away);
            collect(|level| level.ghosts > 0, &mut found.haunted);
        }
    }
    let is_long = |(from, to): &(Time, Time)| to.micros_since(*from) > UNDER_WAY_US;
    found.away.retain(is_long);
    found.haunted.retain(is_long);
    found
}

/// Returns the first time from which a client held at least this many ghosts at once for over 1 s; `None` if it never
/// did up to `until`. A shorter time is mere propagation delay.
#[must_use]
pub fn haunted_by(store: &Store, client: &str, ghosts: u64, until: Time) -> Option<Time> {
    let id = store
        .layer_names()
        .find(&Layer::Client(Text::from(client)))?;
    let epochs = store.epochs().iter();
    let mut since = None;
    for point in epochs.flat_map(|epoch| epoch.layer_trace.levels(id)) {
        let at = point.moment.at.min(until);
        if let Some(from) = since
            && at.micros_since(from) > UNDER_WAY_US
        {
            return Some(from);
        }
        since = (point.level.ghosts >= ghosts).then(|| since.unwrap_or(at));
    }
    since.filter(|from| until.micros_since(*from) > UNDER_WAY_US)
}
