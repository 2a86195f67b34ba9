//! The rows of the lane tree at the left, as plain data: those in the window.

use watchscope_model::Text;
use watchscope_timeline::lanes::{Row, RowKind};
use watchscope_timeline::scene::Px;
use watchscope_timeline::words::severity_token;
use watchscope_timeline::{Glyph, LaneId, Token, format};

use super::model::Model;

/// The tree also has rows this far outside the window, in px, so that a small scroll changes nothing.
const OVERDRAW_PX: f64 = 200.0;

/// A row of the lane tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its lane.
    pub lane: LaneId,
    /// The lane's key, which stays the same: tests and links find the lane by it.
    pub key: String,
    /// Whether it is the row of a whole watch.
    pub is_watch: bool,
    /// Its indentation, in px.
    pub indent_px: u8,
    /// The quieter text before the name: the namespace of a watch.
    pub prefix: String,
    /// Its name.
    pub name: String,
    /// The number of its objects; empty if it has none to count.
    pub count: String,
    /// Whether it is open; `None` if nothing can be opened.
    pub expanded: Option<bool>,
    /// Distance of its top from the first row, in px.
    pub top_px: i32,
    /// Its height, in px.
    pub height_px: i32,
    /// The mark beside the name.
    pub mark: Option<(Glyph, Token)>,
    /// The worst finding that stands: its code, and the name of its colour.
    pub finding: Option<(Text, &'static str)>,
    /// Whether the watch differs from the cluster.
    pub diverged: bool,
    /// Whether the detail panel describes it.
    pub selected: bool,
    /// Whether the focus is visible on it, for a person who uses the keyboard.
    pub ringed: bool,
}

/// The scroll bar's thumb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thumb {
    /// Distance of its top from the top of the scroll bar, in px.
    pub top_px: i32,
    /// Its height, in px; at least 24.
    pub height_px: i32,
}

impl Model {
    /// Returns the rows in the window and near it.
    #[must_use]
    pub fn tree_rows(&self) -> Vec<TreeRow> {
        self.rows
            .window(
                Px::from_f64(self.scroll_px - OVERDRAW_PX),
                Px::from_f64(self.scroll_px + self.window_px() + OVERDRAW_PX),
            )
            .map(|place| self.tree_row(&self.rows.rows[place]))
            .collect()
    }

    /// Returns the thumb; `None` if the window holds all rows.
    #[must_use]
    pub fn thumb(&self) -> Option<Thumb> {
        let (all, window) = (self.rows.height.to_f64(), self.window_px());
        (all > window && window > 0.0).then(|| {
            let height = (window * window / all).max(24.0);
            let top = self.scroll_px / (all - window) * (window - height);
            Thumb {
                top_px: top as i32,
                height_px: height as i32,
            }
        })
    }

    fn tree_row(&self, row: &Row) -> TreeRow {
        TreeRow {
            lane: row.id,
            key: self.lane_key(row.id),
            is_watch: row.expanded.is_some()
                && !matches!(
                    row.kind,
                    RowKind::LayerTrace | RowKind::More | RowKind::Gone
                ),
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
            selected: self.pick.selected == Some(row.id),
            ringed: self.pick.by_keyboard && self.pick.focused == Some(row.id),
        }
    }

    /// Returns a lane's key: `shop/pods`, `shop/pods resourceVersion`, `shop/pods shop/cart-0`.
    #[must_use]
    pub fn lane_key(&self, lane: LaneId) -> String {
        self.store.lane_key(lane)
    }
}
