//! Pointers: from presses and moves to clicks, pans and pinches.
//!
//! ```text
//!   one pointer    press ── within 5 px ──► release = click
//!                    └── beyond ──► pan (touch: locked to one axis after 8 px)
//!   two pointers   pinch: zoom by their distance, pan by their middle
//! ```

/// The most px that a press may move and still be a click.
pub const CLICK_TOLERANCE_PX: f64 = 5.0;

/// The px after which a finger chooses its axis.
pub const AXIS_LOCK_PX: f64 = 8.0;

/// The most milliseconds between the two taps of a double tap, which are also within 24 px.
pub const DOUBLE_TAP_MS: f64 = 350.0;

/// A pointer at its present position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointer {
    /// The browser's id of the pointer.
    pub id: i32,
    /// Pixels from the left edge of the picture.
    pub x_px: f64,
    /// Pixels from its top edge.
    pub y_px: f64,
    /// Whether it is a finger.
    pub touch: bool,
    /// Whether Shift is down.
    pub shift: bool,
    /// Whether Alt is down.
    pub alt: bool,
}

/// An action that pointers request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gesture {
    /// A click or tap.
    Click {
        /// Where.
        x_px: f64,
        /// Where.
        y_px: f64,
    },
    /// A double tap.
    DoubleTap {
        /// Where.
        x_px: f64,
        /// Where.
        y_px: f64,
    },
    /// Move the picture with the pointer.
    Pan {
        /// To the right: towards the past.
        dx_px: f64,
        /// Down: towards the lanes above.
        dy_px: f64,
    },
    /// Scale time around a point.
    Zoom {
        /// The point.
        x_px: f64,
        /// Over 1 shows less time.
        factor: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Both,
    Time,
    Lanes,
}

#[derive(Clone, Copy, Debug)]
struct Drag {
    start: Pointer,
    axis: Option<Axis>,
}

/// Follows the pointers that are down: at most two; a third is ignored.
#[derive(Clone, Debug, Default)]
pub struct Gestures {
    down: Vec<Pointer>,
    drag: Option<Drag>,
    last_tap: Option<(f64, Pointer)>,
}

impl Gestures {
    /// Handles a pressed pointer.
    pub fn press(&mut self, pointer: Pointer) {
        self.down.retain(|known| known.id != pointer.id);
        if self.down.len() >= 2 {
            return;
        }
        self.down.push(pointer);
        self.drag = (self.down.len() == 1).then_some(Drag {
            start: pointer,
            axis: None,
        });
    }

    /// Handles a moved pointer; returns its gestures.
    pub fn motion(&mut self, pointer: Pointer) -> Vec<Gesture> {
        let Some(place) = self.down.iter().position(|known| known.id == pointer.id) else {
            return Vec::new();
        };
        let before = std::mem::replace(&mut self.down[place], pointer);
        match self.down[..] {
            [_] => self.pan(before, pointer).into_iter().collect(),
            [first, second] => pinch(before, pointer, if place == 0 { second } else { first }),
            _ => Vec::new(),
        }
    }

    /// Handles a pointer that was released at `now_ms`; returns a click or a double tap.
    pub fn release(&mut self, pointer: Pointer, now_ms: f64) -> Option<Gesture> {
        let known = self.down.len();
        self.down.retain(|down| down.id != pointer.id);
        if known == self.down.len() || known != 1 {
            self.drag = None;
            return None;
        }
        let drag = self.drag.take()?;
        if drag.axis.is_some() || distance(drag.start, pointer) > CLICK_TOLERANCE_PX {
            return None;
        }
        let (x_px, y_px) = (pointer.x_px, pointer.y_px);
        let again = pointer.touch
            && self.last_tap.take().is_some_and(|(at_ms, tap)| {
                now_ms - at_ms <= DOUBLE_TAP_MS && distance(tap, pointer) <= 24.0
            });
        if again {
            return Some(Gesture::DoubleTap { x_px, y_px });
        }
        self.last_tap = pointer.touch.then_some((now_ms, pointer));
        Some(Gesture::Click { x_px, y_px })
    }

    /// Forgets a pointer that the browser took away.
    pub fn cancel(&mut self, id: i32) {
        self.down.retain(|down| down.id != id);
        self.drag = None;
    }

    /// Whether a pan or pinch is under way, so that nothing is hovered.
    #[must_use]
    pub fn is_dragging(&self) -> bool {
        self.down.len() > 1 || self.drag.is_some_and(|drag| drag.axis.is_some())
    }

