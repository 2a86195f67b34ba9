//! Level of detail of marks: which stand alone and which are merged, by cells of time.
//!
//! Marks are merged only within cells of time that are aligned to powers of two of microseconds. So what is merged
//! depends on neither the edge of the view nor on what is not loaded, and does not shimmer when the view moves. Marks
//! that follow nearly at once on a cell's last are that cell's too: nothing that is too near is told apart by a border.
//!
//! `strip.rs` has the other level of detail: the columns of a collapsed lane.

use watchscope_model::Time;

use crate::format::text_width;
use crate::scene::Px;
use crate::store::MarkKind;
use crate::view::View;

/// Marks nearer than this, centre to centre, are merged.
const APART: Px = Px::whole(6);
/// A cell is at least this wide, in px: a plate of three digits has room in it beside the glyphs of its neighbours.
const CELL_PX: f64 = 32.0;
/// Half of a glyph, about.
const GLYPH_HALF: Px = Px::whole(4);

/// A mark on its way to the scene.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    /// Its place among the marks of the watch.
    pub(super) place: usize,
    pub(super) kind: MarkKind,
    pub(super) at: Time,
    pub(super) x: Px,
}

/// The cells of a view.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    cell_us: i64,
    /// Marks nearer than this, in microseconds, are merged.
    apart_us: i64,
}

impl Cells {
    pub(super) fn of(view: &View) -> Self {
        Self {
            cell_us: view.aligned_us(CELL_PX),
            apart_us: (APART.to_f64() * view.us_per_px) as i64,
        }
    }

    /// The cell that a time lies in.
    pub(super) fn at(self, at: Time) -> i64 {
        at.0.div_euclid(self.cell_us)
    }

    /// When a cell begins.
    pub(super) fn begin(self, cell: i64) -> Time {
        Time(cell.saturating_mul(self.cell_us))
    }

    /// From where to where a cell reaches.
    pub(super) fn xs(self, view: &View, cell: i64) -> (Px, Px) {
        (
            view.x(self.begin(cell)),
            view.x(self.begin(cell.saturating_add(1))),
        )
    }

    /// Whether a mark belongs to the cell before its own, since it follows nearly at once on the last mark of that.
    pub(super) fn follows(self, at: Time, cell: i64, last: Option<&Placed>) -> bool {
        let near = |before: Time| at.micros_since(before) < self.apart_us;
        let own = self.at(at);
        own == cell.saturating_add(1)
            && near(self.begin(own))
            && last.is_some_and(|last| near(last.at))
    }

    /// The marks of one cell, from `xs.0` to `xs.1`: those too near to be told apart as one, and with it what its plate
    /// would cover.
    pub(super) fn runs(self, group: &[Placed], xs: (Px, Px)) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        while start < group.len() {
            let mut end = start + 1;
            while end < group.len() && group[end].at.micros_since(group[end - 1].at) < self.apart_us
            {
                end += 1;
            }
            let mut run = Run::new(group, start, end, xs);
            while let Some(before) = runs.pop_if(|before| run.left < before.right) {
                run = Run::new(group, before.start, end, xs);
            }
            runs.push(run);
            start = end;
        }
        runs
    }
}

/// Marks `start..end` of a cell and what they take when drawn.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) left: Px,
    pub(super) right: Px,
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
