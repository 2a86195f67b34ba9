//! Divides the marks of an object into the groups that cells draw: mark by mark, or bucket by bucket.
//!
//! ```text
//!   cells     |               |               |      32 to 64 px: marks are merged only within one
//!   buckets   | | | | | | | | | | | | | | | | |      1.5 to 3 px: marks in neighbouring ones are always merged
//! ```
//! The marks of an object are far apart among the marks of its watch, so each read of a time waits for memory. The
//! borders of buckets are looked up once for all objects of a watch. Between two borders the times need not be read.

use std::ops::Range;

use super::level_of_detail::{Cells, Piece, Placed};
use crate::store::{MarkReader, Marks, ObjectMark};
use crate::view::View;
use watchscope_model::Time;

/// A function that draws the pieces of a cell.
pub(super) type Draw<'d> = dyn FnMut(&[Piece], i64) + 'd;

/// The group of one cell, while marks are added to it.
pub(super) struct Groups<'a> {
    cells: Cells,
    view: View,
    reader: MarkReader<'a>,
    marks: &'a [ObjectMark],
    /// The pieces of the group. The last piece's last mark may not be read yet.
    pieces: Vec<Piece>,
    /// Whether the last mark of the last piece is still to be read.
    is_open: bool,
    cell: i64,
}

impl<'a> Groups<'a> {
    /// Begins with the first of an object's marks.
    pub(super) fn new(
        cells: Cells,
        view: View,
        of_watch: &'a Marks,
        marks: &'a [ObjectMark],
    ) -> Self {
        Self {
            cells,
            view,
            reader: of_watch.reader(),
            marks,
            pieces: Vec::new(),
            is_open: false,
            cell: i64::MIN,
        }
    }

    /// Reads each mark, and passes the pieces of each cell to `draw`.
    pub(super) fn by_marks(&mut self, draw: &mut Draw<'_>) {
        for index in 0..self.marks.len() {
            let placed = self.placed(index);
            self.add(index, placed, draw);
        }
        self.close(draw);
    }

    /// Passes the pieces of each cell to `draw`, as [`Groups::by_marks`] does. Reads only marks that decide where a
    /// piece begins or ends. The first bucket begins at `from`, which is the begin of a cell. Each bucket is
    /// `bucket_us` µs wide. `borders` are the indexes, among the watch's marks, of the first mark behind each bucket.
    /// A mark behind the last bucket is left out.
    pub(super) fn by_buckets(
        &mut self,
        (from, bucket_us): (Time, i64),
        borders: &[usize],
        draw: &mut Draw<'_>,
    ) {
        let mut start = 0;
        // The bucket before has marks.
        let mut is_next = false;
        for (bucket, &border) in (0..).zip(borders) {
            let marks = &self.marks[start..];
            let end = start
                + marks
                    .iter()
                    .take_while(|mark| mark.place() < border)
                    .count();
            if end == start {
                is_next = false;
                continue;
            }
            let begins = from.plus_micros(bucket_us * bucket);
            let own = self.cells.at(begins);
            if own == self.cell {
                if is_next {
                    self.extend(end);
                } else {
                    let first = self.placed(start);
                    self.settle();
                    let last = self.pieces.last().map(|piece| piece.last.at);
                    if last.is_some_and(|last| self.cells.are_near(last, first.at)) {
                        self.extend(end);
                    } else {
                        self.begin(first, start..end);
                    }
                }
            } else {
                // At most one mark in 16 is in such a bucket.
                let mut index = start;
                while index < end && self.cell != own {
                    let placed = self.placed(index);
                    self.add(index, placed, draw);
                    index += 1;
                }
                if index < end {
                    self.extend(end);
                }
            }
            (start, is_next) = (end, true);
        }
        self.close(draw);
    }

    /// Returns a mark with its time and position.
    fn placed(&mut self, index: usize) -> Placed {
        let place = self.marks[index].place();
        let at = self.reader.at(place);
        Placed {
            place,
            at,
            x: self.view.x(at),
        }
    }

