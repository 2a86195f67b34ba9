//! What only the second part keeps between messages: what is selected, open, muted and asked for.

use watchscope_model::Time;
use watchscope_model::id::LogId;
use watchscope_timeline::health::Order;
use watchscope_timeline::overview::Counted;
use watchscope_timeline::scene::{StretchKind, Target};
use watchscope_timeline::store::{AsOf, Unknown};
use watchscope_timeline::words::{PresenceBasis, ProblemPlace};
use watchscope_timeline::{LaneId, Overview, RecordId, Scene, View};

use super::notes::NotesState;
use super::place::Place;
use crate::input::gesture::{Gesture, Gestures, Pointer};

/// The state behind the panels.
#[derive(Debug, Default)]
pub struct PanelState {
    /// What is selected.
    pub selection: Option<Selection>,
    /// What was gone to and is not loaded yet: it is selected once it is, unless something else is selected first.
    pub awaited: Option<Awaited>,
    /// How many selections there were: a late answer does not land in a newer one.
    pub selections: u64,
    /// The tab of the detail that was shown last.
    pub tab: Tab,
    /// Where the pointer rests on the picture, in px.
    pub hover: Option<(f64, f64)>,
    /// The pointers that are down, and what they do.
    pub gestures: Gestures,
    /// What the last release means, until its click.
    pub released: Option<Gesture>,
    /// How a story that is over is shown.
    pub story: StoryFit,
    /// Records at the head when following stopped.
    pub paused_at: Option<u64>,
    /// The comparison that was asked for and has not come.
    pub asked: Option<Asked>,
    /// What the answer why the selected object is here rests on, and the moment that it is of.
    pub presence_basis: (Option<Time>, Option<PresenceBasis>),
    /// What was known at the moment that panels answer for.
    pub then: Option<KnownThen>,
    /// The pointer that draws a range.
    pub range_drag: Option<RangeDrag>,
    /// The range whose records a dialog waits for.
    pub taking: Option<(Time, Time)>,
    /// Where a recording is played; absent while it is paused, and of a live log.
    pub playing: Option<Playing>,
    /// How fast it is played.
    pub speed: Speed,
    /// The place of a problem that was shown last.
    pub problem_place: Option<ProblemPlace>,
    /// The log whose muted findings were recalled.
    pub muted_of: Option<LogId>,
    /// Whether this page shows a lesson.
    pub is_lesson: bool,
    /// What the person typed to filter the lanes.
    pub filter: String,
    /// Whether the help is open.
    pub help: bool,
    /// Whether the findings are shown.
    pub findings_open: bool,
    /// Whether the table of watches is shown.
    pub watches_open: bool,
    /// How the table is sorted.
    pub order: Order,
    /// Notes of persons.
    pub notes: NotesState,
    /// The strip of all that is kept.
    pub overview: OverviewState,
    /// The place in the address bar.
    pub address: Address,
}

/// What was known at the moment that panels answer for.
#[derive(Debug)]
pub struct KnownThen {
    /// The moment.
    pub at: Time,
    /// The store's version when it was looked up.
    pub version: u64,
    /// What was known, or why that is not known.
    pub found: Result<AsOf, Unknown>,
}

/// A recording that is played.
#[derive(Clone, Copy, Debug)]
pub struct Playing {
    /// Where the time stands.
    pub at: Time,
    /// When it was moved there, in milliseconds of the browser's clock.
    pub local_ms: u64,
}

/// Speeds at which a recording can be played, in seconds of it a second.
pub const SPEEDS: [u32; 4] = [1, 10, 60, 600];

/// How fast a recording is played, in seconds of it a second.
#[derive(Clone, Copy, Debug)]
pub struct Speed(pub u32);

impl Default for Speed {
    fn default() -> Self {
        Self(10)
    }
}

/// A pointer that draws a range, or will click.
#[derive(Clone, Copy, Debug)]
pub struct RangeDrag {
    /// Where it was pressed.
    pub pointer: Pointer,
    /// Whether it has moved far enough.
    pub is_drawn: bool,
}

/// The place in the address bar, and where a link leads that is not here yet.
#[derive(Debug, Default)]
pub struct Address {
    /// The fragment that stands there.
    pub written: String,
    /// When it was written, in milliseconds of the browser's clock.
    pub written_ms: u64,
    /// The next place is a new one.
    pub is_new: bool,
    /// What a link selects and is not loaded yet, and since when it is waited for, in milliseconds.
    pub wanted: Option<(Place, u64)>,
    /// Whether a link has chosen what is shown.
    pub has_led: bool,
}

/// The strip of all that is kept, and what a pointer does on it.
#[derive(Debug, Default)]
pub struct OverviewState {
    /// What was drawn last: its scale, and the picture.
    pub drawn: Option<(Overview, Scene)>,
    /// What was counted for it.
    pub counted: Option<Counted>,
    /// Its label: how far back it reaches, and of how much.
    pub words: (String, String),
    /// How wide it is, in px: a panel beside the picture makes that narrower, and not the strip.
    pub width_px: Option<f64>,
    /// How far back a person widened it, in microseconds.
    pub reach_us: Option<i64>,
    /// What the pointer that is down on it moves.
    pub grab: Option<Grab>,
}

/// What a pointer on the overview moves. Times are those of the press.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grab {
    /// The view, which began at `left` when it was gripped at `at`.
    Window {
        /// Where the view began.
        left: Time,
        /// Where it was gripped.
        at: Time,
    },
    /// The view's left edge; its right one stays.
    Left {
        /// The other edge.
        right: Time,
    },
    /// The view's right edge; its left one stays.
    Right {
        /// The other edge.
        left: Time,
    },
    /// A new view from here on; a click if the pointer never moved.
    New {
        /// Where it was pressed, in px.
        x_px: f64,
        /// Whether it has moved.
        is_drawn: bool,
    },
}

/// How a story that is over is shown.
#[derive(Clone, Copy, Debug, Default)]
pub enum StoryFit {
    /// It is not over, as far as the page knows.
    #[default]
    Running,
    /// The page shows this view of it, which reaches to the time beside it.
    Shown(View, Time),
    /// A person looks elsewhere.
    Left,
}

/// What is selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Its lane.
    pub lane: LaneId,
    /// What of the lane.
    pub target: Target,
}

impl Selection {
    /// The record that it is described by.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        match self.target {
            Target::Record(id) | Target::Stretch(_, id) => Some(id),
            Target::Merged { last, .. } => Some(last),
            Target::Lane => None,
        }
    }
}

/// A gap or a phase that was gone to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Awaited {
    /// Its lane.
    pub lane: LaneId,
    /// Which of the two.
    pub kind: StretchKind,
    /// The record that it began with.
    pub began: RecordId,
    /// When that record came.
    pub at: Time,
}

/// A comparison that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The lane that is compared.
    pub lane: LaneId,
    /// The newest record then: the answer comes after it.
    pub after: Option<RecordId>,
    /// The command's number; its answer says that all has come.
    pub command: u64,
}

/// The tabs of the detail panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// What happened.
    #[default]
    Event,
    /// The object.
    Object,
    /// The request that brought it.
    Request,
    /// What each layer believes.
    Beliefs,
}
