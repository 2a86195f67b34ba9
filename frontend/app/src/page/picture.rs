//! From the store to what the panels show: rows of the tree, words of the header, texts of the status bar.

use watchscope_model::{State, Time};
use watchscope_timeline::draw::{self, Picture};
use watchscope_timeline::lanes::{Density, Row, RowKind};
use watchscope_timeline::scene::Px;
use watchscope_timeline::words::{self, Empty};
use watchscope_timeline::{LaneId, format};

use super::engine::Engine;
use super::panels::{Emptiness, Remedy, StatusBar, TreeRow, publish};
use crate::decimal::decimal;
use crate::summary;

/// Height of the ruler on top of the lanes, in px.
pub(super) const RULER_PX: f64 = 26.0;
/// Windows up to this width have no tree.
const NARROW_PX: f64 = 600.0;
/// An empty state stands this far below the lanes, and needs this much room, in px.
const STATE_GAP_PX: f64 = 24.0;
const STATE_PX: f64 = 60.0;
/// Rows this far outside the window are in the tree too, so that scrolling by a little changes nothing.
const OVERDRAW_PX: f64 = 200.0;

impl Engine {
    /// Height of the lanes' window, in px.
    pub(super) fn window_px(&self) -> f64 {
        (self.size.1 - RULER_PX).max(0.0)
    }

    /// Keeps the scroll position within the rows.
    pub(super) fn clamp_scroll(&mut self) {
        let most = (self.rows.height.to_f64() - self.window_px()).max(0.0);
        self.scroll_px = self.scroll_px.clamp(0.0, most).round();
    }

    /// Lays out rows and scene, and moves the tree with them.
    pub(super) fn lay_out(&mut self, now: Time) {
        // As in styles.css: so narrow a window has no tree, and each name stands on its lane.
        let window_px = self.window.inner_width().ok().and_then(|px| px.as_f64());
        self.lanes.density = match window_px {
            Some(px) if px <= NARROW_PX => Density::Labelled,
            _ => Density::Compact,
        };
        self.lanes.selected = self.selection.as_ref().map(|selection| selection.lane);
        self.rows = self.lanes.rows(&self.store, &self.view, now);
        if std::mem::take(&mut self.keeps_selection)
            && let Some(lane) = self.lanes.selected
        {
            self.scroll_to(lane);
        }
        self.clamp_scroll();
        self.scene = draw::lanes(&self.picture(now));
        self.move_tree();
    }

