//! The display list: plain primitives in paint order, and what lies under the pointer.
//!
//! A painter walks [`Scene::primitives`] from first to last and draws each as it says; it decides nothing. The same
//! list is drawn on the live canvas and into a saved picture. Coordinates are CSS px in steps of 1/64, y down, from
//! the scene's top left corner; a painter snaps the left and top edges of rectangles to whole device px.

mod dump;

use std::fmt;
use std::ops::{Add, Neg, Range, Sub};

use watchscope_model::map::Set;

use crate::glyph::Glyph;
use crate::id::{LaneId, RecordId};
use crate::tokens::{Theme, Token};

/// A length or coordinate: CSS px in steps of 1/64, so that scenes compare exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Px(
    /// Sixty-fourths of a px.
    pub i32,
);

impl Px {
    /// No length.
    pub const ZERO: Self = Self(0);

    /// So many whole px.
    #[must_use]
    pub const fn whole(px: i32) -> Self {
        Self(px * 64)
    }

    /// The nearest step to `px`; far values stop at ±1,000,000 px.
    #[must_use]
    pub fn from_f64(px: f64) -> Self {
        Self((px.clamp(-1e6, 1e6) * 64.0).round_ties_even() as i32)
    }

    /// In px.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 64.0
    }

    /// Half of it.
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// Moved to the whole px at or before it.
    #[must_use]
    pub const fn floor(self) -> Self {
        Self(self.0.div_euclid(64) * 64)
    }
}

impl Add for Px {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Px {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Px {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// In px, without needless decimals.
impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.to_f64() * 100.0).round_ties_even() / 100.0)
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x: Px,
    /// Top edge.
    pub y: Px,
    /// Width.
    pub w: Px,
    /// Height.
    pub h: Px,
}

impl Area {
    /// The area between two x and two y.
    #[must_use]
    pub fn between(x0: Px, x1: Px, y0: Px, y1: Px) -> Self {
        Self {
            x: x0,
            y: y0,
            w: x1 - x0,
            h: y1 - y0,
        }
    }

    /// Right edge.
    #[must_use]
    pub fn right(self) -> Px {
        self.x + self.w
    }

    /// Bottom edge.
    #[must_use]
    pub fn bottom(self) -> Px {
        self.y + self.h
    }

    /// Whether it shares more than an edge with another.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// Whether a point lies in it, or at most `reach` beside it.
    #[must_use]
    pub fn holds(self, x: Px, y: Px, reach: Px) -> bool {
        x >= self.x - reach
            && x <= self.right() + reach
            && y >= self.y - reach
            && y <= self.bottom() + reach
    }
}

/// A line's colour, width and dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// Colour.
    pub ink: Token,
    /// Width.
    pub width: Px,
    /// Length of dashes and of the spaces between them, in whole px; absent: solid.
    pub dash: Option<(u8, u8)>,
}

impl Stroke {
    /// A solid line.
    #[must_use]
    pub const fn solid(ink: Token, width: Px) -> Self {
        Self {
            ink,
            width,
            dash: None,
        }
    }

    /// A dashed line.
    #[must_use]
    pub const fn dashed(ink: Token, width: Px, on: u8, off: u8) -> Self {
        Self {
            ink,
            width,
            dash: Some((on, off)),
        }
    }
}

/// A step of a [`Primitive::Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Starts a line here.
    Move(Px, Px),
    /// A straight line to here.
    Line(Px, Px),
    /// A cubic curve: two control points and the end.
    Curve(Px, Px, Px, Px, Px, Px),
    /// Back to the start.
    Close,
}

/// What an area is hatched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Hatch {
    /// A gap after which the watch was resumed.
    Resumed,
    /// A gap that has not closed, or of which it is not known how.
    Open,
    /// A gap in which events may be lost.
    Lost,
    /// The same, over 200 px wide.
    LostWide,
    /// The same, in a strip.
    LostStrip,
    /// What watchscope itself lost or did not see.
    Own,
    /// What is not loaded yet.
    NotLoaded,
    /// Behind what a list returned.
    Stale,
}

/// The lines of a hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Lines that rise to the right at 45°… (`/`).
    Rising,
    /// Lines that fall to the right at 45° (`\`).
    Falling,
    /// Both.
    Cross,
    /// Level lines.
    Level,
    /// Square dots.
    Dots,
}

/// How a hatch is drawn. Pitches and widths are in CSS px at every resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HatchStyle {
    /// Its lines.
    pub pattern: Pattern,
    /// Their colour.
    pub ink: Token,
    /// Their distance, measured across the lines.
    pub pitch: Px,
    /// Their width.
    pub width: Px,
    /// Opacity in percent.
    pub opacity: u8,
}

