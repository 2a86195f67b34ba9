//! The functions that `records.rs` calls to make and draw the rows of layers.

use watchscope_model::Time;

use crate::draw::Drawer;
use crate::lanes::{Lanes, Row, RowBuilder};
use crate::store::Store;
use crate::view::View;

/// Returns the rows of layers, which stand above the rows of watches.
pub(crate) fn layer_rows(
    lanes: &Lanes,
    store: &Store,
    builder: &mut RowBuilder,
    view: &View,
    now: Time,
) {
    lanes.layer_rows(store, builder, view, now);
}

/// Draws the row of a layer.
pub(crate) fn layer_row(drawer: &mut Drawer<'_>, row: &Row) {
    drawer.layer_row(row);
}

/// Draws the propagations of writes through rows of layers.
pub(crate) fn travels(drawer: &mut Drawer<'_>, rows: &[Row]) {
    drawer.travels(rows);
}
