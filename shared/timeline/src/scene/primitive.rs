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
