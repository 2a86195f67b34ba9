//! The list of trouble: its order, steps through it, and indexes that a frame reads without a pass over it.

use watchscope_model::tree;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Time, WatchName};

use super::gather::gather;
use super::trouble::{Trouble, TroublePlace};
use super::worst::{Named, OffSide, Side};
use crate::findings::Muted;
use crate::id::{RecordId, WatchId};
use crate::store::Store;

/// The trouble of a store by the time at which it began, without that of muted findings in loaded records. A gap or
/// outage that a finding is about does not count besides that finding. The list holds one entry for each trouble that
/// loaded records show or that was open before them. For each listed chapter it holds at most 32. The caller makes a
/// new list when [`is_behind`](Self::is_behind) returns true.
#[derive(Clone, Debug, Default)]
pub struct Troubles {
    all: Vec<Trouble>,
    /// For each entry, how many troubles come before it.
    before: Vec<u64>,
    total: u64,
    /// Indexes of all entries, sorted by the rising end of the entries' marks.
    by_end: Vec<u32>,
    /// For each position in `by_end`, the count and the worst of all entries up to it, itself included.
    ended: Vec<(u64, Named)>,
    /// For each index, the count and the worst of all entries from it on, itself included.
    begins: Vec<(u64, Named)>,
    /// The trouble of each watch that has any, sorted by watch.
    watches: Vec<OfWatch>,
    /// The indexes of entries, sorted by the record that selects the entry.
    by_record: Vec<(RecordId, u32)>,
    is_exact: bool,
    of_version: Option<u64>,
    due: Option<Time>,
}

/// The trouble of one watch.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfWatch {
    pub(super) watch: WatchId,
    /// How many troubles have the watch as the first that they concern, and the worst of these.
    pub(super) first: (u64, Named),
    /// When, of all troubles that concern the watch, the first mark ended.
    pub(super) first_until: Time,
    /// When the last trouble that concerns the watch began.
    pub(super) last_began: Time,
    /// The worst severity of all trouble that concerns the watch.
    pub(super) severity: Severity,
}

impl Troubles {
    /// Gathers the trouble that is not muted. A gap, refusal or wait that a finding is about is not listed, even if the
    /// finding is muted. A muted finding is not listed either. Trouble of chapters that are not loaded is listed even
    /// if it is muted: their summaries do not name findings. `now` decides whether an open wait has lasted over 5 s.
    #[must_use]
    pub fn read(store: &Store, muted: &Muted, now: Time) -> Self {
        let (all, due) = gather(store, muted, now);
        let mut list = Self::of(all);
        list.of_version = Some(store.trouble_version());
        list.due = due;
        list
    }

    /// Returns whether the store may have other trouble by now, or a wait has become trouble; `true` for a list that
    /// [`Troubles::read`] did not make. Muting is no change of the store, so the caller itself must notice that a mute
    /// changed.
    #[must_use]
    pub fn is_behind(&self, store: &Store, now: Time) -> bool {
        self.of_version != Some(store.trouble_version()) || self.due.is_some_and(|due| due <= now)
    }

    /// Returns a list of trouble, sorted by when it began and then by record, with its indexes. [`Troubles::is_behind`]
    /// returns true for such a list with any store.
    #[must_use]
    pub fn of(mut all: Vec<Trouble>) -> Self {
        tree::sort_by_key(&mut all, |of| (of.began, of.place.record()));
        let mut by_end: Vec<u32> = (0..all.len() as u32).collect();
        tree::sort_by_key(&mut by_end, |&place| {
            (all[place as usize].marked_until, place)
        });
        let mut list = Self {
            is_exact: all.iter().all(|of| of.place != TroublePlace::NotLoaded),
            by_end,
            ..Self::default()
        };
        for trouble in &all {
            list.before.push(list.total);
            list.total += trouble.counts();
        }
        let mut so_far = (0, Named::default());
        for &place in &list.by_end {
            add(&mut so_far, &all, place);
            list.ended.push(so_far);
        }
        so_far = (0, Named::default());
        for place in (0..all.len() as u32).rev() {
            add(&mut so_far, &all, place);
            list.begins.push(so_far);
        }
        list.begins.reverse();
        let mut of_watches: Vec<(WatchId, u32, bool)> = Vec::new();
        for (place, trouble) in (0..).zip(&all) {
            let watches = trouble.watches.iter().enumerate();
            of_watches.extend(watches.map(|(nth, &watch)| (watch, place, nth == 0)));
            let record = trouble.place.record();
            list.by_record.extend(record.map(|record| (record, place)));
        }
        tree::sort_by_key(&mut of_watches, |&of| of);
        tree::sort_by_key(&mut list.by_record, |&of| of);
        for (watch, place, is_first) in of_watches {
            let trouble = &all[place as usize];
            if list.watches.last().is_none_or(|last| last.watch != watch) {
                list.watches.push(OfWatch {
                    watch,
                    first: (0, Named::default()),
                    first_until: trouble.marked_until,
                    last_began: trouble.began,
                    severity: trouble.severity,
                });
            }
            if let Some(of) = list.watches.last_mut() {
                of.first_until = of.first_until.min(trouble.marked_until);
                of.last_began = of.last_began.max(trouble.began);
                of.severity = of.severity.worse(trouble.severity);
                if is_first {
                    add(&mut of.first, &all, place);
                }
            }
        }
        list.all = all;
        list
    }

