//! Computes the contents of the panels from the store: words of the header, texts of the status bar, messages about
//! empty lanes.

use watchscope_model::vocabulary::DiskTrouble;
use watchscope_model::wire::{History, Welcome};
use watchscope_model::{Seq, State, Time};
use watchscope_timeline::draw::Cursors;
use watchscope_timeline::words::{self, Empty};
use watchscope_timeline::{View, format};

use crate::core::cursors::CursorDeed;
use crate::core::model::Model;
use crate::core::palette::PaletteDeed;
use crate::core::panel_state::{StoryFit, Walk};
use crate::core::shown::{Emptiness, HistoryWords, Remedy, StatusBar};
use crate::core::summary;
use crate::core::table::TableDeed;
use crate::decimal::decimal;

/// Distance of the message about empty lanes from the lanes above it, in px.
const STATE_GAP_PX: f64 = 24.0;
/// Height that the message needs, in px. It is left out where the picture has less.
const STATE_PX: f64 = 60.0;

impl Model {
    /// Computes those contents of the panels that depend on records and time.
    pub fn publish(&mut self, now: Time) {
        self.recall_muted();
        self.recall_lanes();
        self.publish_lanes();
        self.load_before_seam();
        self.follow_range(now);
        self.publish_replay();
        self.follow_evidence();
        self.follow_awaited();
        self.publish_as_of(now);
        self.publish_notes(now);
        if self.marked.cursors.a.is_some() {
            self.cursors(CursorDeed::Renew);
        }
        self.fit_story();
        let empty = State::default();
        let state = self.store.state().unwrap_or(&empty);
        let head = state.seq.0;
        self.shown.summary = summary::summarise(state);
        if let Some(then) = &self.panels.then {
            let of = then.found.as_ref().map(|as_of| as_of.state());
            let words = of.map(|state| summary::summarise(state).words);
            self.shown.summary.words = words.unwrap_or_default();
        }
        if let Some(name) = self.recording() {
            self.shown.summary.words = format!("recording {name}");
        }
        self.publish_troubles(now);
        self.publish_problems(now);
        self.publish_findings(now);
        self.shown.empty = self.emptiness(now);
        self.shown.note = self
            .store
            .last_note()
            .map(|(_, at, text)| (format::clock(at), text.to_owned()));
        self.panels.paused_at = match (self.view.following, self.panels.paused_at) {
            (true, _) => None,
            (false, None) => Some(head),
            (false, known) => known,
        };
        self.shown.pill = self
            .panels
            .paused_at
            .map(|paused| head.saturating_sub(paused))
            .filter(|&new| new > 0);
        self.publish_overview(now);
        self.publish_address();
        if self.shown.palette.is_some() {
            self.palette(PaletteDeed::Renew);
        }
        self.tables(TableDeed::Renew);
        self.shown.status = self.status_bar(now);
        let known = self.known(now);
        let lane_text = self.pick.focused.zip(known);
        self.shown.lane_text =
            lane_text.map_or_else(String::new, |(lane, known)| words::accessible(known, lane));
    }

    /// Computes the problems of all that is kept. As of a time, computes those in view. A walk that began while the
    /// picture followed now goes on through all that is kept.
    pub(super) fn publish_problems(&mut self, now: Time) {
        let muted = &self.lanes.muted;
        let is_live = self.view.following && !self.is_replay();
        let walk = Walk {
            selections: self.panels.selections,
            view: self.view,
        };
        if is_live || self.panels.walk != Some(walk) {
            self.panels.walk = None;
        }
        self.shown.problems = if self.panels.is_lesson {
            words::problems(&self.store, muted)
        } else if is_live || self.panels.walk.is_some() {
            self.panels.kept_problems.clone()
        } else {
            let shown = (self.view.left(), self.view.right().min(now));
            let at = self.moment().unwrap_or(now);
            words::problems_in(&self.store, shown, at, now, muted)
        };
    }

