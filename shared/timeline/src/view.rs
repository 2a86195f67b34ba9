//! The view: the stretch of time on screen, and how time becomes x.

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;

use crate::scene::Px;

/// Greatest distance of a time from 1970, in µs: 73,000 years. A farther time is cut to this distance, so that
/// differences of two times fit in an `i64`.
const MOST_US: i64 = 1 << 61;
/// Nearest zoom, in µs for each px; a nearer zoom is cut to this value. A view of 1,000 px then shows 5 ms, and the
/// ruler's nearest labels, 1 ms apart, are 200 px apart. The number has no other source.
const MIN_US_PER_PX: f64 = 5.0;
/// Farthest zoom, in µs for each px: one day in 100 px. A farther zoom is cut to this value, because the ruler's
/// farthest labels, 1 day apart, need 90 px. The number has no other source.
const MAX_US_PER_PX: f64 = 864e6;
/// Least share of the width that stays free right of now while the view follows now, so that the pen shows. The number
/// has no source.
const LEAD: f64 = 0.025;
/// Distance in px of a young log's begin from the left edge, so that its first record shows. The number has no source.
const MARGIN_PX: f64 = 10.0;
/// The spans that the axis of a young log takes one after the other, in seconds, rising. After the last span the axis
/// moves along with now. A span is at most 5/3 of the span before, so after the first step a log fills most of its
/// axis. The numbers have no other source.
pub const STEPS_S: [i64; 8] = [20, 30, 45, 60, 90, 120, 180, 300];
/// More spans, in seconds, rising, with which a page may begin if the log is too long for the last of [`STEPS_S`]. A
/// span longer than the log is cut to the log's length. If none of these spans is long enough, the page begins with the
/// whole kept log. The numbers have no source.
const LONG_SPANS_S: [i64; 2] = [900, 3_600];

/// A stretch of time on screen. Each method that changes a view returns a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Time at the left edge, in µs since the Unix epoch; it may have a fraction.
    pub left_us: f64,
    /// µs for each CSS px: 5 to 864,000,000.
    pub us_per_px: f64,
    /// Width in CSS px: at least 1.
    pub width_px: f64,
    /// Whether the view follows now: while it does, its owner calls [`View::at_now`]. Any pan, and [`View::pause`],
    /// ends the following.
    pub following: bool,
    /// The begin of a young log: the axis begins there and takes the spans of [`STEPS_S`]. `None` for any other log,
    /// once the last span is full, or once the viewer has panned, zoomed or resized.
    pub grows_from: Option<Time>,
    /// The x of now while the view follows now, in px from the left edge. [`View::at_now`] makes this x whole. It is at
    /// least 0, unless the free width is greater than 97.5 % of the width. The value has no meaning while the view does
    /// not follow now.
    pub pen_px: f64,
    /// Width in px that stays free right of now while the view follows now, in addition to 2.5 % of the width. The
    /// value is the width for the captions while they are open. It is 0 while they are closed or have no room.
    pub free_px: f64,
}

