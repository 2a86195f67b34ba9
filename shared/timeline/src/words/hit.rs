//! Hits in words: a record, several that are drawn as one, a stretch, or the lane itself.

use watchscope_model::Time;

use super::lane::{accessible, lane_words};
use super::record::{Description, describe_record};
use super::stretch::stretch;
use crate::format::{clock_ms, count};
use crate::id::RecordId;
use crate::scene::{Hit, Target};
use crate::store::{Known, Store};

/// Returns what a hit stands for.
#[must_use]
pub fn describe(store: &Store, hit: &Hit, now: Time) -> Description {
    let lane = lane_words(store, hit.lane);
    let description = match &hit.target {
        Target::Record(id) => describe_record(store, hit.lane, *id),
        Target::Merged { first, last, count } => merged(store, *first, *last, *count),
        Target::Stretch(kind, id) => stretch(store, hit.lane, *kind, *id, now),
        Target::Lane => Description {
            what: accessible(Known::now(store, now), hit.lane),
            ..Description::default()
        },
    };
    Description {
        lane,
        ..description
    }
}

fn merged(store: &Store, first: RecordId, last: RecordId, total: u32) -> Description {
    let at = |id| store.record(id).map(|record| record.at);
    let time = match (at(first), at(last)) {
        (Some(from), Some(to)) => format!("{} to {}", clock_ms(from), clock_ms(to)),
        _ => String::new(),
    };
    Description {
        time,
        what: format!(
            "{}. Zoom in to tell them apart.",
            count(u64::from(total), "change")
        ),
        record: Some(first),
        ..Description::default()
    }
}
