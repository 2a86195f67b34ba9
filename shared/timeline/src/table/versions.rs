//! The objects of a lane with their versions: which resourceVersion each had, from when until when.

use watchscope_model::Time;

use super::gather::{InView, newest_first};
use super::kind::Kind;
use super::row::TableRow;
use crate::id::{LaneId, ObjectId, RecordId};
use crate::store::{ObjectTrace, Store, WatchTrace};

/// The most versions that a table lists, the newest ones. Older versions are only counted. The number has no source.
const VERSIONS_MOST: usize = 20_000;

/// Returns the loaded versions of the objects of a lane, the newest first. Of more than 20,000, the oldest are left
/// out. For the lane of an object, the result has the versions of that object. For other lanes of a watch, it has those
/// of all the watch's objects, for a lane of no watch none. A version lasts until the object's next loaded version of
/// the same epoch. The last version lasts until the object's life ends; if no end is loaded, until `now` or until the
/// life is last known to last. A DELETED is a row, too, without duration.
#[must_use]
pub fn versions(store: &Store, lane: LaneId, now: Time) -> InView {
    let mut rows = Vec::new();
    let Some(watch) = lane.watch() else {
        return InView::default();
    };
    for epoch in store.epochs() {
        let Some(trace) = epoch.trace.watch(watch) else {
            continue;
        };
        for (place, object) in (0..).zip(&trace.objects) {
            let id = ObjectId(place);
            if lane.object().is_none_or(|own| own == id) {
                let lane = LaneId::Object(watch, id);
                add(&mut rows, epoch.number(), lane, (trace, object), now);
            }
        }
    }
    newest_first(&mut rows);
    let total = rows.len() as u64;
    rows.truncate(VERSIONS_MOST);
    InView { rows, total }
}

fn add(
    rows: &mut Vec<TableRow>,
    epoch: u32,
    lane: LaneId,
    (trace, object): (&WatchTrace, &ObjectTrace),
    now: Time,
) {
    let marks = &trace.marks;
    let of_object = object.marks.as_slice();
    for (nth, mark) in of_object.iter().enumerate() {
        let place = mark.place();
        let kind = Kind::of_mark(mark.kind());
        let (at, seq) = (marks.at(place), marks.seq(place));
        let next = of_object.get(nth + 1);
        let mut lives = object.lives.all().iter();
        let life = lives.rfind(|life| life.start.seq <= seq);
        let until = match next {
            _ if kind == Kind::Deleted => at,
            Some(next) => marks.at(next.place()),
            None => life.map_or(at, |life| life.end_at(now).max(at)),
        };
        let id = RecordId { epoch, seq };
        rows.push(TableRow {
            until,
            version: marks.version(place),
            ..TableRow::moment(at, lane, kind, id)
        });
    }
}
