//! What a person can do to the page.

use watchscope_model::{Time, WatchName};
use watchscope_timeline::words::ProblemPlace;
use watchscope_timeline::{LaneId, RecordId};

use super::notes::NoteDeed;
use super::panel_state::Tab;
use super::screen::ThemeChoice;
use crate::input::gesture::Pointer;
use crate::input::keys::Action;

/// What a person does, and what the panels tell of the browser. The second part handles it: the first only passes it on.
#[derive(Clone, Debug, PartialEq)]
pub enum Person {
    /// The panels are there.
    Begin {
        /// Whether the page shows a lesson, whose simulator has nobody to ask.
        is_lesson: bool,
        /// What was opened and closed when the page was last here.
        opened: Option<Box<str>>,
    },
    /// A key was pressed, while this panel had the focus.
    Key(Action, Option<FocusedPanel>),
    /// A button was pressed that does the same as a key.
    Act(Action),
    /// Something else has changed that the picture depends on, as the length of a panel.
    Redraw,

    /// A pointer was pressed on the picture.
    Press(Pointer),
    /// A pointer moved over the picture.
    Motion(Pointer),
    /// A pointer was released.
    Release {
        /// Which, and where.
        pointer: Pointer,
        /// When, in milliseconds of the browser's events.
        at_ms: f64,
    },
    /// The click that follows a release.
    Click,
    /// A pointer left the picture.
    Leave {
        /// The browser's id of it.
        pointer: i32,
        /// Whether the browser took it away.
        cancelled: bool,
    },
    /// Moves time and lanes, in px.
    Scroll {
        /// Towards now.
        dx_px: f64,
        /// Towards the last lane.
        dy_px: f64,
    },
    /// Scrolls the lanes so that the scroll bar's place at `y_px` is in the middle of the thumb.
    ScrollTo {
        /// From the top of the lanes' window, in px.
        y_px: f64,
    },
    /// Scales time around a point.
    Zoom {
        /// The point.
        x_px: f64,
        /// Over 1 shows less time.
        factor: f64,
    },

    /// The overview has another width.
    SizeOverview {
        /// In px.
        width_px: f64,
    },
    /// A pointer was pressed on the overview.
    GripOverview {
        /// Where, in px from its left edge.
        x_px: f64,
    },
    /// The pointer that is down on the overview moved.
    DragOverview {
        /// To here, in px from its left edge; it may be beyond the edges.
        x_px: f64,
    },
    /// It was released.
    ReleaseOverview,
    /// A wheel over the overview: it shows more time, or less.
    WidenOverview {
        /// Over 1 shows more.
        factor: f64,
    },
    /// Moves the window of the overview by a share of its length; towards now if it is positive.
    StepOverview {
        /// The share.
        share: f64,
    },
    /// Shows the problem before the middle of the window, or the one after it.
    ShowProblem {
        /// The one after it.
        is_next: bool,
    },

    /// Goes to the place that a fragment names: of a link, or of the browser's button back.
    GoTo(Box<str>),

    /// A dialog of exports or charts wants the records of a range.
    TakeRange {
        /// From here,
        from: Time,
        /// to here.
        to: Time,
    },

    /// Shows only lanes that fit the text.
    Filter(Box<str>),
    /// Selects a lane and opens its detail, or the lanes that it stands for.
    OpenLane(LaneId),
    /// Opens or closes the group of a lane.
    ToggleLane(LaneId),
    /// Brings a problem into the window and selects it: the first of its places, then the others in turn. None, if nothing
    /// of it is loaded.
    ShowProblemPlaces(Box<[ProblemPlace]>),
    /// Plays a recording, or stops.
    Play,
    /// Plays a recording at another speed: seconds of it a second.
    Speed(u32),
    /// Goes to a place of the recording, from 0 to 1.
    SeekShare(f64),
    /// Moves the time of the recording.
    SeekBy {
        /// Towards the end if it is positive.
        by_us: i64,
    },

    /// Has the address bar name this place now: its link is copied.
    NamePlace,
    /// Marks no range any more.
    ClearRange,
    /// Opens the export dialog for a recording of the marked range.
    SaveRange,
    /// Selects a record and brings it into view.
    ShowRecord(RecordId),
    /// Selects a finding by the record that raised it, and brings its evidence into view.
    ShowFinding(RecordId),
    /// Selects a record that a finding rests on.
    ShowEvidence {
        /// The record that raised the finding.
        finding: RecordId,
        /// The record that it rests on.
        record: RecordId,
        /// When the finding began, to go there if the record is not loaded.
        since: Option<Time>,
    },
    /// Points at a record of the evidence, or at none.
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
    /// Mutes a finding, and says why.
    Mute {
        /// The key of the finding.
        key: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// Shows a finding again, by its key.
    Unmute(Box<str>),
    /// A banner was read; its finding has this key.
    MarkRead(Box<str>),
    /// What this browser has muted of the log, as it was kept.
    Muted(Option<Box<str>>),

    /// Does something with notes.
    Note(NoteDeed),
    /// The notes came that the server has, as block `N` holds them.
    NotesCame(Box<[u8]>),

    /// Uses a context of the kubeconfig.
    UseContext(Box<str>),
    /// Uses a theme from now on.
    Theme(ThemeChoice),
    /// The help was closed.
    HelpClosed,
    /// What went wrong was read.
    Dismiss,
    /// Says something in the live region.
    Say(Box<str>),
    /// Tells of something that went wrong.
    Trouble(&'static str),

    /// A lesson says where the time stands.
    Hold(Time),
    /// A lesson shows a stretch of time.
    ShowTime {
        /// From here,
        from: Time,
        /// to here.
        to: Time,
    },
    /// A lesson's log begins again.
    StartOver,
    /// A lesson opens the layers and all watches, so that their objects are seen.
    Expand,
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
}
