//! Draws the cursors A and B: lines over the lanes, dim ink outside, flags on the ruler.

use watchscope_model::Time;

use super::drawer::{Cursors, Drawer};
use super::look::{HAIR, Layer};
use super::ruler::{BADGE_HEIGHT, BADGE_TOP, RULER_HEIGHT, badge, rect};
use crate::format::clock;
use crate::scene::{Area, Px, Scene};
use crate::tokens::Token;
use crate::view::View;

/// Width and height of the flag of a cursor, in px. The width has room for `A 09:35:28`, which takes 60 px, and for the
/// space around it. The width has no other source. The height is that of a badge.
pub const CURSOR_FLAG: (Px, Px) = (Px::whole(74), BADGE_HEIGHT);
/// Opacity in percent of the ground that covers the time outside A to B. The number has no source.
const DIM: u8 = 35;

/// Returns the left edge of a cursor's flag, from the left edge of the view; `None` if its time `at` is out of view.
/// The flag of A ends at A's time, and the flag of B (`is_b`) begins at B's time, unless the view's edge leaves too
/// little room.
#[must_use]
pub fn cursor_x(view: &View, at: Time, is_b: bool) -> Option<Px> {
    let (x, width) = (view.x(at).floor(), Px::from_f64(view.width_px));
    let left = if is_b { x } else { x + HAIR - CURSOR_FLAG.0 };
    let within = left.min(width - CURSOR_FLAG.0).max(Px::ZERO);
    (Px::ZERO <= x && x <= width).then_some(within)
}

impl Drawer<'_> {
    /// Draws the lines of A and B, and dims everything outside A to B except divergence and findings.
    pub(crate) fn cursors(&mut self) {
        let Cursors { a, b } = self.picture.marked.cursors;
        let height = (Px::ZERO, self.picture.height);
        if let (Some(a), Some(b)) = (a, b) {
            let (from, to) = (self.x(a).floor(), self.x(b).floor() + HAIR);
            for xs in [(Px::ZERO, from), (to, self.width)] {
                self.fill_faint(Layer::Error, xs, height, Token::Ground0, DIM);
            }
        }
        for at in [a, b].into_iter().flatten() {
            let x = self.x(at).floor();
            self.fill(Layer::Pen, (x, x + HAIR), height, Token::Text1);
        }
    }
}

/// Draws the flags of the cursors A and B on the ruler, and a line between them.
pub(crate) fn mark_cursors(scene: &mut Scene, view: &View, Cursors { a, b }: Cursors) {
    if let (Some(a), Some(b)) = (a, b) {
        let within = |at: Time| view.x(at).floor().max(Px::ZERO).min(scene.width);
        let xs = (within(a), within(b));
        let ys = (RULER_HEIGHT - HAIR - HAIR, RULER_HEIGHT);
        rect(
            scene,
            Area::between(xs.0, xs.1, ys.0, ys.1),
            Token::Text1,
            1,
        );
    }
    for (name, at, is_b) in [("A", a, false), ("B", b, true)] {
        let Some(at) = at else { continue };
        let Some(left) = cursor_x(view, at, is_b) else {
            continue;
        };
        let x = view.x(at).floor();
        rect(
            scene,
            Area::between(x, x + HAIR, BADGE_TOP, scene.height),
            Token::Text1,
            1,
        );
        badge(
            scene,
            (left, CURSOR_FLAG.0),
            format!("{name} {}", clock(at)),
        );
    }
}
