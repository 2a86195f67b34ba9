//! The view: which stretch of time is on screen, and how time becomes x.

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;

use crate::scene::Px;

/// Nearest zoom: microseconds a px.
const MIN_US_PER_PX: f64 = 5.0;
/// Farthest zoom: a day in 100 px.
const MAX_US_PER_PX: f64 = 864e6;
/// Share of the width that stays free right of now, when now is followed.
const LEAD: f64 = 0.025;

/// A stretch of time on screen. Changes return a new view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Time at the left edge, in microseconds since the Unix epoch.
    pub left_us: f64,
    /// Microseconds a CSS px.
    pub us_per_px: f64,
    /// Width in CSS px.
    pub width_px: f64,
    /// Whether it follows now; any pan breaks it.
    pub following: bool,
}

impl View {
    /// A view that follows `now` and shows `span_us` of the past.
    #[must_use]
    pub fn following(now: Time, span_us: i64, width_px: f64) -> Self {
        let width_px = width_px.max(1.0);
        let us_per_px =
            (span_us as f64 / (width_px * (1.0 - LEAD))).clamp(MIN_US_PER_PX, MAX_US_PER_PX);
        Self {
            left_us: 0.0,
            us_per_px,
            width_px,
            following: true,
        }
        .at_now(now)
    }

    /// A view of exactly `from` to `to`.
    #[must_use]
    pub fn between(from: Time, to: Time, width_px: f64) -> Self {
        let width_px = width_px.max(1.0);
        let us_per_px =
            (to.micros_since(from) as f64 / width_px).clamp(MIN_US_PER_PX, MAX_US_PER_PX);
        Self {
            left_us: from.0 as f64,
            us_per_px,
            width_px,
            following: false,
        }
    }

    /// The same view at a later now: moved along if it follows, else as it is.
    #[must_use]
    pub fn at_now(self, now: Time) -> Self {
        if !self.following {
            return self;
        }
        // By whole px, so that what is drawn moves and does not shimmer.
        let left = now.0 as f64 - self.us_per_px * self.width_px * (1.0 - LEAD);
        Self {
            left_us: (left / self.us_per_px).floor() * self.us_per_px,
            ..self
        }
    }

    /// Follows now again.
    #[must_use]
    pub fn follow(self, now: Time) -> Self {
        Self {
            following: true,
            ..self
        }
        .at_now(now)
    }

    /// Stays where it is.
    #[must_use]
    pub fn pause(self) -> Self {
        Self {
            following: false,
            ..self
        }
    }

    /// Moved right by `dx_px` (left if negative); breaks following.
    #[must_use]
    pub fn pan(self, dx_px: f64) -> Self {
        Self {
            left_us: self.left_us + dx_px * self.us_per_px,
            following: false,
            ..self
        }
    }

    /// Zoomed by `factor` (above 1: nearer) around the time at `x_px`. A view that follows keeps now in place.
    #[must_use]
    pub fn zoom_at(self, x_px: f64, factor: f64) -> Self {
        let us_per_px = (self.us_per_px / factor).clamp(MIN_US_PER_PX, MAX_US_PER_PX);
        let x_px = if self.following {
            self.width_px * (1.0 - LEAD)
        } else {
            x_px
        };
        Self {
            left_us: self.left_us + x_px * (self.us_per_px - us_per_px),
            us_per_px,
            ..self
        }
    }

    /// The same time at the left edge, on another width.
    #[must_use]
    pub fn resized(self, width_px: f64) -> Self {
        let width_px = width_px.max(1.0);
        if self.following {
            let right = self.left_us + self.us_per_px * self.width_px;
            return Self {
                left_us: right - self.us_per_px * width_px,
                width_px,
                ..self
            };
        }
        Self { width_px, ..self }
    }

    /// The same span on another width.
    #[must_use]
    pub fn spread(self, width_px: f64) -> Self {
        let width_px = width_px.max(1.0);
        Self {
            us_per_px: (self.us_per_px * self.width_px / width_px)
                .clamp(MIN_US_PER_PX, MAX_US_PER_PX),
            width_px,
            ..self
        }
    }

    /// The time at x.
    #[must_use]
    pub fn time_from_x(&self, x_px: f64) -> Time {
        Time((self.left_us + x_px * self.us_per_px).round_ties_even() as i64)
    }

    /// The x of a time, in px.
    #[must_use]
    pub fn x_from_time(&self, at: Time) -> f64 {
        (at.0 as f64 - self.left_us) / self.us_per_px
    }

