//! Draws a picture as its two scenes: the lanes in view, and the ruler over them.

use super::drawer::{Drawer, Picture};
use super::look::{HAIR, Layer};
use super::ruler::ruler;
use crate::lanes::{Row, RowKind};
use crate::scene::{Area, Primitive, Px, Scene, Stroke, Target};
use crate::tokens::Token;

/// Draws the rows in view, as wide as the view and as high as the picture. Rows above or below are left out. Without
/// [`Picture::records`] it leaves out records.
#[must_use]
pub fn lanes(picture: &Picture<'_>) -> Scene {
    let mut drawer = Drawer::new(picture);
    drawer.grid();
    drawer.covers();
    let window = picture
        .rows
        .window(picture.top, picture.top + picture.height);
    let from = window.start;
    let rows = &picture.rows.rows[window];
    for row in rows {
        drawer.row_ground(row);
    }
    // These go before the rows, so that words of rows keep clear of the words of propagations and of the numbers of
    // evidence.
    if let Some(records) = picture.records {
        (records.travels)(&mut drawer, rows);
        (records.evidence)(&mut drawer);
    }
    let mut last_group = None;
    for (place, row) in rows.iter().enumerate() {
        let group = row.id.watch().map(|watch| (watch, row.pinned));
        if let Some((watch, _)) = group
            && last_group != group
        {
            drawer.watch_group(watch, from + place);
        }
        last_group = group;
        let y = drawer.y(row);
        drawer.marked.retain(|area| area.bottom() > y);
        drawer.written.retain(|area| area.bottom() > y);
        match row.kind {
            RowKind::Watch | RowKind::Strip => drawer.watch_row(row),
            kind => {
                if kind == RowKind::Findings {
                    drawer.findings_row(row);
                }
                if let Some(records) = picture.records {
                    (records.row)(&mut drawer, row);
                }
            }
        }
        drawer.place_labels();
    }
    drawer.pen();
    if let Some(records) = picture.records {
        (records.marked)(&mut drawer);
    }
    drawer.finish()
}

/// Draws the ruler of a picture ([`ruler`]). The badge shows the moment that panels answer for, or else now. A marked
/// range, the cursors, and the row of flags are drawn once [`Picture::records`] is loaded. The row of flags makes the
/// ruler higher.
#[must_use]
pub fn ruler_of(picture: &Picture<'_>) -> Scene {
    let Picture { view, marked, .. } = *picture;
    let mut scene = ruler(view, marked.as_of.unwrap_or(picture.now));
    if let Some(records) = picture.records {
        (records.on_ruler)(&mut scene, picture);
    }
    scene
}

impl Drawer<'_> {
    /// Draws a row that neither a watch nor a layer owns.
    pub(crate) fn other_row(&mut self, row: &Row) {
        match row.kind {
            RowKind::Connection => self.connection_row(row),
            RowKind::Version => self.version_row(row),
            RowKind::Object => self.object_row(row),
            RowKind::More | RowKind::Gone => self.more_row(row),
            RowKind::OwnRequests => self.own_requests_row(row),
            RowKind::Findings => self.chips(row),
            RowKind::Watch
            | RowKind::Strip
            | RowKind::Quiet
            | RowKind::Layer
            | RowKind::LayerTrace
            | RowKind::LayerConnection
            | RowKind::LayerStream => {}
        }
    }

    fn row_ground(&mut self, row: &Row) {
        // The name that stands on a lane belongs to it, so the ground reaches up over it.
        let (y, bottom) = (self.y(row) - row.label, self.y(row) + row.height);
        let across = (Px::ZERO, self.width);
        let ground = self.ground(row);
        if ground != Token::Ground0 {
            self.fill(Layer::Ground, across, (y, bottom), ground);
        }
        let line = if matches!(
            row.kind,
            RowKind::Watch | RowKind::Findings | RowKind::Layer | RowKind::OwnRequests
        ) {
            Token::Line2
        } else {
            Token::Line1
        };
        self.fill(Layer::Grid, across, (y, y + HAIR), line);
        if self.picture.selected == Some(row.id) {
            let half = HAIR.half();
            let area = Area {
                x: half,
                y: y + half,
                w: self.width - HAIR,
                h: bottom - y - HAIR,
            };
            let stroke = Some(Stroke::solid(Token::Select, HAIR));
            self.push(
                Layer::Frame,
                Primitive::Rect {
                    area,
                    fill: None,
                    stroke,
                    radius: 0,
                    opacity: 100,
                },
            );
        }
        self.hit(across, (y, bottom), row.id, Target::Lane);
    }
}
