//! The overview: when it is drawn, and the actions of a pointer or a key on it.

use watchscope_model::Time;
use watchscope_timeline::View;
use watchscope_timeline::overview::{
    Grip, Moments, Overview, REACH_US, grip_at, overview_again, words,
};
use watchscope_timeline::scene::Px;

use crate::core::effect::{Effect, PanelEffect};
use crate::core::model::Model;
use crate::core::panel_state::Grab;

/// The overview's height with a history or a recording, in px.
const HIGH_PX: f64 = 64.0;
/// The overview's height with the ring alone, in px.
const LOW_PX: f64 = 48.0;
/// A pointer that moves less than this, in px, clicks.
const CLICK_PX: f64 = 4.0;
/// The shortest view that a drag can make, in microseconds.
const LEAST_US: i64 = 10_000;

impl Model {
    /// Returns the height of the overview, in px.
    #[must_use]
    pub fn overview_px(&self) -> f64 {
        if self.link.history.is_some() || self.recording().is_some() {
            HIGH_PX
        } else {
            LOW_PX
        }
    }

    /// Draws the overview.
    pub fn draw_overview(&mut self) {
        if self.panels.is_lesson || !self.screen.size.has_area() {
            return;
        }
        // A recording is drawn completely, whatever the playing position.
        let now = self.recorded_to().unwrap_or_else(|| self.pen());
        let reach_us = self.panels.overview.reach_us.unwrap_or(REACH_US);
        // While a pointer drags, the scale stays, so that the gripped part stays under the pointer.
        let held = self
            .panels
            .overview
            .grab
            .and(self.panels.overview.drawn.as_ref());
        let scale = held.map_or_else(
            || Overview::new(&self.store, now, &self.strip(), reach_us),
            |(scale, _)| *scale,
        );
        let height = Px::from_f64(self.overview_px());
        let moments = Moments {
            now,
            is_end: self.is_replay(),
            as_of: self.moment(),
        };
        let counted = &mut self.panels.overview.counted;
        let scene = overview_again(&self.store, &scale, &self.view, moments, height, counted);
        self.panels.overview.drawn = Some((scale, scene));
        if let Some(late) = self.late {
            (late.tick_overview)(self);
        }
        self.want(Effect::Panel(PanelEffect::PaintOverview));
    }

    /// Returns the view at the width of the strip.
    fn strip(&self) -> View {
        let width_px = self.panels.overview.width_px.unwrap_or(self.view.width_px);
        View::between(self.view.left(), self.view.right(), width_px)
    }

    /// Draws the strip at a new width.
    pub(super) fn size_overview(&mut self, width_px: f64) {
        if self.panels.overview.width_px != Some(width_px) {
            self.panels.overview.width_px = Some(width_px);
            self.draw_overview();
        }
    }

    /// Computes the strip's label.
    pub(super) fn publish_overview(&mut self, now: Time) {
        let overview = &mut self.panels.overview;
        if let Some((scale, _)) = &overview.drawn {
            overview.words = words(&self.store, scale, now);
        }
    }

    pub(super) fn grip_overview(&mut self, x_px: f64) {
        let Some((scale, _)) = &self.panels.overview.drawn else {
            return;
        };
        let at = scale.time_from_x(x_px);
        let (left, right) = (self.view.left(), self.view.right());
        self.panels.overview.grab = Some(match grip_at(scale, &self.view, x_px) {
            Grip::Window => Grab::Window { left, at },
            Grip::LeftHandle => Grab::Left { right },
            Grip::RightHandle => Grab::Right { left },
            Grip::Outside => Grab::New {
                x_px,
                is_drawn: false,
            },
        });
    }

    pub(super) fn drag_overview(&mut self, x_px: f64) {
        let overview = &mut self.panels.overview;
        let (Some((scale, _)), Some(grab)) = (&overview.drawn, overview.grab) else {
            return;
        };
        let at = scale.time_from_x(x_px);
        let width_px = self.view.width_px;
        let between = |a: Time, b: Time| {
            let (from, to) = (a.min(b), a.max(b).max(a.min(b).plus_micros(LEAST_US)));
            View::between(from, to, width_px)
        };
        let view = match grab {
            Grab::Window { left, at: gripped } => View {
                left_us: left.0 as f64 + at.micros_since(gripped) as f64,
                ..self.view.pan(0.0)
            },
            Grab::Left { right } => between(at, right),
            Grab::Right { left } => between(left, at),
            Grab::New {
                x_px: pressed_px,
                is_drawn,
            } => {
                if !is_drawn && (x_px - pressed_px).abs() < CLICK_PX {
                    return;
                }
                overview.grab = Some(Grab::New {
                    x_px: pressed_px,
                    is_drawn: true,
                });
                between(scale.time_from_x(pressed_px), at)
            }
        };
        self.set_view(view);
        self.draw_overview();
    }

    /// Ends a drag. A click shows its time in a view of the same length.
    pub(super) fn release_overview(&mut self) {
        let grab = self.panels.overview.grab.take();
        let (Some((scale, _)), Some(grab)) = (&self.panels.overview.drawn, grab) else {
            return;
        };
        if let Grab::New {
            x_px,
            is_drawn: false,
        } = grab
        {
            let at = scale.time_from_x(x_px);
            self.show_at(at);
        }
        self.redraw();
    }

    /// Shows a time in the middle of a view of the same length. Panels answer for it.
    fn show_at(&mut self, at: Time) {
        self.leave_place();
        self.center(at);
        self.mark_time(at);
    }

    pub(super) fn widen_overview(&mut self, factor: f64) {
        let reach_us = self.panels.overview.reach_us.unwrap_or(REACH_US) as f64;
        let kept = self.store.oldest_kept();
        let kept_us = kept.map_or(REACH_US, |kept| self.now().micros_since(kept));
        let most_us = kept_us.max(REACH_US) as f64;
        // A range longer than all that is kept first shrinks to 1.1 times that, so that each turn of the wheel has an
        // effect.
        let from_us = reach_us.min(kept_us as f64 * 1.1);
        let reach_us = (from_us * factor).min(most_us).max(60_000_000.0);
        self.panels.overview.reach_us = Some(reach_us as i64);
        self.redraw();
    }
}
