//! The tables: gathers, sorts and filters the rows, and goes to what a row stands for.

use watchscope_model::Time;
use watchscope_timeline::health::{self, COLUMNS, FIGURES};
use watchscope_timeline::table::{
    self, Choice, Filter, InView, Kind, Order, ROWS_MOST, Tab, TableRow, columns,
};
use watchscope_timeline::{LaneId, format};

use super::table_link;
use crate::core::effect::Focus;
use crate::core::model::Model;
use crate::core::panel_state::Selection;
use crate::core::table::{
    COPIED_MOST, DRAWN_MOST, OFTEN_MOST, RowShown, Step, TableDeed, TableShown, TableState,
};

/// The rows that are in the document above and below those in the window.
const AROUND: usize = 8;
/// The rows in the window before the panel has said how many there are.
const UNKNOWN_WINDOW: usize = 40;

impl Model {
    /// Handles an action on the tables.
    pub fn do_with_table(&mut self, deed: TableDeed) {
        match deed {
            TableDeed::Toggle => self.toggle_table(),
            TableDeed::Link => self.link_table(),
            _ => {}
        }
        let Some(mut state) = self.panels.table.take() else {
            self.shown.table = None;
            self.panels.table_link.clear();
            return;
        };
        let now = self.now();
        let mut is_stale = true;
        let mut is_filtered = false;
        let mut opens = None;
        match deed {
            TableDeed::Toggle | TableDeed::Link => {}
            TableDeed::Renew => {
                let is_large = state.rows.len() > OFTEN_MOST;
                is_stale = !is_large || self.now.ms.saturating_sub(state.gathered_ms) >= 1_000;
            }
            TableDeed::Show(tab) => {
                (state.tab, state.choice) = (tab, 0);
                (state.first, state.active) = (0, None);
                state.reveals = true;
            }
            TableDeed::Sort(column) => {
                let words = self.sort_table(&mut state, column);
                self.say(words);
                (state.first, state.active, state.reveals) = (0, None, true);
            }
            TableDeed::Typed(text) => {
                state.text = text.into();
                is_filtered = true;
                (state.first, state.active, state.reveals) = (0, None, true);
            }
            TableDeed::Choose(choice) => {
                state.choice = choice;
                is_filtered = true;
                (state.first, state.active, state.reveals) = (0, None, true);
            }
            TableDeed::Window { first, count } => {
                (state.first, state.window) = (first, count.clamp(1, DRAWN_MOST));
                is_stale = false;
            }
            TableDeed::Move(step) => {
                state.step(step);
                is_stale = false;
            }
            TableDeed::Open(place) => {
                let column = state.active.map_or(0, |active| active.1);
                state.active = Some((place, column));
                opens = Some(place);
                is_stale = false;
            }
            TableDeed::OpenActive => {
                opens = state.active.map(|active| active.0);
                is_stale = false;
            }
        }
        if let Some(place) = opens {
            self.open_row(&state, place);
        }
        if is_stale {
            self.gather_table(&mut state, now);
        }
        if is_filtered {
            self.say(format!("{}.", state.counts_words()));
        }
        let link = table_link::link_of(&state);
        if self.panels.table_link != link {
            self.panels.table_link = link;
            // The address bar names the table.
            self.changed();
        }
        self.shown.table = Some(self.table_shown(&mut state, now).into());
        self.panels.table = Some(state);
    }

    fn toggle_table(&mut self) {
        if self.panels.table.take().is_some() {
            self.shown.table = None;
            self.focus_soon(Focus::Picture);
        } else {
            self.open_table(TableState {
                orders: Tab::ALL.map(Order::first_of),
                ..TableState::default()
            });
            self.focus_soon(Focus::Table);
        }
        self.redraw();
    }

    /// Opens the table that the page's link names.
    fn link_table(&mut self) {
        match table_link::state_of(&self.panels.table_link) {
            Some(state) => self.open_table(state),
            None => self.panels.table = None,
        }
        self.redraw();
    }

    fn open_table(&mut self, state: TableState) {
        self.panels.table = Some(Box::new(TableState {
            window: UNKNOWN_WINDOW,
            ..state
        }));
        self.panels.watches_open = false;
        self.panels.notes.is_open = false;
        if self.has_room_for_one() {
            self.panels.findings_open = false;
        }
    }

    fn sort_table(&self, state: &mut TableState, column: usize) -> String {
        let (name, falling) = if state.tab == Tab::Watches {
            let Some((name, _)) = COLUMNS.get(column) else {
                return String::new();
            };
            state.health_order = state.health_order.pressed(column);
            (*name, state.health_order.falling)
        } else {
            let columns = columns(state.tab);
            let Some(of) = columns.get(column) else {
                return String::new();
            };
            let order = &mut state.orders[state.tab as usize];
            *order = order.pressed(column, columns);
            (of.name, order.falling)
        };
        let direction = if falling { "falling" } else { "rising" };
        format!("Sorted by {name}, {direction}.")
    }

