//! State that only the second part uses: selection, open panels, muted findings, pending requests.

use watchscope_model::Time;
use watchscope_model::id::LogId;
use watchscope_timeline::health::Order;
use watchscope_timeline::overview::Counted;
use watchscope_timeline::scene::{StretchKind, Target};
use watchscope_timeline::store::{AsOf, Unknown};
use watchscope_timeline::words::{PresenceBasis, Problem, ProblemPlace};
use watchscope_timeline::{LaneId, Overview, RecordId, Scene, Troubles, View};

use super::cursors::CursorsState;
use super::lanes::LanesState;
use super::notes::NotesState;
use super::palette::PaletteState;
use super::place::Place;
use super::search::SearchState;
use super::table::TableState;
use crate::input::gesture::{Gesture, Gestures, Pointer};

/// The state behind the panels.
#[derive(Debug, Default)]
pub struct PanelState {
    /// The selection.
    pub selection: Option<Selection>,
    /// A stretch that the person went to and that is not loaded yet. It is selected once it is loaded, unless the
    /// person selects something else first.
    pub awaited: Option<Awaited>,
    /// The number of selections so far. By it, a late answer is not shown for a newer selection.
    pub selections: u64,
    /// The tab of the detail that was shown last.
    pub tab: Tab,
    /// Where the pointer rests on the picture, in px.
    pub hover: Option<(f64, f64)>,
    /// The pointers that are down, and their gestures.
    pub gestures: Gestures,
    /// The gesture of the last release, until its click.
    pub released: Option<Gesture>,
    /// How a finished story is shown.
    pub story: StoryFit,
    /// The number of the last record when following stopped.
    pub paused_at: Option<u64>,
    /// The comparison that was requested and has no result yet.
    pub asked: Option<Asked>,
    /// The basis of the answer why the selected object is present, and the moment of that answer.
    pub presence_basis: (Option<Time>, Option<PresenceBasis>),
    /// The state at the moment for which panels answer.
    pub then: Option<KnownThen>,
    /// The cursors A and B.
    pub cursors: CursorsState,
    /// When the pointer was pressed on the picture, in milliseconds of the browser's clock.
    pub pressed_ms: u64,
    /// The pointer that draws a range.
    pub range_drag: Option<RangeDrag>,
    /// The range whose records a dialog has requested.
    pub taking: Option<(Time, Time)>,
    /// The playing position of a recording; `None` while it is paused, and for a live log.
    pub playing: Option<Playing>,
    /// The playing speed.
    pub speed: Speed,
    /// The problem's place that was shown last.
    pub problem_place: Option<ProblemPlace>,
    /// All trouble, as it was gathered last.
    pub troubles: Troubles,
    /// The header's problems of all that is kept, as they were gathered with it.
    pub kept_problems: Vec<Problem>,
    /// When the trouble began to which the person went and that is not loaded yet.
    pub awaited_trouble: Option<Time>,
    /// The view and the scroll position, in px, of the edges that are shown.
    pub edges_of: Option<(View, f64)>,
    /// The occurrences of the merged chip that was clicked last, by the records that raised them.
    pub members: Vec<RecordId>,
    /// The occurrences of the selected finding, and the version of the store's trouble at that lookup.
    pub occurrences: (u64, Vec<RecordId>),
    /// The walk through the places of the header's problems that began while the picture followed now.
    pub walk: Option<Walk>,
    /// The log whose muted findings were recalled.
    pub muted_of: Option<LogId>,
    /// Whether this page shows a lesson.
    pub is_lesson: bool,
    /// Whether a lesson's question covers what each side holds.
    pub is_covered: bool,
    /// The text of the lanes' filter.
    pub filter: String,
    /// Whether the help is open.
    pub help: bool,
    /// Whether the captions of a first visit are open.
    pub captions: bool,
    /// The palette.
    pub palette: PaletteState,
    /// The search, while it is open.
    pub search: Option<SearchState>,
    /// The number of searches so far.
    pub searches: u64,
    /// The loaded chapters that a search without a server has still to read: run and first record, the newest last.
    pub search_rest: Vec<RecordId>,
    /// Whether the findings panel is open.
    pub findings_open: bool,
    /// The tables, while they are open.
    pub table: Option<Box<TableState>>,
    /// The open table with its order and filter, as the page's link names it; empty if none is open.
    pub table_link: String,
    /// Whether the table of watches is open.
    pub watches_open: bool,
    /// The table's order.
    pub order: Order,
    /// The lanes bar.
    pub lanes: LanesState,
    /// Notes of persons.
    pub notes: NotesState,
    /// The overview: the strip of all records that are kept.
    pub overview: OverviewState,
    /// The place in the address bar.
    pub address: Address,
}

