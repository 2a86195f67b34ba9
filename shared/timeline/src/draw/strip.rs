//! Level of detail of a collapsed lane: its changes as columns, aligned to powers of two of microseconds.
//!
//! `level_of_detail.rs` has the level of detail of single marks.

use std::ops::Range;

use watchscope_model::Time;

use super::drawer::Drawer;
use super::look::Layer;
use crate::scene::{Column, Primitive, Px, STRIP_COLUMN_PX};
use crate::store::{Marks, Sums, WatchTrace};
use crate::tokens::Token;

/// For each height from 1 px up, the least count n that reaches it. A count's height in px is 1 + 2.6 log2(1 + n),
/// rounded. The logarithm lets both a single change and a burst of thousands show. Counts beyond the last entry get the
/// last height, 34 px. A row's own limit may be lower. The factor 2.6 has no source.
const HEIGHT_FROM: [u32; 34] = [
    1, 1, 1, 1, 2, 3, 4, 5, 7, 9, 12, 16, 21, 28, 36, 47, 62, 81, 106, 138, 181, 236, 308, 402,
    525, 686, 896, 1170, 1527, 1994, 2603, 3398, 4437, 5792,
];

/// Returns the height in px of a column that stands for `count` marks, at most `limit`.
fn height_px(count: u32, limit: u8) -> u8 {
    let height = HEIGHT_FROM.partition_point(|&least| least <= count);
    (height as u8).min(limit)
}

/// Columns count as one mark if the gap between them is less than this, in px, because hardly a word fits into it. The
/// number has no source.
const CLOSE: Px = Px::whole(24);

/// Colours of a column, from the bottom up: of deleted, added and modified. The order has no source.
const INKS: [Token; 3] = [Token::Deleted, Token::Added, Token::Modified];

/// Changes by column of time: added, modified, deleted. Each `column_us` µs of the drawn time have a column, even
/// without changes.
pub(super) struct Counts {
    column_us: i64,
    /// The number of the first column: its begin in µs, divided by `column_us`.
    first: i64,
    columns: Vec<[u32; 3]>,
}

impl Counts {
    /// Returns the begin of the first column.
    pub(super) fn left(&self) -> Time {
        Time(self.first * self.column_us)
    }

    /// Returns the width of a column in µs.
    pub(super) fn column_us(&self) -> i64 {
        self.column_us
    }

    /// Returns the number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the counts of all columns, in order of time.
    pub(super) fn columns(&mut self) -> &mut [[u32; 3]] {
        &mut self.columns
    }

    /// Adds the changes of the marks at `places` to the columns; `of` chooses which counts of the marks are added.
    pub(super) fn add(&mut self, marks: &Marks, places: Range<usize>, of: fn(&Sums) -> [u32; 3]) {
        let column_us = self.column_us;
        let mut end_of = |at: Time| Time((at.0.div_euclid(column_us) + 1) * column_us);
        marks.sum_by(places, &mut end_of, &mut |at, sums| {
            if let Some(column) = self.column(at) {
                for (count, more) in column.iter_mut().zip(of(sums)) {
                    *count += more;
                }
            }
        });
    }

    /// Returns the counts of the column that holds a time, if it is one of the drawn columns.
    pub(super) fn column(&mut self, at: Time) -> Option<&mut [u32; 3]> {
        let column = at.0.div_euclid(self.column_us) - self.first;
        self.columns.get_mut(usize::try_from(column).ok()?)
    }
}

impl Drawer<'_> {
    /// Draws columns of a watch's changes, standing on `bottom`.
    pub(super) fn strip(&mut self, trace: &WatchTrace, bottom: Px, limit: u8) {
        let mut counts = self.counts();
        let from = counts.left();
        let to = Time(self.right.0.saturating_add(1));
        let places = trace.marks.place_at(from)..trace.marks.place_at(to);
        counts.add(&trace.marks, places, Sums::changes);
        self.columns(&counts, bottom, limit);
    }

    /// Returns empty columns for all of the drawn time.
    pub(super) fn counts(&self) -> Counts {
        let column_us = self.picture.view.aligned_us(f64::from(STRIP_COLUMN_PX));
        let first = self.left.0.div_euclid(column_us);
        let last = self.right.0.div_euclid(column_us);
        let columns = usize::try_from(last - first).map_or(0, |columns| columns + 1);
        Counts {
            column_us,
            first,
            columns: vec![[0; 3]; columns],
        }
    }

    /// Draws columns of changes.
    pub(super) fn columns(&mut self, counts: &Counts, bottom: Px, limit: u8) {
        let start = self.scene.columns.len() as u32;
        for (column, &counted) in (counts.first..).zip(&counts.columns) {
            self.push_column(column, counts.column_us, counted, limit);
        }
        let columns = start..self.scene.columns.len() as u32;
        if !columns.is_empty() {
            self.occupy_columns(columns.clone(), bottom, limit);
            self.push(
                Layer::Change,
                Primitive::Strip {
                    bottom,
                    columns,
                    inks: INKS,
                    opacity: 85,
                },
            );
        }
    }

    /// Keeps words clear of columns. Columns that stand close together count as one mark.
    fn occupy_columns(&mut self, columns: std::ops::Range<u32>, bottom: Px, limit: u8) {
        let ys = (bottom - Px::whole(i32::from(limit)), bottom);
        let mut run: Option<(Px, Px)> = None;
        for place in columns {
            let x = self.scene.columns[place as usize].x;
            let end = x + Px::whole(STRIP_COLUMN_PX);
            run = match run {
                Some((from, to)) if x - to < CLOSE => Some((from, end)),
                other => {
                    other.into_iter().for_each(|run| self.occupy(run, ys));
                    Some((x, end))
                }
            };
        }
        run.into_iter().for_each(|run| self.occupy(run, ys));
    }

    fn push_column(
        &mut self,
        column: i64,
        column_us: i64,
        [added, modified, deleted]: [u32; 3],
        limit: u8,
    ) {
        let total = added + modified + deleted;
        if total == 0 {
            return;
        }
        let height = height_px(total, limit);
        let share = |count: u32| {
            if count == 0 {
                0
            } else {
                (u64::from(height) * u64::from(count) / u64::from(total)).max(1) as u8
            }
        };
        // A rare kind keeps at least 1 px; the most frequent kind gives up its height.
        let (low, mid) = (share(deleted), share(added));
        let top = height.saturating_sub(low + mid);
        let heights = if modified > 0 {
            [low, mid, top.max(1)]
        } else {
            [low, height.saturating_sub(low), 0]
        };
        let heights = if modified == 0 && added == 0 {
            [height, 0, 0]
        } else {
            heights
        };
        let x = self.x(Time(column * column_us)).floor();
        self.scene.columns.push(Column { x, heights });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_grows_with_the_logarithm_of_its_count_and_stops_at_the_row() {
        let heights: Vec<u8> = [0, 1, 3, 10, 100, 1_000, 100_000]
            .map(|count| height_px(count, 40))
            .into();
        assert_eq!(heights, [0, 4, 6, 10, 18, 27, 34]);
        assert_eq!(height_px(1_000, 14), 14);
    }
}
