//! A lesson's requests to the page: to open lanes, to scroll to a lane, and to find a moment on the canvas.

use watchscope_model::{Seq, Time};
use watchscope_timeline::lanes::{Density, LayerRows};
use watchscope_timeline::{LaneId, Px};

use crate::core::model::Model;
use crate::core::person::LessonLanes;

impl Model {
    /// Shows the lanes that a passage needs.
    pub(super) fn expand(&mut self, lanes: LessonLanes) {
        self.lanes.shows_all = true;
        if let Some(LaneId::Layer(all)) = self.lane_of_key("inside") {
            self.lanes.set_layer_open(&self.store, all, true);
        }
        // Without a tree there is no room for streams and connections: the objects would be out of sight.
        let is_narrow = self.lanes.density == Density::Labelled;
        self.lanes.layers = match lanes {
            LessonLanes::Sides => LayerRows::Sides,
            LessonLanes::All if !is_narrow => LayerRows::All,
            _ => LayerRows::Programs,
        };
        let (has_ways, has_all) = (lanes >= LessonLanes::Ways, lanes == LessonLanes::All);
        self.lanes
            .open_layers(&self.store, has_ways && !is_narrow, has_all && !is_narrow);
        let rows = self.rows.rows.iter().map(|row| row.id);
        let watches: Vec<LaneId> = rows
            .filter(|lane| matches!(lane, LaneId::Watch(_)))
            .collect();
        for watch in watches.into_iter().filter(|_| !has_all) {
            self.lanes.hide(&self.store, watch);
        }
        if has_all {
            self.lanes.show_all_hidden();
        }
        self.redraw();
    }

    pub(super) fn lane_of_key(&self, key: &str) -> Option<LaneId> {
        let mut rows = self.rows.rows.iter();
        rows.find(|row| self.lane_key(row.id) == key)
            .map(|row| row.id)
    }

    /// Scrolls to a lane.
    pub(super) fn reveal_lane(&mut self, key: &str) {
        if let Some(lane) = self.lane_of_key(key) {
            self.scroll_to(lane);
            self.redraw();
        }
    }

    /// Returns where a moment of a lane lies on the canvas, in px: at the mark of its record, otherwise in the middle
    /// of the lane. `None` if the place is out of sight.
    #[must_use]
    pub fn place_of(&self, key: &str, at: Time, seq: u64) -> Option<(f64, f64)> {
        let row = self.rows.find(self.lane_of_key(key)?)?;
        let x = self.view.x_from_time(at);
        let top = row.y - Px::from_f64(self.scroll_px);
        let record = self.store.newest(Seq(seq));
        let mark_y = self.scene.y_of(row.id, (top, top + row.height), record);
        let y = mark_y.unwrap_or(top + row.height.half()).to_f64() + self.lanes_top_px();
        let is_seen = (0.0..self.view.width_px).contains(&x)
            && (self.lanes_top_px()..self.screen.size.height_px).contains(&y);
        is_seen.then_some((x, y))
    }
}
