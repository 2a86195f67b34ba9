//! The primitives that a painter draws: areas, paths, glyphs, hatches, columns, texts.

use std::ops::Range;

use super::hatch::Hatch;
use super::px::{Area, Px};
use crate::glyph::Glyph;
use crate::tokens::Token;

/// A line's colour, width and dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// Colour.
    pub ink: Token,
    /// Width of the line.
    pub width: Px,
    /// Lengths of a dash and of the space after it, in whole px; `None`: solid.
    pub dash: Option<(u8, u8)>,
}

impl Stroke {
    /// Returns a solid line of a colour and a width.
    #[must_use]
    pub const fn solid(ink: Token, width: Px) -> Self {
        Self {
            ink,
            width,
            dash: None,
        }
    }

    /// Returns a dashed line: `on` px are drawn, then `off` px are free.
    #[must_use]
    pub const fn dashed(ink: Token, width: Px, on: u8, off: u8) -> Self {
        Self {
            ink,
            width,
            dash: Some((on, off)),
        }
    }
}

/// A step of a [`Primitive::Path`]. Each point is given as x, then y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Moves to this point without drawing; a line begins here.
    Move(Px, Px),
    /// A straight line to this point.
    Line(Px, Px),
    /// A cubic Bézier curve: its two control points, then its end.
    Curve(Px, Px, Px, Px, Px, Px),
    /// A straight line back to the point of the last move.
    Close,
}

/// The part of a text that stands at the text's x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text's start.
    Start,
    /// The text's middle.
    Middle,
    /// The text's end.
    End,
}

/// A line of text. The font of a text is the page's sans-serif font.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// The x that the text is aligned to.
    pub x: Px,
    /// The y of the text's baseline.
    pub y: Px,
    /// The words to draw. Text of the cluster is hostile: draw it as text, never as markup.
    pub text: String,
    /// Font size in whole px.
    pub size: u8,
    /// CSS font weight: 400, 600 or 700.
    pub weight: u16,
    /// Colour.
    pub ink: Token,
    /// Colour of a 3 px outline painted before the text; `None`: no outline.
    pub halo: Option<Token>,
    /// The part of the text that stands at x.
    pub align: Align,
    /// Greatest width of the text; `None`: unlimited. The canvas squeezes a wider text to this width. In an SVG, a text
    /// with less than 3 px of room above its calculated width has a fixed width. Any other text keeps its natural width
    /// there.
    pub max_width: Option<Px>,
}

/// One column of a density strip, [`STRIP_COLUMN_PX`] wide; heights are whole px, stacked from the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Left edge.
    pub x: Px,
    /// Heights in whole px, in the colours of `inks` of [`Primitive::Strip`], from the bottom up.
    pub heights: [u8; 3],
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// A rectangle.
    Rect {
        /// The rectangle.
        area: Area,
        /// Fill colour; `None`: not filled.
        fill: Option<Token>,
        /// Outline; `None`: no outline. SVG centres the outline on the edge. The canvas centres it for round corners;
        /// for square corners it lies inside the edge.
        stroke: Option<Stroke>,
        /// Radius of the corners, in whole px, cut to half of the shorter side; 0: square corners.
        radius: u8,
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// A path; `steps` is the range of its steps in [`Scene::steps`](super::Scene::steps).
    Path {
        /// The range of the path's steps in the scene's steps.
        steps: Range<u32>,
        /// Fill colour; `None`: not filled.
        fill: Option<Token>,
        /// Outline; mitre joins, butt caps. `None`: no outline.
        stroke: Option<Stroke>,
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// A glyph, centred at a point.
    Glyph {
        /// The glyph.
        glyph: Glyph,
        /// x of the glyph's centre.
        x: Px,
        /// y of the glyph's centre.
        y: Px,
        /// Side of the glyph's square box, in whole px.
        size: u8,
        /// Colour.
        ink: Token,
        /// The colour of the row's ground, which fills hollow glyphs.
        ground: Token,
        /// Whether the glyph has a halo in the colour of the ground. In an SVG, a glyph whose first part is stroked has
        /// none.
        halo: bool,
    },
    /// A hatched area. The pattern begins at (`anchor`, top of the area), so it moves with the time that it covers.
    Hatch {
        /// The area.
        area: Area,
        /// The hatch.
        hatch: Hatch,
        /// The x, in scene px, at which a line of the hatch's pattern begins.
        anchor: Px,
    },
    /// A line of text.
    Text(TextLine),
    /// Marks merged into a plate: a rectangle of bg4 with a halo, the count in text1 at 10 px and weight 600, and a
    /// foot of 2 px. On the canvas the halo is 1.5 px wide, at the left and right alone. In SVG the halo is a line of
    /// 1.5 px along the whole edge.
    Plate {
        /// The whole plate.
        area: Area,
        /// How many marks are merged; at least 2.
        count: u32,
        /// The colour of the row's ground, for the plate's halo.
        ground: Token,
        /// Widths of the three parts of the plate's foot, from the left, in the colours of [`FOOT_INKS`]; 0 for a part
        /// without marks.
        foot: [Px; 3],
    },
    /// Density columns, each [`STRIP_COLUMN_PX`] wide, standing on `bottom`; `columns` is their range in the scene's
    /// columns.
    Strip {
        /// The y that the columns stand on.
        bottom: Px,
        /// The columns.
        columns: Range<u32>,
        /// Colours of a column's three heights, from the bottom up.
        inks: [Token; 3],
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// Cuts all primitives that follow to this area, until [`Primitive::Unclip`]. Clips do not nest: end one before the
    /// next.
    Clip(Area),
    /// Ends the clip; does nothing if no clip is open.
    Unclip,
}

/// Width of a strip's columns, in px. The number has no source.
pub const STRIP_COLUMN_PX: i32 = 2;

/// Colours of a plate's foot, from the left: of ADDED, MODIFIED and DELETED.
pub const FOOT_INKS: [Token; 3] = [Token::Added, Token::Modified, Token::Deleted];
