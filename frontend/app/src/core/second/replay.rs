//! Plays a recording: the time goes on by itself, and what lies after it is hidden, as if it were live.

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;
use watchscope_timeline::View;
use watchscope_timeline::format;
use watchscope_timeline::store::Coverage;

use crate::core::model::Model;
use crate::core::panel_state::{Playing, SPEEDS};
use crate::core::shown::ReplayShown;

/// Time in which nobody watched plays in this time at most, in microseconds.
const SEAM_US: i64 = SECOND_US;
/// A page that slept does not jump: more than this does not pass between two frames, in milliseconds.
const STEP_MOST_MS: u64 = 250;

impl Model {
    /// Whether a recording is shown, which can be played.
    pub(super) fn is_replay(&self) -> bool {
        self.recorded_to().is_some()
    }

    pub(super) fn recorded_to(&self) -> Option<Time> {
        self.link.welcome.as_ref()?.recorded_to
    }

    /// From the first record that is kept to the last.
    fn recorded(&self) -> Option<(Time, Time)> {
        let to = self.recorded_to()?;
        let welcome = self.link.welcome.as_ref();
        let from = welcome.and_then(|welcome| welcome.recorded_from);
        let from = self.store.oldest_kept().or(from)?;
        Some((from.min(to), to))
    }

    /// Plays from the marked time on, or from the beginning if that is the end; or stops.
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

    /// The time of a recording that is played stands here. The picture stays while it has room for it.
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

    /// Shows all of the recording again; panels go on answering for the time that was reached.
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

    /// Moves the time on, if a recording is played. Called before each picture.
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
        // A person who moves away looks elsewhere; the time goes on.
        if at >= to {
            self.stop_playing();
        }
        self.changed();
    }

    /// Plays at another speed from here on.
    pub(super) fn set_speed(&mut self, speed: u32) {
        if SPEEDS.contains(&speed) {
            self.panels.speed.0 = speed;
            self.say(format!("{speed} times as fast as it was."));
            self.changed();
        }
    }

    /// The next speed, or the one before.
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

    /// Goes to a time of the recording, which comes into view.
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

    /// Goes to a place between the first record and the last, from 0 to 1.
    pub(super) fn seek_share(&mut self, share: f64) {
        if let Some((from, to)) = self.recorded() {
            let into_us = to.micros_since(from) as f64 * share;
            self.seek(from.plus_micros(into_us as i64));
        }
    }

    /// Moves the time of the recording.
    pub(super) fn seek_by(&mut self, by_us: i64) {
        let to = self.recorded_to().unwrap_or_default();
        let at = self.marked.as_of.unwrap_or(to);
        self.seek(at.plus_micros(by_us));
    }

    /// Writes what the controls show.
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
