//! From the store to what is painted: rows and scene on the canvas, rows of the lane tree, the date over them.

use wasm_bindgen::JsValue;
use watchscope_model::Time;
use watchscope_timeline::draw::{self, Picture, Ways};
use watchscope_timeline::lanes::{Density, Row, RowKind};
use watchscope_timeline::scene::Px;
use watchscope_timeline::words::severity_token;
use watchscope_timeline::{LaneId, format};

use super::engine::Engine;
use super::tree::TreeRow;

/// Height of the ruler on top of the lanes, in px.
pub(super) const RULER_PX: f64 = 26.0;
/// Windows up to this width have no tree.
const NARROW_PX: f64 = 600.0;
/// Rows this far outside the window are in the tree too, so that scrolling by a little changes nothing.
const OVERDRAW_PX: f64 = 200.0;

impl Engine {
    /// Height of the lanes' window, in px.
    pub(super) fn window_px(&self) -> f64 {
        (self.size.1 - RULER_PX).max(0.0)
    }

    /// The greatest height that the lanes' window had since the browser's window has its size. The detail takes some of
    /// it as it opens, and closes no row by that.
    fn rows_px(&mut self) -> f64 {
        let px = |size: Result<JsValue, JsValue>| size.ok().and_then(|px| px.as_f64());
        let window = &self.stage.window;
        let size = (px(window.inner_width()), px(window.inner_height()));
        let before = if self.rows_room.0 == size {
            self.rows_room.1
        } else {
            0.0
        };
        self.rows_room = (size, self.window_px().max(before));
        self.rows_room.1
    }

    /// Keeps the scroll position within the rows.
    pub(super) fn clamp_scroll(&mut self) {
        let most = (self.rows.height.to_f64() - self.window_px()).max(0.0);
        self.scroll_px = self.scroll_px.clamp(0.0, most).round();
    }

    /// Scrolls just as far as it takes to see a lane.
    pub(super) fn scroll_to(&mut self, lane: LaneId) {
        if let Some(row) = self.rows.find(lane) {
            let (top, bottom) = ((row.y - row.label).to_f64(), row.bottom().to_f64());
            if top < self.scroll_px {
                self.scroll_px = top;
            } else if bottom > self.scroll_px + self.window_px() {
                self.scroll_px = bottom - self.window_px();
            }
        }
    }

    /// Lays out rows and scene, and moves the tree with them.
    pub(super) fn lay_out(&mut self, now: Time) {
        // As in styles.css: so narrow a window has no tree, and each name stands on its lane.
        let window_px = self
            .stage
            .window
            .inner_width()
            .ok()
            .and_then(|px| px.as_f64());
        self.lanes.density = match window_px {
            Some(px) if px <= NARROW_PX => Density::Labelled,
            _ => Density::Compact,
        };
        self.lanes.height = Some(Px::from_f64(self.rows_px()));
        self.lanes.selected = self.selected;
        self.lanes.records = self.second.map(|second| second.records);
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
            record: self.selected_record,
            evidence: self.evidence.as_ref(),
            lit: self.lit,
            ways: if self.desk.is_lesson() {
                Ways::All
            } else {
                Ways::Stopped
            },
            records: self.second.map(|second| second.records),
        }
    }

    fn move_tree(&mut self) {
        let rows = self
            .rows
            .window(
                Px::from_f64(self.scroll_px - OVERDRAW_PX),
                Px::from_f64(self.scroll_px + self.window_px() + OVERDRAW_PX),
            )
            .map(|place| self.tree_row(&self.rows.rows[place]))
            .collect();
        self.tree.show(&self.stage, rows);
        self.tree.focus(&self.stage, self.focused);
        // Styles are set by script, which the content security policy allows.
        let shift = -self.scroll_px as i32;
        let rows = &self.stage.rows;
        rows.style()
            .set_css_text(&format!("transform:translateY({shift}px)"));
        let (all, window) = (self.rows.height.to_f64(), self.window_px());
        let thumb = if all > window && window > 0.0 {
            let height = (window * window / all).max(24.0);
            let top = self.scroll_px / (all - window) * (window - height);
            format!("height:{}px;top:{}px", height as i32, top as i32)
        } else {
            "display:none".to_owned()
        };
        self.stage.thumb.style().set_css_text(&thumb);
    }

    fn tree_row(&self, row: &Row) -> TreeRow {
        TreeRow {
            lane: row.id,
            key: self.lane_key(row.id),
            is_watch: row.expanded.is_some()
                && !matches!(row.kind, RowKind::LayerTrace | RowKind::More),
            indent_px: row.indent_px,
            prefix: row.prefix.to_string(),
            name: row.name.to_string(),
            count: row.count.map_or_else(String::new, format::number),
            expanded: row.expanded,
            top_px: (row.y - row.label).to_f64() as i32,
            height_px: (row.height + row.label).to_f64() as i32,
            mark: row.mark,
            finding: row
                .finding
                .clone()
                .map(|(code, severity)| (code, severity_token(severity).name())),
            diverged: row.diverged,
            selected: self.selected == Some(row.id),
            ringed: self.by_keyboard && self.focused == Some(row.id),
        }
    }

    /// A lane in words that stay the same: `shop/pods`, `shop/pods resourceVersion`, `shop/pods shop/cart-0`.
    pub(super) fn lane_key(&self, lane: LaneId) -> String {
        self.store.lane_key(lane)
    }
}