    /// Returns all trouble by the time at which it began; may be empty. Of trouble that began at one time, trouble that
    /// is not loaded comes first, then by record.
    #[must_use]
    pub fn all(&self) -> &[Trouble] {
        &self.all
    }

    /// Returns the number of troubles. An entry of a chapter that is not loaded counts as many troubles as its summary
    /// joined into it; each other entry counts as one.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns whether the total is exact: no trouble comes from the summary of a chapter that is not loaded. The total
    /// of an empty list is exact, but the default list counts as not exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the number of an entry among all, from 1, by its index in [`Troubles::all`]; 0 if there is no such
    /// entry. An entry that counts several troubles has the number of the first of them.
    #[must_use]
    pub fn number(&self, place: usize) -> u64 {
        self.before.get(place).map_or(0, |before| before + 1)
    }

    /// Returns the index in [`Troubles::all`] of the trouble that a record selects; `None` if the record selects none.
    /// Of several entries with the same record, any may be returned.
    #[must_use]
    pub fn find(&self, record: RecordId) -> Option<usize> {
        let by_record = &self.by_record;
        let place = by_record.binary_search_by_key(&record, |&(record, _)| record);
        place.ok().map(|place| by_record[place].1 as usize)
    }

    /// Returns the index of the first trouble that began after a time, which is excluded; `None` if none did.
    #[must_use]
    pub fn after(&self, at: Time) -> Option<usize> {
        let place = self.all.partition_point(|of| of.began <= at);
        (place < self.all.len()).then_some(place)
    }

    /// Returns the index of the last trouble that began before a time, which is excluded; `None` if none did.
    #[must_use]
    pub fn before(&self, at: Time) -> Option<usize> {
        self.all.partition_point(|of| of.began < at).checked_sub(1)
    }

    /// Returns the index of the trouble that began nearest to a time; of two equally near, the earlier. Of several that
    /// began together at or before `at`, the last index is returned; of several that began together after it, the
    /// first. `None` if there is no trouble.
    #[must_use]
    pub fn nearest(&self, at: Time) -> Option<usize> {
        let (before, after) = (self.before(at.plus_micros(1)), self.after(at));
        let off = |place: usize| self.all[place].began.micros_since(at).abs();
        let mut both = before.into_iter().chain(after);
        let first = both.next()?;
        Some(both.fold(
            first,
            |best, next| {
                if off(next) < off(best) { next } else { best }
            },
        ))
    }

    /// Returns the trouble whose marks end before a time, which is excluded: its count, and the worst. A finding that
    /// is still open counts too if the record that raised it lies before that time. The count is 0 if there is no such
    /// trouble.
    #[must_use]
    pub fn marked_before(&self, left: Time) -> OffSide {
        let ends = |&place: &u32| self.all[place as usize].marked_until < left;
        let count = self.by_end.partition_point(ends);
        let of = count.checked_sub(1).map(|last| self.ended[last]);
        of.map_or_else(OffSide::default, |(count, named)| named.side(count))
    }

    /// Returns the trouble that begins after a time, which is excluded: its count, and the worst. The count is 0 if no
    /// trouble does.
    #[must_use]
    pub fn begins_after(&self, right: Time) -> OffSide {
        let of = self.after(right).map(|first| self.begins[first]);
        of.map_or_else(OffSide::default, |(count, named)| named.side(count))
    }

    /// Returns whether a watch has trouble before a stretch of time, after it, or both, and the worst severity of all
    /// its trouble. The severity counts trouble within the stretch, too; the edges belong to the stretch. `None` if the
    /// watch has trouble on neither side. Trouble of several watches counts for each.
    #[must_use]
    pub fn sides(&self, watch: WatchId, (left, right): (Time, Time)) -> Option<(Side, Severity)> {
        let of = self.of_watch(watch)?;
        let side = Side {
            is_left: of.first_until < left,
            is_right: of.last_began > right,
        };
        (side.is_left || side.is_right).then_some((side, of.severity))
    }

    pub(super) fn of_watch(&self, watch: WatchId) -> Option<&OfWatch> {
        let place = self.watches.binary_search_by_key(&watch, |of| of.watch);
        place.ok().map(|place| &self.watches[place])
    }

    pub(super) fn watches(&self) -> &[OfWatch] {
        &self.watches
    }

    /// Returns the name of the first watch that a trouble concerns, and how many more it concerns. `place` is the
    /// trouble's index in [`Troubles::all`]. `None` if there is no such trouble, or it concerns no watch. `store` is
    /// the store that the list was read from; with another store the call may panic.
    #[must_use]
    pub fn watch_of<'a>(&self, store: &'a Store, place: usize) -> Option<(&'a WatchName, usize)> {
        let watches = &self.all.get(place)?.watches;
        let first = store.names().watch_name(*watches.first()?);
        Some((first, watches.len() - 1))
    }
}

fn add((count, named): &mut (u64, Named), all: &[Trouble], place: u32) {
    *count += all[place as usize].counts();
    named.add(place, |place| all[place as usize].badness());
}
