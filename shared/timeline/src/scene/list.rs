//! The display list, its legend, and how lists are joined, cut and searched.

use std::ops::Range;

use watchscope_model::map::Set;

use super::hatch::Hatch;
use super::hit::{Hit, Target};
use super::primitive::{Column, Primitive, Step, Stroke};
use super::px::{Area, Px};
use crate::glyph::Glyph;
use crate::id::{LaneId, RecordId};

/// A display list with its hit boxes. What is drawn bounds its size. Each range of a primitive must lie within `steps`
/// or `columns`: code that reads a range outside of them panics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// Width of the scene. Primitives may reach beyond the width; the edge of the canvas or of the SVG cuts them off,
    /// or a [`Primitive::Clip`].
    pub width: Px,
    /// Height of the scene. Primitives may reach beyond the height. They are cut off as those beyond the width, or
    /// another scene is painted over them.
    pub height: Px,
    /// What to draw, in paint order.
    pub primitives: Vec<Primitive>,
    /// Steps of the paths; [`Primitive::Path`] names a range of them.
    pub steps: Vec<Step>,
    /// Columns of the strips; [`Primitive::Strip`] names a range of them.
    pub columns: Vec<Column>,
    /// The hit boxes, in the order in which they were added; they may overlap. Of two that overlap, the later one lies
    /// on top.
    pub hits: Vec<Hit>,
    /// The signs that a legend of the scene explains.
    pub legend: Legend,
}

/// The signs of a scene that a legend explains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legend {
    /// Glyphs in view, and glyphs by which the legend explains shapes in view; in the order of [`Glyph::ALL`].
    pub glyphs: Set<Glyph>,
    /// Hatches in view, in the order of [`Hatch`]; hatches of one meaning count as one.
    pub hatches: Set<Hatch>,
    /// Whether some marks are merged into plates, also outside the view.
    pub plates: bool,
}

/// Distance in px beside a mark, in x and in y, up to which a click still selects the mark. From farther away the click
/// selects what lies at its own point. The number has no source.
const REACH: Px = Px::whole(4);

impl Scene {
    /// Returns the y of the middle of a record's mark in a lane, if this y is at `top` or below it, and above `bottom`;
    /// else `None`. Of several such marks, the last in [`Scene::hits`] counts. A plate of merged marks counts as the
    /// mark of each record from its first to its last. The x of a mark is that of its time.
    #[must_use]
    pub fn y_of(&self, lane: LaneId, (top, bottom): (Px, Px), record: RecordId) -> Option<Px> {
        let hits = self.hits.iter().rev().filter(|hit| hit.lane == lane);
        let hits = hits.filter(|hit| match hit.target {
            Target::Record(id) => id == record,
            Target::Merged { first, last, .. } => {
                first.epoch == record.epoch && first.seq <= record.seq && record.seq <= last.seq
            }
            Target::Findings(_) | Target::Stretch(..) | Target::Lane => false,
        });
        let mut middles = hits.map(|hit| hit.area.y + hit.area.h.half());
        middles.find(|&y| top <= y && y < bottom)
    }

    /// Returns the hit at a point; `None` if no hit is there. The last hit of [`Scene::hits`] that holds the point wins
    /// if it is a mark: a record, or merged records. Otherwise, of the marks at most 4 px away from the point, the mark
    /// with the nearest middle wins; of two equally near marks, the earlier one. Without a mark that near, the last hit
    /// that holds the point wins. An edge belongs to its area.
    #[must_use]
    pub fn hit(&self, x: Px, y: Px) -> Option<&Hit> {
        let is_mark = |hit: &&Hit| matches!(hit.target, Target::Record(_) | Target::Merged { .. });
        let exact = self
            .hits
            .iter()
            .rev()
            .find(|hit| hit.area.holds(x, y, Px::ZERO));
        if let Some(hit) = exact
            && is_mark(&hit)
        {
            return Some(hit);
        }
        let distance = |hit: &&Hit| {
            let centre = (
                hit.area.x + hit.area.w.half() - x,
                hit.area.y + hit.area.h.half() - y,
            );
            i64::from(centre.0.0).pow(2) + i64::from(centre.1.0).pow(2)
        };
        let near = self
            .hits
            .iter()
            .filter(is_mark)
            .filter(|hit| hit.area.holds(x, y, REACH));
        near.min_by_key(distance).or(exact)
    }

    /// Returns the top and bottom of a primitive of this scene on the canvas, with halos, and with mitres of corners of
    /// 90° and more. The returned span may be larger than what is drawn. `None` for a clip or its end, which draw
    /// nothing. For a path without a step, the top is below the bottom.
    #[must_use]
    pub fn span(&self, primitive: &Primitive) -> Option<(Px, Px)> {
        // At corners of 90° and more a mitre reaches at most twice the line's width beyond the corner.
        let pen =
            |stroke: Option<Stroke>| stroke.map_or(Px::ZERO, |stroke| stroke.width + stroke.width);
        let around = |y: Px, reach: Px| (y - reach, y + reach);
        Some(match *primitive {
            Primitive::Rect { area, stroke, .. } => {
                (area.y - pen(stroke), area.bottom() + pen(stroke))
            }
            Primitive::Hatch { area, .. } | Primitive::Plate { area, .. } => {
                (area.y, area.bottom())
            }
            Primitive::Glyph { y, size, .. } => around(y, Px::whole(i32::from(size))),
            Primitive::Text(ref line) => around(line.y, Px::whole(i32::from(line.size) * 2)),
            Primitive::Path {
                ref steps, stroke, ..
            } => {
                let (mut from, mut to) = (Px(i32::MAX), Px(i32::MIN));
                for step in &self.steps[steps.start as usize..steps.end as usize] {
                    let ys = match *step {
                        Step::Move(_, y) | Step::Line(_, y) => [y; 3],
                        Step::Curve(_, a, _, b, _, y) => [a, b, y],
                        Step::Close => continue,
                    };
                    for y in ys {
                        (from, to) = (from.min(y), to.max(y));
                    }
                }
                (from - pen(stroke), to + pen(stroke))
            }
            Primitive::Strip {
                bottom,
                ref columns,
                ..
            } => {
                let mut most = 0;
                for column in &self.columns[columns.start as usize..columns.end as usize] {
                    let [a, b, c] = column.heights.map(i32::from);
                    most = most.max(a + b + c);
                }
                (bottom - Px::whole(most), bottom)
            }
            Primitive::Clip(_) | Primitive::Unclip => return None,
        })
    }

