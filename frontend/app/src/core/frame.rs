//! The frame policy: which pictures are stale, when the next frame comes, and which past to request.

use watchscope_model::Seq;
use watchscope_timeline::format;

use super::effect::{Effect, PanelEffect};
use super::model::{Model, Second};
use super::msg::Painted;
use super::screen::{Size, Window};
use crate::source::backfill::Wanted;
use crate::source::connection::{Input, Status};

/// The longest wait that an animation frame covers, in milliseconds. A timer covers longer ones.
const SMOOTH_MS: f64 = 34.0;
/// The least time between two frames that only move the pen, in milliseconds. A young log's axis spans 20 s, and its
/// pen moves by a px each 15 ms. Painting at that pace delayed events: they waited for a frame in progress, 4 ms at
/// p50.
const MOTION_MS: f64 = 40.0;
/// The least time between two such frames if the system asks for reduced motion, in milliseconds.
const REDUCED_MOTION_MS: f64 = 1_000.0;
/// The records in a millisecond above which they come as a flood. Below it each record is drawn at once, so that a person
/// sees it within two frames.
const FLOOD_PER_MS: f64 = 0.75;
/// The wait between two pictures of a flood, in pictures' own time. No person sees a single record then, and the core is
/// left to others.
const FLOOD_PICTURES: f64 = 40.0;
/// The most that this wait takes, in milliseconds. 95 of 100 records are then drawn within 250 ms of their receipt.
const FLOOD_MS: f64 = 190.0;
/// The pictures of a flood between two updates of the panels. An update of 90 counts in the tree takes as long as a picture.
const PICTURES_PER_PUBLISH: f64 = 6.0;
/// The least time between two updates of the panels, in milliseconds.
const PUBLISH_MS: f64 = 250.0;
/// The least time between two pictures of the overview, in milliseconds. A dragged view makes the overview stale in
/// each frame, and a picture of 10,000 chapters takes 1 ms.
const OVERVIEW_MS: f64 = 100.0;
/// The most time from the page's start that the first picture waits for lanes, in milliseconds. After it the page
/// paints an empty picture. The second part is loaded after the first picture.
const PATIENCE_MS: f64 = 1_500.0;

/// A link is slow if the head's snapshot comes this long after the greeting, in milliseconds. A chapter of up to 1.2 MB
/// would then delay the second part. Where server and browser share a machine, the time is 20 to 50 ms.
const NEAR_MS: u64 = 150;

impl Model {
    /// Marks the panels stale and asks for a frame.
    pub fn changed(&mut self) {
        self.frame.is_unpublished = true;
        self.arm();
    }

    /// Marks the panels stale, and asks for a frame at the pace of records.
    pub(super) fn heard(&mut self) {
        self.frame.is_unpublished = true;
        self.arm_after(self.frame.pace_ms);
    }

    /// Marks the picture stale and asks for a frame.
    pub fn redraw(&mut self) {
        self.frame.is_dirty = true;
        self.changed();
    }