    /// Gathers the rows of the table, filtered and in their order. The active row stays active where it then is.
    fn gather_table(&self, state: &mut TableState, now: Time) {
        state.gathered_ms = self.now.ms;
        let choice = Choice::of(state.tab).get(state.choice).copied();
        let filter = Filter::new(&state.text, choice.unwrap_or_default());
        if state.tab == Tab::Watches {
            state.rows = Vec::new();
            let known = self.known(now);
            let mut rows =
                known.map_or_else(Vec::new, |known| health::table(known, &self.lanes.muted));
            state.counts = (rows.len() as u64, rows.len() as u64);
            rows.retain(|row| {
                let words: Vec<&str> = row.cells.iter().map(|cell| &*cell.text).collect();
                filter.has_words(&words.join(" "))
            });
            health::sort(&mut rows, state.health_order);
            state.health = rows;
            return;
        }
        state.health = Vec::new();
        let kept = |place: usize| state.rows.get(place).copied();
        let active = state
            .active
            .and_then(|(row, column)| Some((kept(row)?, column)));
        let anchor = Some(state.first).filter(|first| *first > 0).and_then(kept);
        let InView { mut rows, total } = self.table_rows(state.tab, now);
        state.counts = (total, rows.len() as u64);
        filter.keep(&self.store, &mut rows);
        let order = state.orders[state.tab as usize];
        if order != Order::first_of(state.tab)
            && let Some(column) = columns(state.tab).get(order.column)
        {
            table::sort(&self.store, &mut rows, column.by, order.falling);
        }
        let place_of = |row: TableRow| rows.iter().position(|other| is_same(&row, other));
        state.active = active.and_then(|(row, column)| Some((place_of(row)?, column)));
        // What the person reads stays where it is while rows come above it.
        if let Some(place) = anchor
            .and_then(place_of)
            .filter(|place| *place != state.first)
            && !state.reveals
        {
            state.first = place;
            state.reveals = true;
        }
        state.rows = rows;
    }

    fn table_rows(&self, tab: Tab, now: Time) -> InView {
        let store = &self.store;
        match tab {
            Tab::Records => {
                let range = (self.view.left(), self.view.right());
                table::in_view(store, &self.rows, range, now, ROWS_MOST)
            }
            Tab::Findings => table::findings(store, now),
            Tab::Watches => InView::default(),
            Tab::Versions => match self.pick.selected.or(self.pick.focused) {
                Some(lane) => table::versions(store, lane, now),
                None => InView::default(),
            },
        }
    }

    /// Selects what a row stands for and brings it into view. The table stays open.
    fn open_row(&mut self, state: &TableState, place: usize) {
        if let Some(row) = state.health.get(place) {
            let watch = row.watch.clone();
            self.frame_watch(&watch);
            return;
        }
        let Some(&row) = state.rows.get(place) else {
            return;
        };
        if row.kind == Kind::Finding {
            self.show_finding(row.record);
            return;
        }
        self.leave_place();
        self.uncover();
        self.open_watch_of(row.lane);
        self.pick.focused = Some(row.lane);
        self.mark_time(row.at);
        self.select(Selection {
            lane: row.lane,
            target: row.target(),
        });
        let is_in_view = row.at <= self.view.right() && row.until >= self.view.left();
        if !is_in_view {
            self.bring_into_view(row.at);
        }
        self.pick.stays_in_sight = true;
    }

    fn table_shown(&self, state: &mut TableState, now: Time) -> TableShown {
        state.number += 1;
        let total = state.total();
        state.first = state.first.min(total.saturating_sub(state.window));
        let from = state.first.saturating_sub(AROUND);
        let to = (state.first + state.window + AROUND).min(total);
        let selection = self.panels.selection.as_ref();
        let rows = if state.tab == Tab::Watches {
            let rows = (from..to).map(|place| {
                let row = &state.health[place];
                let lane = self.store.find_lane(&row.watch, None);
                RowShown {
                    place,
                    cells: row.cells.iter().map(|cell| cell.text.clone()).collect(),
                    is_selected: lane.is_some() && self.pick.selected == lane,
                }
            });
            rows.collect()
        } else {
            let drawn = &state.rows[from..to];
            let said = table::said_of(&self.store, drawn, now);
            let rows = (from..).zip(drawn.iter().zip(&said));
            let shown = rows.map(|(place, (row, said))| RowShown {
                place,
                cells: table::cells(&self.store, state.tab, row, said, now),
                is_selected: selection.is_some_and(|of| row.is_of(of.lane, &of.target)),
            });
            shown.collect()
        };
        let (columns, sorted) = match state.tab {
            Tab::Watches => (
                (0..)
                    .zip(COLUMNS)
                    .map(|(place, (name, says))| (name, says, FIGURES.contains(&place)))
                    .collect(),
                (state.health_order.column, state.health_order.falling),
            ),
            tab => {
                let order = state.orders[tab as usize];
                let columns = columns(tab).iter();
                let columns = columns.map(|of| (of.name, of.says, of.is_figure));
                (columns.collect(), (order.column, order.falling))
            }
        };
        TableShown {
            number: state.number,
            tab: state.tab,
            columns,
            sorted,
            total,
            first: state.first,
            window: state.window,
            rows,
            active: state.active,
            scrolls: std::mem::take(&mut state.reveals),
            counts: state.counts_words(),
            nothing: self.nothing_words(state),
            text: state.text.clone(),
            choices: Choice::of(state.tab),
            choice: state.choice,
        }
    }