impl Hatch {
    /// How it is drawn in a theme.
    #[must_use]
    pub const fn style(self, theme: Theme) -> HatchStyle {
        let (pattern, ink, pitch, width, dark, light) = match self {
            Self::Resumed => (Pattern::Rising, Token::Resumed, 6, 80, 80, 80),
            Self::Open => (Pattern::Rising, Token::Resumed, 12, 80, 80, 80),
            Self::Lost => (Pattern::Cross, Token::Lost, 7, 80, 26, 34),
            Self::LostWide => (Pattern::Cross, Token::Lost, 7, 80, 15, 15),
            Self::LostStrip => (Pattern::Cross, Token::Lost, 7, 80, 50, 50),
            Self::Own => (Pattern::Level, Token::Warning, 4, 64, 70, 70),
            Self::NotLoaded => (Pattern::Dots, Token::NotLoaded, 6, 96, 100, 100),
            Self::Stale => (Pattern::Falling, Token::Divergence, 6, 96, 55, 55),
        };
        let opacity = match theme {
            Theme::Dark => dark,
            Theme::Light => light,
        };
        HatchStyle {
            pattern,
            ink,
            pitch: Px::whole(pitch),
            width: Px(width),
            opacity,
        }
    }

    /// A short name for tests; those of one meaning have one.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Open => "open",
            Self::Lost | Self::LostWide | Self::LostStrip => "lost",
            Self::Own => "own",
            Self::NotLoaded => "not-loaded",
            Self::Stale => "stale",
        }
    }

    /// What a legend calls it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Resumed => "gap, resumed",
            Self::Open => "gap, not closed",
            Self::Lost | Self::LostWide | Self::LostStrip => "gap, events may be lost",
            Self::Own => "lost by watchscope",
            Self::NotLoaded => "not loaded yet",
            Self::Stale => "stale",
        }
    }
}

/// Where a text stands relative to its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// It starts there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A line of text. The face is the page's sans with tabular digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// Where it is aligned to.
    pub x: Px,
    /// Its baseline.
    pub y: Px,
    /// What it says. Text of the cluster is hostile: draw it as text, never as markup.
    pub text: String,
    /// Size in whole px.
    pub size: u8,
    /// 400, 600 or 700.
    pub weight: u16,
    /// Colour.
    pub ink: Token,
    /// Colour of a 3 px outline painted before it.
    pub halo: Option<Token>,
    /// Which part of it stands at x.
    pub align: Align,
    /// Wider text is squeezed to this; absent: unlimited.
    pub max_width: Option<Px>,
}

/// One column of a density strip; heights are whole px, stacked from the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Left edge.
    pub x: Px,
    /// Heights of [`Primitive::Strip::inks`], from the bottom up.
    pub heights: [u8; 3],
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// A rectangle.
    Rect {
        /// Where.
        area: Area,
        /// Filled with this.
        fill: Option<Token>,
        /// Outlined with this, centred on the edge.
        stroke: Option<Stroke>,
        /// Radius of the corners, in whole px.
        radius: u8,
        /// Opacity in percent.
        opacity: u8,
    },
    /// A path; its steps are `scene.steps[steps]`.
    Path {
        /// Its steps.
        steps: Range<u32>,
        /// Filled with this.
        fill: Option<Token>,
        /// Drawn along with this; mitre joins, butt caps.
        stroke: Option<Stroke>,
        /// Opacity in percent.
        opacity: u8,
    },
    /// A glyph, centred.
    Glyph {
        /// Which.
        glyph: Glyph,
        /// Centre.
        x: Px,
        /// Centre.
        y: Px,
        /// Side of its box, in whole px.
        size: u8,
        /// Colour.
        ink: Token,
        /// The row's ground: fills hollow glyphs.
        ground: Token,
        /// Whether it has a halo in the ground.
        halo: bool,
    },
    /// A hatched area. The pattern lies at (`anchor`, top of the area), so that it moves with the time it stands for.
    Hatch {
        /// Where.
        area: Area,
        /// With what.
        hatch: Hatch,
        /// The x at which a line of the pattern begins.
        anchor: Px,
    },
    /// A line of text.
    Text(TextLine),
    /// Marks merged into a plate: a rectangle of bg4 with a 1.5 px halo, the count in text1 10/600, a 2 px foot.
    Plate {
        /// The whole plate.
        area: Area,
        /// How many.
        count: u32,
        /// The row's ground, for the halo.
        ground: Token,
        /// Widths of the parts of the foot in the colours of [`FOOT_INKS`], from the left.
        foot: [Px; 3],
    },
    /// Density columns, each [`STRIP_COLUMN_PX`] wide, standing on `bottom`; they are `scene.columns[columns]`.
    Strip {
        /// What they stand on.
        bottom: Px,
        /// The columns.
        columns: Range<u32>,
        /// Colours of the heights, from the bottom up.
        inks: [Token; 3],
        /// Opacity in percent.
        opacity: u8,
    },
    /// What follows is cut to this area, until [`Primitive::Unclip`]. Clips do not nest.
    Clip(Area),
    /// Ends a clip.
    Unclip,
}