/// A walk through the places of the header's problems. It lasts until the person selects something else or moves the
/// view. Until then the header counts all that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// The number of selections after its last step.
    pub selections: u64,
    /// The view after its last step.
    pub view: View,
}

/// The state at the moment for which panels answer.
#[derive(Debug)]
pub struct KnownThen {
    /// The moment.
    pub at: Time,
    /// The store's version at the lookup.
    pub version: u64,
    /// The state, or why it is unknown.
    pub found: Result<AsOf, Unknown>,
}

/// The playing position of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Playing {
    /// The time of the recording.
    pub at: Time,
    /// When that time was set, in milliseconds of the browser's clock.
    pub local_ms: u64,
}

/// The speeds to choose from, in seconds of the recording per second.
pub const SPEEDS: [u32; 4] = [1, 10, 60, 600];

/// A playing speed, in seconds of the recording per second. The default is 10.
#[derive(Clone, Copy, Debug)]
pub struct Speed(pub u32);

impl Default for Speed {
    fn default() -> Self {
        Self(10)
    }
}

/// A pointer that was pressed on the ruler. It draws a range if it moves far enough; otherwise it clicks.
#[derive(Clone, Copy, Debug)]
pub struct RangeDrag {
    /// Where the pointer was pressed.
    pub pointer: Pointer,
    /// Whether it has moved far enough.
    pub is_drawn: bool,
}

/// The place in the address bar, and a link's destination that is not loaded yet.
#[derive(Debug, Default)]
pub struct Address {
    /// The fragment in the address bar.
    pub written: String,
    /// When it was written, in milliseconds of the browser's clock.
    pub written_ms: u64,
    /// Whether the next place is new, so that the back button leads to the place before it.
    pub is_new: bool,
    /// A link's destination that is not loaded yet, and since when the page waits for it, in milliseconds of the
    /// browser's clock.
    pub wanted: Option<(Place, u64)>,
    /// Whether a link has chosen the view.
    pub has_led: bool,
}

/// The overview: the strip of all records that are kept, and the pointer on it.
#[derive(Debug, Default)]
pub struct OverviewState {
    /// The last picture, and its scale.
    pub drawn: Option<(Overview, Scene)>,
    /// The counts of that picture.
    pub counted: Option<Counted>,
    /// Its label: the length of its range, and the length of all that is kept.
    pub words: (String, String),
    /// Its width in px. A panel beside the picture narrows the picture, not the strip.
    pub width_px: Option<f64>,
    /// The length that a person chose for its range, in microseconds.
    pub reach_us: Option<i64>,
    /// The part that the pressed pointer moves.
    pub grab: Option<Grab>,
}

/// The part of the overview that a pointer moves. Times are those of the press.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grab {
    /// The whole view.
    Window {
        /// Where the view began.
        left: Time,
        /// The time under the pointer.
        at: Time,
    },
    /// The view's left edge; the right one stays.
    Left {
        /// The other edge.
        right: Time,
    },
    /// The view's right edge; the left one stays.
    Right {
        /// The other edge.
        left: Time,
    },
    /// A new view that begins at the press; a click if the pointer does not move.
    New {
        /// Where it was pressed, in px.
        x_px: f64,
        /// Whether it has moved.
        is_drawn: bool,
    },
}

/// How a finished story is shown.
#[derive(Clone, Copy, Debug, Default)]
pub enum StoryFit {
    /// The page does not know of an end.
    #[default]
    Running,
    /// The page shows the story in this view, up to this time.
    Shown(View, Time),
    /// The person has moved the view away.
    Left,
}

/// A selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Its lane.
    pub lane: LaneId,
    /// The selected part of the lane.
    pub target: Target,
}

impl Selection {
    /// Returns the record that describes the selection; `None` for a whole lane.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        match self.target {
            Target::Record(id) | Target::Stretch(_, id) => Some(id),
            Target::Merged { last, .. } => Some(last),
            Target::Findings(ref raised) => raised.last().copied(),
            Target::Lane => None,
        }
    }
}

/// A gap or a phase that the person went to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Awaited {
    /// Its lane.
    pub lane: LaneId,
    /// Whether it is a gap or a phase.
    pub kind: StretchKind,
    /// The record with which it began.
    pub began: RecordId,
    /// When that record came.
    pub at: Time,
}

/// A comparison that was requested.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The lane that is compared.
    pub lane: LaneId,
    /// The newest record at the request. The result comes after it.
    pub after: Option<RecordId>,
    /// The command's number. Its answer comes after the whole result.
    pub command: u64,
}

/// The tabs of the detail panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// The event.
    #[default]
    Event,
    /// The object.
    Object,
    /// The request that delivered the event.
    Request,
    /// The belief of each layer.
    Beliefs,
    /// The thread of a "why".
    Why,
}
