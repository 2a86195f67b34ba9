//! Draws an arrow at the left or right edge of a lane that has trouble outside of the view on that side.

use super::drawer::Drawer;
use super::look::Layer;
use crate::lanes::RowKind;
use crate::phrases::severity_ink;
use crate::scene::{Primitive, Px, Step};

/// Length and height of an arrow, in px. The number has no source.
const ARROW: Px = Px::whole(6);
/// Distance of an arrow from the edge of the view, in px. The number has no source.
const INSET: Px = Px::whole(3);

impl Drawer<'_> {
    /// Draws the arrows of all watches in the window; draws none if the picture has no list of trouble.
    pub(crate) fn off_sides(&mut self) {
        let picture = self.picture;
        let Some(troubles) = picture.troubles else {
            return;
        };
        let shown = (picture.view.left(), picture.view.right());
        let window = picture
            .rows
            .window(picture.top, picture.top + picture.height);
        for row in &picture.rows.rows[window] {
            let is_watch = matches!(row.kind, RowKind::Watch | RowKind::Strip);
            let watch = row.id.watch().filter(|_| is_watch);
            let Some((side, severity)) = watch.and_then(|watch| troubles.sides(watch, shown))
            else {
                continue;
            };
            let y = self.y(row) + row.height.half();
            let (left, right) = (INSET, self.width - INSET);
            let tips = [
                (side.is_left, left, left + ARROW),
                (side.is_right, right, right - ARROW),
            ];
            for (_, tip, back) in tips.into_iter().filter(|(is_off, ..)| *is_off) {
                let steps = self.scene.path(&[
                    Step::Move(tip, y),
                    Step::Line(back, y - ARROW.half()),
                    Step::Line(back, y + ARROW.half()),
                    Step::Close,
                ]);
                self.push(
                    Layer::Pen,
                    Primitive::Path {
                        steps,
                        fill: Some(severity_ink(severity)),
                        stroke: None,
                        opacity: 100,
                    },
                );
            }
        }
    }
}