impl View {
    /// Returns a view that follows `now` and shows `span_us` µs of the past left of it. The scale is cut to 5 to
    /// 864,000,000 µs for each px, and a width below 1 px counts as 1 px.
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
            grows_from: None,
            pen_px: 0.0,
            free_px: 0.0,
        }
        .held_at(now)
    }

    /// Returns the first view of a page, which follows `now`. If the log that begins at `begin` fits into the last of
    /// [`STEPS_S`], the axis begins with the log; 10 px and 2.5 % of the width stay free. Otherwise the view shows the
    /// smallest span that includes `last` with 1/64 of the span to spare: one of [`STEPS_S`], 15 min or 1 h. The view
    /// never shows more than the time since `begin`, and shows all of it if no span suffices, as far as the scale of
    /// [`View::following`] allows. `last` is the time of the last change, gap or finding; a time before `begin` counts
    /// as `begin`. `None` gives the smallest span.
    #[must_use]
    pub fn opened(now: Time, begin: Time, last: Option<Time>, width_px: f64) -> Self {
        let young = Self {
            grows_from: Some(begin),
            ..Self::following(now, SECOND_US, width_px)
        }
        .at_now(now);
        if young.grows_from.is_some() {
            return young;
        }
        let kept_us = now.micros_since(begin);
        let since_us = last.map_or(0, |last| now.micros_since(last.max(begin)));
        let spans = STEPS_S.into_iter().chain(LONG_SPANS_S);
        let spans = spans.map(|seconds| seconds * SECOND_US);
        // An event at the very edge would not be seen.
        let mut reaching = spans.filter(|span_us| since_us <= span_us - span_us / 64);
        let span_us = reaching
            .next()
            .map_or(kept_us, |span_us| span_us.min(kept_us));
        Self::following(now, span_us, width_px)
    }

    /// Returns a view of exactly `from` to `to`, which does not follow now. The scale is cut to 5 to 864,000,000 µs for
    /// each px, so a stretch that is shorter or longer than this scale allows, or reversed, ends elsewhere. A width
    /// below 1 px counts as 1 px.
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
            grows_from: None,
            pen_px: 0.0,
            free_px: 0.0,
        }
    }

    /// Returns the same view at another now, if the view follows now; otherwise unchanged. The pen (the line of now)
    /// travels to 97.5 % of the width, less the free width. Once the pen is there, the axis of a young log takes its
    /// next span, and any other axis moves along. An earlier now moves the pen back, and a growing axis takes an
    /// earlier span if that has room for it. If now is left of the view, an axis that does not grow moves along, too.
    #[must_use]
    pub fn at_now(self, now: Time) -> Self {
        if !self.following {
            return self;
        }
        let grown = self.grown(now);
        if grown.grows_from.is_some() {
            return grown;
        }
        let pen_px = grown.x_from_time(now).floor();
        if (0.0..=grown.lead_px()).contains(&pen_px) {
            return Self { pen_px, ..grown };
        }
        grown.held_at(now)
    }

    /// Returns the view of a young log with the smallest of [`STEPS_S`] that has room for `now`. If none has room, the
    /// axis stops growing.
    fn grown(self, now: Time) -> Self {
        let Some(begin) = self.grows_from else {
            return self;
        };
        let mut view = self;
        for step in STEPS_S {
            let us_per_px = (step * SECOND_US) as f64 / self.width_px;
            view = Self {
                left_us: begin.0 as f64 - MARGIN_PX * us_per_px,
                us_per_px,
                ..self
            };
            view.pen_px = view.x_from_time(now).max(0.0).floor();
            if view.pen_px < view.lead_px() {
                return view;
            }
        }
        Self {
            grows_from: None,
            ..view
        }
    }

    /// Returns the x of now while the axis moves along with now, in whole px: at 97.5 % of the width, less the free
    /// width. The result is negative if the free width is the greater of both.
    #[must_use]
    pub fn lead_px(&self) -> f64 {
        (self.width_px * (1.0 - LEAD) - self.free_px).floor()
    }

    /// Returns the same view, moved in time so that now stands at [`View::lead_px`].
    fn held_at(self, now: Time) -> Self {
        // It moves by whole px, so that the drawing does not shimmer.
        let left = now.0 as f64 - self.us_per_px * (self.width_px * (1.0 - LEAD) - self.free_px);
        Self {
            left_us: (left / self.us_per_px).floor() * self.us_per_px,
            pen_px: self.lead_px(),
            ..self
        }
    }

    /// Returns a view that follows now again. An axis that still grows ([`View::grows_from`]) begins where its log
    /// begins; any other axis has now at 97.5 % of the width, less the free width.
    #[must_use]
    pub fn follow(self, now: Time) -> Self {
        let view = Self {
            following: true,
            ..self
        }
        .grown(now);
        if view.grows_from.is_some() {
            view
        } else {
            view.held_at(now)
        }
    }

    /// Returns the same view without following now. After a later [`View::follow`] a young log's axis can go on
    /// growing.
    #[must_use]
    pub fn pause(self) -> Self {
        Self {
            following: false,
            ..self
        }
    }

    /// Returns the view moved by `dx_px` to later times (to earlier ones if negative), without a limit. The returned
    /// view does not follow now.
    #[must_use]
    pub fn pan(self, dx_px: f64) -> Self {
        Self {
            left_us: self.left_us + dx_px * self.us_per_px,
            following: false,
            grows_from: None,
            ..self
        }
    }

    /// Returns the view zoomed by `factor` (above 1: nearer) around the time at `x_px`. A view that follows now keeps
    /// the x of now instead. The scale is cut to 5 to 864,000,000 µs for each px: a factor of 0 gives the farthest
    /// zoom, a factor below 0 the nearest. Zooming ends the growth of a young log's axis.
    #[must_use]
    pub fn zoom_at(self, x_px: f64, factor: f64) -> Self {
        let us_per_px = (self.us_per_px / factor).clamp(MIN_US_PER_PX, MAX_US_PER_PX);
        let x_px = if self.following { self.pen_px } else { x_px };
        Self {
            left_us: self.left_us + x_px * (self.us_per_px - us_per_px),
            us_per_px,
            grows_from: None,
            ..self
        }
    }

    /// Returns a view of the same scale and another width: with the same time at the left edge, or at the right edge if
    /// the view follows now. A width below 1 px counts as 1 px; the same width changes nothing. Any other width ends
    /// the growth of a young log's axis.
    #[must_use]
    pub fn resized(self, width_px: f64) -> Self {
        let width_px = width_px.max(1.0);
        if width_px == self.width_px {
            return self;
        }
        let view = Self {
            width_px,
            grows_from: None,
            ..self
        };
        if !self.following {
            return view;
        }
        let right = self.left_us + self.us_per_px * self.width_px;
        Self {
            left_us: right - self.us_per_px * width_px,
            pen_px: (self.pen_px + width_px - self.width_px).max(0.0),
            ..view
        }
    }

    /// Returns a view of the same time span and another width, with the same time at the left edge. The scale is cut to
    /// 5 to 864,000,000 µs for each px, and a width below 1 px counts as 1 px. `pen_px` is right again after the next
    /// [`View::at_now`].
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

    /// Returns the time at `x_px` px from the left edge, rounded to whole µs. A time farther than 73,000 years from
    /// 1970 is cut to that distance.
    #[must_use]
    pub fn time_from_x(&self, x_px: f64) -> Time {
        let us = (self.left_us + x_px * self.us_per_px).round_ties_even() as i64;
        // A link or a file may have any time, and the drawing calculates with it.
        Time(us.clamp(-MOST_US, MOST_US))
    }

    /// Returns the x of a time, in px from the left edge. The x may lie outside of the view.
    #[must_use]
    pub fn x_from_time(&self, at: Time) -> f64 {
        (at.0 as f64 - self.left_us) / self.us_per_px
    }

    /// Returns the x of a time, in the scene's steps of 1/64 px. An x beyond ±1,000,000 px is cut to that.
    #[must_use]
    pub fn x(&self, at: Time) -> Px {
        Px::from_f64(self.x_from_time(at))
    }

    /// Returns the time at the left edge, rounded and cut as by [`View::time_from_x`].
    #[must_use]
    pub fn left(&self) -> Time {
        self.time_from_x(0.0)
    }

    /// Returns the time at the right edge, rounded and cut as by [`View::time_from_x`].
    #[must_use]
    pub fn right(&self) -> Time {
        self.time_from_x(self.width_px)
    }

    /// Returns the smallest duration, as a power of two of µs, that is at least `px` px wide at the view's scale. The
    /// duration is at least 1 µs, also for a `px` of 0 or less. `px` may be up to 1,000,000,000; for a much greater
    /// `px` the call does not end.
    #[must_use]
    pub fn aligned_us(&self, px: f64) -> i64 {
        let wanted = px * self.us_per_px;
        let mut duration = 1_i64;
        while (duration as f64) < wanted {
            duration <<= 1;
        }
        duration
    }

    /// Returns the distances in µs of the ruler's labelled ticks, and of the ticks between them. Labelled ticks are at
    /// least 90 px apart: 1 ms at the nearest zoom, 1 day at the farthest.
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

