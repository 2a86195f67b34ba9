//! The state of one watch's rows: whether it is open, and which of its objects have rows, and in which order.

use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Seq, Time, tree};

use super::choice::Choice;
use super::in_view::has_mark;
use super::row::{Density, RowKind};
use super::setup::Sorting;
use crate::id::{ObjectId, WatchId};
use crate::scene::Px;
use crate::store::{MarkKind, Store, WatchTrace};

/// Most objects that an open watch shows while rows need the room of the screen, so that several watches fit on it. A
/// screen with more room shows more ([`Kept::most`]), and a viewer may open all of the watch. The selected object may
/// be one more, and a filter or a picture of all rows shows more. Gone objects do not count. One more row stands for
/// the other objects. It says since when they are unchanged, if fewer objects than this number have rows. The number
/// has no source.
pub(crate) const OBJECTS_MOST: usize = 12;
/// The least log time in µs between two choices in which an object loses its row to another one. A verdict brings an
/// object in at once. The rows are also chosen at once if the sorting or the room changes, or if the time goes back.
/// The number is that of the order of watches, which changes at most once a second.
const GIVES_WAY_US: i64 = 1_000_000;
/// Time in µs after its deletion from which an object is folded into the row of gone objects, unless a verdict on it is
/// open. For an object that an epoch's first list in view lacks, the time counts from that list. During these 60 s a
/// viewer can see the deletion. The number has no source.
const GONE_US: i64 = 60_000_000;
/// Most objects that the store has met in a watch for which the rows of the watch are chosen again with each record.
/// For a watch with more objects, at least [`PACE_US`] lies between two choices, because each choice looks at all
/// objects. The number has no source.
const SMALL: usize = 200;
/// The least log time in µs between two choices of the rows of a watch with more than [`SMALL`] objects. The rows are
/// chosen at once if the viewer opens, closes or sorts. The same holds if the room for rows changes, or if the time
/// goes back. The number has no source.
const PACE_US: i64 = 250_000;

/// What a choice of rows depends on, besides the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The time of the pen, the line of now.
    pub(super) now: Time,
    /// The begin and the end of the time in view.
    pub(super) window: (Time, Time),
    /// Whether rows may change: the view follows now, or nothing was arranged before.
    pub(super) is_live: bool,
    /// Whether the order of rows that are sorted otherwise than by name may change.
    pub(super) may_sort: bool,
}

/// The state of one watch's rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kept {
    /// Whether the watch has a row.
    pub(super) is_shown: bool,
    /// Whether the watch opened by itself.
    pub(super) is_open: bool,
    /// Seq of the watch's last news (a change, a finding, or a difference over a seam); 0: no news.
    pub(super) news: Seq,
    /// Seq of the news for which the watch last tried to open by itself.
    pub(super) tried: Seq,
    /// Whether the watch's resourceVersion has a row while the watch is shown.
    pub(super) has_version: bool,
    /// Whether the arrangement has decided about `has_version`.
    pub(super) is_judged: bool,
    /// The objects that have rows, in the order of the rows. The first `changed` of these objects changed or have a
    /// verdict.
    pub(super) objects: Vec<ObjectId>,
    /// How many of `objects` changed or have a verdict. The other entries of `objects` are held objects, shown because
    /// the viewer opened the watch.
    changed: usize,
    /// The most objects that have rows beyond [`OBJECTS_MOST`], because the screen has room for them.
    pub(super) extra: usize,
    /// How many objects would have a row if there were room.
    pub(super) wanted: usize,
    /// When an object last lost its row to another one.
    gave_way_at: Time,
    /// All objects that are not gone, in their order; only while the viewer has opened all of the watch.
    pub(super) whole: Vec<ObjectId>,
    /// The number of objects without a row, without those that are gone.
    pub(super) others: usize,
    /// The objects that were deleted at least 60 s ago, by name.
    pub(super) gone: Vec<ObjectId>,
    /// When the next deleted object will count as gone, 60 s after its deletion; `None` if there is none.
    gone_next: Option<Time>,
    /// The inputs by which the objects were last chosen. The objects are chosen again only when these differ or an
    /// object becomes gone.
    chosen_by: ChosenBy,
    /// When the objects were last chosen.
    chosen_at: Time,
    /// Whether the watch is folded into the row of quiet watches.
    pub(super) is_folded: bool,
}