    fn pan(&mut self, before: Pointer, now: Pointer) -> Option<Gesture> {
        let drag = self.drag.as_mut()?;
        let (mut dx_px, mut dy_px) = (now.x_px - before.x_px, now.y_px - before.y_px);
        if drag.axis.is_none() {
            let (far_x, far_y) = (
                (now.x_px - drag.start.x_px).abs(),
                (now.y_px - drag.start.y_px).abs(),
            );
            drag.axis = if now.touch {
                (far_x.max(far_y) > AXIS_LOCK_PX).then_some(if far_x >= far_y {
                    Axis::Time
                } else {
                    Axis::Lanes
                })
            } else {
                (distance(drag.start, now) > CLICK_TOLERANCE_PX).then_some(Axis::Both)
            };
            // This includes the movement that was held back until the press could not be a click any more.
            (dx_px, dy_px) = (now.x_px - drag.start.x_px, now.y_px - drag.start.y_px);
        }
        match drag.axis? {
            Axis::Both => {}
            Axis::Time => dy_px = 0.0,
            Axis::Lanes => dx_px = 0.0,
        }
        Some(Gesture::Pan { dx_px, dy_px })
    }
}

fn pinch(before: Pointer, now: Pointer, other: Pointer) -> Vec<Gesture> {
    let middle = |a: Pointer| (a.x_px + other.x_px) / 2.0;
    let (was, is) = (
        (before.x_px - other.x_px).abs(),
        (now.x_px - other.x_px).abs(),
    );
    let mut gestures = vec![Gesture::Pan {
        dx_px: middle(now) - middle(before),
        dy_px: 0.0,
    }];
    // The distance of fingers above each other says nothing about time.
    if was > 10.0 && is > 10.0 {
        gestures.push(Gesture::Zoom {
            x_px: middle(now),
            factor: is / was,
        });
    }
    gestures
}

fn distance(a: Pointer, b: Pointer) -> f64 {
    let (dx, dy) = (a.x_px - b.x_px, a.y_px - b.y_px);
    (dx * dx + dy * dy).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mouse(x_px: f64, y_px: f64) -> Pointer {
        Pointer {
            id: 1,
            x_px,
            y_px,
            touch: false,
            shift: false,
            alt: false,
        }
    }

    fn finger(id: i32, x_px: f64, y_px: f64) -> Pointer {
        Pointer {
            id,
            x_px,
            y_px,
            touch: true,
            shift: false,
            alt: false,
        }
    }

    #[test]
    fn a_press_that_trembles_is_a_click_and_one_that_travels_is_a_pan() {
        let mut gestures = Gestures::default();
        gestures.press(mouse(10.0, 10.0));
        assert!(gestures.motion(mouse(13.0, 12.0)).is_empty());
        assert_eq!(
            gestures.release(mouse(13.0, 12.0), 0.0),
            Some(Gesture::Click {
                x_px: 13.0,
                y_px: 12.0
            })
        );
        gestures.press(mouse(10.0, 10.0));
        assert_eq!(
            gestures.motion(mouse(20.0, 11.0)),
            [Gesture::Pan {
                dx_px: 10.0,
                dy_px: 1.0
            }]
        );
        assert!(gestures.is_dragging());
        assert_eq!(gestures.release(mouse(20.0, 11.0), 0.0), None);
    }

    #[test]
    fn a_finger_keeps_to_the_axis_it_began_with() {
        let mut gestures = Gestures::default();
        gestures.press(finger(1, 0.0, 0.0));
        assert!(gestures.motion(finger(1, 2.0, 7.0)).is_empty());
        assert_eq!(
            gestures.motion(finger(1, 4.0, 12.0)),
            [Gesture::Pan {
                dx_px: 0.0,
                dy_px: 12.0
            }]
        );
        assert_eq!(
            gestures.motion(finger(1, 40.0, 13.0)),
            [Gesture::Pan {
                dx_px: 0.0,
                dy_px: 1.0
            }]
        );
    }

    #[test]
    fn two_fingers_zoom_around_their_middle_and_leave_no_click_behind() {
        let mut gestures = Gestures::default();
        gestures.press(finger(1, 100.0, 0.0));
        gestures.press(finger(2, 200.0, 0.0));
        assert_eq!(
            gestures.motion(finger(2, 300.0, 0.0)),
            [
                Gesture::Pan {
                    dx_px: 50.0,
                    dy_px: 0.0
                },
                Gesture::Zoom {
                    x_px: 200.0,
                    factor: 2.0
                }
            ]
        );
        assert_eq!(gestures.release(finger(2, 300.0, 0.0), 0.0), None);
        assert_eq!(gestures.release(finger(1, 100.0, 0.0), 0.0), None);
    }

    #[test]
    fn two_quick_taps_are_a_double_tap() {
        let mut gestures = Gestures::default();
        gestures.press(finger(1, 5.0, 5.0));
        assert!(matches!(
            gestures.release(finger(1, 5.0, 5.0), 0.0),
            Some(Gesture::Click { .. })
        ));
        gestures.press(finger(2, 8.0, 5.0));
        assert!(matches!(
            gestures.release(finger(2, 8.0, 5.0), 200.0),
            Some(Gesture::DoubleTap { .. })
        ));
    }
}
