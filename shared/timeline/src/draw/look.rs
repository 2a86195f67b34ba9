//! How things look that are drawn: the layers they are painted in, measures, glyphs and texts.

use crate::glyph::Glyph;
use crate::scene::{Align, Px};
use crate::tokens::Token;

/// Layers in paint order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Ground,
    Grid,
    Gap,
    Stream,
    Version,
    Life,
    Rule,
    Change,
    Error,
    Divergence,
    Finding,
    Cover,
    Thread,
    Frame,
    Pen,
}

/// How many there are.
pub(super) const LAYERS: usize = Layer::Pen as usize + 1;

/// How far beside the view something may still show in it.
pub(crate) const SPILL: Px = Px::whole(16);
/// What cannot be averaged away is at least this wide.
pub(crate) const LEAST: Px = Px::whole(3);
/// A hair, a stroke of one px.
pub(crate) const HAIR: Px = Px::whole(1);
/// A label begins so far inside its stretch…
pub(crate) const LABEL_INSET: Px = Px::whole(6);
/// …and is shown only with so much room to spare.
pub(crate) const LABEL_SPARE: Px = Px::whole(10);

/// A glyph to be drawn.
#[derive(Clone, Copy)]
pub(crate) struct GlyphMark {
    pub(crate) glyph: Glyph,
    pub(crate) x: Px,
    pub(crate) y: Px,
    pub(crate) size: u8,
    pub(crate) ink: Token,
    pub(crate) ground: Token,
    pub(crate) halo: bool,
}

impl GlyphMark {
    pub(crate) fn new(glyph: Glyph, x: Px, y: Px, size: u8, ground: Token) -> Self {
        Self {
            glyph,
            x,
            y,
            size,
            ink: glyph.ink(),
            ground,
            halo: true,
        }
    }
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(crate) struct TextLook {
    pub(crate) size: u8,
    pub(crate) weight: u16,
    pub(crate) ink: Token,
    pub(crate) halo: Option<Token>,
    pub(crate) align: Align,
}

impl TextLook {
    pub(crate) const fn plain(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 400,
            ink,
            halo: None,
            align: Align::Start,
        }
    }

    pub(crate) const fn strong(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 600,
            ink,
            halo: None,
            align: Align::Start,
        }
    }

    pub(crate) const fn over(self, ground: Token) -> Self {
        Self {
            halo: Some(ground),
            ..self
        }
    }

    pub(crate) const fn aligned(self, align: Align) -> Self {
        Self { align, ..self }
    }
}
