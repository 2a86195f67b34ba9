//! The overview's scale: which stretch of time the strip shows, how time becomes x, and what a pointer grips.

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;
use watchscope_model::wire::Availability;

use crate::scene::{Px, STRIP_COLUMN_PX};
use crate::store::{Epoch, Store};
use crate::view::View;

/// How far back from now the strip reaches by default, in µs: 10 h. In a strip of 1,000 px, each px then shows about 36
/// s. The viewer may widen this reach. In a strip of at least 640 px, kept records from before it show as a stub at the
/// left. The number has no source.
pub const REACH_US: i64 = 36_000 * SECOND_US;
/// Least time that the strip shows, in µs: 1 min. The strip of a shorter log shows 1 min, and its rest is empty. The
/// number has no source.
const LEAST_US: i64 = 60 * SECOND_US;
/// Least width of the strip, in px, so that the frame of the view fits and no division is by 0. A narrower view gets a
/// strip of this width. The number has no other source.
const LEAST_WIDTH_PX: f64 = 16.0;
/// Greatest width of the strip, in px; a wider view gets a strip of this width. The limit bounds the work and the
/// primitives of a scene. It is over twice the width of an 8K screen (7,680 px). The number has no other source.
const MOST_WIDTH_PX: f64 = 16_384.0;
/// Least free room right of now, in px, so that the line of now shows and a handle on it can be gripped. A strip of
/// less than 64 px may leave less. The number has no other source.
const LEAD_PX: i64 = 12;
/// Divisor of the strip's reach. If older records have expired and the reach begins at the oldest known time, one
/// sixteenth of the reach is added before it. The added part shows that older records existed. The number has no
/// source.
const EXPIRED_SHARE: i64 = 16;
/// Divisor of the strip's reach, for a view that begins before it. The reach then grows in steps of a power of two of
/// µs. A step is a thirty-second to a sixteenth of the reach without that view. The number has no source.
const WIDER_SHARE: i64 = 16;
/// Least width of the view's frame, in px, so that a pointer can grip it. A narrower frame is drawn this wide. The
/// number has no other source.
const LEAST_WINDOW_PX: i64 = 6;
/// How far outside of the frame a handle can be gripped, in px, included. Inside the frame the reach is the same, but
/// at most a third of the frame's width, so that dragging the middle moves the frame. The number has no source.
const HANDLE_REACH_PX: f64 = 8.0;

/// Width of a density column, in px: that of a strip's columns.
const COLUMN_PX: i64 = STRIP_COLUMN_PX as i64;

/// Width of the break in the axis, in px: room for its two slanted lines. Left of the break are the records that are
/// older than the strip's reach. The number has no other source.
pub(super) const BREAK_PX: i64 = 12;
/// Width in px of the stub before the break, which stands for all older kept records. The stub has room for `12 min
/// earlier` or `not loaded`; longer words are left out. The number has no other source.
pub(super) const STUB_PX: i64 = 102;
/// Width in px of the words before the stub that name the expired records: room for `before 11-19 09:35`. The number
/// has no other source.
pub(super) const EXPIRED_PX: i64 = 132;
/// Least width in px of a strip with a stub. Stub, break and words take at most 246 px, so most of the strip stays for
/// the axis. A narrower strip has only the break. The number has no other source.
const STUB_FROM_PX: i64 = 640;

/// The scale of an overview: which stretch of time the strip shows, and its width of 16 to 16,384 px. A view whose
/// width is outside of these bounds gets a strip of the nearer bound.
///
/// The left edge is a multiple of a density column's duration, and that duration grows in steps of 1.6 to 3.1 %. So a
/// live strip stands still until it moves by a whole column, and nothing shimmers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overview {
    left: Time,
    column_us: i64,
    width_px: i64,
    reach_us: i64,
    /// Where the axis begins, in px: after stub and break, or at the left edge.
    before_px: i64,
}