    /// Fits a finished story into the view, and stops following. The view grows with findings within 60 s after the
    /// story. It stays if the person has moved it away.
    fn fit_story(&mut self) {
        let Some(until) = self.store.story_shown_until() else {
            return;
        };
        let is_elsewhere = match self.panels.story {
            StoryFit::Running => !self.view.following,
            StoryFit::Shown(view, _) => view != self.view,
            StoryFit::Left => true,
        };
        let begin = self.ring_begins().filter(|begin| *begin < until);
        let Some(begin) = begin.filter(|_| !is_elsewhere) else {
            self.panels.story = StoryFit::Left;
            return;
        };
        if matches!(self.panels.story, StoryFit::Shown(_, shown) if shown == until) {
            return;
        }
        // The words of a finding need room at the right.
        let span_us = until.micros_since(begin);
        let (from, to) = (
            begin.plus_micros(-span_us / 50),
            until.plus_micros(span_us / 8),
        );
        let view = View::between(from, to, self.view.width_px);
        self.set_view(view);
        self.panels.story = StoryFit::Shown(view, until);
    }

    fn status_bar(&self, now: Time) -> StatusBar {
        let live = self.link.welcome.as_ref();
        let live = live.filter(|welcome| welcome.recording.is_none());
        let ring = self
            .link
            .heartbeat
            .as_ref()
            .filter(|_| live.is_some())
            .map_or_else(String::new, |heartbeat| {
                let percent = heartbeat.ring_bytes * 100 / heartbeat.ring_capacity.max(1);
                format!("{percent} % of ring")
            });
        let kept = live.map_or_else(String::new, |welcome| {
            format!(
                "{} kept",
                format::duration(now.micros_since(welcome.first_at))
            )
        });
        StatusBar {
            history: self.history_words(),
            left: vec![
                words::records(&self.store),
                self.lanes_words(),
                kept,
                ring,
                self.link
                    .lag_ms
                    .map_or_else(String::new, |lag| format!("lag {lag} ms")),
                format!("frame {} ms", decimal(self.frame.frame_ms, 1)),
                format!("1 px = {}", scale_words(self.view.us_per_px)),
            ],
            right: vec![
                words::unknown(&self.store),
                words::gaps(&self.store),
                self.gaps_shown(now),
            ],
        }
    }

    /// Returns the gaps from A to B while both are set, else those in view.
    fn gaps_shown(&self, now: Time) -> String {
        match self.marked.cursors {
            Cursors {
                a: Some(a),
                b: Some(b),
            } => words::gaps_from_a_to_b(&self.store, (a, b), now),
            _ => words::gaps_in_view(&self.store, &self.view.at_now(now), now),
        }
    }

    fn history_words(&self) -> HistoryWords {
        let head = self.store.state().map_or(Seq(0), |state| state.seq);
        match (&self.link.welcome, &self.link.history) {
            (None, _) => HistoryWords::default(),
            (Some(welcome), _) if welcome.recording.is_some() => recording_words(welcome),
            (Some(_), None) => HistoryWords {
                text: "History: off".to_owned(),
                is_trouble: false,
            },
            (Some(_), Some(history)) => history_words(history, head),
        }
    }

    /// Returns why there is little to see; `None` if there is no room under the lanes.
    fn emptiness(&self, now: Time) -> Option<Emptiness> {
        // There are watches once a context is chosen in any tab.
        let state = self.store.state();
        let is_chosen = state.is_some_and(|state| !state.watches.is_empty());
        let (empty, remedy) = match self.link.contexts.as_ref().filter(|_| !is_chosen) {
            Some((contexts, reason)) => (
                Empty::NoCluster {
                    reason: reason.clone(),
                },
                Remedy::Contexts(contexts.clone()),
            ),
            None => {
                let found =
                    words::emptiness(&self.store, &self.lanes, &self.rows, &self.view, now)?;
                let remedy = match &found {
                    Empty::FilteredOut { .. } => Remedy::ClearFilter,
                    Empty::Before { .. } | Empty::Expired { .. } => Remedy::GoToOldest,
                    // Without a connection the present is unknown, and the banner reports that.
                    Empty::NothingYet { .. } | Empty::NoAnswer { .. } if !self.is_connected() => {
                        return None;
                    }
                    _ => Remedy::None,
                };
                (found, remedy)
            }
        };
        let covers = matches!(empty, Empty::Expired { .. });
        let lanes_px = if covers {
            0.0
        } else {
            self.rows.height.to_f64()
        };
        let top_px = self.lanes_top_px() + lanes_px + STATE_GAP_PX;
        (top_px + STATE_PX < self.screen.size.height_px).then(|| Emptiness {
            words: empty.words(),
            top_px: top_px as i32,
            remedy,
        })
    }

    /// Returns the name of the recording that the page shows; `None` for a live log.
    pub fn recording(&self) -> Option<&str> {
        let welcome = self.link.welcome.as_ref()?;
        welcome.recording.as_deref()
    }

