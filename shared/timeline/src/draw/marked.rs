//! Draws the viewer's marks: the moment that panels answer for, a range, and the times of notes.

use super::drawer::{Drawer, Marked};
use super::look::{HAIR, Layer};
use super::ruler::RANGE_GROUND;
use crate::scene::{Px, Step, Stroke};
use crate::tokens::Token;

impl Drawer<'_> {
    /// Draws the moment that panels answer for, and the marked range, over all lanes.
    pub(crate) fn marked(&mut self) {
        let Marked { as_of, range, .. } = self.picture.marked;
        let height = (Px::ZERO, self.picture.height);
        if let Some((from, to)) = range {
            let (from, to) = (self.x(from).floor(), self.x(to).floor());
            self.fill_faint(Layer::Pen, (from, to), height, Token::Text1, RANGE_GROUND);
            for x in [from, to] {
                if self.is_seen((x, x + HAIR)) {
                    let line = [Step::Move(x, height.0), Step::Line(x, height.1)];
                    let dots = Stroke::dashed(Token::Text2, HAIR, 2, 3);
                    self.stroke(Layer::Pen, &line, dots);
                }
            }
        }
        if let Some(at) = as_of {
            let x = self.x(at).floor();
            self.fill(Layer::Pen, (x, x + HAIR), height, Token::Text1);
        }
    }

    /// Draws a dotted line at each note's start, from its flag down over all lanes. The selected note has such a line
    /// at both ends of its time span.
    pub(crate) fn flag_lines(&mut self) {
        let height = self.picture.height;
        for mark in self.picture.flagged.marks {
            let ends = [Some(mark.from), Some(mark.to).filter(|_| mark.is_selected)];
            for at in ends.into_iter().flatten() {
                let x = self.x(at).floor();
                if at > self.picture.now || !self.is_seen((x, x + HAIR)) {
                    continue;
                }
                let line = [
                    Step::Move(x + HAIR.half(), Px::ZERO),
                    Step::Line(x + HAIR.half(), height),
                ];
                let (ink, gap) = if mark.is_selected {
                    (Token::Text1, 2)
                } else {
                    (Token::Text2, 3)
                };
                self.stroke(Layer::Thread, &line, Stroke::dashed(ink, HAIR, 1, gap));
            }
        }
    }
}
