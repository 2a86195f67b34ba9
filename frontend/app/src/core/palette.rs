//! The palette as plain data: what the person typed, the rows that match, and the places visited before.

use std::collections::VecDeque;

use watchscope_model::Time;
use watchscope_timeline::{LaneId, RecordId};

/// The most places visited before that are kept. The oldest goes when a further one comes.
pub const RECENT_MOST: usize = 4;

/// The palette's state.
#[derive(Debug, Default)]
pub struct PaletteState {
    /// What is open; `None` while the palette is closed.
    pub open: Option<PaletteOpen>,
    /// The places visited before, the latest first.
    pub recent: VecDeque<Recent>,
    /// What the text names besides actions, lanes and times, as it was looked up last.
    pub looked: Option<Looked>,
}

/// The places of the resourceVersion or the uid that a text names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looked {
    /// The text.
    pub text: String,
    /// The version of the store at the lookup.
    pub version: u64,
    /// Whether a loaded record has it. Then a later lookup of the same text finds the same.
    pub is_found: bool,
    /// The rows, at most 3; empty if the text names neither.
    pub rows: Vec<NamedRow>,
}

/// A row about a resourceVersion or a uid.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRow {
    /// Where it leads.
    pub goal: Goal,
    /// Its words.
    pub words: String,
    /// The words beside it: lane and time, or why it leads elsewhere.
    pub beside: String,
}

/// Where a row about a resourceVersion or a uid leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// To a loaded record of this time.
    Record(RecordId, Time),
    /// To a lane.
    Lane(LaneId),
    /// To a time.
    At(Time),
    /// To a search for this text.
    Search(String),
}

/// The open palette.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaletteOpen {
    /// The text as typed.
    pub text: String,
    /// Whether it offers lanes alone.
    pub lanes_only: bool,
    /// The chosen row.
    pub picked: usize,
}

/// A place that the person visited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent {
    /// The fragment that leads there.
    pub fragment: String,
    /// Its words: lane and time.
    pub words: String,
}

/// An action of a person on the palette.
#[derive(Clone, Debug, PartialEq)]
pub enum PaletteDeed {
    /// Open the palette, or close it.
    Open {
        /// Whether it offers lanes alone.
        lanes_only: bool,
    },
    /// The text is now this.
    Typed(Box<str>),
    /// Choose the row at this place of the list.
    Pick(usize),
    /// Do what the row at this place says.
    Do(usize),
    /// Choose the row above.
    Up,
    /// Choose the row below.
    Down,
    /// Do what the chosen row says.
    Choose,
    /// Open the palette with this text, because a link names it.
    Ask(Box<str>),
    /// The browser closed the palette.
    Closed,
    /// Compute the rows again, because lanes or time have changed.
    Renew,
}

/// The palette as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaletteShown {
    /// The text as typed.
    pub text: String,
    /// Whether it offers lanes alone.
    pub lanes_only: bool,
    /// The rows, at most 16: what can be done now, then what cannot.
    pub rows: Vec<PaletteRow>,
    /// How many actions and lanes match, of how many; empty while nothing is typed.
    pub counts: String,
    /// The number of matching lanes that are not among the rows.
    pub more_lanes: usize,
    /// The chosen row.
    pub picked: usize,
    /// Why there is no row; empty while there are rows.
    pub nothing: String,
}

/// A row of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaletteRow {
    /// The kind of the row.
    pub kind: RowKind,
    /// What the row does or where it leads, in pieces. `true` marks a piece that matches the text.
    pub words: Vec<(String, bool)>,
    /// The keys of an action, or further words about a lane or a place.
    pub beside: String,
    /// Why it cannot be done now.
    pub refused: Option<&'static str>,
}

/// The kind of a row of the palette. Rows are listed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// An action of the page.
    Action,
    /// A lane.
    Lane,
    /// A time, or a place visited before.
    Place,
}

impl RowKind {
    /// Returns the heading of the rows of this kind.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Action => "Actions",
            Self::Lane => "Go to lane",
            Self::Place => "Places",
        }
    }
}
