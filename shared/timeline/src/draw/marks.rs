//! Draws an object's marks: one glyph for each mark, or a plate with the number of marks where marks overlap.

use super::drawer::{Drawer, EpochView, record};
use super::level_of_detail::{Cells, Placed, Run};
use super::look::{GlyphMark, Layer, SPILL};
use super::object::ListOverSeam;
use crate::lanes::Row;
use crate::scene::{Area, Hit, Primitive, Px, Target};
use crate::store::WatchTrace;

/// Height of a plate, in px: room for its count and foot. The number has no other source.
const PLATE_HEIGHT: Px = Px::whole(13);

impl Drawer<'_> {
    /// Draws the marks of one object; `places` are their indexes in the watch's marks. `seam` says which of these marks
    /// differ from the epoch before.
    pub(super) fn marks(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        places: &[u32],
        seam: Option<ListOverSeam>,
    ) {
        let marks = &trace.marks;
        let view = *self.picture.view;
        let cells = Cells::of(&view);
        // The first marks of a cell may belong to the cell before, so drawing begins there.
        let from = cells.begin(cells.at(self.left).saturating_sub(1));
        let mut group: Vec<Placed> = Vec::new();
        let mut cell = i64::MIN;
        let start = places.partition_point(|&place| marks.at(place as usize) < from);
        let mut reader = marks.reader();
        for &place in &places[start..] {
            let (at, kind) = reader.at_and_kind(place as usize);
            if at > self.right {
                break;
            }
            let kind = match seam {
                Some(seam) => seam.kind(trace, place as usize),
                None => Some(kind),
            };
            let Some(kind) = kind else {
                continue;
            };
            let own = cells.at(at);
            if own != cell && !cells.follows(at, cell, group.last()) {
                self.cell(row, epoch, trace, &group, (cells, cells.xs(&view, cell)));
                group.clear();
                cell = own;
            }
            group.push(Placed {
                place: place as usize,
                kind,
                at,
                x: self.x(at),
            });
        }
        self.cell(row, epoch, trace, &group, (cells, cells.xs(&view, cell)));
    }

    /// Draws the marks of one cell.
    fn cell(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        group: &[Placed],
        (cells, xs): (Cells, (Px, Px)),
    ) {
        for run in cells.runs(group, xs) {
            self.run(row, epoch, trace, &group[run.start..run.end], run);
        }
    }

    fn run(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        placed: &[Placed],
        run: Run,
    ) {
        let mid = self.y(row) + row.height.half();
        let marks = &trace.marks;
        let id = |placed: &Placed| record(epoch, marks.seq(placed.place));
        let (Some(first), Some(last)) = (placed.first(), placed.last()) else {
            return;
        };
        if placed.len() == 1 {
            if first.x >= -SPILL {
                let glyph = first.kind.glyph();
                let mark = GlyphMark::new(glyph, first.x, mid, row.glyph_size, self.ground(row));
                self.glyph(Layer::Change, mark, row.id, Target::Record(id(first)));
            }
            return;
        }
        if run.right < -SPILL {
            return;
        }
        let mut counts = [0_i32; 3];
        for placed in placed {
            if let Some(class) = placed.kind.class() {
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
        let count = placed.len() as u32;
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
            first: id(first),
            last: id(last),
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
