//! An object's marks: a glyph each, or a plate with their count where they are too near to be told apart.
//!
//! Marks are merged only within cells of time that are aligned to powers of two of microseconds. So what is merged
//! depends on neither the edge of the view nor on what is not loaded, and does not shimmer when the view moves. Marks
//! that follow nearly at once on a cell's last are that cell's too: nothing that is too near is told apart by a border.

use watchscope_model::Time;

use super::object::ListOverSeam;
use super::{Drawer, EpochView, GlyphMark, Layer, SPILL, record};
use crate::format::text_width;
use crate::lanes::Row;
use crate::scene::{Area, Hit, Primitive, Px, Target};
use crate::store::{MarkKind, WatchTrace};

/// Marks nearer than this, centre to centre, are merged.
const APART: Px = Px::whole(6);
/// A cell is at least this wide, in px: a plate of three digits has room in it beside the glyphs of its neighbours.
const CELL_PX: f64 = 32.0;
/// Half of a glyph, about.
const GLYPH_HALF: Px = Px::whole(4);
/// Height of a plate.
const PLATE_HEIGHT: Px = Px::whole(13);

/// A mark on its way to the scene.
#[derive(Clone, Copy)]
struct Placed {
    place: usize,
    kind: MarkKind,
    at: Time,
    x: Px,
}

impl Drawer<'_> {
    /// Draws the marks of one object; `places` are theirs in the watch's marks. `seam` says which of them differ from the
    /// run before.
    pub(super) fn marks(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        places: &[u32],
        seam: Option<ListOverSeam>,
    ) {
        let kind_of = |place: usize| match seam {
            Some(seam) => seam.kind(trace, place),
            None => Some(trace.marks.kind(place)),
        };
        let marks = &trace.marks;
        let view = *self.picture.view;
        let cell_us = view.aligned_us(CELL_PX);
        let apart_us = (APART.to_f64() * view.us_per_px) as i64;
        let cell_of = |at: Time| at.0.div_euclid(cell_us);
        let begin_of = |cell: i64| Time(cell.saturating_mul(cell_us));
        let cell_xs = |cell: i64| {
            (
                view.x(begin_of(cell)),
                view.x(begin_of(cell.saturating_add(1))),
            )
        };
        // From the cell before on, as the first marks of a cell may be of the one before.
        let from = begin_of(cell_of(self.left).saturating_sub(1));
        let mut group: Vec<Placed> = Vec::new();
        let mut cell = i64::MIN;
        let start = places.partition_point(|&place| marks.at(place as usize) < from);
        for &place in &places[start..] {
            let at = marks.at(place as usize);
            if at > self.right {
                break;
            }
            let Some(kind) = kind_of(place as usize) else {
                continue;
            };
            let own = cell_of(at);
            let follows = || {
                let near = |before: Time| at.micros_since(before) < apart_us;
                own == cell.saturating_add(1)
                    && near(begin_of(own))
                    && group.last().is_some_and(|last| near(last.at))
            };
            if own != cell && !follows() {
                self.cell(row, epoch, trace, &group, (cell_xs(cell), apart_us));
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
        self.cell(row, epoch, trace, &group, (cell_xs(cell), apart_us));
    }

    /// Draws the marks of one cell: those too near to be told apart as one, and what a plate would cover with it.
    fn cell(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        group: &[Placed],
        (cell, apart_us): ((Px, Px), i64),
    ) {
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        while start < group.len() {
            let mut end = start + 1;
            while end < group.len() && group[end].at.micros_since(group[end - 1].at) < apart_us {
                end += 1;
            }
            let mut run = Run::new(group, start, end, cell);
            while let Some(before) = runs.pop_if(|before| run.left < before.right) {
                run = Run::new(group, before.start, end, cell);
            }
            runs.push(run);
            start = end;
        }
        for run in runs {
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

/// Marks `start..end` of a cell and what they take when drawn.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
    left: Px,
    right: Px,
}

impl Run {
    fn new(group: &[Placed], start: usize, end: usize, cell: (Px, Px)) -> Self {
        let (first, last) = (group[start].x, group[end - 1].x);
        if end - start == 1 {
            return Self {
                start,
                end,
                left: first - GLYPH_HALF,
                right: first + GLYPH_HALF,
            };
        }
        let width = plate_width(end - start);
        // Inside its cell, so that it covers no glyph of the next, be it at the very border.
        let (least, most) = (cell.0 + GLYPH_HALF, cell.1 - GLYPH_HALF - width);
        let left = if least <= most {
            let middle = first + (last - first).half() - width.half();
            middle.min(most).max(least)
        } else {
            cell.0 + (cell.1 - cell.0 - width).half()
        };
        let left = left.floor();
        Self {
            start,
            end,
            left,
            right: left + width,
        }
    }
}

fn plate_width(count: usize) -> Px {
    // Digits are all as wide.
    let digits = count.checked_ilog10().unwrap_or(0) as usize + 1;
    (Px::whole(8) + text_width(&"00000000000000000000"[..digits], 10, 600)).floor()
}

/// The plate's foot in proportion by kind; what is there at all has at least a px.
fn foot(width: Px, counts: [i32; 3]) -> [Px; 3] {
    let total: i32 = counts.iter().sum::<i32>().max(1);
    let mut widths = counts.map(|count| {
        if count == 0 {
            Px::ZERO
        } else {
            Px((i64::from(width.0) * i64::from(count) / i64::from(total)) as i32).max(Px::whole(1))
        }
    });
    // The largest takes what rounding left over.
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
