//! Calls of functions that come with the third part of the page: palette, search, cursors, tables, notes and the
//! contents of panels.

use watchscope_model::Time;

use crate::core::cursors::{CursorDeed, CursorsShown};
use crate::core::model::Model;
use crate::core::notes::NoteDeed;
use crate::core::palette::{PaletteDeed, PaletteShown};
use crate::core::panel_state::Tab;
use crate::core::search::{SearchDeed, SearchShown};
use crate::core::table::{TableDeed, TableView};

impl Model {
    /// Opens in earnest what was opened to load the third part.
    pub(super) fn open_what_waits(&mut self) {
        if let Some(waiting) = self.shown.palette.take() {
            let lanes_only = waiting.lanes_only;
            self.palette(match waiting.text.is_empty() {
                true => PaletteDeed::Open { lanes_only },
                false => PaletteDeed::Ask(waiting.text.into()),
            });
        }
        if self.shown.search.take().is_some() {
            self.search(SearchDeed::Open);
        }
        let waiting = self.panels.cursors.waiting.take();
        self.cursors(waiting.unwrap_or(CursorDeed::Renew));
        if self.shown.table.take().is_some() {
            self.tables(match self.panels.table_link.is_empty() {
                true => TableDeed::Toggle,
                false => TableDeed::Link,
            });
        }
        let now = self.now();
        self.publish_findings(now);
        self.list_notes(now);
        self.find_beliefs();
        self.explain(false);
        self.follow_detail(now);
        self.follow_range(now);
    }

    /// Finds the beliefs of all sides about the selection. Without the third part, there are none yet.
    pub(super) fn find_beliefs(&mut self) {
        if let Some(late) = self.late {
            (late.beliefs)(self);
        }
    }

    /// Updates what the detail shows besides the selection. Without the third part, it shows nothing.
    pub(super) fn follow_detail(&mut self, now: Time) {
        if let Some(late) = self.late {
            (late.detail)(self, now);
        }
    }

    /// Updates the words about the marked range. Without the third part, there are none yet.
    pub(super) fn follow_range(&mut self, now: Time) {
        if let Some(late) = self.late {
            (late.range)(self, now);
        }
    }

    /// Handles an action on notes. It comes from their panel, which is in the third part too.
    pub(super) fn note(&mut self, deed: NoteDeed) {
        if let Some(late) = self.late {
            (late.note)(self, deed);
        }
    }

    /// Finds the steps that explain the selection. Without the third part, nothing is explained yet.
    pub(super) fn explain(&mut self, is_asked: bool) {
        if let Some(late) = self.late {
            (late.why)(self, is_asked);
        }
    }

    /// Shows why the selection is as it is. Without a selection, the focused lane is selected.
    pub(super) fn show_why(&mut self) {
        self.panels.tab = Tab::Why;
        match self.pick.focused {
            Some(lane) if self.shown.detail.is_none() => self.open_lane(lane),
            _ => {}
        }
        self.explain(true);
    }

    /// Handles an action on the palette. Without the third part, an empty palette opens, which loads that part.
    pub(super) fn palette(&mut self, deed: PaletteDeed) {
        match (self.late, deed) {
            (Some(late), deed) => (late.palette)(self, deed),
            (None, PaletteDeed::Open { lanes_only }) => {
                self.shown.palette = Some(PaletteShown {
                    lanes_only,
                    ..PaletteShown::default()
                });
            }
            (None, PaletteDeed::Ask(text)) => {
                self.shown.palette = Some(PaletteShown {
                    text: text.into(),
                    ..PaletteShown::default()
                });
            }
            (None, PaletteDeed::Closed) => self.shown.palette = None,
            (None, _) => {}
        }
    }

    /// Handles an action on the cursors. Without the third part, the action waits for it.
    pub(super) fn cursors(&mut self, deed: CursorDeed) {
        if let Some(late) = self.late {
            (late.cursors)(self, deed);
            return;
        }
        if deed != CursorDeed::Renew {
            self.panels.cursors.waiting = Some(deed);
        }
        // The third part is loaded for this.
        let is_wanted = self.marked.cursors.a.is_some() || self.panels.cursors.waiting.is_some();
        self.shown.cursors = is_wanted.then(CursorsShown::default);
    }

    /// Returns the time under the pointer; else the moment that panels answer for, or now.
    pub(super) fn pointed_at(&self) -> Time {
        match self.panels.hover {
            Some((x_px, _)) => self.view.time_from_x(x_px),
            None => self.moment().unwrap_or_else(|| self.now()),
        }
    }

    /// Handles an action on the tables. Without the third part, empty tables open, which loads that part.
    pub(super) fn tables(&mut self, deed: TableDeed) {
        match (self.late, deed) {
            (Some(late), deed) => (late.table)(self, deed),
            (None, TableDeed::Toggle) => {
                self.panels.table_link.clear();
                let is_open = self.shown.table.take().is_some();
                self.shown.table = (!is_open).then(TableView::default);
            }
            (None, TableDeed::Link) => {
                let is_open = !self.panels.table_link.is_empty();
                self.shown.table = is_open.then(TableView::default);
            }
            (None, _) => {}
        }
    }

    /// Closes the tables, because another panel takes their place.
    pub(super) fn close_tables(&mut self) {
        (self.panels.table, self.shown.table) = (None, None);
        self.panels.table_link.clear();
    }

    /// Handles an action on the search. Without the third part, an empty search opens, which loads that part.
    pub(super) fn search(&mut self, deed: SearchDeed) {
        match (self.late, deed) {
            (Some(late), deed) => (late.search)(self, deed),
            (None, SearchDeed::Open) => self.shown.search = Some(SearchShown::default()),
            (None, SearchDeed::Close) => self.shown.search = None,
            (None, _) => {}
        }
    }
}
