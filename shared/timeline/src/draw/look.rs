//! How drawn things look: paint layers, measures, glyphs and texts.

use crate::glyph::Glyph;
use crate::scene::{Align, Px};
use crate::tokens::Token;

/// The layers of the picture, in the order in which they are painted.
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

/// The number of paint layers.
pub(super) const LAYERS: usize = Layer::Pen as usize + 1;

/// How far left or right of the view, in px, something may be drawn that still shows in the view. For example, the dots
/// behind the end of a run reach 15 px from their time. The number is 1 px more than that.
pub(crate) const SPILL: Px = Px::whole(16);
/// Least drawn width, in px, of things that must show at any zoom. Losses, relists, usual bookmarks, and lines and
/// ticks of ERROR events are left out if they follow a drawn one by less than this. A click at most this far from a
/// compaction of etcd hits it. The number has no source.
pub(crate) const LEAST: Px = Px::whole(3);
/// Width of a thin stroke, in px: the thinnest sharp one.
pub(crate) const HAIR: Px = Px::whole(1);
/// Least distance of a label from the visible beginning of its stretch, in px. The number has no source.
pub(crate) const LABEL_INSET: Px = Px::whole(6);
/// Room that a label leaves at the end of its stretch, in px. A label that cannot leave this room is not written. The
/// number has no source.
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

/// The look of a text: size, weight, colours and alignment.
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