    /// The x of a time, in the scene's steps.
    #[must_use]
    pub fn x(&self, at: Time) -> Px {
        Px::from_f64(self.x_from_time(at))
    }

    /// Time at the left edge.
    #[must_use]
    pub fn left(&self) -> Time {
        self.time_from_x(0.0)
    }

    /// Time at the right edge.
    #[must_use]
    pub fn right(&self) -> Time {
        self.time_from_x(self.width_px)
    }

    /// The duration that is the smallest power of two of microseconds at least `px` wide.
    #[must_use]
    pub fn aligned_us(&self, px: f64) -> i64 {
        let wanted = px * self.us_per_px;
        let mut duration = 1_i64;
        while (duration as f64) < wanted {
            duration <<= 1;
        }
        duration
    }

    /// Distance of the ruler's labelled ticks and of the ticks between, in microseconds.
    #[must_use]
    pub fn tick_steps(&self) -> (i64, i64) {
        let wanted = self.us_per_px * 90.0;
        TICKS
            .iter()
            .copied()
            .find(|&(major, _)| major as f64 >= wanted)
            .unwrap_or(TICKS[TICKS.len() - 1])
    }
}

/// Labelled and unlabelled ticks, in microseconds.
const TICKS: &[(i64, i64)] = &{
    const MS: i64 = 1_000;
    const MIN: i64 = 60 * SECOND_US;
    const HOUR: i64 = 60 * MIN;
    const DAY: i64 = 24 * HOUR;
    [
        (MS, MS / 10),
        (2 * MS, MS / 2),
        (5 * MS, MS),
        (10 * MS, MS),
        (20 * MS, 5 * MS),
        (50 * MS, 10 * MS),
        (100 * MS, 10 * MS),
        (200 * MS, 50 * MS),
        (500 * MS, 100 * MS),
        (SECOND_US, 100 * MS),
        (2 * SECOND_US, 500 * MS),
        (5 * SECOND_US, SECOND_US),
        (10 * SECOND_US, SECOND_US),
        (15 * SECOND_US, 5 * SECOND_US),
        (30 * SECOND_US, 5 * SECOND_US),
        (MIN, 10 * SECOND_US),
        (2 * MIN, 30 * SECOND_US),
        (5 * MIN, MIN),
        (10 * MIN, MIN),
        (15 * MIN, 5 * MIN),
        (30 * MIN, 5 * MIN),
        (HOUR, 10 * MIN),
        (2 * HOUR, 30 * MIN),
        (6 * HOUR, HOUR),
        (12 * HOUR, 2 * HOUR),
        (DAY, 4 * HOUR),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_790_000_000_000_000);

    #[test]
    fn zooming_keeps_the_time_under_the_pointer() {
        let view = View::between(NOW, NOW.plus_millis(60_000), 1_000.0);
        let before = view.time_from_x(300.0);
        let zoomed = view.zoom_at(300.0, 2.5);
        assert!((zoomed.time_from_x(300.0).0 - before.0).abs() <= 1);
        assert!(zoomed.us_per_px < view.us_per_px);
    }

    #[test]
    fn a_view_that_follows_moves_by_whole_px_and_stops_when_panned() {
        let view = View::following(NOW, 60_000_000, 1_000.0);
        let later = view.at_now(NOW.plus_millis(1_234));
        let moved = (later.left_us - view.left_us) / view.us_per_px;
        assert!((moved - moved.round()).abs() < 1e-6 && moved > 0.0);
        let panned = later.pan(-10.0);
        assert_eq!(panned.at_now(NOW.plus_millis(9_999)), panned);
    }

    #[test]
    fn a_view_spread_on_another_width_shows_the_same_span() {
        let view = View::between(NOW, NOW.plus_millis(60_000), 1_000.0);
        let spread = view.spread(1_600.0);
        assert_eq!(spread.left(), view.left());
        assert!((spread.right().0 - view.right().0).abs() <= 1);
    }

    #[test]
    fn zoom_has_ends_and_the_ruler_always_has_ticks() {
        let mut view = View::following(NOW, 60_000_000, 1_000.0);
        for _ in 0..200 {
            view = view.zoom_at(10.0, 2.0);
        }
        assert_eq!(view.us_per_px, MIN_US_PER_PX);
        for _ in 0..200 {
            assert!(view.tick_steps().0 as f64 / view.us_per_px >= 90.0 || view.us_per_px > 1e8);
            view = view.zoom_at(10.0, 0.5);
        }
        assert_eq!(view.us_per_px, MAX_US_PER_PX);
    }
}
