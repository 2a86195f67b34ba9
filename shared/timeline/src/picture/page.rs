//! The page of a saved picture, and how fills, lines and fitting texts are put on the page.

use crate::format::text_width;
use crate::scene::{Align, Area, Primitive, Px, Scene, Stroke, TextLine};
use crate::tokens::Token;

/// Free space on the left and on the right of a saved picture, in px. The number has no source.
pub(super) const EDGE: Px = Px::whole(24);

/// The look of a text around the view: its size, weight and colour.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) size: u8,
    pub(super) weight: u16,
    pub(super) ink: Token,
    pub(super) align: Align,
}

impl Look {
    pub(super) const fn small(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 400,
            ink,
            align: Align::Start,
        }
    }

    pub(super) const fn end(self) -> Self {
        Self {
            align: Align::End,
            ..self
        }
    }
}

/// The page of a picture while it is being drawn.
pub(super) struct Page {
    pub(super) scene: Scene,
    /// Free space on both sides, in px.
    pub(super) edge: Px,
    pub(super) tree_width: Px,
}

impl Page {
    pub(super) fn whole(&self) -> Area {
        Area {
            x: Px::ZERO,
            y: Px::ZERO,
            w: self.scene.width,
            h: self.scene.height,
        }
    }

    pub(super) fn ground(&mut self, height: Px) {
        self.scene.height = height;
        self.fill(self.whole(), Token::Ground0);
    }

    pub(super) fn outline(&mut self) {
        let stroke = Some(Stroke::solid(Token::Line2, Px::whole(1)));
        self.scene.primitives.push(Primitive::Rect {
            area: self.whole(),
            fill: None,
            stroke,
            radius: 0,
            opacity: 100,
        });
    }

    pub(super) fn fill(&mut self, area: Area, ink: Token) {
        let fill = Some(ink);
        self.scene.primitives.push(Primitive::Rect {
            area,
            fill,
            stroke: None,
            radius: 0,
            opacity: 100,
        });
    }

    pub(super) fn line(&mut self, x0: Px, x1: Px, y: Px, ink: Token) {
        self.fill(
            Area {
                x: x0,
                y,
                w: x1 - x0,
                h: Px::whole(1),
            },
            ink,
        );
    }

    pub(super) fn text(&mut self, x: Px, y: Px, text: impl Into<String>, look: Look) {
        let text = text.into();
        // A wider face gets the room that it needs. Only a text that is even wider is squeezed.
        let max_width = Some(spared(text_width(&text, look.size, look.weight)));
        let Look {
            size,
            weight,
            ink,
            align,
        } = look;
        self.scene.primitives.push(Primitive::Text(TextLine {
            x,
            y,
            text,
            size,
            weight,
            ink,
            halo: None,
            align,
            max_width,
        }));
    }
}

/// Adds a quarter to a calculated text width, because fonts differ.
pub(super) fn spared(width: Px) -> Px {
    width + Px(width.0 / 4)
}

/// Where a text that is too long is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// In the middle, for a name, because both its ends identify it.
    Middle,
    /// At the end, as for a sentence.
    End,
}

/// Cuts a text of 11 px so that it fits, with `…` where letters are missing; the result is `…` alone if nothing more
/// fits.
pub(super) fn shortened(text: &str, room: Px, weight: u16, at: Cut) -> String {
    let fits = |text: &str| spared(text_width(text, 11, weight)) <= room;
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let keeping = |kept: usize| -> String {
        let tail = if at == Cut::Middle { kept / 2 } else { 0 };
        let (head, tail) = (&letters[..kept - tail], &letters[letters.len() - tail..]);
        head.iter().chain(&['…']).chain(tail).collect()
    };
    // More letters are always wider, so bisection finds the most that fit.
    let (mut fitting, mut too_many) = (1, letters.len());
    while fitting + 1 < too_many {
        let kept = usize::midpoint(fitting, too_many);
        if fits(&keeping(kept)) {
            fitting = kept;
        } else {
            too_many = kept;
        }
    }
    match fitting {
        1 => "…".to_owned(),
        kept => keeping(kept),
    }
}