    /// Returns the time of the first record that the server keeps.
    pub(super) fn ring_begins(&self) -> Option<Time> {
        self.link.welcome.as_ref().map(|welcome| welcome.first_at)
    }
}

/// `Recording: 2026-11-17 11:20:00 to 2026-11-17 12:00:00`.
fn recording_words(welcome: &Welcome) -> HistoryWords {
    let at = |at: Option<Time>| {
        at.map_or_else(String::new, |at| {
            format!("{} {}", format::date(at), format::clock(at))
        })
    };
    let (from, to) = (at(welcome.recorded_from), at(welcome.recorded_to));
    let name = if welcome.judged_again == Some(true) {
        "Recording, judged again"
    } else {
        "Recording"
    };
    HistoryWords {
        text: format!("{name}: {from} to {to}"),
        is_trouble: false,
    }
}

/// Returns `History: 612 MiB of 1 GiB, since 2026-11-17 11:20:00`, or the trouble with it. `head` is the last record in
/// this page.
fn history_words(history: &History, head: Seq) -> HistoryWords {
    let kept = format!(
        "{} of {}",
        format::bytes(history.bytes),
        format::bytes(history.size_bytes)
    );
    let at = |at: Time| format!("{} {}", format::date(at), format::clock(at));
    let text = match (history.trouble.zip(history.trouble_since), history.since) {
        (Some((trouble, since)), _) => {
            let waiting = head.0.saturating_sub(history.kept_to.0);
            format!(
                "{} since {}, {} not written",
                trouble_words(trouble),
                format::clock(since),
                format::count(waiting + history.lost, "record")
            )
        }
        (None, Some(since)) => format!("{kept}, since {}", at(since)),
        (None, None) => kept,
    };
    let lost = match history.lost {
        lost if lost > 0 && history.trouble.is_none() => {
            format!(", {} lost", format::count(lost, "record"))
        }
        _ => String::new(),
    };
    HistoryWords {
        text: format!("History: {text}{lost}"),
        is_trouble: history.trouble.is_some(),
    }
}

fn trouble_words(trouble: DiskTrouble) -> &'static str {
    match trouble {
        DiskTrouble::Full => "disk full",
        DiskTrouble::ReadOnly => "disk not writable",
        DiskTrouble::Gone => "folder removed",
        DiskTrouble::Slow => "disk slow",
        DiskTrouble::Failing | DiskTrouble::Unknown => "disk failing",
    }
}

/// Returns the time per px: `250 ms`, `0.40 s`, `12 s`.
fn scale_words(us_per_px: f64) -> String {
    if (100_000.0..10_000_000.0).contains(&us_per_px) {
        format!("{} s", decimal(us_per_px / 1e6, 2))
    } else {
        format::duration(us_per_px as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        History {
            bytes: 612 << 20,
            size_bytes: 1 << 30,
            since: Some(Time(1_763_378_400_000_000)),
            kept_to: Seq(100),
            lost: 0,
            trouble: None,
            trouble_since: None,
        }
    }

    fn text(history: &History) -> String {
        history_words(history, Seq(1_408)).text
    }

    #[test]
    fn the_history_text_has_its_size_and_its_begin() {
        insta::assert_snapshot!(text(&history()), @"History: 612 MiB of 1 GiB, since 2025-11-17 11:20:00");
        let new = History {
            since: None,
            bytes: 900,
            ..history()
        };
        insta::assert_snapshot!(text(&new), @"History: 900 B of 1 GiB");
        let lost = History {
            lost: 2,
            ..history()
        };
        insta::assert_snapshot!(text(&lost), @"History: 612 MiB of 1 GiB, since 2025-11-17 11:20:00, 2 records lost");
    }

    #[test]
    fn the_trouble_text_has_its_kind_its_begin_and_the_unwritten_records() {
        let all = DiskTrouble::ALL.iter().map(|&trouble| {
            text(&History {
                trouble: Some(trouble),
                trouble_since: Some(Time(1_763_378_531_000_000)),
                ..history()
            })
        });
        insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @r"
        History: disk full since 11:22:11, 1,308 records not written
        History: disk not writable since 11:22:11, 1,308 records not written
        History: folder removed since 11:22:11, 1,308 records not written
        History: disk slow since 11:22:11, 1,308 records not written
        History: disk failing since 11:22:11, 1,308 records not written
        ");
    }
}
