//! Plays a recording: its time advances by itself, and later records are hidden as in a live log.

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;
use watchscope_timeline::View;
use watchscope_timeline::format;
use watchscope_timeline::store::Coverage;

use crate::core::model::Model;
use crate::core::panel_state::{Playing, SPEEDS};
use crate::core::shown::ReplayShown;

/// The most playing time of a seam, a stretch that nobody watched, in microseconds.
const SEAM_US: i64 = SECOND_US;
/// The most time that passes between two frames, in milliseconds. By it, a page that slept does not jump.
const STEP_MOST_MS: u64 = 250;

impl Model {
    /// Whether the page shows a recording, which can be played.
    pub(super) fn is_replay(&self) -> bool {
        self.recorded_to().is_some()
    }

    pub(super) fn recorded_to(&self) -> Option<Time> {
        self.link.welcome.as_ref()?.recorded_to
    }

    /// Returns the times of the first and the last record that are kept.
    fn recorded(&self) -> Option<(Time, Time)> {
        let to = self.recorded_to()?;
        let welcome = self.link.welcome.as_ref();
        let from = welcome.and_then(|welcome| welcome.recorded_from);
        let from = self.store.oldest_kept().or(from)?;
        Some((from.min(to), to))
    }

    /// Starts playing at the marked time if that is before the end, otherwise at the begin. Pauses if it plays.
    pub(super) fn toggle_play(&mut self) {
        let Some((from, to)) = self.recorded() else {
            return;
        };
        if self.panels.playing.is_some() {
            self.stop_playing();
            return;
        }
        self.set_range(None);
        let at = self.marked.as_of.filter(|at| *at < to).unwrap_or(from);
        self.panels.playing = Some(Playing {
            at,
            local_ms: self.now.ms,
        });
        self.play_at(at);
        self.say(format!("Playing from {}.", format::clock(at)));
        self.redraw();
    }

    /// Sets the time of a recording that plays. The view moves only if the time is outside.
    fn play_at(&mut self, at: Time) {
        self.link.clock.hold(at);
        self.marked.as_of = Some(at);
        self.bring_into_view(at);
        self.view = View {
            following: true,
            ..self.view
        }
        .at_now(at);
    }

    /// Pauses and shows the whole recording again. Panels still answer for the time that was reached.
    pub(super) fn stop_playing(&mut self) {
        let (Some(playing), Some(to)) = (self.panels.playing.take(), self.recorded_to()) else {
            return;
        };
        self.link.clock.hold(to);
        self.view = self.view.pause();
        self.marked.as_of = Some(playing.at);
        let at = format::clock(playing.at);
        self.say(if playing.at >= to {
            format!("The recording ends here, at {at}.")
        } else {
            format!("Paused at {at}.")
        });
        self.redraw();
    }

    /// Advances the time if a recording plays. The page calls this before each picture.
    pub fn play_on(&mut self) {
        let (Some(playing), Some(to)) = (self.panels.playing, self.recorded_to()) else {
            return;
        };
        let passed_ms = self
            .now
            .ms
            .saturating_sub(playing.local_ms)
            .min(STEP_MOST_MS);
        let passed_us = passed_ms as i64 * 1_000;
        let mut at = playing
            .at
            .plus_micros(passed_us * i64::from(self.panels.speed.0));
        let stretches = self.store.coverage(to);
        let seam = stretches.iter().find(|stretch| {
            let is_in = stretch.from <= playing.at && playing.at < stretch.to;
            stretch.coverage == Coverage::Seam && is_in
        });
        if let Some(seam) = seam {
            let share = passed_us as f64 / SEAM_US as f64;
            let faster_us = seam.to.micros_since(seam.from) as f64 * share;
            at = at
                .max(playing.at.plus_micros(faster_us as i64))
                .min(seam.to);
        }
        let at = at.min(to);
        self.panels.playing = Some(Playing {
            at,
            local_ms: self.now.ms,
        });
        self.link.clock.hold(at);
        self.marked.as_of = Some(at);
        // The view does not move with the time, since the person may have moved it away.
        if at >= to {
            self.stop_playing();
        }
        self.changed();
    }

    /// Sets the speed; ignores one that is not in [`SPEEDS`].
    pub(super) fn set_speed(&mut self, speed: u32) {
        if SPEEDS.contains(&speed) {
            self.panels.speed.0 = speed;
            self.say(format!("{speed} times the original speed."));
            self.changed();
        }
    }

    /// Sets the next higher or lower speed; stays at the highest and lowest.
    pub(super) fn step_speed(&mut self, is_faster: bool) {
        let known = SPEEDS
            .iter()
            .position(|speed| *speed == self.panels.speed.0);
        let place = known.unwrap_or(0);
        let next = if is_faster {
            (place + 1).min(SPEEDS.len() - 1)
        } else {
            place.saturating_sub(1)
        };
        self.set_speed(SPEEDS[next]);
    }

    /// Goes to a time of the recording, and brings it into view.
    pub(super) fn seek(&mut self, at: Time) {
        let Some((from, to)) = self.recorded() else {
            return;
        };
        let at = at.max(from).min(to);
        self.set_range(None);
        self.marked.as_of = Some(at);
        if let Some(playing) = &mut self.panels.playing {
            playing.at = at;
            self.play_at(at);
        }
        self.bring_into_view(at);
        self.redraw();
    }

    /// Goes to a position between the first record, 0, and the last, 1.
    pub(super) fn seek_share(&mut self, share: f64) {
        if let Some((from, to)) = self.recorded() {
            let into_us = to.micros_since(from) as f64 * share;
            self.seek(from.plus_micros(into_us as i64));
        }
    }

    /// Moves the time of the recording by a distance.
    pub(super) fn seek_by(&mut self, by_us: i64) {
        let to = self.recorded_to().unwrap_or_default();
        let at = self.marked.as_of.unwrap_or(to);
        self.seek(at.plus_micros(by_us));
    }

    /// Computes the contents of the controls.
    pub(super) fn publish_replay(&mut self) {
        self.shown.replay = self.recorded().map(|(from, to)| {
            let at = self.moment().unwrap_or(to);
            let whole_us = to.micros_since(from).max(1);
            ReplayShown {
                clock: format::clock(at),
                share: at.micros_since(from) as f64 / whole_us as f64,
                lasts: format::duration(whole_us),
                begins: format::clock(from),
                ends: format::clock(to),
                is_playing: self.panels.playing.is_some(),
                is_at_end: at >= to,
                speed: self.panels.speed.0,
            }
        });
    }
}
