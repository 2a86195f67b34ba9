//! Counts changes: from marks where records are loaded, from the catalogue elsewhere.

use watchscope_model::Time;
use watchscope_model::event::Change;
use watchscope_model::wire::Availability;

use super::scale::Overview;
use crate::scene::STRIP_COLUMN_PX;
use crate::store::{Epoch, Store};

/// Width of a density column, in px: that of a strip's columns.
const COLUMN_PX: usize = STRIP_COLUMN_PX as usize;
/// Least width in px at which a listed chapter gets a step of its own: three columns. The changes of narrower chapters
/// add up in columns. The number has no source.
const STEP_PX: i64 = 6;
/// Width in px from which steps stand 1 px apart. So the space of 1 px takes at most a twelfth of a step. The number
/// has no other source.
const APART_FROM_PX: i64 = 12;

/// Changes in each part of the strip.
#[derive(Clone, Debug)]
pub(super) struct Density {
    /// Changes of loaded records, by column.
    pub(super) loaded: Vec<u32>,
    /// Changes of narrow listed chapters, by column.
    pub(super) narrow: Vec<u32>,
    /// For wide listed chapters, by px: the average changes of a column, and whether the px separates two chapters.
    pub(super) wide: Vec<(u32, bool)>,
}

/// The counted changes of one store's strip. They are kept while the strip stays the same, and while the store only
/// appends live records; these are added. Counting 100,000 loaded changes takes 1 ms, too long while a view is dragged
/// or 20,000 records come in a second. The width of the strip, and the number of watches, bound the size of the counts.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The store's version up to which all is counted; `None` while the newest epoch is not counted.
    version: Option<u64>,
    trouble_version: u64,
    scale: Overview,
    density: Density,
    /// How many marks of the newest epoch are counted, by the watch's number.
    marks: Vec<usize>,
}

impl Counted {
    /// Returns the counts. First counts the records that were appended; counts all anew if the strip or anything else
    /// of the store changed.
    pub(super) fn of<'a>(
        counted: &'a mut Option<Self>,
        store: &Store,
        scale: &Overview,
    ) -> &'a Density {
        // It rises with each change of the store that does more than append.
        let trouble_version = store.trouble_version();
        counted.take_if(|old| old.trouble_version != trouble_version || old.scale != *scale);
        let counted = counted.get_or_insert_with(|| Self {
            version: None,
            trouble_version,
            scale: *scale,
            density: Density::count(store, scale),
            marks: Vec::new(),
        });
        let version = store.version();
        if counted.version != Some(version) {
            counted.version = Some(version);
            if let Some(newest) = store.epochs().last() {
                let Self { density, marks, .. } = counted;
                density.add_loaded(newest, scale, marks);
            }
        }
        &counted.density
    }
}

impl Density {
    /// Counts all changes that the strip shows, without the loaded ones of the newest epoch.
    fn count(store: &Store, scale: &Overview) -> Self {
        let mut density = Self {
            loaded: vec![0; scale.columns()],
            narrow: vec![0; scale.columns()],
            wide: vec![(0, false); scale.pixels()],
        };
        let epochs = store.epochs();
        for epoch in epochs {
            density.add_listed(epoch, scale);
        }
        for epoch in epochs.iter().rev().skip(1) {
            density.add_loaded(epoch, scale, &mut Vec::new());
        }
        density
    }

    /// Returns the greatest number of changes in one column or one step.
    pub(super) fn most(&self) -> u32 {
        let columns = self.loaded.iter().chain(&self.narrow).copied();
        let steps = self.wide.iter().map(|&(count, _)| count);
        columns.chain(steps).max().unwrap_or(0)
    }

    /// Adds the loaded changes of an epoch that are not counted yet. `counted` has the number of counted marks by the
    /// watch's number, and is updated.
    fn add_loaded(&mut self, epoch: &Epoch, scale: &Overview, counted: &mut Vec<usize>) {
        let column_us = scale.column_us();
        let watches = &epoch.trace.watches;
        counted.resize(watches.len().max(counted.len()), 0);
        for (watch, counted) in watches.iter().zip(counted) {
            let Some(watch) = watch else { continue };
            let marks = &watch.marks;
            let from = std::mem::replace(counted, marks.len());
            let column_of = |at: Time| at.micros_since(scale.left()).div_euclid(column_us);
            let mut end_of = |at: Time| {
                let end_us = (column_of(at) + 1).saturating_mul(column_us);
                scale.left().plus_micros(end_us)
            };
            let places = marks.place_at(scale.left()).max(from)..marks.len();
            marks.sum_by(places, &mut end_of, &mut |at, sums| {
                let column = usize::try_from(column_of(at)).ok();
                let column = column.and_then(|column| self.loaded.get_mut(column));
                if let Some(column) = column {
                    *column += sums.changes().iter().sum::<u32>();
                }
            });
        }
    }

