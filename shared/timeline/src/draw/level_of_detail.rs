//! Level of detail of marks: which marks stand alone and which are merged, by cells of time.
//!
//! Marks are merged only within cells of time that are aligned to powers of two of microseconds. So the merging of
//! marks depends neither on the edge of the view nor on records that are not loaded. It does not shimmer when the view
//! moves. A mark less than [`APART`] after a border belongs to the cell before, if it follows that cell's last mark by
//! less than [`APART`]. So a border rarely separates marks that overlap.
//!
//! `strip.rs` has the other level of detail: the columns of a collapsed lane.

use watchscope_model::Time;

use crate::format::text_width;
use crate::scene::Px;
use crate::view::View;

/// Marks of one cell nearer than this, centre to centre in px, are merged, because their glyphs overlap. The number has
/// no other source.
const APART: Px = Px::whole(6);
/// Least width of a cell, in px. In such a cell a plate of two digits, 20 px wide, keeps clear of glyphs at both
/// borders. A plate of three digits, 26 px wide, still lies between the borders. The number has no other source.
const CELL_PX: f64 = 32.0;
/// About half the width of a glyph, in px: the triangle of a glyph of 10 px is 8.7 px wide. A plate keeps this distance
/// from the borders of its cell if it has room, and takes in marks that are nearer to it.
const GLYPH_HALF: Px = Px::whole(4);

/// A mark with its time and its position in the scene.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    /// The mark's index among the marks of the watch.
    pub(super) place: usize,
    pub(super) at: Time,
    pub(super) x: Px,
}

/// Neighbouring marks of one object in one cell. Each follows the one before by less than [`APART`].
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// The index of the first mark among the object's marks.
    pub(super) start: usize,
    /// The index after the last mark.
    pub(super) end: usize,
    pub(super) first: Placed,
    pub(super) last: Placed,
}

/// The cells of a view.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    cell_us: i64,
    /// Marks nearer than this, in microseconds, are merged.
    apart_us: i64,
}

impl Cells {
    /// Returns the cells of a view: 32 to 64 px wide.
    pub(super) fn of(view: &View) -> Self {
        Self {
            cell_us: view.aligned_us(CELL_PX),
            apart_us: (APART.to_f64() * view.us_per_px) as i64,
        }
    }

    /// Returns the cell that a time lies in.
    pub(super) fn at(self, at: Time) -> i64 {
        at.0.div_euclid(self.cell_us)
    }

    /// Returns when a cell begins.
    pub(super) fn begin(self, cell: i64) -> Time {
        Time(cell.saturating_mul(self.cell_us))
    }

    /// Returns the left and right edge of a cell.
    pub(super) fn xs(self, view: &View, cell: i64) -> (Px, Px) {
        (
            view.x(self.begin(cell)),
            view.x(self.begin(cell.saturating_add(1))),
        )
    }

    /// Whether a mark belongs to the cell before its own. It does if it lies less than [`APART`] after the border, and
    /// follows that cell's last mark by less than [`APART`].
    pub(super) fn follows(self, at: Time, cell: i64, last: Option<Time>) -> bool {
        let own = self.at(at);
        own == cell.saturating_add(1)
            && self.are_near(self.begin(own), at)
            && last.is_some_and(|last| self.are_near(last, at))
    }

    /// Whether two marks at these times are merged: they are less than [`APART`] apart.
    pub(super) fn are_near(self, before: Time, at: Time) -> bool {
        at.micros_since(before) < self.apart_us
    }

    /// Returns the width of a bucket in µs: a power of two of µs, so that cells consist of whole buckets. Marks in one
    /// bucket, or in two neighbouring ones, are always near. `None` if the view is too near for buckets: no marks of
    /// different times are merged.
    pub(super) fn bucket_us(self) -> Option<i64> {
        let half = self.apart_us / 2;
        Some(1_i64 << half.checked_ilog2()?)
    }

    /// Returns the pieces of one cell as runs: a run takes in pieces that its plate would cover. `xs` are the edges of
    /// the cell.
    pub(super) fn runs(pieces: &[Piece], xs: (Px, Px)) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for piece in pieces {
            let mut run = Run::new(*piece, xs);
            while let Some(before) = runs.pop_if(|before| run.left < before.right) {
                let joined = Piece {
                    start: before.marks.start,
                    first: before.marks.first,
                    ..*piece
                };
                run = Run::new(joined, xs);
            }
            runs.push(run);
        }
        runs
    }
}

/// Marks of a cell that are drawn as one, and the room that they take.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) marks: Piece,
    pub(super) left: Px,
    pub(super) right: Px,
}

impl Run {
    fn new(marks: Piece, cell: (Px, Px)) -> Self {
        let (first, last) = (marks.first.x, marks.last.x);
        let count = marks.end - marks.start;
        if count == 1 {
            return Self {
                marks,
                left: first - GLYPH_HALF,
                right: first + GLYPH_HALF,
            };
        }
        let width = plate_width(count);
        // The plate stays inside its cell, so that it covers no glyph of the next cell, even one at the border.
        let (least, most) = (cell.0 + GLYPH_HALF, cell.1 - GLYPH_HALF - width);
        let left = if least <= most {
            let middle = first + (last - first).half() - width.half();
            middle.min(most).max(least)
        } else {
            cell.0 + (cell.1 - cell.0 - width).half()
        };
        let left = left.floor();
        Self {
            marks,
            left,
            right: left + width,
        }
    }
}

fn plate_width(count: usize) -> Px {
    // All digits have the same width.
    let digits = count.checked_ilog10().unwrap_or(0) as usize + 1;
    (Px::whole(8) + text_width(&"00000000000000000000"[..digits], 10, 600)).floor()
}
