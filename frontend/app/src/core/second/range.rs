//! The marked range: drawn on the ruler, or with Shift in the lanes.

use watchscope_model::Time;
use watchscope_timeline::{View, format, words};

use crate::core::layout::RULER_PX;
use crate::core::model::Model;
use crate::core::panel_state::RangeDrag;
use crate::core::shown::{RangeShown, Tooltip};
use crate::input::gesture::{CLICK_TOLERANCE_PX, Pointer};

/// The distance within which an edge snaps to that of a gap or a finding, in px.
const SNAP_PX: f64 = 6.0;
/// The divisor of a range's length that gives the room at each end of the window.
const ROOM: i64 = 40;

impl Model {
    /// Begins a range if the pointer was pressed on the ruler or with Shift. Returns whether it did.
    pub(super) fn begins_range(&mut self, pointer: Pointer) -> bool {
        let is_range = !self.panels.is_lesson && (pointer.shift || pointer.y_px < RULER_PX);
        if is_range {
            self.panels.range_drag = Some(RangeDrag {
                pointer,
                is_drawn: false,
            });
        }
        is_range
    }

    /// Moves the edge of the range that the pointer draws. Returns whether the pointer draws one.
    pub(super) fn draws_range(&mut self, pointer: Pointer) -> bool {
        let Some(drag) = self.panels.range_drag else {
            return false;
        };
        if drag.pointer.id != pointer.id {
            return false;
        }
        let moved_px = (pointer.x_px - drag.pointer.x_px).abs();
        if drag.is_drawn || moved_px > CLICK_TOLERANCE_PX {
            self.panels.range_drag = Some(RangeDrag {
                is_drawn: true,
                ..drag
            });
            let (from, to) = (
                self.edge(drag.pointer, pointer),
                self.edge(pointer, pointer),
            );
            // Both edges are the present if the drag lies after it. A range without length is no range.
            let range = Some((from.min(to), from.max(to))).filter(|(from, to)| from < to);
            self.set_range(range);
            self.shown.tooltip = range.map(|(from, to)| Tooltip {
                x_px: pointer.x_px as i32 + 12,
                y_px: pointer.y_px as i32 + 18,
                lines: vec![format::duration(to.micros_since(from))],
                keys: None,
            });
        }
        true
    }

    /// Ends the range of a released pointer. Returns whether the pointer has drawn one.
    pub(super) fn ends_range(&mut self, pointer: Pointer) -> bool {
        let drag = self.panels.range_drag.take();
        let is_drawn = drag.is_some_and(|drag| drag.is_drawn && drag.pointer.id == pointer.id);
        if is_drawn {
            self.shown.tooltip = None;
            // The row shows the contents of the whole range at once.
            self.follow_range(self.now());
        }
        is_drawn
    }

    /// Returns the time at a pointer, or the nearest edge within reach. With Alt it returns the time itself.
    fn edge(&self, at: Pointer, pointer: Pointer) -> Time {
        let time = self.view.time_from_x(at.x_px).min(self.now());
        if pointer.alt {
            return time;
        }
        let reach_us = (self.view.us_per_px * SNAP_PX) as i64;
        words::snapped(&self.store, time, reach_us)
    }

    /// Marks a range, or removes it. The row of a removed range disappears at once, because its buttons would do
    /// nothing.
    pub(super) fn set_range(&mut self, range: Option<(Time, Time)>) {
        if self.marked.range != range {
            self.marked.range = range;
            if range.is_none() {
                self.shown.range = None;
            }
            self.redraw();
        }
    }

    /// Fits the marked range into the window. The browser's back button leads back.
    pub(super) fn zoom_to_range(&mut self) {
        let Some((from, to)) = self.marked.range else {
            self.say("No range is marked.".to_owned());
            return;
        };
        self.leave_place();
        let room_us = to.micros_since(from) / ROOM;
        let (from, to) = (from.plus_micros(-room_us), to.plus_micros(room_us));
        self.set_view(View::between(from, to, self.view.width_px));
    }

    /// Computes the words about the marked range, and hands a dialog the records that it requested. The function comes
    /// with the third part of the page.
    pub fn update_range(&mut self, now: Time) {
        self.describe_range(now);
        self.go_on_taking(now);
    }

    fn describe_range(&mut self, now: Time) {
        let Some((from, to)) = self.marked.range else {
            self.shown.range = None;
            return;
        };
        self.shown.range_x_px = self.view.x(from).to_f64().max(0.0) as i32;
        let words = words::range_words(&self.store, (from, to), now);
        self.shown.range = Some(RangeShown {
            from: format::clock_ms(from),
            to: format::clock_ms(to),
            words,
        });
    }
}