    /// Appends a path's steps to [`Scene::steps`], and returns their range there, which is empty without steps.
    pub fn path(&mut self, steps: &[Step]) -> Range<u32> {
        let start = self.steps.len() as u32;
        self.steps.extend_from_slice(steps);
        start..self.steps.len() as u32
    }

    /// Appends another scene, moved by (`dx`, `dy`): the other scene is painted over this one. The other scene's hit
    /// boxes follow those of this scene, and its legend joins this scene's. Width and height of this scene stay as they
    /// are. Lengths saturate.
    pub fn append(&mut self, other: Self, dx: Px, dy: Px) {
        let (steps, columns) = (self.steps.len() as u32, self.columns.len() as u32);
        let moved = |area: Area| Area {
            x: area.x + dx,
            y: area.y + dy,
            ..area
        };
        self.steps
            .extend(other.steps.into_iter().map(|step| match step {
                Step::Move(x, y) => Step::Move(x + dx, y + dy),
                Step::Line(x, y) => Step::Line(x + dx, y + dy),
                Step::Curve(a, b, c, d, x, y) => {
                    Step::Curve(a + dx, b + dy, c + dx, d + dy, x + dx, y + dy)
                }
                Step::Close => Step::Close,
            }));
        self.columns
            .extend(other.columns.into_iter().map(|column| Column {
                x: column.x + dx,
                ..column
            }));
        self.primitives
            .extend(other.primitives.into_iter().map(|mut primitive| {
                match &mut primitive {
                    Primitive::Rect { area, .. }
                    | Primitive::Plate { area, .. }
                    | Primitive::Clip(area) => {
                        *area = moved(*area);
                    }
                    Primitive::Hatch { area, anchor, .. } => {
                        (*area, *anchor) = (moved(*area), *anchor + dx)
                    }
                    Primitive::Path { steps: range, .. } => {
                        *range = range.start + steps..range.end + steps
                    }
                    Primitive::Strip {
                        bottom,
                        columns: range,
                        ..
                    } => {
                        (*bottom, *range) =
                            (*bottom + dy, range.start + columns..range.end + columns);
                    }
                    Primitive::Glyph { x, y, .. } => (*x, *y) = (*x + dx, *y + dy),
                    Primitive::Text(line) => (line.x, line.y) = (line.x + dx, line.y + dy),
                    Primitive::Unclip => {}
                }
                primitive
            }));
        self.legend.glyphs.merge(other.legend.glyphs);
        self.legend.hatches.merge(other.legend.hatches);
        self.legend.plates |= other.legend.plates;
        self.hits.extend(other.hits.into_iter().map(|mut hit| {
            hit.area = moved(hit.area);
            if let Some(drawn) = &mut hit.drawn {
                (drawn.x, drawn.y) = (drawn.x + dx, drawn.y + dy);
            }
            hit
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Align, TextLine};
    use crate::tokens::Token;

    /// The colour of everything that the tests draw.
    const INK: Token = Token::Text1;

    #[test]
    fn a_span_holds_halos_mitres_and_what_stands_on_a_floor() {
        let px = Px::whole;
        let mut scene = Scene::default();
        let pen = Some(Stroke::solid(INK, px(2)));
        let area = Area::between(px(0), px(9), px(10), px(20));
        let bent = scene.path(&[
            Step::Move(px(0), px(50)),
            Step::Curve(px(1), px(30), px(2), px(90), px(3), px(60)),
            Step::Close,
        ]);
        let column = |heights| Column { x: px(0), heights };
        scene.columns = vec![column([1, 2, 3]), column([200, 100, 0]), column([9, 0, 0])];
        let rect = |stroke| Primitive::Rect {
            area,
            fill: Some(INK),
            stroke,
            radius: 0,
            opacity: 100,
        };
        let line = TextLine {
            x: px(0),
            y: px(100),
            text: "words".to_owned(),
            size: 11,
            weight: 400,
            ink: INK,
            halo: Some(INK),
            align: Align::Start,
            max_width: None,
        };
        let strip = Primitive::Strip {
            bottom: px(400),
            columns: 1..3,
            inks: [INK; 3],
            opacity: 100,
        };
        let bent = Primitive::Path {
            steps: bent,
            fill: None,
            stroke: pen,
            opacity: 100,
        };
        let span = |primitive: &Primitive| {
            let (from, to) = scene.span(primitive)?;
            Some((from.to_f64(), to.to_f64()))
        };
        assert_eq!(span(&rect(None)), Some((10.0, 20.0)));
        assert_eq!(span(&rect(pen)), Some((6.0, 24.0)));
        assert_eq!(span(&bent), Some((26.0, 94.0)));
        assert_eq!(span(&strip), Some((100.0, 400.0)));
        assert_eq!(span(&Primitive::Text(line)), Some((78.0, 122.0)));
        assert_eq!(span(&Primitive::Clip(area)), None);
    }
}