    /// What is on screen.
    pub(super) fn picture(&self, now: Time) -> Picture<'_> {
        Picture {
            store: &self.store,
            rows: &self.rows,
            view: &self.view,
            now,
            connected: self.is_connected(),
            top: Px::from_f64(self.scroll_px),
            height: Px::from_f64(self.window_px()),
            selected: self.lanes.selected,
        }
    }

    fn move_tree(&self) {
        let rows: Vec<TreeRow> = self
            .rows
            .window(
                Px::from_f64(self.scroll_px - OVERDRAW_PX),
                Px::from_f64(self.scroll_px + self.window_px() + OVERDRAW_PX),
            )
            .map(|place| self.tree_row(&self.rows.rows[place]))
            .collect();
        publish(self.panels.rows, rows);
        if let Some(element) = &self.rows_element {
            // Set by script, which the content security policy allows; it fails only on an unknown property.
            let _ = element.style().set_property(
                "transform",
                &format!("translateY({}px)", -self.scroll_px as i32),
            );
        }
        if let Some(thumb) = &self.thumb {
            let (all, window) = (self.rows.height.to_f64(), self.window_px());
            let style = thumb.style();
            let shown = all > window && window > 0.0;
            let _ = style.set_property("display", if shown { "block" } else { "none" });
            if shown {
                let height = (window * window / all).max(24.0);
                let top = self.scroll_px / (all - window) * (window - height);
                let _ = style.set_property("height", &format!("{}px", height as i32));
                let _ = style.set_property("top", &format!("{}px", top as i32));
            }
        }
    }

    fn tree_row(&self, row: &Row) -> TreeRow {
        TreeRow {
            lane: row.id,
            key: self.lane_key(row.id),
            is_watch: row.kind == RowKind::Watch,
            indent_px: row.indent_px,
            prefix: row.prefix.to_string(),
            name: row.name.to_string(),
            count: row.count.map_or_else(String::new, format::number),
            expanded: row.expanded,
            top_px: (row.y - row.label).to_f64() as i32,
            height_px: (row.height + row.label).to_f64() as i32,
            mark: row.mark,
            diverged: row.diverged,
            selected: self
                .selection
                .as_ref()
                .is_some_and(|selection| selection.lane == row.id),
            focused: self.focused == Some(row.id),
            ringed: self.by_keyboard && self.focused == Some(row.id),
        }
    }

    /// A lane in words that stay the same: `shop/pods`, `shop/pods resourceVersion`, `shop/pods shop/cart-0`.
    pub(super) fn lane_key(&self, lane: LaneId) -> String {
        let (watch, object) = self.store.lane_names(lane);
        let watch = watch.map_or("", |watch| watch.as_str());
        match (lane, object) {
            (LaneId::Findings, _) => "findings".to_owned(),
            (LaneId::Connection(_), _) => format!("{watch} connection"),
            (LaneId::Version(_), _) => format!("{watch} resourceVersion"),
            (_, Some(object)) => {
                let namespace = object.namespace.as_deref().unwrap_or("-");
                format!("{watch} {namespace}/{}", object.name)
            }
            _ => watch.to_owned(),
        }
    }

    /// Writes the panels.
    pub(super) fn publish(&mut self, now: Time) {
        let empty = State::default();
        let state = self.store.state().unwrap_or(&empty);
        publish(self.panels.summary, summary::summarise(state));
        publish(self.panels.problems, words::problems(&self.store));
        publish(self.panels.empty, self.emptiness(now));
        let note = self
            .store
            .last_note()
            .map(|(_, at, text)| (format::clock(at), text.to_owned()));
        publish(self.panels.note, note);
        publish(self.panels.following, self.view.following);
        let head = state.seq.0;
        self.paused_at = match (self.view.following, self.paused_at) {
            (true, _) => None,
            (false, None) => Some(head),
            (false, known) => known,
        };
        let new = self
            .paused_at
            .map(|paused| head.saturating_sub(paused))
            .filter(|&new| new > 0);
        publish(self.panels.pill, new);
        publish(self.panels.date, format::date(self.view.right().min(now)));
        publish(self.panels.status, self.status_bar(now));
        let lane_text = self.focused.map_or_else(String::new, |lane| {
            words::accessible(&self.store, lane, now)
        });
        publish(self.panels.lane_text, lane_text);
    }

    fn status_bar(&self, now: Time) -> StatusBar {
        let shown = self.rows.rows.len();
        let all = shown + self.rows.hidden;
        let lanes = if self.rows.hidden == 0 {
            format::count(all as u64, "lane")
        } else {
            format!("{shown} of {all} lanes, {} filtered out", self.rows.hidden)
        };
        let gaps = self.store.gaps(Time(0), now, now);
        let ring = self
            .heartbeat
            .as_ref()
            .map_or_else(String::new, |heartbeat| {
                let percent = heartbeat.ring_bytes * 100 / heartbeat.ring_capacity.max(1);
                format!("{percent} % of ring")
            });
        let kept = self.welcome.as_ref().map_or_else(String::new, |welcome| {
            format!(
                "{} kept",
                format::duration(now.micros_since(welcome.first_at))
            )
        });
        StatusBar {
            left: vec![
                format::count(self.store.records(), "record"),
                lanes,
                kept,
                ring,
                self.lag_ms
                    .map_or_else(String::new, |lag| format!("lag {lag} ms")),
                format!("frame {} ms", decimal(self.frame_ms, 1)),
                format!("1 px = {}", scale_words(self.view.us_per_px)),
            ],
            right: vec![
                match gaps.total() {
                    0 => "no gaps".to_owned(),
                    total => format!("{}: {}", format::count(total, "gap"), gaps.words()),
                },
                zone_words(),
            ],
        }
    }

    /// Why there is little to see, said under the lanes that stay, if there is room.
    fn emptiness(&self, now: Time) -> Option<Emptiness> {
        let (empty, remedy) = match &self.contexts {
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
                    Empty::Expired { .. } => Remedy::GoToOldest,
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
        let top_px = RULER_PX + lanes_px + STATE_GAP_PX;
        (top_px + STATE_PX < self.size.1).then(|| Emptiness {
            words: empty.words(),
            top_px: top_px as i32,
            remedy,
        })
    }

    /// The time of the first record the server keeps.
    pub(super) fn oldest_kept(&self) -> Option<Time> {
        self.welcome.as_ref().map(|welcome| welcome.first_at)
    }
}

/// `250 ms`, `0.40 s`, `12 s`: how long a px is.
fn scale_words(us_per_px: f64) -> String {
    if (100_000.0..10_000_000.0).contains(&us_per_px) {
        format!("{} s", decimal(us_per_px / 1e6, 2))
    } else {
        format::duration(us_per_px as i64)
    }
}

/// `UTC, you are at UTC+1`.
fn zone_words() -> String {
    // Minutes from local time to UTC: negative east of Greenwich.
    let minutes = -js_sys::Date::new_0().get_timezone_offset() as i64;
    if minutes == 0 {
        return "UTC, as you".to_owned();
    }
    let sign = if minutes < 0 { '−' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    if rest == 0 {
        format!("UTC, you are at UTC{sign}{hours}")
    } else {
        format!("UTC, you are at UTC{sign}{hours}:{rest:02}")
    }
}
