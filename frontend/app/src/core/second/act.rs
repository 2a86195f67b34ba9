//! The actions of keys and buttons, and the lanes that a person opens and closes.

use watchscope_timeline::{LaneId, View, WatchId};

use crate::core::cursors::CursorDeed;
use crate::core::effect::{Effect, Kept, PanelEffect};
use crate::core::model::Model;
use crate::core::palette::PaletteDeed;
use crate::core::person::FocusedPanel;
use crate::core::search::SearchDeed;
use crate::core::table::TableDeed;
use crate::input::actions::Action;

/// The factor by which a key zooms.
const KEY_ZOOM: f64 = 1.3;
/// The share of the view's width by which a key pans.
const KEY_PAN: f64 = 0.15;

impl Model {
    /// Handles an action of a key or button, while `focused` has the focus.
    pub(super) fn act(&mut self, action: Action, focused: Option<FocusedPanel>) {
        let middle = self.view.width_px / 2.0;
        match action {
            Action::ZoomIn => self.zoom(middle, KEY_ZOOM),
            Action::ZoomOut => self.zoom(middle, 1.0 / KEY_ZOOM),
            Action::PanEarlier => self.set_view(self.view.pan(-self.view.width_px * KEY_PAN)),
            Action::PanLater => self.set_view(self.view.pan(self.view.width_px * KEY_PAN)),
            Action::Fit => {
                self.leave_place();
                let now = self.now();
                let oldest = self.store.oldest_shown_at_once();
                let from = oldest.unwrap_or(self.view.left());
                let span = now.micros_since(from).max(1_000_000);
                self.set_view(View::following(now, span, self.view.width_px));
            }
            Action::Oldest => {
                self.leave_place();
                if let Some(oldest) = self.store.oldest_kept() {
                    let margin = self.view.us_per_px * self.view.width_px * 0.05;
                    let left_us = oldest.0 as f64 - margin;
                    self.set_view(View {
                        left_us,
                        ..self.view.pause()
                    });
                }
            }
            Action::Follow if self.is_replay() => self.seek_share(1.0),
            Action::Follow => {
                if !self.view.following {
                    self.leave_place();
                }
                self.set_view(self.view.follow(self.now()));
            }
            Action::Play => self.toggle_play(),
            Action::TogglePause if self.is_replay() => self.toggle_play(),
            // The lesson's panels do it.
            Action::Lesson(_) => {}
            Action::Faster => self.step_speed(true),
            Action::Slower => self.step_speed(false),
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
                } else if let Some(LaneId::Gone(watch)) = self.pick.focused {
                    let is_open = action == Action::Expand;
                    self.lanes.set_gone_open(watch, is_open);
                    self.redraw();
                } else if let Some(watch) = self.pick.focused.and_then(LaneId::watch) {
                    self.open_watch(watch, action == Action::Expand);
                }
            }
            Action::PreviousRecord => self.step_record(false),
            Action::NextRecord => self.step_record(true),
            Action::Focus => self.focus_selection(),
            Action::NextTrouble => self.step_trouble(true),
            Action::PreviousTrouble => self.step_trouble(false),
            Action::Why => self.show_why(),
            Action::Open if self.step_members() => {}
            Action::Open => {
                // If a record of this lane is selected, it stays selected.
                let selection = self.panels.selection.as_ref();
                let selected = selection.filter(|selection| selection.record().is_some());
                if let Some(lane) = self.pick.focused
                    && selected.is_none_or(|selection| selection.lane != lane)
                {
                    self.open_lane(lane);
                }
            }
            Action::Clear => {
                if self.shown.palette.is_some() {
                    self.palette(PaletteDeed::Closed);
                } else if self.panels.help {
                    self.panels.help = false;
                } else if let Some(panel) = focused {
                    self.close(panel);
                } else if self.panels.captions {
                    self.set_captions(None);
                } else if self.marked.cursors.a.is_some() {
                    self.cursors(CursorDeed::Drop);
                } else if self.marked.range.is_some() {
                    self.set_range(None);
                } else {
                    self.want(Effect::Panel(PanelEffect::TakeFocusBack));
                    self.clear_selection();
                }
            }
            // A lesson has its own time.
            Action::MarkCursor if self.panels.is_lesson => {}
            Action::MarkCursor => self.cursors(CursorDeed::Mark(self.pointed_at())),
            Action::ZoomToRange => self.zoom_to_range(),
            Action::Export => self.open_export(false),
            Action::Charts => self.want(Effect::Panel(PanelEffect::OpenCharts)),
            Action::Filter => self.want(Effect::Panel(PanelEffect::FocusFilter)),
            Action::Search => self.search(SearchDeed::Open),
            Action::NextHit => self.search(SearchDeed::Next),
            Action::PreviousHit => self.search(SearchDeed::Previous),
            Action::CloseSearch => self.search(SearchDeed::Close),
            Action::Findings => self.toggle_findings(),
            Action::Watches => self.toggle_watches(),
            Action::Tables => self.tables(TableDeed::Toggle),
            Action::Notes => self.toggle_notes(),
            Action::WriteNote => self.write_note(false),
            Action::WriteNoteOnRange => self.write_note(true),
            Action::Palette => self.palette(PaletteDeed::Open { lanes_only: false }),
            Action::GoToLane => self.palette(PaletteDeed::Open { lanes_only: true }),
            Action::RowUp => self.palette(PaletteDeed::Up),
            Action::RowDown => self.palette(PaletteDeed::Down),
            Action::Choose => self.palette(PaletteDeed::Choose),
            Action::LanesBar => self.toggle_lanes_bar(),
            Action::CollapseAll => self.collapse_all(),
            Action::OpenTrouble => self.open_trouble(),
            Action::Pin => self.pin_focused(),
            Action::Hide => self.hide_focused(),
            Action::PinUp => self.move_focused_pin(-1),
            Action::PinDown => self.move_focused_pin(1),
            Action::Help => self.panels.help = !self.panels.help,
        }
    }

    /// Opens or closes a watch. The first opening shows the objects that changed last, and the second shows all
    /// objects. Closing hides all of them. On the lane of further objects, closing only returns to the objects that
    /// changed last.
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
            LaneId::Gone(watch) => self.lanes.toggle_gone(watch),
            LaneId::Quiet => self.lanes.toggle_quiet(),
            LaneId::Layer(layer) => self.lanes.toggle_layer(layer),
            _ => return,
        }
        self.keep_choices();
        self.redraw();
    }

    /// Keeps the opened and closed lanes in the browser. A lesson keeps nothing, because it always begins in the same
    /// state.
    pub(super) fn keep_choices(&mut self) {
        if !self.panels.is_lesson {
            self.keep(Kept::Opened, self.lanes.choices());
        }
    }
}