/// Width of a strip's columns.
pub const STRIP_COLUMN_PX: i32 = 2;
/// Colours of a plate's foot, from the left.
pub const FOOT_INKS: [Token; 3] = [Token::Added, Token::Modified, Token::Deleted];

/// What a place in the picture stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One record.
    Record(RecordId),
    /// Several changes too near to be told apart.
    Merged {
        /// The first.
        first: RecordId,
        /// The last.
        last: RecordId,
        /// How many.
        count: u32,
    },
    /// Something that lasts, told by the record it began with.
    Stretch(StretchKind, RecordId),
    /// A lane, where nothing else is.
    Lane,
}

/// What lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StretchKind {
    /// What a watch does.
    Phase,
    /// An open stream.
    Stream,
    /// A gap.
    Gap,
    /// A connection.
    Connection,
    /// An object's life.
    Life,
    /// A divergence of an object.
    Divergence,
    /// A finding.
    Finding,
}

/// A place that answers to the pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where; covers what is drawn.
    pub area: Area,
    /// The lane.
    pub lane: LaneId,
    /// What it stands for.
    pub target: Target,
    /// What is drawn there, if it is more than a plain area.
    pub drawn: Option<Drawn>,
}

/// What is drawn at a [`Hit`], and a point that has its ink unless something is painted over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// What.
    pub sign: Sign,
    /// Its colour.
    pub ink: Token,
    /// The point.
    pub x: Px,
    /// The point.
    pub y: Px,
}

/// What stands for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A glyph, or what a legend explains by it.
    Glyph(Glyph),
    /// A hatched stretch.
    Hatch(Hatch),
}

/// A display list with its hit boxes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// Width.
    pub width: Px,
    /// Height.
    pub height: Px,
    /// What to draw, in paint order.
    pub primitives: Vec<Primitive>,
    /// Steps of the paths.
    pub steps: Vec<Step>,
    /// Columns of the strips.
    pub columns: Vec<Column>,
    /// What answers to the pointer; what is painted later comes later.
    pub hits: Vec<Hit>,
    /// What a legend of it explains.
    pub legend: Legend,
}

/// What a scene has that a legend explains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legend {
    /// Glyphs, and what is drawn like them.
    pub glyphs: Set<Glyph>,
    /// Hatches; those of one meaning are one.
    pub hatches: Set<Hatch>,
    /// Whether marks are merged.
    pub plates: bool,
}

/// How far beside a mark a click still counts.
const REACH: Px = Px::whole(4);

impl Scene {
    /// How far down the mark of a record stands in a lane, if it has one between its edges. Its x is that of its time.
    #[must_use]
    pub fn y_of(&self, lane: LaneId, (top, bottom): (Px, Px), record: RecordId) -> Option<Px> {
        let hits = self.hits.iter().rev().filter(|hit| hit.lane == lane);
        let hits = hits.filter(|hit| match hit.target {
            Target::Record(id) => id == record,
            Target::Merged { first, last, .. } => {
                first.epoch == record.epoch && first.seq <= record.seq && record.seq <= last.seq
            }
            Target::Stretch(..) | Target::Lane => false,
        });
        let mut middles = hits.map(|hit| hit.area.y + hit.area.h.half());
        middles.find(|&y| top <= y && y < bottom)
    }

    /// What lies at a point: the last painted place that holds it, else the nearest mark within reach.
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

    /// Between which y a primitive of this scene is drawn, halos and mitres included; `None` if it changes how others
    /// are.
    #[must_use]
    pub fn span(&self, primitive: &Primitive) -> Option<(Px, Px)> {
        // A mitre reaches at most twice the line's width beyond its corner, at right angles and wider.
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

    /// Adds a path's steps and returns their place.
    pub fn path(&mut self, steps: &[Step]) -> Range<u32> {
        let start = self.steps.len() as u32;
        self.steps.extend_from_slice(steps);
        start..self.steps.len() as u32
    }

    /// Appends another scene, moved by (`dx`, `dy`).
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