/// Counts of records and marks, the viewer's choice, the sorting, and the most objects with rows.
type ChosenBy = (u64, usize, Option<Choice>, Sorting, usize);

/// The rank of an object with a verdict: the greatest number, so it stands above all others.
const DOUBTED: u64 = u64::MAX;

/// What is known of an object that may have a row.
struct Candidate {
    object: ObjectId,
    /// Rank in the order of rows, if the object changed or has a verdict. The greatest rank comes first.
    key: Option<(u64, Seq)>,
    is_held: bool,
}

impl Kept {
    /// Whether the rows under the watch are shown.
    pub(super) fn is_open(&self, choice: Option<Choice>) -> bool {
        choice.map_or(self.is_open, |choice| choice != Choice::Closed)
    }

    /// Whether the watch's resourceVersion has a row. The resourceVersion has no row if the viewer closed this watch,
    /// or folded all watches and did not open this one.
    pub(super) fn shows_version(&self, choice: Option<Choice>, all_are_folded: bool) -> bool {
        let is_closed = choice == Some(Choice::Closed);
        self.has_version && !is_closed && (!all_are_folded || self.is_open(choice))
    }

    /// Returns the most objects that have rows, unless the viewer opened all of the watch.
    pub(super) fn most(&self) -> usize {
        OBJECTS_MOST + self.extra
    }

    /// Returns the height of the rows under the watch's own row, with at most [`OBJECTS_MOST`] objects.
    pub(super) fn under(&self, density: Density) -> Px {
        let height = |kind| density.whole_height(kind);
        let mut under = Px::ZERO;
        if self.has_version {
            under = under + height(RowKind::Version);
        }
        for _ in self.objects.iter().take(OBJECTS_MOST) {
            under = under + height(RowKind::Object);
        }
        if self.others > 0 || self.objects.len() > OBJECTS_MOST {
            under = under + height(RowKind::More);
        }
        // The row of gone objects is left out: it depends on how much of the log is loaded, and what opens does not.
        under
    }

    /// Whether the watch is quiet: it has had no news and no row of its resourceVersion, and did not open by itself.
    /// The viewer has neither opened nor closed it.
    pub(super) fn is_quiet(&self, choice: Option<Choice>) -> bool {
        self.news == Seq(0) && !self.is_open && choice.is_none() && !self.has_version
    }

    /// Whether the objects were last chosen under another choice of the viewer, or another sorting.
    pub(super) fn differs(&self, choice: Option<Choice>, sorting: Sorting) -> bool {
        (self.chosen_by.2, self.chosen_by.3) != (choice, sorting)
    }

