//! The table by which the second part of the page adds the rows of records and their drawing.
//!
//! The first part of the page draws a strip for each watch, and a line for each open finding. The second part passes
//! [`RECORDS`] to the first, which reaches all other rows and drawing through it. `lanes` and `draw` name nothing of
//! `inside`; the functions of this table call all three.

use watchscope_model::Time;

use crate::draw::{
    DrawTable, Flagged, Marked, Picture, Ways, draw_flags, mark_cursors, mark_range, section_edges,
};
use crate::inside;
use crate::lanes::{Lanes, RowKind, RowTable, Rows};
use crate::scene::Px;
use crate::store::Store;
use crate::view::View;

/// The functions that make the rows of records and draw them.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// The functions that make the rows of records.
    pub rows: RowTable,
    /// The functions that draw the rows of records.
    pub draw: DrawTable,
}

/// The table of all functions that make the rows of records and draw them. A page sets [`Lanes::records`] and
/// [`Picture::records`] to its two parts once it has loaded them.
pub const RECORDS: &Records = &Records {
    rows: RowTable {
        rows: |lanes, store, builder, view, now| {
            inside::layer_rows(lanes, store, builder, view, now);
            lanes.watch_and_other_rows(store, builder, view, now);
        },
    },
    draw: DrawTable {
        group: |drawer, watch, epoch, trace, group| {
            drawer.records_of_group(watch, epoch, trace, group)
        },
        body: |drawer, row, epoch, trace| drawer.records_in_body(row, epoch, trace),
        row: |drawer, row| match row.kind {
            RowKind::Layer
            | RowKind::LayerTrace
            | RowKind::LayerConnection
            | RowKind::LayerStream => inside::layer_row(drawer, row),
            _ => drawer.other_row(row),
        },
        travels: |drawer, rows| {
            section_edges(drawer, rows);
            inside::travels(drawer, rows);
        },
        evidence: |drawer| drawer.evidence(),
        seam: |drawer, from, to| drawer.seam(from, to),
        marked: |drawer| {
            drawer.flag_lines();
            drawer.marked();
            drawer.cursors();
            drawer.off_sides();
        },
        on_ruler: |scene, picture| {
            let Marked {
                as_of,
                range,
                cursors,
            } = picture.marked;
            if let Some(range) = range {
                mark_range(scene, picture.view, range);
            }
            let Picture {
                view, flagged, now, ..
            } = *picture;
            draw_flags(scene, view, flagged, now, (as_of, range));
            mark_cursors(scene, view, cursors);
        },
        trail: |drawer, x, y, ink| drawer.trail(x, y, ink),
    },
};

impl<'a> Picture<'a> {
    /// Returns a picture of rows in which nothing is selected or marked, with all propagations. The picture counts as
    /// connected, and is as high as all rows together.
    #[must_use]
    pub fn new(store: &'a Store, rows: &'a Rows, view: &'a View, now: Time) -> Self {
        Self {
            store,
            rows,
            view,
            now,
            connected: true,
            top: Px::ZERO,
            height: rows.height,
            selected: None,
            record: None,
            evidence: None,
            troubles: None,
            lit: None,
            marked: Marked::default(),
            flagged: Flagged::default(),
            ways: Ways::All,
            records: Some(&RECORDS.draw),
        }
    }
}

impl Lanes {
    /// Returns lanes that show all rows of all watches, whatever the height ([`Lanes::shows_all`]).
    #[must_use]
    pub fn showing_all() -> Self {
        Self::showing_all_by(&RECORDS.rows)
    }
}
