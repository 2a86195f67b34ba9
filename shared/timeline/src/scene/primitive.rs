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

/// A step of a [`Primitive::Path`]. Of each point, x comes before y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begins a line here.
    Move(Px, Px),
    /// A straight line to here.
    Line(Px, Px),
    /// A cubic curve: two control points and the end.
    Curve(Px, Px, Px, Px, Px, Px),
    /// A line back to the start.
    Close,
}

/// The part of a text that stands at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A line of text. The face is the page's sans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// The x that it is aligned to.
    pub x: Px,
    /// Its baseline.
    pub y: Px,
    /// Its words. Text of the cluster is hostile: draw it as text, never as markup.
    pub text: String,
    /// Font size in whole px.
    pub size: u8,
    /// CSS font weight: 400, 600 or 700.
    pub weight: u16,
    /// Colour.
    pub ink: Token,
    /// Colour of a 3 px outline painted before the text; `None`: no outline.
    pub halo: Option<Token>,
    /// The part that stands at x.
    pub align: Align,
    /// Wider text is squeezed to this width; `None`: unlimited.
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
        /// Outline; `None`: no outline. SVG centres it on the edge. The canvas does so for round corners; that of
        /// square ones lies inside.
        stroke: Option<Stroke>,
        /// Radius of the corners, in whole px, cut to half of the shorter side; 0: square corners.
        radius: u8,
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// A path; its steps are `scene.steps[steps]`.
    Path {
        /// Its steps.
        steps: Range<u32>,
        /// Fill colour; `None`: not filled.
        fill: Option<Token>,
        /// Outline; mitre joins, butt caps. `None`: no outline.
        stroke: Option<Stroke>,
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// A glyph, centred.
    Glyph {
        /// The glyph.
        glyph: Glyph,
        /// x of its centre.
        x: Px,
        /// y of its centre.
        y: Px,
        /// Side of its box, in whole px.
        size: u8,
        /// Colour.
        ink: Token,
        /// The row's ground, which fills hollow glyphs.
        ground: Token,
        /// Whether it has a halo in the ground. A glyph whose first part is stroked has none.
        halo: bool,
    },
    /// A hatched area. The pattern lies at (`anchor`, top of the area), so it moves with its time.
    Hatch {
        /// The area.
        area: Area,
        /// The hatch.
        hatch: Hatch,
        /// The x at which a line of the pattern begins.
        anchor: Px,
    },
    /// A line of text.
    Text(TextLine),
    /// Marks merged into a plate: a rectangle of bg4 with a halo, the count in text1 10/600, a 2 px foot. The halo on
    /// the canvas is 1.5 px wide, at the left and right alone. In SVG it is a line of 1.5 px on the whole edge.
    Plate {
        /// The whole plate.
        area: Area,
        /// How many marks are merged; at least 2.
        count: u32,
        /// The row's ground, for the halo.
        ground: Token,
        /// Widths of the parts of the foot in the colours of [`FOOT_INKS`], from the left; 0 for a part without marks.
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
        /// Opacity in percent: 100 is opaque.
        opacity: u8,
    },
    /// Cuts all that follows to this area, until [`Primitive::Unclip`]. Clips do not nest: end one before the next.
    Clip(Area),
    /// Ends a clip; does nothing without one.
    Unclip,
}

/// Width of a strip's columns, in px. The number has no source.
pub const STRIP_COLUMN_PX: i32 = 2;

/// Colours of a plate's foot, from the left: of ADDED, MODIFIED and DELETED.
pub const FOOT_INKS: [Token; 3] = [Token::Added, Token::Modified, Token::Deleted];