    /// Chooses the objects that have rows, at most [`Kept::most`]. Objects with a verdict come first. Objects that
    /// changed follow, the latest first (or the most changes first, if sorted by rate), and then objects that differ
    /// over a seam. Rows are sorted again only when an object enters or the sorting changes. If there is no room for an
    /// object that enters, another one loses its row, at most once in [`GIVES_WAY_US`]. Objects deleted at least 60 s
    /// ago are gone: they have no row.
    pub(super) fn choose(
        &mut self,
        store: &Store,
        watch: WatchId,
        known: Option<&Watch>,
        choice: Option<Choice>,
        sorting: Sorting,
        moment: Moment,
    ) {
        let names = store.names();
        let traces = store.watch_traces(watch);
        let records = known.map_or(0, |known| known.counts.total());
        let marks = traces.iter().map(|trace| trace.marks.len()).sum();
        let most = self.most();
        let by = (records, marks, choice, sorting, most);
        let goes = self.gone_next.is_some_and(|at| moment.now >= at);
        if self.chosen_by == by && !goes {
            return;
        }
        let all = names.objects_by_name(watch);
        let waited_us = moment.now.micros_since(self.chosen_at);
        let is_asked = self.differs(choice, sorting);
        let is_sorted_anew = (self.chosen_by.3, self.chosen_by.4) != (sorting, most);
        if all.len() > SMALL && !is_asked && !is_sorted_anew && (0..PACE_US).contains(&waited_us) {
            return;
        }
        let (candidates, gone) = self.candidates(store, watch, known, &traces, sorting, moment);
        let mut top: Vec<((u64, Seq), ObjectId)> = Vec::new();
        for candidate in &candidates {
            let Some(key) = candidate.key else {
                continue;
            };
            let place = top.partition_point(|(other, _)| *other >= key);
            if place < most {
                top.truncate(most - 1);
                top.insert(place, (key, candidate.object));
            }
        }
        let ranked = candidates.iter().filter(|of| of.key.is_some()).count();
        let stood = &self.objects[..self.changed];
        let entering = top.iter().filter(|(_, object)| !stood.contains(object));
        let (mut enters, mut is_doubted) = (false, false);
        for ((rank, _), _) in entering {
            (enters, is_doubted) = (true, is_doubted || *rank == DOUBTED);
        }
        // If all that changed have room, none gives way.
        let gives_way = enters && ranked > most && stood.len() >= most;
        let rested_us = moment.now.micros_since(self.gave_way_at);
        let waits =
            gives_way && !is_doubted && !is_sorted_anew && (0..GIVES_WAY_US).contains(&rested_us);
        let mut objects: Vec<ObjectId> = if waits {
            let ranks = |object: &&ObjectId| {
                let mut ranked = candidates.iter().filter(|of| of.key.is_some());
                ranked.any(|of| of.object == **object)
            };
            stood.iter().filter(ranks).copied().collect()
        } else if enters || is_sorted_anew {
            top.iter().map(|&(_, object)| object).collect()
        } else {
            let stays = |object: &&ObjectId| top.iter().any(|(_, other)| other == *object);
            stood.iter().filter(stays).copied().collect()
        };
        // A choice that waits is made again with the next picture.
        if !waits {
            self.chosen_by = by;
        }
        self.chosen_at = moment.now;
        if gives_way && !waits {
            self.gave_way_at = moment.now;
        }
        self.changed = objects.len();
        let is_opened = choice.is_some();
        self.wanted = if is_opened { candidates.len() } else { ranked };
        for candidate in candidates.iter().filter(|_| is_opened) {
            if objects.len() >= most {
                break;
            }
            if candidate.is_held && !objects.contains(&candidate.object) {
                objects.push(candidate.object);
            }
        }
        self.others = candidates.len() - objects.len();
        self.objects = objects;
        self.gone = gone;
        self.choose_whole(candidates, choice, sorting, moment.may_sort || is_asked);
    }

    /// Puts all objects that are not gone in order, if the viewer has opened all of the watch. Unless `may_sort`,
    /// objects that have rows keep their order, and new ones follow; the order by name always applies.
    fn choose_whole(
        &mut self,
        mut candidates: Vec<Candidate>,
        choice: Option<Choice>,
        sorting: Sorting,
        may_sort: bool,
    ) {
        if choice != Some(Choice::Whole) {
            self.whole = Vec::new();
            return;
        }
        if sorting != Sorting::Name {
            tree::sort_by(&mut candidates, |a, b| {
                b.key.cmp(&a.key).then(a.object.cmp(&b.object))
            });
        }
        let came: Vec<ObjectId> = candidates
            .iter()
            .map(|candidate| candidate.object)
            .collect();
        self.whole = if may_sort || sorting == Sorting::Name {
            came
        } else {
            keep_order(&self.whole, came)
        };
    }