    /// Returns why a table has no row; empty if it has one.
    fn nothing_words(&self, state: &TableState) -> String {
        if state.total() > 0 {
            return String::new();
        }
        let words = match state.tab {
            _ if state.counts.1 > 0 => "No row matches the filter.",
            Tab::Records if self.rows.rows.is_empty() => "The picture has no lane.",
            Tab::Records => {
                "The lanes of the picture have no record in view. Zoom out, or go to another time."
            }
            Tab::Findings => "No finding is loaded.",
            Tab::Watches => "No watch is known yet.",
            Tab::Versions => match self.pick.selected.or(self.pick.focused) {
                None => "No lane is selected. Select a watch or an object in the picture.",
                Some(lane) if lane.watch().is_none() => {
                    "The selected lane has no objects. Select a watch or an object in the picture."
                }
                Some(LaneId::Object(..)) => "No version of this object is loaded.",
                Some(_) => "No version of an object of this watch is loaded.",
            },
        };
        words.to_owned()
    }

    /// Returns the rows of the open table as CSV, at most [`COPIED_MOST`], and how many these are. Its first columns are
    /// begin and end with their dates (RFC 3339), except for the watches.
    #[must_use]
    pub fn table_csv(&self) -> (String, usize) {
        let Some(state) = &self.panels.table else {
            return Default::default();
        };
        let now = self.now();
        if state.tab == Tab::Watches {
            let mut text = table::line(COLUMNS.iter().map(|(name, _)| *name));
            for row in state.health.iter().take(COPIED_MOST) {
                text += &table::line(row.cells.iter().map(|cell| &*cell.text));
            }
            return (text, state.health.len().min(COPIED_MOST));
        }
        let copied = &state.rows[..state.rows.len().min(COPIED_MOST)];
        let names = columns(state.tab).iter().map(|column| column.name);
        let mut text = table::line(["begin", "end"].into_iter().chain(names));
        let said = table::said_of(&self.store, copied, now);
        for (row, said) in copied.iter().zip(&said) {
            let cells = table::cells(&self.store, state.tab, row, said, now);
            let times = [row.at.to_string(), row.until.to_string()];
            text += &table::line(times.iter().chain(&cells).map(String::as_str));
        }
        (text, copied.len())
    }
}

/// Whether two rows stand for the same, though an open stretch may last longer by now.
fn is_same(row: &TableRow, other: &TableRow) -> bool {
    (row.record, row.lane, row.kind) == (other.record, other.lane, other.kind)
}

impl TableState {
    fn total(&self) -> usize {
        self.rows.len().max(self.health.len())
    }

    /// Moves the active cell, and scrolls so far that its row is in the window.
    fn step(&mut self, step: Step) {
        let Some(last) = self.total().checked_sub(1) else {
            return;
        };
        let columns = match self.tab {
            Tab::Watches => COLUMNS.len(),
            tab => columns(tab).len(),
        };
        let page = self.window.saturating_sub(1).max(1);
        let (row, column) = match (self.active, step) {
            (None, Step::Last) => (last, 0),
            (None, _) => (self.first.min(last), 0),
            (Some((row, column)), step) => match step {
                Step::Up => (row.saturating_sub(1), column),
                Step::Down => ((row + 1).min(last), column),
                Step::Left => (row, column.saturating_sub(1)),
                Step::Right => (row, (column + 1).min(columns - 1)),
                Step::PageUp => (row.saturating_sub(page), column),
                Step::PageDown => ((row + page).min(last), column),
                Step::First => (0, column),
                Step::Last => (last, column),
            },
        };
        self.active = Some((row, column));
        if row < self.first {
            (self.first, self.reveals) = (row, true);
        } else if row >= self.first + self.window {
            (self.first, self.reveals) = (row + 1 - self.window, true);
        }
    }

    /// Returns `1,204 rows`, `12 of 1,204 rows`, or that the newest rows are listed.
    fn counts_words(&self) -> String {
        let (total, listed) = self.counts;
        let shown = self.total() as u64;
        let rows = format::count(listed, "row");
        let mut words = match shown == listed {
            true => rows,
            false => format!("{} of {rows}", format::number(shown)),
        };
        if total > listed {
            words += &format!(
                ": the newest {} of {}",
                format::number(listed),
                format::number(total)
            );
        }
        words
    }
}