impl Overview {
    /// Chooses the stretch from the oldest known time to `now`, the time of the picture's right end: at least 1 min, at
    /// most the last `most_us` µs (see [`REACH_US`]). A `most_us` of less than 1 min counts as 1 min. A view that
    /// begins earlier widens this stretch by steps of at most a sixteenth of it. A strip of 28 px or more includes the
    /// view. If the oldest records have expired and the stretch begins at the oldest known time, a sixteenth of the
    /// stretch is added before that time. A strip of 64 px or more has at least 12 px after now. The strip is as wide
    /// as the view, in whole px.
    #[must_use]
    pub fn new(store: &Store, now: Time, view: &View, most_us: i64) -> Self {
        let width_px = view.width_px.clamp(LEAST_WIDTH_PX, MOST_WIDTH_PX) as i64;
        let known = store.epochs().iter().filter_map(Epoch::begins).min();
        let known = known.unwrap_or(now).min(now);
        let latest = now.plus_micros(-most_us.max(LEAST_US));
        let begin = known.max(latest);
        // The strip's changes are counted anew for each other scale: 30 ms for ten million. So a view that moves away
        // widens the stretch in steps.
        let before_us = begin.micros_since(view.left()).max(0);
        let kept_us = now.micros_since(begin).max(LEAST_US);
        let step_us = 1 << (kept_us / WIDER_SHARE).ilog2();
        let steps = before_us.saturating_add(step_us - 1) / step_us;
        let begin = begin.plus_micros(-steps.saturating_mul(step_us));
        let reach_us = now.micros_since(begin);
        // A part of the expired time shows that there was more.
        let first = store.epochs().first();
        let has_lost_its_begin = first.is_some_and(|epoch| !epoch.begins_known());
        let more_us = if has_lost_its_begin && begin == known {
            reach_us / EXPIRED_SHARE
        } else {
            0
        };
        let oldest = first.and_then(|epoch| epoch.catalogue().first());
        let has_expired = has_lost_its_begin
            || oldest.is_some_and(|entry| entry.availability == Availability::Expired);
        let before_px = match (known < begin, width_px >= STUB_FROM_PX) {
            (false, _) => 0,
            (true, false) => BREAK_PX,
            (true, true) if has_expired => EXPIRED_PX + STUB_PX + BREAK_PX,
            (true, true) => STUB_PX + BREAK_PX,
        };
        let begin = begin.plus_micros(-more_us);
        let end = now.max(view.right()).max(begin.plus_micros(LEAST_US));
        // To snap the left edge to a column takes up to one column.
        let room_px = (width_px - LEAD_PX - COLUMN_PX - before_px).max(width_px / 2);
        let span_us = end.micros_since(begin);
        let column_us = in_steps(span_us.saturating_mul(COLUMN_PX) / room_px + 1);
        let before = before_px / COLUMN_PX;
        let left = begin.0.div_euclid(column_us).saturating_sub(before);
        Self {
            left: Time(left.saturating_mul(column_us)),
            column_us,
            width_px,
            reach_us,
            before_px,
        }
    }

    /// Returns the x of a time, in px from the left edge of the strip; it may lie outside of the strip, and is cut to
    /// ±1,000,000 px.
    #[must_use]
    pub fn x_from_time(&self, at: Time) -> Px {
        let us = at.micros_since(self.left) as f64;
        Px::from_f64(us * COLUMN_PX as f64 / self.column_us as f64)
    }

    /// Returns the time at `x_px` px from the left edge of the strip, rounded to whole µs. `x_px` may lie outside of
    /// the strip.
    #[must_use]
    pub fn time_from_x(&self, x_px: f64) -> Time {
        let us = x_px * self.column_us as f64 / COLUMN_PX as f64;
        self.left.plus_micros(us.round_ties_even() as i64)
    }

    /// Returns the time at the left edge, even if a stub covers it.
    #[must_use]
    pub fn left(&self) -> Time {
        self.left
    }

    /// Returns the time at which the axis begins: after a stub and its break, or at the left edge if the strip has
    /// neither.
    #[must_use]
    pub fn begin(&self) -> Time {
        self.time_from_x(self.before_px as f64)
    }

    /// Returns where the axis begins, in px from the left edge: 0 if the strip shows all that is known.
    pub(super) fn before_px(&self) -> i64 {
        self.before_px
    }

    /// Returns the time at the right edge, which is not before now in a strip of 28 px or more.
    #[must_use]
    pub fn right(&self) -> Time {
        self.time_from_x(self.width_px as f64)
    }

    /// Returns the width of the strip in px: a whole number from 16 to 16,384.
    #[must_use]
    pub fn width_px(&self) -> f64 {
        self.width_px as f64
    }