    /// Returns the objects that are not gone, by name, and the objects that are gone, by name.
    fn candidates(
        &mut self,
        store: &Store,
        watch: WatchId,
        known: Option<&Watch>,
        traces: &[&WatchTrace],
        sorting: Sorting,
        moment: Moment,
    ) -> (Vec<Candidate>, Vec<ObjectId>) {
        let names = store.names();
        let (left, right) = moment.window;
        let over_seam = traces.last().and_then(|trace| trace.list_over_seam());
        let over_seam = over_seam.filter(|(list, _)| (left..=right).contains(&list.moment.at));
        let has_verdicts = known.is_some_and(|known| !known.verdicts.is_empty());
        let (mut candidates, mut gone) = (Vec::new(), Vec::new());
        self.gone_next = None;
        for &object in names.objects_by_name(watch) {
            let place = names.object_at(watch, object);
            let held = known.and_then(|known| known.held(place));
            let is_doubted =
                has_verdicts && known.is_some_and(|known| known.verdict_on(place).is_some());
            if held.is_none() && !is_doubted {
                let seam = over_seam.filter(|(_, found)| found.of(object).is_some());
                let seam = seam.map(|(list, _)| list.moment.at);
                let Some(deleted) = deleted_at(traces, object).max(seam) else {
                    // The page has no record of it. Only a chapter that is loaded can bring it in.
                    continue;
                };
                let goes = deleted.plus_micros(GONE_US);
                if moment.now >= goes {
                    gone.push(object);
                    continue;
                }
                self.gone_next = Some(self.gone_next.map_or(goes, |next| next.min(goes)));
            }
            // An object from the last list has not changed, unless the list shows a change of an object that was held.
            let mark = || {
                let trace = traces.last()?;
                let marks = &trace.objects.get(object.0 as usize)?.marks;
                let is_seen = has_mark(trace, marks, left, right);
                let last = marks.last().filter(|_| is_seen)?;
                let is_change = held.is_none() || last.kind() != MarkKind::AddedByList;
                let last = last.place();
                is_change.then(|| (trace.marks.version(last), trace.marks.seq(last)))
            };
            let changed = match held {
                Some(held) if held.origin == Origin::Live => {
                    let version = held.resource_version.number().unwrap_or(0);
                    Some((version, held.since.seq))
                }
                _ => mark().or_else(|| {
                    let (list, found) = over_seam?;
                    found.of(object).map(|_| (0, list.moment.seq))
                }),
            };
            let changed = match sorting {
                Sorting::Rate => changed.map(|(_, seq)| (changes(traces, object), seq)),
                _ => changed,
            };
            candidates.push(Candidate {
                object,
                key: if is_doubted {
                    Some((DOUBTED, Seq(0)))
                } else {
                    changed
                },
                is_held: held.is_some(),
            });
        }
        (candidates, gone)
    }
}

/// Returns when an object's last loaded life ended: the time of the object's last mark or of the life's end, whichever
/// is later.
fn deleted_at(traces: &[&WatchTrace], object: ObjectId) -> Option<Time> {
    traces.iter().rev().find_map(|trace| {
        let part = trace.objects.get(object.0 as usize)?;
        let ended = part.lives.all().last().and_then(|life| life.end);
        let last = part.marks.last().map(|mark| trace.marks.at(mark.place()));
        ended.map(|end| end.at).max(last)
    })
}

/// Returns the number of an object's loaded changes that streams delivered.
fn changes(traces: &[&WatchTrace], object: ObjectId) -> u64 {
    let parts = traces
        .iter()
        .filter_map(|trace| trace.objects.get(object.0 as usize));
    parts.map(|part| part.changes()).sum()
}

/// Returns `came` in the order of `before`; items that are not in `before` follow in their own order.
pub(super) fn keep_order<T: Ord>(before: &[T], came: Vec<T>) -> Vec<T> {
    let mut places: Vec<(&T, usize)> = before.iter().zip(0..).collect();
    tree::sort(&mut places);
    let place = |item: &T| {
        let found = places.binary_search_by(|(other, _)| (*other).cmp(item));
        found.map_or(usize::MAX, |at| places[at].1)
    };
    let mut placed: Vec<(usize, usize, T)> = came
        .into_iter()
        .enumerate()
        .map(|(at, item)| (place(&item), at, item))
        .collect();
    tree::sort_by(&mut placed, |a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    placed.into_iter().map(|(_, _, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_keeps_its_order_and_what_is_new_follows() {
        assert_eq!(keep_order(&[3, 1, 2], vec![1, 2, 3, 4, 0]), [3, 1, 2, 4, 0]);
        assert_eq!(keep_order(&[3, 1, 2], vec![2, 3]), [3, 2]);
        assert_eq!(keep_order(&[], vec![2, 3]), [2, 3]);
    }
}
