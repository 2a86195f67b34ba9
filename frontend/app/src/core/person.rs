//! The actions of a person.

use watchscope_model::{Time, WatchName};
use watchscope_timeline::words::ProblemPlace;
use watchscope_timeline::{LaneId, RecordId};

use super::cursors::CursorDeed;
use super::lanes::LanesDeed;
use super::notes::NoteDeed;
use super::palette::PaletteDeed;
use super::panel_state::Tab;
use super::screen::ThemeChoice;
use super::search::SearchDeed;
use super::table::TableDeed;
use crate::input::actions::Action;
use crate::input::gesture::Pointer;

/// The lanes that a passage of a lesson needs. Each level has those of the level before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LessonLanes {
    /// etcd, the apiservers and the clients.
    Sides,
    /// Also the watch caches of the apiservers.
    Layers,
    /// Also the streams from watch caches to clients.
    Ways,
    /// All lanes, with the objects of all watches.
    All,
}

/// An action of a person, or a report of the panels about the browser. The second part handles it; the first part only
/// passes it on.
#[derive(Clone, Debug, PartialEq)]
pub enum Person {
    /// The panels are mounted.
    Begin {
        /// Whether the page shows a lesson. A lesson has no server that could compare with a cluster.
        is_lesson: bool,
        /// The panels and lanes that were opened and closed at an earlier visit.
        opened: Option<Box<str>>,
    },
    /// A key was pressed while this panel had the focus.
    Key(Action, Option<FocusedPanel>),
    /// A button was pressed that does the same as a key.
    Act(Action),
    /// Something else changed that affects the picture, for example the length of a panel.
    Redraw,

    /// A pointer was pressed on the picture.
    Press(Pointer),
    /// A pointer moved over the picture.
    Motion(Pointer),
    /// A pointer was released.
    Release {
        /// The pointer and its position.
        pointer: Pointer,
        /// When, in milliseconds of the browser's event clock.
        at_ms: f64,
    },
    /// The click that follows a release.
    Click,
    /// A pointer left the picture.
    Leave {
        /// The browser's id of the pointer.
        pointer: i32,
        /// Whether the browser cancelled the pointer.
        cancelled: bool,
    },
    /// Moves time and lanes, in px.
    Scroll {
        /// Distance towards now, in px.
        dx_px: f64,
        /// Distance towards the last lane, in px.
        dy_px: f64,
    },
    /// Scrolls the lanes so that the middle of the thumb is at `y_px`.
    ScrollTo {
        /// Distance from the top of the lanes' window, in px.
        y_px: f64,
    },
    /// Scales time around a point.
    Zoom {
        /// The point's distance from the left, in px.
        x_px: f64,
        /// A factor over 1 shows less time.
        factor: f64,
    },

    /// The overview's width changed.
    SizeOverview {
        /// The new width, in px.
        width_px: f64,
    },
    /// A pointer was pressed on the overview.
    GripOverview {
        /// Distance from its left edge, in px.
        x_px: f64,
    },
    /// The pointer that is down on the overview moved.
    DragOverview {
        /// Distance from its left edge, in px. It may lie outside.
        x_px: f64,
    },
    /// That pointer was released.
    ReleaseOverview,
    /// A wheel turned over the overview, which then shows more or less time.
    WidenOverview {
        /// A factor over 1 shows more time.
        factor: f64,
    },
    /// Moves the view by a share of its length; a positive share moves it towards now.
    StepOverview {
        /// The share.
        share: f64,
    },
    /// Steps to the next or the previous problem over all lanes.
    ShowProblem {
        /// Whether to show the next one.
        is_next: bool,
    },
    /// Shows a problem, by its index among all.
    ShowTrouble(usize),
    /// Selects the next or the previous occurrence of the selected finding.
    StepOccurrence {
        /// Whether to select the next one.
        is_next: bool,
    },

    /// Goes to the place that a fragment names: from a link, or from the browser's back button.
    GoTo(Box<str>),

    /// A dialog of exports or charts wants the records of a range.
    TakeRange {
        /// The begin of the range.
        from: Time,
        /// Its end.
        to: Time,
    },

