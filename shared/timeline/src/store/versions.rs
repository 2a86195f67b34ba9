//! Finds the loaded record of a resourceVersion.

use watchscope_model::Time;

use super::cache::Store;
use super::mark_kind::{MarkKind, NO_VERSION};
use super::object_marks::ObjectMarks;
use super::trace::WatchTrace;
use crate::id::{LaneId, ObjectId, RecordId, WatchId};

/// How well a mark fits; the least key fits best: distance of the mark's version, rank of its kind, its time.
type Key = (u64, u8, Time);
/// A mark: the number of its epoch, its watch, and its index among the watch's marks.
type Found = (u32, WatchId, usize);

/// A loaded change, bookmark or complete list with a number as its resourceVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionPlace {
    /// The resourceVersion.
    pub version: u64,
    /// The record.
    pub record: RecordId,
    /// The record's lane: that of the object, or of the watch for a bookmark or a list.
    pub lane: LaneId,
    /// The time of the record.
    pub at: Time,
}

impl Store {
    /// Returns the loaded record with a resourceVersion, or else one with the nearest resourceVersion. Of several
    /// equally near, a change that a stream delivered comes before a change by a list, and any change before a bookmark
    /// or list. Of equal ones the earliest record counts. Only changes, bookmarks and complete lists count. `None` if
    /// none of these has a number as its resourceVersion. The function reads the resourceVersion of each loaded mark.
    #[must_use]
    pub fn nearest_version(&self, version: u64) -> Option<VersionPlace> {
        let mut best: Option<(Key, Found)> = None;
        for epoch in self.epochs() {
            for (watch, trace) in (0..).zip(&epoch.trace.watches) {
                let Some(trace) = trace else {
                    continue;
                };
                let marks = &trace.marks;
                let mut reader = marks.reader();
                for place in 0..marks.len() {
                    let found = reader.version(place);
                    let distance = found.abs_diff(version);
                    let is_farther = best.is_some_and(|((least, ..), _)| least < distance);
                    if is_farther || found == NO_VERSION {
                        continue;
                    }
                    let key = (distance, rank(marks.kind(place)), marks.at(place));
                    if best.is_none_or(|(known, _)| key < known) {
                        best = Some((key, (epoch.number(), WatchId(watch), place)));
                    }
                }
            }
        }
        let (_, (epoch, watch, place)) = best?;
        let trace = self.epoch(epoch)?.trace.watch(watch)?;
        Some(VersionPlace {
            version: trace.marks.version(place),
            record: RecordId {
                epoch,
                seq: trace.marks.seq(place),
            },
            lane: lane_of(trace, watch, place),
            at: trace.marks.at(place),
        })
    }
}

/// Returns 0 for a change that a stream delivered, 1 for a change by a list, 2 for a bookmark or list.
fn rank(kind: MarkKind) -> u8 {
    match kind.class() {
        Some(_) => u8::from(kind.is_by_list()),
        None => 2,
    }
}

/// Returns the lane of a mark.
fn lane_of(trace: &WatchTrace, watch: WatchId, place: usize) -> LaneId {
    let has = |marks: &ObjectMarks| !marks.within(&(place..place + 1)).is_empty();
    let mut objects = (0..).zip(&trace.objects);
    let object = objects.find(|(_, object)| has(&object.marks));
    object.map_or(LaneId::Watch(watch), |(object, _)| {
        LaneId::Object(watch, ObjectId(object))
    })
}