    /// Returns how far back from now the strip's axis reaches, in µs, without the sixteenth that is added for expired
    /// records.
    pub(super) fn reach_us(&self) -> i64 {
        self.reach_us
    }

    /// Returns the duration of a density column in µs.
    pub(super) fn column_us(&self) -> i64 {
        self.column_us
    }

    /// Returns the number of whole columns.
    pub(super) fn columns(&self) -> usize {
        (self.width_px / COLUMN_PX) as usize
    }

    /// Returns the number of whole px.
    pub(super) fn pixels(&self) -> usize {
        self.width_px as usize
    }

    /// Returns the whole px that holds a time; this px may lie outside of the strip.
    pub(super) fn px_of(&self, at: Time) -> i64 {
        let us = at.micros_since(self.left);
        us.saturating_mul(COLUMN_PX).div_euclid(self.column_us)
    }

    /// Returns the whole px from one time to another, cut at the edges of the strip; none if `to` is before `from`.
    pub(super) fn pxs_of(&self, from: Time, to: Time) -> std::ops::Range<usize> {
        let cut = |at| self.px_of(at).clamp(0, self.width_px) as usize;
        cut(from)..cut(to.max(from))
    }

    /// Returns the distance of the labelled times, in µs: that of the ruler, doubled until labels are 90 px apart.
    pub(super) fn tick_step(&self) -> i64 {
        let view = View::between(self.left, self.right(), self.width_px as f64);
        let (mut step, _) = view.tick_steps();
        // The ruler's steps end with a day; a widened strip may show years.
        let least = self.column_us.saturating_mul(90 / COLUMN_PX);
        while step < least {
            step = step.saturating_mul(2);
        }
        step
    }

    /// Returns the edges of the view's frame in whole px: at least 6 px apart and inside the strip.
    pub(super) fn window(&self, view: &View) -> (i64, i64) {
        let (x0, x1) = (self.px_of(view.left()), self.px_of(view.right()));
        let missing = (LEAST_WINDOW_PX - (x1 - x0)).max(0);
        let left = (x0 - missing / 2).clamp(0, self.width_px - LEAST_WINDOW_PX);
        let right = (x1 + missing - missing / 2).min(self.width_px);
        (left, right.max(left + LEAST_WINDOW_PX))
    }
}

/// Rounds a duration up by at most 1/32, so that it rarely changes while it grows. Each change counts the strip anew.
fn in_steps(us: i64) -> i64 {
    let us = us.max(1);
    let step = 1_i64 << us.ilog2().saturating_sub(5);
    us.saturating_add(step - 1) / step * step
}

/// The part of the strip that a pointer grips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    /// The frame of the view: dragging moves it.
    Window,
    /// The frame's left edge: dragging moves the start of the view.
    LeftHandle,
    /// The frame's right edge: dragging moves the end of the view.
    RightHandle,
    /// Neither the frame nor one of its edges: dragging draws a new frame.
    Outside,
}

/// Returns what lies at `x_px` px from the left edge of the strip. The frame's handles reach 8 px outwards, and 8 px
/// inwards. In a frame of less than 24 px each handle reaches inwards only a third of the frame, so dragging the middle
/// third still moves the frame.
#[must_use]
pub fn grip_at(scale: &Overview, view: &View, x_px: f64) -> Grip {
    let (left, right) = scale.window(view);
    let (left, right) = (left as f64, right as f64);
    let inside = HANDLE_REACH_PX.min((right - left) / 3.0);
    if x_px < left - HANDLE_REACH_PX || x_px > right + HANDLE_REACH_PX {
        Grip::Outside
    } else if x_px < left + inside {
        Grip::LeftHandle
    } else if x_px > right - inside {
        Grip::RightHandle
    } else {
        Grip::Window
    }
}

/// The moments that a strip marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Now, or the end of a recording.
    pub now: Time,
    /// Whether `now` is the end of a recording.
    pub is_end: bool,
    /// The moment that panels answer for; `None`: now.
    pub as_of: Option<Time>,
}

impl Moments {
    /// Returns the moments of a live log whose panels answer for now.
    #[must_use]
    pub fn live(now: Time) -> Self {
        Self {
            now,
            is_end: false,
            as_of: None,
        }
    }
}