    /// Handles an animation frame: draws, updates the panels, requests the past, and arms the next frame. Each happens
    /// only if it is due.
    pub(super) fn frame(&mut self, now_ms: f64, size: Size, window: Window) {
        self.frame.is_armed = false;
        if !self.has_face() && now_ms < PATIENCE_MS {
            // An empty picture would delay the first one with lanes by 60 ms, as measured.
            self.arm_after(PATIENCE_MS - now_ms);
            return;
        }
        self.screen.window = window;
        self.resized(size);
        if let Some(second) = self.second {
            (second.play_on)(self);
        }
        let now = self.now();
        let is_still = self.screen.surroundings.reduced_motion;
        if !is_still || now_ms - self.frame.moved_ms >= REDUCED_MOTION_MS {
            self.frame.moved_ms = now_ms;
            self.view = self.view.at_now(now);
        }
        let is_stale = self.frame.is_dirty
            || self.frame.drawn_version != self.store.version()
            || self.frame.drawn_view != Some(self.view);
        if is_stale {
            self.draw();
            self.frame.is_unpublished = true;
            self.frame.is_overview_stale = true;
        }
        if let Some(second) = self.second
            && self.frame.is_overview_stale
            && now_ms - self.frame.overview_ms >= OVERVIEW_MS
        {
            self.frame.overview_ms = now_ms;
            self.frame.is_overview_stale = false;
            (second.overview)(self);
        }
        self.ask_for_past();
        let passed_ms = now_ms - self.frame.published_ms;
        let publish_ms = PUBLISH_MS.max(self.frame.pace_ms * PICTURES_PER_PUBLISH);
        if self.frame.is_unpublished && passed_ms >= publish_ms {
            self.set_pace(passed_ms);
            self.frame.published_ms = now_ms;
            self.frame.is_unpublished = false;
            let date = format::date(self.view.right().min(now));
            self.effects.push(Effect::ShowDate(date));
            if let Some(second) = self.second {
                (second.publish)(self, now);
                self.effects.push(Effect::Show);
            }
        }
        if !self.frame.is_second_asked {
            self.frame.is_second_asked = true;
            // Loading it sooner gains nothing. It would delay the frames before the newest chapter, and they cost more
            // than it saves.
            self.effects.push(Effect::LoadSecond);
        }
        self.arm_next(now_ms);
    }

    /// Asks for a frame, because the wait is over.
    pub(super) fn stepped(&mut self) {
        self.frame.is_waiting = false;
        self.arm();
    }

    /// Takes the measurements of a painted picture; each smoothed time moves by a tenth.
    pub(super) fn painted(&mut self, painted: Painted) {
        self.frame.scene_ms += (painted.scene_ms - self.frame.scene_ms) * 0.1;
        self.frame.frame_ms += (painted.frame_ms - self.frame.frame_ms) * 0.1;
        if self.shows_lanes() && self.frame.first_lane_ms.is_none() {
            self.frame.first_lane_ms = Some(painted.at_ms);
        }
    }

    /// Takes the canvas's size, and fits the view to a new width.
    pub(super) fn resized(&mut self, size: Size) {
        let before = self.screen.size;
        if size == before {
            return;
        }
        self.pick.stays_in_sight = size.height_px < before.height_px;
        self.screen.size = size;
        self.view = if before.width_px < 1.0 {
            // The span was chosen before the width was known.
            self.view.spread(size.width_px)
        } else {
            self.view.resized(size.width_px)
        };
        self.frame.is_dirty = true;
    }

    /// Takes the loaded second part, and then the deliveries that waited for it.
    pub(super) fn join(&mut self, second: &'static Second) {
        self.second = Some(second);
        self.store.keep_outside(second.keep);
        self.effects.push(Effect::Panel(PanelEffect::Mount));
        for delivery in std::mem::take(&mut self.link.held) {
            if let Some(input) = self.deliver(delivery) {
                self.input(input);
                break;
            }
        }
        self.input(Input::TakenIn);
        self.ask_for_past();
        self.redraw();
    }

    /// Whether the last picture shows lanes.
    #[must_use]
    pub fn shows_lanes(&self) -> bool {
        self.screen.size.has_area() && !self.rows.rows.is_empty()
    }

    fn draw(&mut self) {
        let now = self.pen();
        self.link.heard_at = now;
        self.frame.is_dirty = false;
        self.frame.drawn_version = self.store.version();
        self.frame.drawn_view = Some(self.view);
        self.lay_out(now);
        if let Some(late) = self.late {
            (late.tick_lanes)(self);
        }
        if self.screen.size.has_area() {
            self.frame.painted_head = self.store.state().map_or(0, |state| state.seq.0);
        }
        self.effects.push(Effect::Paint);
        self.effects.push(Effect::Drawn);
    }

    fn arm(&mut self) {
        if !self.frame.is_armed {
            self.frame.is_armed = true;
            self.effects.push(Effect::ArmFrame);
        }
    }

    /// Whether the first picture can be painted: there are lanes, or the page knows that there are none.
    fn has_face(&self) -> bool {
        match self.link.connection.status() {
            Status::Connecting => false,
            Status::Live => self.store.state().is_some() || self.link.contexts.is_some(),
            _ => true,
        }
    }

