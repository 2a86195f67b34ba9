//! Time, scrolling and pointers: the time range and the lanes in the window.

use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::View;
use watchscope_timeline::scene::Px;

use crate::core::cursors::CursorDeed;
use crate::core::model::Model;
use crate::input::actions::Action;
use crate::input::gesture::{Gesture, Pointer};

/// The time after which a press of a finger sets a cursor, in milliseconds.
const LONG_PRESS_MS: u64 = 500;

impl Model {
    /// Requests the end of the run before, if the view has a first list that must be compared with it.
    pub(super) fn load_before_seam(&mut self) {
        let wanted = self
            .store
            .lacks_before_seam(self.view.left(), self.view.right());
        if wanted.is_some() && wanted != self.link.also_loads {
            self.changed();
        }
        self.link.also_loads = wanted;
    }

    /// Changes the view. When following stops, panels answer for that moment; when following starts, they answer for
    /// now.
    pub(super) fn set_view(&mut self, view: View) {
        let followed = self.view.following;
        self.view = view;
        if self.panels.playing.is_some() {
            self.redraw();
            return;
        }
        if followed && !view.following {
            self.panels.paused_at = self.store.state().map(|state| state.seq.0);
            if self.marked.as_of.is_none() {
                self.mark_time(self.now());
            }
        }
        if !followed && view.following {
            self.marked.as_of = None;
        }
        self.redraw();
    }

    /// Opens the captions of a first visit with this many px for them right of now; `None` closes them.
    pub(super) fn set_captions(&mut self, free_px: Option<f64>) {
        self.panels.captions = free_px.is_some();
        self.view.free_px = free_px.unwrap_or_default();
        if self.view.following {
            self.view = self.view.follow(self.now());
        }
        self.redraw();
    }

    /// Brings a time into the middle of the picture, at the same scale.
    pub(super) fn center(&mut self, at: Time) {
        let off_px = self.view.x_from_time(at) - self.view.width_px / 2.0;
        self.set_view(self.view.pan(off_px));
    }

    /// Brings a time into the middle of the picture if it is out of sight.
    pub(super) fn bring_into_view(&mut self, at: Time) {
        let x_px = self.view.x_from_time(at);
        if !(0.0..self.view.width_px).contains(&x_px) {
            self.center(at);
        }
    }

    /// Scales time around a point; a factor over 1 shows less time.
    pub(super) fn zoom(&mut self, x_px: f64, factor: f64) {
        self.set_view(self.view.zoom_at(x_px, factor));
    }

    /// Scrolls the lanes.
    pub(super) fn scroll(&mut self, by_px: f64) {
        self.scroll_px += by_px;
        self.clamp_scroll();
        self.redraw();
    }

    /// Moves time and lanes, in px.
    pub(super) fn move_by(&mut self, dx_px: f64, dy_px: f64) {
        if dx_px != 0.0 {
            self.set_view(self.view.pan(dx_px));
        }
        if dy_px != 0.0 {
            self.scroll(dy_px);
        }
    }

    /// Handles a press of a pointer on the picture.
    pub(super) fn press(&mut self, pointer: Pointer) {
        self.pick.by_keyboard = false;
        self.panels.released = None;
        self.panels.pressed_ms = self.now.ms;
        self.set_hover(None);
        if !self.begins_range(pointer) {
            self.panels.gestures.press(pointer);
        }
    }

    /// Handles a move of a pointer over the picture.
    pub(super) fn motion(&mut self, pointer: Pointer) {
        if self.draws_range(pointer) {
            return;
        }
        let gestures = self.panels.gestures.motion(pointer);
        for gesture in gestures {
            self.gesture(gesture);
        }
        if self.panels.gestures.is_dragging() {
            self.set_hover(None);
        } else if !pointer.touch {
            self.set_hover(Some((pointer.x_px, pointer.y_px)));
        }
    }

    /// Handles the release of a pointer. The gesture that it ends takes effect at the click that follows.
    pub(super) fn release(&mut self, pointer: Pointer, at_ms: f64) {
        let begun = self.panels.range_drag;
        self.panels.released = if self.ends_range(pointer) {
            None
        } else if begun.is_some_and(|begun| begun.pointer.id == pointer.id) {
            let (x_px, y_px) = (pointer.x_px, pointer.y_px);
            Some(Gesture::Click { x_px, y_px })
        } else {
            self.panels.gestures.release(pointer, at_ms)
        };
        let is_long = self.now.ms.saturating_sub(self.panels.pressed_ms) >= LONG_PRESS_MS;
        if pointer.touch
            && is_long
            && !self.panels.is_lesson
            && matches!(self.panels.released, Some(Gesture::Click { .. }))
        {
            self.panels.released = None;
            self.cursors(CursorDeed::Mark(self.view.time_from_x(pointer.x_px)));
        }
    }

    /// Handles a gesture of pointers.
    pub(super) fn gesture(&mut self, gesture: Gesture) {
        match gesture {
            Gesture::Click { x_px, y_px } => self.click(x_px, y_px),
            Gesture::DoubleTap { .. } => self.act(Action::Fit, None),
            Gesture::Pan { dx_px, dy_px } => self.move_by(-dx_px, -dy_px),
            Gesture::Zoom { x_px, factor } => self.zoom(x_px, factor),
        }
    }

    /// Moves the focus to the lane above or below.
    pub(super) fn step_lane(&mut self, by: i32) {
        let rows = &self.rows.rows;
        if rows.is_empty() {
            return;
        }
        let known = self
            .pick
            .focused
            .and_then(|lane| rows.iter().position(|row| row.id == lane));
        let place = match known {
            Some(place) => place.saturating_add_signed(by as isize).min(rows.len() - 1),
            None => self
                .rows
                .window(
                    Px::from_f64(self.scroll_px),
                    Px::from_f64(self.scroll_px + 1.0),
                )
                .start
                .min(rows.len() - 1),
        };
        let lane = rows[place].id;
        self.focus_lane(lane);
    }

    /// Gives a lane the focus and scrolls it into the window.
    pub(super) fn focus_lane(&mut self, lane: LaneId) {
        self.pick.focused = Some(lane);
        self.scroll_to(lane);
        self.redraw();
    }
}
