//! The tables as plain data: which one is open, how it is sorted and filtered, and what is shown of it.

use std::sync::Arc;

use watchscope_timeline::health::{HealthRow, Order as HealthOrder};
use watchscope_timeline::table::{Choice, Order, Tab, TableRow};

/// The most rows that a table has in the document at once.
pub const DRAWN_MOST: usize = 200;
/// The most rows that are copied, the first ones in the table's order.
pub const COPIED_MOST: usize = 20_000;
/// A table with more rows than this is gathered again at most once a second.
pub const OFTEN_MOST: usize = 20_000;

/// The state of the open tables.
#[derive(Debug, Default)]
pub struct TableState {
    /// The table that is shown.
    pub tab: Tab,
    /// The order of each table except the watches, in the order of [`Tab::ALL`].
    pub orders: [Order; 4],
    /// The order of the watches.
    pub health_order: HealthOrder,
    /// The text of the filter.
    pub text: String,
    /// The chosen kind, by its index among the choices of the table.
    pub choice: usize,
    /// The rows, filtered and in their order; at most
    /// [`ROWS_MOST`](watchscope_timeline::table::ROWS_MOST).
    pub rows: Vec<TableRow>,
    /// The rows of the watches, filtered and in their order.
    pub health: Vec<HealthRow>,
    /// How many rows there are before the filter, and how many of them are listed.
    pub counts: (u64, u64),
    /// When the rows were gathered, in milliseconds of the browser's clock.
    pub gathered_ms: u64,
    /// The first row in the panel's window.
    pub first: usize,
    /// The number of rows in the panel's window.
    pub window: usize,
    /// The active cell: row and column.
    pub active: Option<(usize, usize)>,
    /// Whether the next picture of the table scrolls to the active row.
    pub reveals: bool,
    /// The number of the last picture of the table.
    pub number: u64,
}

/// An action of a person on the tables.
#[derive(Clone, Debug, PartialEq)]
pub enum TableDeed {
    /// Open the tables, or close them.
    Toggle,
    /// Open the table that the page's link names, or close the tables if it names none.
    Link,
    /// Show another table.
    Show(Tab),
    /// Sort by a column; again: the other way round.
    Sort(usize),
    /// The text of the filter is now this.
    Typed(Box<str>),
    /// Choose a kind, by its index among the choices.
    Choose(usize),
    /// The panel shows these rows.
    Window {
        /// The first one.
        first: usize,
        /// How many.
        count: usize,
    },
    /// Move the active cell.
    Move(Step),
    /// Select what the row at this place stands for, and go there.
    Open(usize),
    /// Do so with the active row.
    OpenActive,
    /// Gather the rows again, because log, view or lanes may have changed.
    Renew,
}

/// A step of the active cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One column to the left.
    Left,
    /// One column to the right.
    Right,
    /// A window of rows up.
    PageUp,
    /// A window of rows down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
}

/// The tables as they are shown.
#[derive(Clone, Debug, Default)]
pub struct TableShown {
    /// Rises with each change.
    pub number: u64,
    /// The table.
    pub tab: Tab,
    /// The headings: name, explanation, and whether the column has numbers.
    pub columns: Vec<(&'static str, &'static str, bool)>,
    /// The column that the rows are sorted by, and whether the highest is first.
    pub sorted: (usize, bool),
    /// How many rows the table has.
    pub total: usize,
    /// The first row in the window.
    pub first: usize,
    /// How many rows the window has.
    pub window: usize,
    /// The rows in the document, in their order.
    pub rows: Vec<RowShown>,
    /// The active cell: row and column.
    pub active: Option<(usize, usize)>,
    /// Whether the panel scrolls so that `first` is its first row.
    pub scrolls: bool,
    /// How many rows there are, in words.
    pub counts: String,
    /// Why there is no row; empty while there are rows.
    pub nothing: String,
    /// The text of the filter.
    pub text: String,
    /// The kinds to choose from; empty if the table has none.
    pub choices: Vec<Choice>,
    /// The chosen kind.
    pub choice: usize,
}

impl PartialEq for TableShown {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// A row in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowShown {
    /// Its place in the table.
    pub place: usize,
    /// Its cells. They may come from the cluster: show as text.
    pub cells: Vec<String>,
    /// Whether the picture has it selected.
    pub is_selected: bool,
}

/// The tables as the panel gets them. Cloning them copies no row.
pub type TableView = Arc<TableShown>;