    /// Shows only lanes that match the text.
    Filter(Box<str>),
    /// Selects a lane and opens its detail panel. A lane that stands for other lanes opens those instead.
    OpenLane(LaneId),
    /// Opens or closes the group of a lane.
    ToggleLane(LaneId),
    /// Brings a problem into the window and selects it. The first action shows its first place, and each later one the
    /// next. With no place, the live region reports that nothing of the problem is loaded.
    ShowProblemPlaces(Box<[ProblemPlace]>),
    /// Sets the playing speed, in seconds of the recording per second.
    Speed(u32),
    /// Goes to a position in the recording, from 0 to 1.
    SeekShare(f64),
    /// Moves the time of the recording.
    SeekBy {
        /// Distance in microseconds; a positive one moves towards the end.
        by_us: i64,
    },

    /// Makes the address bar name this place at once, because its link is copied.
    NamePlace,
    /// Removes the marked range.
    ClearRange,
    /// Opens the export dialog for a recording of the marked range.
    SaveRange,
    /// Selects a record and brings it into view.
    ShowRecord(RecordId),
    /// Selects a finding by the record that raised it, and brings its evidence into view.
    ShowFinding(RecordId),
    /// Selects a record of a finding's evidence.
    ShowEvidence {
        /// The record that raised the finding.
        finding: RecordId,
        /// The record of the evidence.
        record: RecordId,
        /// When the finding began. The view goes there if the record is not loaded.
        since: Option<Time>,
    },
    /// Lights a record of the evidence; `None` lights none.
    Light(Option<RecordId>),
    /// Closes the detail.
    CloseDetail,
    /// Shows another tab of the detail.
    ShowTab(Tab),
    /// Compares the watch or the object of a lane with the cluster.
    Compare(LaneId),
    /// Brings the lane of a watch into view and frames it.
    FrameWatch(WatchName),
    /// Sorts the table of watches by a column.
    SortWatches(usize),
    /// Mutes a finding, with a reason.
    Mute {
        /// The key of the finding.
        key: Box<str>,
        /// The reason.
        reason: Box<str>,
    },
    /// Unmutes a finding, by its key.
    Unmute(Box<str>),
    /// The person closed the banner of a restore; the text names that raising of the finding.
    MarkRead(Box<str>),
    /// The muted findings of the log, as this browser keeps them.
    Muted(Option<Box<str>>),

    /// The third part is loaded, and the model has its functions.
    LateCame,

    /// Opens the captions of a first visit, and keeps this many px free for them; `None` closes them.
    Captions(Option<f64>),

    /// Acts on the palette.
    Palette(PaletteDeed),

    /// Acts on the cursors A and B.
    Cursors(CursorDeed),

    /// Acts on the search, or answers it.
    Search(SearchDeed),

    /// Acts on the tables.
    Table(TableDeed),

    /// Acts on all lanes.
    Lanes(LanesDeed),

    /// Acts on notes.
    Note(NoteDeed),
    /// The server's notes came, encoded as block `N` of a recording.
    NotesCame(Box<[u8]>),
    /// A recording was exported that has all notes of this page.
    NotesSaved {
        /// The [`NotesState::kept_here`](super::notes::NotesState::kept_here) of its notes.
        kept: u64,
        /// The name of its file.
        name: Box<str>,
    },

    /// Uses this context of the kubeconfig.
    UseContext(Box<str>),
    /// Uses this theme from now on.
    Theme(ThemeChoice),
    /// The help was closed.
    HelpClosed,
    /// The person dismissed the error.
    Dismiss,
    /// Sets the text of the live region.
    Say(Box<str>),
    /// Shows an error.
    Trouble(&'static str),

    /// A lesson sets the time.
    Hold(Time),
    /// A lesson shows a time range.
    ShowTime {
        /// The begin of the range.
        from: Time,
        /// Its end.
        to: Time,
    },
    /// A lesson's log begins again.
    StartOver,
    /// A lesson's question covers what each side holds (`true`), or no longer does.
    Cover(bool),
    /// A lesson shows the lanes that its passage needs.
    Expand(LessonLanes),
    /// A lesson scrolls to a lane, by its key.
    Reveal(Box<str>),
}

/// A panel that a key may close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusedPanel {
    /// The findings.
    Findings,
    /// The table of watches.
    Watches,
    /// The notes.
    Notes,
    /// The tables.
    Tables,
}
