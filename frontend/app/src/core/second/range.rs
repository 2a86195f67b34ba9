//! A range of time that a person marks: drawn on the ruler, or with Shift in the lanes.

use watchscope_model::Time;
use watchscope_timeline::{View, format, words};

use crate::core::layout::RULER_PX;
use crate::core::model::Model;
use crate::core::panel_state::RangeDrag;
use crate::core::shown::{RangeShown, Tooltip};
use crate::input::gesture::{CLICK_TOLERANCE_PX, Pointer};

/// An edge goes to that of a gap or a finding within this distance, in px.
const SNAP_PX: f64 = 6.0;
/// Room beside a range that fills the window, as a share of its length.
const ROOM: i64 = 40;

impl Model {
    /// A pointer was pressed where a range begins: on the ruler, or with Shift.
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

    /// The pointer that draws a range moved; says whether there is one.
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
            // Both edges are the present if the drag lies after it: a range of no length is none.
            let range = Some((from.min(to), from.max(to))).filter(|(from, to)| from < to);
            self.set_range(range);
            let lasted = format::duration(to.micros_since(from).abs());
            self.shown.tooltip = Some(Tooltip {
                x_px: pointer.x_px as i32 + 12,
                y_px: pointer.y_px as i32 + 18,
                lines: vec![lasted],
                keys: None,
            });
        }
        true
    }

    /// It was released; says whether it has drawn a range.
    pub(super) fn ends_range(&mut self, pointer: Pointer) -> bool {
        let drag = self.panels.range_drag.take();
        let is_drawn = drag.is_some_and(|drag| drag.is_drawn && drag.pointer.id == pointer.id);
        if is_drawn {
            self.shown.tooltip = None;
            // Its row says at once what is in all of it.
            self.publish_range(self.now());
        }
        is_drawn
    }

    /// The time at a pointer, or the edge of something near; Alt takes the time as it is.
    fn edge(&self, at: Pointer, pointer: Pointer) -> Time {
        let time = self.view.time_from_x(at.x_px).min(self.now());
        if pointer.alt {
            return time;
        }
        let reach_us = (self.view.us_per_px * SNAP_PX) as i64;
        words::snapped(&self.store, time, reach_us)
    }

    /// Marks a range, or none: then its row is gone at once, so that nobody presses its buttons in vain.
    pub(super) fn set_range(&mut self, range: Option<(Time, Time)>) {
        if self.marked.range != range {
            self.marked.range = range;
            if range.is_none() {
                self.shown.range = None;
            }
            self.redraw();
        }
    }

    /// Shows the marked range in all of the window; the browser's button comes back.
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

    /// Writes what is in the marked range.
    pub(super) fn publish_range(&mut self, now: Time) {
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
