//! What a person has marked: the moment that panels answer for, and a stretch of time.

use watchscope_model::Time;

use super::{Drawer, HAIR, Layer};
use crate::draw::RULER_HEIGHT;
use crate::scene::{Area, Primitive, Px, Scene, Step, Stroke};
use crate::tokens::Token;
use crate::view::View;

/// How strong the ground of a marked stretch is, in percent.
const STRETCH: u8 = 7;
/// The handles at the edges of a marked stretch, on the ruler.
const HANDLE: (Px, Px) = (Px::whole(3), Px::whole(18));

/// What a person has marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// The moment that panels answer for; absent: now.
    pub as_of: Option<Time>,
    /// From when to when.
    pub range: Option<(Time, Time)>,
}

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

/// Marks a stretch on the ruler of a view.
pub(super) fn on_ruler(scene: &mut Scene, view: &View, (from, to): (Time, Time)) {
    let within = |x: Px| x.max(-HANDLE.0).min(scene.width + HANDLE.0);
    let (from, to) = (within(view.x(from).floor()), within(view.x(to).floor()));
    let mut rect = |area: Area, opacity: u8| {
        scene.primitives.push(Primitive::Rect {
            area,
            fill: Some(Token::Text1),
            stroke: None,
            radius: 0,
            opacity,
        });
    };
    rect(Area::between(from, to, Px::ZERO, RULER_HEIGHT), STRETCH);
    let bottom = (RULER_HEIGHT - Px::whole(2), RULER_HEIGHT);
    rect(Area::between(from, to, bottom.0, bottom.1), 100);
    for x in [from - HANDLE.0.half(), to - HANDLE.0.half()] {
        let ys = (RULER_HEIGHT - HANDLE.1, RULER_HEIGHT);
        rect(Area::between(x, x + HANDLE.0, ys.0, ys.1), 100);
    }
}
