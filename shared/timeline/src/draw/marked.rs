//! Draws what a person has marked: the moment that panels answer for, and a stretch of time.

use super::{Drawer, HAIR, Layer, Marked};
use crate::scene::{Px, Step, Stroke};
use crate::tokens::Token;

/// How strong the ground of a marked stretch is, in percent.
const STRETCH: u8 = 7;

impl Drawer<'_> {
    /// Marks them over all lanes.
    pub(super) fn marked(&mut self) {
        let Marked { as_of, range } = self.picture.marked;
        let height = (Px::ZERO, self.picture.height);
        if let Some((from, to)) = range {
            let (from, to) = (self.x(from).floor(), self.x(to).floor());
            self.fill_faint(Layer::Pen, (from, to), height, Token::Text1, STRETCH);
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
}
