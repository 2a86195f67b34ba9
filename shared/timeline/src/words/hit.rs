//! Hits in words: a record, several that are drawn as one, a stretch, or the lane itself.

use watchscope_model::Time;

use super::lane::{accessible, lane_words};
use super::record::{Description, describe_record};
use super::stretch::stretch;
use crate::format::{clock_ms, count};
use crate::id::RecordId;
use crate::scene::{Hit, Target};
use crate::store::{Known, Store};

/// Returns what a hit stands for, in words. For a lane, these are the words for its content. A stretch that the store
/// does not know is described by its first record. For findings that the store does not know, only the lane has words.
/// `now` is the present on the log's clock. Panics if the store has no such watch, object or server.
#[must_use]
pub fn describe(store: &Store, hit: &Hit, now: Time) -> Description {
    let lane = lane_words(store, hit.lane);
    let description = match &hit.target {
        Target::Record(id) => describe_record(store, hit.lane, *id),
        Target::Merged { first, last, count } => merged(store, *first, *last, *count),
        Target::Findings(raised) => findings(store, raised),
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

/// Returns the description of several occurrences that share one chip.
fn findings(store: &Store, raised: &[RecordId]) -> Description {
    let spans = raised.iter().filter_map(|id| {
        let epoch = store.epoch(id.epoch)?;
        epoch.trace.occurrences.get(id.seq)
    });
    let spans: Vec<_> = spans.collect();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return Description::default();
    };
    let times = count(spans.len() as u64, "occurrence");
    let (code, name) = (&last.what.code, &last.what.name);
    Description {
        time: format!(
            "{} to {}",
            clock_ms(first.start.at),
            clock_ms(last.start.at)
        ),
        what: format!("{code} {name}: {times}. Click, then Enter steps through them."),
        record: raised.first().copied(),
        ..Description::default()
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