/// Distances of labelled ticks and of the ticks between them, in µs, by rising distance. The first pair whose labels
/// are at least 90 px apart is used; if none is, the last pair is used. Each labelled distance is a multiple of the
/// other. The distances are round, so that labels stand at round times. The numbers have no other source.
const TICKS: &[(i64, i64)] = &{
    /// One millisecond in µs.
    const MS: i64 = 1_000;
    /// One minute in µs.
    const MIN: i64 = 60 * SECOND_US;
    /// One hour in µs.
    const HOUR: i64 = 60 * MIN;
    /// One day in µs.
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

    /// The time of the tests: a moment in September 2026.
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

    /// Returns the span of a view in whole seconds, and the x of its pen in px.
    fn span_and_pen(view: View) -> (i64, f64) {
        let span = view.right().micros_since(view.left());
        (span.div_euclid(SECOND_US), view.pen_px)
    }

    #[test]
    fn the_axis_of_a_young_log_begins_with_it_and_takes_a_step_whenever_the_pen_reaches_the_edge() {
        let mut view = View::opened(NOW, NOW, None, 1_000.0);
        assert_eq!(span_and_pen(view), (20, 10.0));
        let mut steps = Vec::new();
        let mut left = view.left();
        for ms in (0..400_000).step_by(250) {
            let next = view.at_now(NOW.plus_millis(ms));
            if next.us_per_px != view.us_per_px {
                steps.push((ms / 1_000, span_and_pen(next).0));
                assert!(view.pen_px >= 960.0, "a step before the edge, at {ms} ms");
                left = next.left();
            }
            if next.grows_from.is_some() {
                assert_eq!(next.left(), left, "the axis moved at {ms} ms");
                assert_eq!(next.x_from_time(NOW).round(), MARGIN_PX);
            }
            assert!(next.pen_px <= 975.0);
            view = next;
        }
        let spans = [
            (19, 30),
            (29, 45),
            (43, 60),
            (58, 90),
            (87, 120),
            (116, 180),
            (173, 300),
        ];
        assert_eq!(steps, spans);
        // Then it follows with the same span, and the log's begin leaves the picture.
        assert_eq!((view.grows_from, view.pen_px), (None, 975.0));
        assert!(view.left() > NOW);
    }

    #[test]
    fn zoom_pan_and_resize_end_the_steps_and_a_pause_does_not() {
        let now = NOW.plus_millis(10_000);
        let view = View::opened(now, NOW, None, 1_000.0);
        let zoomed = view.zoom_at(0.0, 2.0);
        assert_eq!(
            zoomed.x_from_time(now).round(),
            view.x_from_time(now).round()
        );
        for by_hand in [zoomed, view.pan(-5.0), view.resized(900.0)] {
            assert_eq!(by_hand.grows_from, None);
            assert_eq!(
                by_hand.at_now(NOW.plus_millis(60_000)).us_per_px,
                by_hand.us_per_px
            );
        }
        // Only the height has changed, for example because a panel opened.
        assert_eq!(view.resized(1_000.0), view);
        let later = NOW.plus_millis(25_000);
        assert_eq!(span_and_pen(view.pause().at_now(later)).0, 20);
        assert_eq!(span_and_pen(view.pause().follow(later)).0, 30);
    }

    #[test]
    fn a_page_opened_later_begins_with_the_smallest_span_that_reaches_the_last_news() {
        let begin = NOW.plus_micros(-7_200 * SECOND_US);
        // Returns the seconds of the past that it shows; now is at 975 px.
        let past_s = |view: View| (view.us_per_px * 975.0 / 1e6).round() as i64;
        let span = |quiet_s: i64| {
            let last = NOW.plus_micros(-quiet_s * SECOND_US);
            let view = View::opened(NOW, begin, Some(last), 1_000.0);
            assert!(
                view.x_from_time(last) >= 5.0,
                "{quiet_s} s ago is not in the picture"
            );
            past_s(view)
        };
        assert_eq!(
            [3, 25, 200, 299, 1_000, 4_000].map(span),
            [20, 30, 300, 900, 3_600, 7_200]
        );
        let quiet = View::opened(NOW, begin, None, 1_000.0);
        assert_eq!(past_s(quiet), 20);
    }

    #[test]
    fn a_pen_that_was_zoomed_away_from_the_edge_travels_there_before_the_picture_moves() {
        let now = NOW.plus_millis(10_000);
        let zoomed = View::opened(now, NOW, None, 1_000.0).zoom_at(0.0, 0.5);
        let later = zoomed.at_now(NOW.plus_millis(12_000));
        assert_eq!(later.left_us, zoomed.left_us);
        assert!(later.pen_px > zoomed.pen_px);
        let at_edge = zoomed.at_now(NOW.plus_millis(90_000));
        assert_eq!(at_edge.pen_px, 975.0);
        assert!(at_edge.left_us > zoomed.left_us);
    }

    #[test]
    fn px_that_stay_free_right_of_now_shorten_the_way_of_the_pen() {
        let old = View::following(NOW, 60 * SECOND_US, 1_000.0);
        let with = |view: View, free_px: f64| View { free_px, ..view };
        let held = with(old, 270.0).follow(NOW);
        assert_eq!((held.pen_px, held.us_per_px), (705.0, old.us_per_px));
        assert_eq!(held.x_from_time(NOW).floor(), 705.0);
        let later = held.at_now(NOW.plus_millis(2_000));
        assert_eq!(later.pen_px, 705.0);
        // A young log's axis takes its next step when the pen has reached them.
        let young = with(View::opened(NOW, NOW, None, 1_000.0), 270.0);
        let spans = [13, 14].map(|seconds| {
            let view = young.at_now(NOW.plus_millis(seconds * 1_000));
            assert!(view.pen_px < 705.0, "{view:?}");
            span_and_pen(view).0
        });
        assert_eq!(spans, [20, 30]);
        let closed = with(later, 0.0).follow(NOW.plus_millis(2_000));
        assert_eq!(closed.pen_px, 975.0);
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
