//! Draws the edges of sections: a line over the first row of each section, and the ground under the section's name.

use super::drawer::Drawer;
use super::look::{HAIR, Layer};
use crate::lanes::Row;
use crate::scene::Px;
use crate::tokens::Token;

/// Draws the edges of all sections whose first row is among `rows`.
pub(crate) fn section_edges(drawer: &mut Drawer<'_>, rows: &[Row]) {
    let all = &drawer.picture.rows;
    for section in &all.sections {
        let first = all.rows.get(section.row);
        let Some(row) = first.filter(|first| rows.iter().any(|row| row.id == first.id)) else {
            continue;
        };
        let top = section.top(row) - drawer.picture.top;
        let across = (Px::ZERO, drawer.width);
        if section.has_heading {
            let bottom = drawer.y(row) - row.label;
            drawer.fill(Layer::Ground, across, (top, bottom), Token::Ground1);
        }
        drawer.fill(Layer::Grid, across, (top, top + HAIR), Token::Line3);
    }
}
