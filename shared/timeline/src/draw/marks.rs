//! Draws an object's marks: one glyph for each mark, or a plate with the number of marks where marks overlap.

use super::drawer::{Drawer, EpochView, record};
use super::groups::Groups;
use super::level_of_detail::{Cells, Piece, Placed, Run};
use super::look::{GlyphMark, Layer, SPILL};
use super::object::ListOverSeam;
use crate::lanes::Row;
use crate::scene::{Area, Hit, Primitive, Px, Target};
use crate::store::{ObjectMark, ObjectMarks, WatchTrace};

/// Height of a plate, in px: room for its count and foot. The number has no other source.
const PLATE_HEIGHT: Px = Px::whole(13);

impl Drawer<'_> {
    /// Draws the marks of one object. `seam` says which of these marks differ from the epoch before.
    pub(super) fn marks(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        marks: &ObjectMarks,
        seam: Option<ListOverSeam>,
    ) {
        let cells = Cells::of(self.picture.view);
        // The first marks of a cell may belong to the cell before, so drawing begins there.
        let from = cells.begin(cells.at(self.left).saturating_sub(1));
        let marks = marks.within(&trace.marks.places_within(from, self.right));
        let changed: Vec<ObjectMark>;
        let marks = match seam {
            Some(seam) => {
                let shown = marks.iter().filter_map(|mark| {
                    let kind = seam.kind(trace, *mark)?;
                    Some(mark.with_kind(kind))
                });
                changed = shown.collect();
                &changed[..]
            }
            None => marks,
        };
        // No buckets before the watch's first mark in view.
        let first = trace.marks.place_at(from);
        let first = (first < trace.marks.len()).then(|| cells.at(trace.marks.at(first)));
        let from = first.map_or(from, |cell| cells.begin(cell));
        let buckets = cells.bucket_us().filter(|bucket_us| {
            // A look at each bucket pays only if about half of them have marks.
            self.right.micros_since(from) / bucket_us < marks.len() as i64 * 2
        });
        let buckets = buckets.zip(row.id.watch()).map(|(bucket_us, watch)| {
            let borders = self.borders((epoch.number, watch), trace, from, bucket_us);
            (bucket_us, borders)
        });
        let mut groups = Groups::new(cells, *self.picture.view, &trace.marks, marks);
        let draw = &mut |pieces: &[Piece], cell: i64| {
            for run in Cells::runs(pieces, cells.xs(self.picture.view, cell)) {
                let of = &marks[run.marks.start..run.marks.end];
                self.run(row, epoch, trace, of, run);
            }
        };
        match buckets {
            Some((bucket_us, borders)) => groups.by_buckets((from, bucket_us), &borders, draw),
            None => groups.by_marks(draw),
        }
    }

    fn run(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        marks: &[ObjectMark],
        run: Run,
    ) {
        let mid = self.y(row) + row.height.half();
        let id = |placed: &Placed| record(epoch, trace.marks.seq(placed.place));
        let (first, last) = (run.marks.first, run.marks.last);
        if let [mark] = marks {
            if first.x >= -SPILL {
                let glyph = mark.kind().glyph();
                let mark = GlyphMark::new(glyph, first.x, mid, row.glyph_size, self.ground(row));
                self.glyph(Layer::Change, mark, row.id, Target::Record(id(&first)));
            }
            return;
        }
        if run.right < -SPILL {
            return;
        }
        let mut counts = [0_i32; 3];
        for mark in marks {
            if let Some(class) = mark.kind().class() {
                counts[class] += 1;
            }
        }
        let width = run.right - run.left;
        let area = Area {
            x: run.left,
            y: (mid - PLATE_HEIGHT.half()).floor(),
            w: width,
            h: PLATE_HEIGHT,
        };
        let count = marks.len() as u32;
        let foot = foot(width, counts);
        self.push(
            Layer::Change,
            Primitive::Plate {
                area,
                count,
                ground: self.ground(row),
                foot,
            },
        );
        self.occupy((area.x, area.right()), (area.y, area.bottom()));
        self.scene.legend.plates = true;
        let target = Target::Merged {
            first: id(&first),
            last: id(&last),
            count,
        };
        self.scene.hits.push(Hit {
            area,
            lane: row.id,
            target,
            drawn: None,
        });
    }
}

/// Divides a plate's foot into one width for each kind, in proportion to the kinds' counts. A kind with any marks gets
/// at least 1 px.
fn foot(width: Px, counts: [i32; 3]) -> [Px; 3] {
    let total: i32 = counts.iter().sum::<i32>().max(1);
    let mut widths = counts.map(|count| {
        if count == 0 {
            Px::ZERO
        } else {
            Px((i64::from(width.0) * i64::from(count) / i64::from(total)) as i32).max(Px::whole(1))
        }
    });
    // The widest part takes the remainder of the rounding.
    let rest = width - widths.iter().fold(Px::ZERO, |sum, &part| sum + part);
    if let Some(largest) = widths.iter_mut().max() {
        *largest = *largest + rest;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foot_fills_its_plate_and_hides_no_kind() {
        let width = Px::whole(20);
        for counts in [[1, 0, 0], [1, 1, 1], [1, 500, 0], [0, 499, 1]] {
            let widths = foot(width, counts);
            assert_eq!(widths.iter().fold(Px::ZERO, |sum, &part| sum + part), width);
            for (count, part) in counts.iter().zip(widths) {
                assert_eq!(*count > 0, part >= Px::whole(1), "{counts:?}");
            }
        }
    }
}
