//! Draws the edges of sections: a line over the first row of each, and the ground under its name.

use super::drawer::Drawer;
use super::look::{HAIR, Layer};
use crate::lanes::Row;
use crate::scene::Px;
use crate::tokens::Token;

/// Draws the edges of all sections that begin with one of these rows.
pub(crate) fn section_edges(drawer: &mut Drawer<'_>, rows: &[Row]) {
    for row in rows.iter().filter(|row| row.section.is_some()) {
        let (top, across) = (drawer.y(row) - row.label, (Px::ZERO, drawer.width));
        if row.has_heading() {
            drawer.fill(Layer::Ground, across, (top, drawer.y(row)), Token::Ground1);
        }
        drawer.fill(Layer::Grid, across, (top, top + HAIR), Token::Line3);
    }
}