    /// Reads the last mark of the last piece.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        if let Some(end) = self.pieces.last().map(|piece| piece.end) {
            let last = self.placed(end - 1);
            if let Some(piece) = self.pieces.last_mut() {
                piece.last = last;
            }
        }
    }

    /// Adds the marks up to `end` to the last piece.
    fn extend(&mut self, end: usize) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.end = end;
            self.is_open = true;
        }
    }

    /// Begins a piece with these marks. The first of them is read.
    fn begin(&mut self, first: Placed, marks: Range<usize>) {
        self.pieces.push(Piece {
            start: marks.start,
            end: marks.end,
            first,
            last: first,
        });
        self.is_open = marks.len() > 1;
    }

    /// Adds a mark. If it belongs to another cell, the group is drawn, and the mark begins another one.
    fn add(&mut self, index: usize, placed: Placed, draw: &mut Draw<'_>) {
        self.settle();
        let own = self.cells.at(placed.at);
        let last = self.pieces.last().map(|piece| piece.last.at);
        if own != self.cell && !self.cells.follows(placed.at, self.cell, last) {
            self.close(draw);
            self.cell = own;
        }
        match self.pieces.last_mut() {
            Some(piece) if self.cells.are_near(piece.last.at, placed.at) => {
                (piece.end, piece.last) = (index + 1, placed);
            }
            _ => self.begin(placed, index..index + 1),
        }
    }

    /// Draws the group, which is empty afterwards.
    fn close(&mut self, draw: &mut Draw<'_>) {
        self.settle();
        if !self.pieces.is_empty() {
            draw(&self.pieces, self.cell);
            self.pieces.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use watchscope_model::Seq;

    use super::*;
    use crate::scene::Px;
    use crate::store::{MarkKind, ObjectMarks};

    const FROM_US: i64 = 1_790_000_000_000_000;

    /// Returns the marks of a watch at these distances in time, and every `stride`th of them as those of an object.
    fn marks_at(steps: &[i64], stride: usize) -> (Marks, ObjectMarks) {
        let (mut of_watch, mut of_object) = (Marks::default(), ObjectMarks::default());
        let mut at = FROM_US;
        for (place, step) in steps.iter().enumerate() {
            at += step;
            of_watch.push(Seq(place as u64 + 1), Time(at), MarkKind::Modified, 1);
            if place % stride == 0 {
                of_object.push(place, MarkKind::Modified);
            }
        }
        (of_watch, of_object)
    }

    type Drawn = Vec<(i64, Vec<(usize, usize, Time, Px, Time, Px)>)>;

    fn drawn(divide: impl FnOnce(&mut Draw<'_>)) -> Drawn {
        let mut drawn = Drawn::new();
        divide(&mut |pieces, cell| {
            let pieces = pieces.iter().map(|piece| {
                let (first, last) = (piece.first, piece.last);
                (piece.start, piece.end, first.at, first.x, last.at, last.x)
            });
            drawn.push((cell, pieces.collect()));
        });
        drawn
    }

    proptest! {
        #[test]
        fn buckets_divide_marks_as_a_look_at_each_mark_does(
            steps in prop::collection::vec(
                prop_oneof![0..3_000_i64, 0..30_000_i64, Just(0), 0..900_000_i64], 1..600
            ),
            stride in 1..4_usize,
            us_per_px in prop_oneof![1.0..20_000.0_f64, Just(1_000.0), Just(1_024.0)],
        ) {
            let (of_watch, of_object) = marks_at(&steps, stride);
            let view = View { us_per_px, ..View::following(Time(FROM_US), 1_000_000, 1_000.0) };
            let cells = Cells::of(&view);
            let from = cells.begin(cells.at(Time(FROM_US)).saturating_sub(1));
            let groups = || Groups::new(cells, view, &of_watch, of_object.as_slice());
            let each = drawn(|draw| groups().by_marks(draw));
            if let Some(bucket_us) = cells.bucket_us() {
                let last = of_watch.at(of_watch.len() - 1);
                // A test of a near view would look at millions of buckets.
                prop_assume!(last.micros_since(from) / bucket_us < 100_000);
                let borders = of_watch.borders(from, last, bucket_us);
                let bucketed = drawn(|draw| groups().by_buckets((from, bucket_us), &borders, draw));
                prop_assert_eq!(bucketed, each);
            }
        }
    }
}