    /// Asks for the next frame when it will show something new. That is at once if the picture is stale. Otherwise it
    /// is when the following view has moved by a px, or when panels or overview are due.
    fn arm_next(&mut self, now_ms: f64) {
        let motion_ms = self.view.following.then(|| {
            let px_ms = self.view.us_per_px / 1_000.0;
            if self.screen.surroundings.reduced_motion {
                px_ms.max(REDUCED_MOTION_MS)
            } else {
                px_ms.clamp(MOTION_MS, 1_000.0)
            }
        });
        let publish_ms = self
            .frame
            .is_unpublished
            .then_some(PUBLISH_MS - (now_ms - self.frame.published_ms));
        let overview_ms = (self.second.is_some() && self.frame.is_overview_stale)
            .then_some(OVERVIEW_MS - (now_ms - self.frame.overview_ms));
        let publish_ms = [publish_ms, overview_ms]
            .into_iter()
            .flatten()
            .reduce(f64::min);
        let is_dirty = self.frame.is_dirty;
        let wait_ms = match (motion_ms, publish_ms) {
            (Some(motion), Some(publish)) => motion.min(publish),
            (Some(wait), None) | (None, Some(wait)) => wait,
            (None, None) if is_dirty => 0.0,
            (None, None) => return,
        };
        self.arm_after(match self.frame.pace_ms {
            _ if is_dirty => 0.0,
            0.0 => wait_ms,
            // More records will come.
            pace_ms => pace_ms,
        });
    }

    /// Chooses the pace of pictures by the records that came in the last `passed_ms` milliseconds.
    fn set_pace(&mut self, passed_ms: f64) {
        let head = self.store.state().map_or(0, |state| state.seq.0);
        let came = head.saturating_sub(self.frame.published_head);
        self.frame.published_head = head;
        self.frame.pace_ms = if came as f64 > FLOOD_PER_MS * passed_ms {
            (self.frame.frame_ms * FLOOD_PICTURES).min(FLOOD_MS)
        } else {
            0.0
        };
    }

    fn arm_after(&mut self, wait_ms: f64) {
        if wait_ms <= SMOOTH_MS {
            self.arm();
        } else if !self.frame.is_waiting {
            self.frame.is_waiting = true;
            self.effects.push(Effect::ArmAfter { wait_ms });
        }
    }

    /// Requests a chapter that the view lacks, or half a screen before it. The page calls this in each frame, when the
    /// catalogue comes, and when a chapter has come. So the server reads and sends the next chapter while the page
    /// draws this one.
    pub(super) fn ask_for_past(&mut self) {
        let reach = self
            .view
            .left()
            .plus_micros(-((self.view.us_per_px * self.view.width_px / 2.0) as i64));
        let right = self.view.right();
        let also = self.link.also_loads;
        let (from, to) = also.unwrap_or((reach, right));
        self.store.look_at(reach.min(from), right.max(to));
        if !self.is_connected() || self.second.is_none() {
            return;
        }
        let wanted = self.store.backfill(reach, right);
        let wanted = wanted.or_else(|| self.store.backfill(also?.0, also?.1));
        self.ask(wanted);
    }

    /// Requests the newest chapter before the catalogue comes, since the view nearly always needs it first. So the
    /// server reads and sends it while the second part is loaded. On a slow link nothing is requested here, because the
    /// second part must come first.
    pub(super) fn ask_for_newest(&mut self) {
        if self.second.is_none()
            && !self.link.is_led
            && self.now.ms.saturating_sub(self.link.welcomed_ms) < NEAR_MS
            && let Some((log, epoch, last)) = self.store.resume_point()
            && last != Seq(0)
        {
            self.ask(Some((log, epoch, last.next())));
        }
    }

    fn ask(&mut self, wanted: Option<Wanted>) {
        if let Some(wanted) = self.link.backfill.ask(wanted)
            && let Some(ask) = self.link.connection.backfill(wanted)
        {
            self.effects.push(Effect::Link(ask));
        }
    }
}
