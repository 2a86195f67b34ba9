//! Lays out the store's data: rows, scene, ruler and scroll position.

use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::draw::{self, FLAGS_ROW, Flagged, Picture, Ways};
use watchscope_timeline::lanes::Density;
use watchscope_timeline::scene::Px;

use super::model::Model;

/// Height of the ruler on top of the lanes, in px.
pub const RULER_PX: f64 = 26.0;
/// Height of a row under the ruler, in px: of the one about the marked range, and of the one from A to B. panels.css has
/// the same number.
const RANGE_PX: f64 = 28.0;
/// Height of the plates that name trouble above and below the window, in px. panels.css has the same number.
const PLATE_PX: f64 = 24.0;
/// Windows up to this width, in px, show no lane tree. styles.css has the same number.
const NARROW_PX: f64 = 600.0;

impl Model {
    /// Returns the height of the lanes' window, in px.
    #[must_use]
    pub fn window_px(&self) -> f64 {
        (self.screen.size.height_px - self.lanes_top_px()).max(0.0)
    }

    /// Returns where the lanes begin, in px from the top of the picture. Above them are the ruler, the rows of
    /// the marked range and from A to B, and the row of flags.
    #[must_use]
    pub fn lanes_top_px(&self) -> f64 {
        let top_px = self.flags_top_px();
        match self.panels.notes.marks.is_empty() {
            true => top_px,
            false => top_px + FLAGS_ROW.to_f64(),
        }
    }

    /// Returns where the row of flags begins, in px from the top of the picture.
    #[must_use]
    pub fn flags_top_px(&self) -> f64 {
        let rows = [self.marked.range.is_some(), self.marked.cursors.b.is_some()];
        RULER_PX
            + rows
                .into_iter()
                .map(|is_row| if is_row { RANGE_PX } else { 0.0 })
                .sum::<f64>()
    }

    /// Returns the greatest height that the lanes' window has had at the present size of the browser's window, in px.
    /// An opening detail panel takes part of it, and must not close rows by that.
    fn rows_px(&mut self) -> f64 {
        let window = self.screen.window;
        let (known, before) = self.screen.rows_room;
        let before = if known == window { before } else { 0.0 };
        self.screen.rows_room = (window, self.window_px().max(before));
        self.screen.rows_room.1
    }

    /// Keeps the scroll position within the rows.
    pub fn clamp_scroll(&mut self) {
        let most = (self.rows.height.to_f64() - self.window_px()).max(0.0);
        // Not `clamp`: where the compiler does not inline it, its panic links the formatting of floats, 6 kB of gzip.
        self.scroll_px = self.scroll_px.min(most).max(0.0).round();
    }

    /// Scrolls by the least distance that shows a lane; does nothing if the lane has no row.
    pub fn scroll_to(&mut self, lane: LaneId) {
        if let Some(row) = self.rows.find(lane) {
            // The plates of trouble above and below lie over the first and the last px of the window.
            let plate_px = if self.panels.troubles.all().is_empty() {
                0.0
            } else {
                PLATE_PX
            };
            let top = (row.y - row.label).to_f64() - plate_px;
            let bottom = row.bottom().to_f64() + plate_px;
            if top < self.scroll_px {
                self.scroll_px = top;
            } else if bottom > self.scroll_px + self.window_px() {
                self.scroll_px = bottom - self.window_px();
            }
        }
    }

    /// Lays out rows, scene and ruler.
    pub(super) fn lay_out(&mut self, now: Time) {
        // Without a tree each lane carries its name.
        self.lanes.density = if self.screen.window.width_px <= NARROW_PX {
            Density::Labelled
        } else if self.panels.is_lesson {
            // A lesson has few lanes.
            Density::Comfortable
        } else {
            Density::Compact
        };
        self.lanes.height = Some(Px::from_f64(self.rows_px()));
        self.lanes.is_held = self.panels.playing.is_some();
        self.lanes.selected = self.pick.selected;
        self.lanes.records = self.second.map(|second| &second.records.rows);
        self.rows = self.lanes.rows(&self.store, &self.view, now);
        if std::mem::take(&mut self.pick.stays_in_sight)
            && let Some(lane) = self.lanes.selected
        {
            self.scroll_to(lane);
        }
        self.clamp_scroll();
        let picture = self.picture(now);
        let (scene, ruler) = (draw::lanes(&picture), draw::ruler_of(&picture));
        (self.scene, self.ruler) = (scene, ruler);
    }

    /// Returns the picture: all that is drawn at a time.
    #[must_use]
    pub fn picture(&self, now: Time) -> Picture<'_> {
        Picture {
            store: &self.store,
            rows: &self.rows,
            view: &self.view,
            now,
            connected: self.is_connected(),
            top: Px::from_f64(self.scroll_px),
            height: Px::from_f64(self.window_px()),
            selected: self.lanes.selected,
            record: self.pick.record,
            evidence: self.pick.evidence.as_ref(),
            troubles: Some(&self.panels.troubles),
            lit: self.pick.lit,
            marked: self.marked,
            flagged: Flagged {
                marks: &self.panels.notes.marks,
                top: Px::from_f64(self.flags_top_px()),
            },
            ways: match (self.panels.is_lesson, self.panels.is_covered) {
                (true, true) => Ways::Covered,
                (true, false) => Ways::Lesson,
                (false, _) => Ways::Stopped,
            },
            records: self.second.map(|second| &second.records.draw),
        }
    }
}