    fn add_listed(&mut self, epoch: &Epoch, scale: &Overview) {
        let mut before = None;
        for entry in epoch.catalogue() {
            let summary = &entry.summary;
            // A chapter begins where the one before it ends.
            let follows = before.filter(|&(next, _)| next == summary.first);
            let from = follows.map_or(summary.first_at, |(_, at)| at);
            before = Some((summary.last.next(), summary.last_at));
            let mut counts = summary.counts.iter();
            let changes = counts.find(|(kind, _)| *kind == Change::KIND);
            if let Some(&(_, changes)) = changes
                && entry.availability == Availability::Kept
            {
                self.add_chapter(scale, from, summary.last_at.max(from), changes);
            }
        }
    }

    fn add_chapter(&mut self, scale: &Overview, from: Time, to: Time, changes: u64) {
        if to < scale.left() || from >= scale.right() || changes == 0 {
            return;
        }
        let column_us = scale.column_us();
        let lasted_us = to.micros_since(from).max(1);
        let pxs = scale.pxs_of(from, to);
        let width = scale.px_of(to) - scale.px_of(from);
        if width >= STEP_PX {
            let average = average(changes, column_us, lasted_us);
            let begins = width >= APART_FROM_PX && scale.px_of(from) == pxs.start as i64;
            for (place, step) in self.wide[pxs].iter_mut().enumerate() {
                step.0 = step.0.max(average);
                step.1 |= begins && place == 0;
            }
            return;
        }
        for column in pxs.start / COLUMN_PX..=pxs.end / COLUMN_PX {
            let Some(count) = self.narrow.get_mut(column) else {
                return;
            };
            let start = scale.left().plus_micros(column as i64 * column_us);
            let end = start.plus_micros(column_us);
            let inside_us = to.min(end).micros_since(from.max(start));
            let is_only = pxs.start / COLUMN_PX == pxs.end / COLUMN_PX;
            let inside_us = if is_only { lasted_us } else { inside_us };
            if inside_us > 0 {
                *count = count.saturating_add(share(changes, inside_us, lasted_us));
            }
        }
    }
}

/// Returns the average number of changes in a column, rounded, but at least 1, so that a column with changes is never
/// empty.
fn average(count: u64, column_us: i64, whole_us: i64) -> u32 {
    let (column, whole) = (column_us.max(0) as u128, whole_us.max(1) as u128);
    let average = (u128::from(count) * column + whole / 2) / whole;
    u32::try_from(average.max(1)).unwrap_or(u32::MAX)
}

/// Returns the part of `count` for a part of a duration, rounded up, so that rare changes do not vanish.
fn share(count: u64, part_us: i64, whole_us: i64) -> u32 {
    let (part, whole) = (part_us.max(0) as u128, whole_us.max(1) as u128);
    let share = (u128::from(count) * part).div_ceil(whole);
    u32::try_from(share).unwrap_or(u32::MAX)
}

/// The heights of columns and steps. The height of n changes rises with log2(1 + n), and the greatest count fills the
/// row.
pub(super) struct Heights {
    /// Height of the row, in px.
    limit: u32,
    /// log2 of the most changes of a column, rounded up to a whole number, so that heights stay the same while it
    /// grows little.
    most_bits: u32,
}

/// log2 of 1 more than the least count that fills the row. That count is 15 changes in a column, so that a few do not
/// look like many. The number has no source.
const LEAST_BITS: u32 = 4;

impl Heights {
    pub(super) fn new(limit_px: u8, most: u32) -> Self {
        Self {
            limit: u32::from(limit_px),
            most_bits: log2(most).div_ceil(BIT).max(LEAST_BITS),
        }
    }

    /// Returns the height in px of a column of `count` changes: at least 1 if there is any.
    pub(super) fn height_px(&self, count: u32) -> u8 {
        let height = log2(count) * self.limit / (self.most_bits * BIT);
        let least = u32::from(count > 0);
        height.max(least).min(self.limit) as u8
    }
}

/// The number that [`log2`] adds for each doubling of 1 + `count`, because it counts in 1/256. A row is at most 255 px
/// high, so 1/256 is less than 1 px of its height. The number has no other source.
const BIT: u32 = 256;

/// Returns log2 of 1 + `count` in steps of 1/256. Whole numbers give the same on host and wasm32.
fn log2(count: u32) -> u32 {
    let value = u64::from(count) + 1;
    let whole = value.ilog2();
    // Between two powers of two a straight line is close enough.
    let part = (value << 8 >> whole) as u32 - BIT;
    whole * BIT + part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_rise_with_the_logarithm_and_the_most_fills_the_row() {
        let heights = |most| {
            let heights = Heights::new(20, most);
            [0, 1, 3, 15, 100, 1_023].map(|count| heights.height_px(count))
        };
        assert_eq!(heights(3), [0, 5, 10, 20, 20, 20]);
        assert_eq!(heights(1_023), [0, 2, 4, 8, 13, 20]);
        assert_eq!(Heights::new(25, u32::MAX).height_px(u32::MAX), 25);
    }

    #[test]
    fn a_share_is_rounded_up_and_does_not_overflow() {
        assert_eq!(share(1, 1, 100), 1);
        assert_eq!(share(100, 1, 4), 25);
        assert_eq!(share(u64::MAX, i64::MAX, 1), u32::MAX);
        assert_eq!([1, 14, 15].map(|count| average(count, 1, 10)), [1, 1, 2]);
    }
}
