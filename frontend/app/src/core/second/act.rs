//! Actions and gestures: they change the view, the lanes or the selection, and ask for a frame.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_timeline::scene::Px;
use watchscope_timeline::{LaneId, View, WatchId};
use web_sys::HtmlElement;

use super::lesson;
use super::signals::{publish, signals};
use crate::core::effect::{Effect, PanelEffect};
use crate::core::model::Model;
use crate::input::gesture::Gesture;
use crate::input::keys::Action;
use crate::runtime::page::elements;

/// What a person opened and closed is kept under this key.
const OPENED_KEY: &str = "watchscope-opened";
/// A key zooms by this factor.
const KEY_ZOOM: f64 = 1.3;
/// A key moves by this share of the width.
const KEY_PAN: f64 = 0.15;

impl Model {
    /// Does what a key or button asks for.
    pub(super) fn act(&mut self, action: Action) {
        let middle = self.view.width_px / 2.0;
        match action {
            Action::ZoomIn => self.zoom(middle, KEY_ZOOM),
            Action::ZoomOut => self.zoom(middle, 1.0 / KEY_ZOOM),
            Action::PanEarlier => self.set_view(self.view.pan(-self.view.width_px * KEY_PAN)),
            Action::PanLater => self.set_view(self.view.pan(self.view.width_px * KEY_PAN)),
            Action::Fit => {
                let now = self.now();
                let from = self.oldest_kept().unwrap_or(self.view.left());
                let span = now.micros_since(from).max(1_000_000);
                self.set_view(View::following(now, span, self.view.width_px));
            }
            Action::Oldest => {
                if let Some(oldest) = self.oldest_kept() {
                    let margin = self.view.us_per_px * self.view.width_px * 0.05;
                    let left_us = oldest.0 as f64 - margin;
                    self.set_view(View {
                        left_us,
                        ..self.view.pause()
                    });
                }
            }
            Action::Follow => self.set_view(self.view.follow(self.now())),
            Action::TogglePause => {
                let view = if self.view.following {
                    self.view.pause()
                } else {
                    self.view.follow(self.now())
                };
                self.set_view(view);
            }
            Action::LaneUp => self.step_lane(-1),
            Action::LaneDown => self.step_lane(1),
            Action::PageUp => self.scroll(-self.window_px() * 0.9),
            Action::PageDown => self.scroll(self.window_px() * 0.9),
            Action::Expand | Action::Collapse => {
                if let Some(LaneId::Layer(layer)) = self.pick.focused {
                    let is_open = action == Action::Expand;
                    self.lanes.set_layer_open(&self.store, layer, is_open);
                    self.redraw();
                } else if self.pick.focused == Some(LaneId::Quiet) {
                    self.lanes.set_quiet_open(action == Action::Expand);
                    self.redraw();
                } else if let Some(watch) = self.pick.focused.and_then(LaneId::watch) {
                    self.open_watch(watch, action == Action::Expand);
                }
            }
            Action::PreviousRecord => self.step_record(false),
            Action::NextRecord => self.step_record(true),
            Action::Focus => self.focus_selection(),
            Action::Open => {
                // A record of the lane that is selected stays so.
                let selection = self.panels.selection.as_ref();
                let selected = selection.filter(|selection| selection.record().is_some());
                if let Some(lane) = self.pick.focused
                    && selected.is_none_or(|selection| selection.lane != lane)
                {
                    self.open_lane(lane);
                }
            }
            Action::Clear => {
                if signals().help.get_untracked() {
                    signals().help.set(false);
                } else if !self.close_focused() {
                    self.want(Effect::Panel(PanelEffect::TakeFocusBack));
                    self.clear_selection();
                }
            }
            Action::Search => {
                self.want(Effect::Panel(PanelEffect::FocusFilter));
            }
            Action::Findings => self.toggle_findings(),
            Action::Watches => self.toggle_watches(),
            Action::Help => signals().help.update(|help| *help = !*help),
        }
    }

    /// Opens a watch, and all of it if it is open; or closes it, first from all of it to what changed last.
    fn open_watch(&mut self, watch: WatchId, opens: bool) {
        let is_more = self.pick.focused == Some(LaneId::More(watch));
        if is_more || (opens && self.lanes.is_open(&self.store, watch)) {
            self.lanes.set_whole(&self.store, watch, opens);
        } else {
            self.lanes.set_expanded(&self.store, watch, opens);
        }
        if !opens && !is_more {
            self.pick.focused = Some(LaneId::Watch(watch));
        }
        self.keep_choices();
        self.redraw();
    }

    /// Opens or closes the group of a lane.
    pub(super) fn toggle_lane(&mut self, lane: LaneId) {
        match lane {
            LaneId::Watch(watch) => self.lanes.toggle(&self.store, watch),
            LaneId::More(watch) => self.lanes.toggle_more(&self.store, watch),
            LaneId::Quiet => self.lanes.toggle_quiet(),
            LaneId::Layer(layer) => self.lanes.toggle_layer(layer),
            _ => return,
        }
        self.keep_choices();
        self.redraw();
    }

    /// Keeps what the person opened and closed, for when the page is loaded again.
    pub(super) fn keep_choices(&self) {
        if let Ok(Some(storage)) = elements().window.local_storage()
            && !lesson::is_on()
        {
            // Full or forbidden: then it is not kept.
            let _ = storage.set_item(OPENED_KEY, &self.lanes.choices());
        }
    }

    /// Takes what the person opened and closed before the page was loaded.
    pub(super) fn recall_choices(&mut self) {
        if let Ok(Some(storage)) = elements().window.local_storage()
            && let Ok(Some(kept)) = storage.get_item(OPENED_KEY)
            && !lesson::is_on()
        {
            self.lanes.set_choices(&kept);
            self.redraw();
        }
    }

    /// Shows another stretch of time.
    pub(super) fn set_view(&mut self, view: View) {
        let followed = self.view.following;
        self.view = view;
        if followed != view.following {
            publish(signals().following, view.following);
            if followed {
                self.panels.paused_at = self.store.state().map(|state| state.seq.0);
            }
        }
        self.redraw();
    }

    pub(super) fn zoom(&mut self, x_px: f64, factor: f64) {
        self.set_view(self.view.zoom_at(x_px, factor));
    }

    pub(super) fn scroll(&mut self, by_px: f64) {
        self.scroll_px += by_px;
        self.clamp_scroll();
        self.redraw();
    }

    pub(super) fn gesture(&mut self, gesture: Gesture) {
        match gesture {
            Gesture::Click { x_px, y_px } => self.click(x_px, y_px),
            Gesture::DoubleTap { .. } => self.act(Action::Fit),
            Gesture::Pan { dx_px, dy_px } => {
                if dy_px != 0.0 {
                    self.scroll(-dy_px);
                }
                if dx_px != 0.0 {
                    self.set_view(self.view.pan(-dx_px));
                }
            }
            Gesture::Zoom { x_px, factor } => self.zoom(x_px, factor),
        }
    }

    fn step_lane(&mut self, by: i32) {
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

    /// Sets a length that styles.css reads.
    pub(super) fn set_length(&mut self, property: &str, px: f64) {
        if let Some(root) = elements()
            .document
            .document_element()
            .and_then(|root| root.dyn_into::<HtmlElement>().ok())
        {
            // By script, which the content security policy allows.
            let _ = root
                .style()
                .set_property(property, &format!("{}px", px as i32));
        }
        self.redraw();
    }
}
