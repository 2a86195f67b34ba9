//! The actions that a key, a button or the palette requests, and their words.

/// An action on a lesson. The lesson's panels do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LessonAction {
    /// Play the lesson, or pause it.
    Play,
    /// Go to the lesson's next passage.
    NextPassage,
    /// Go back to the begin of the lesson's passage, or to the passage before.
    PreviousPassage,
    /// Show the next message or moment of the lesson.
    Step,
    /// Choose the first answer to the lesson's question.
    FirstAnswer,
    /// Choose the second answer to the lesson's question.
    SecondAnswer,
    /// Choose the third answer to the lesson's question.
    ThirdAnswer,
    /// Choose the fourth answer to the lesson's question.
    FourthAnswer,
    /// Check the marks that answer the lesson's question.
    Check,
    /// Take the act that the lesson lets a person move.
    TakeAct,
}

/// An action that a key requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Zoom in at the middle of the picture.
    ZoomIn,
    /// Zoom out at the middle of the picture.
    ZoomOut,
    /// Show everything that is kept.
    Fit,
    /// Move towards the past.
    PanEarlier,
    /// Move towards now.
    PanLater,
    /// The lane above.
    LaneUp,
    /// The lane below.
    LaneDown,
    /// A screen of lanes up.
    PageUp,
    /// A screen of lanes down.
    PageDown,
    /// Open the group of the focused lane.
    Expand,
    /// Close the group of the focused lane.
    Collapse,
    /// The oldest record kept.
    Oldest,
    /// Now, and follow it.
    Follow,
    /// Pause the picture, or follow again.
    TogglePause,
    /// Play the recording, or pause it.
    Play,
    /// An action on the lesson.
    Lesson(LessonAction),
    /// The record before in the lane.
    PreviousRecord,
    /// The next record in the lane.
    NextRecord,
    /// The next problem, over all lanes.
    NextTrouble,
    /// The previous problem, over all lanes.
    PreviousTrouble,
    /// Bring the selection into view; again: fit it.
    Focus,
    /// Open what is focused.
    Open,
    /// Show why the selection is as it is.
    Why,
    /// Clear the selection, close what is open.
    Clear,
    /// Play a recording faster.
    Faster,
    /// Play it more slowly.
    Slower,
    /// Set the cursor A, then B; then move the nearer one.
    MarkCursor,
    /// Show the marked range in all of the window.
    ZoomToRange,
    /// Open the export dialog.
    Export,
    /// Show charts.
    Charts,
    /// Go to the filter field.
    Filter,
    /// Open the search, or go to its field.
    Search,
    /// The next hit of the search.
    NextHit,
    /// The hit before.
    PreviousHit,
    /// Close the search.
    CloseSearch,
    /// Show or hide the findings.
    Findings,
    /// Show or hide the table of watches.
    Watches,
    /// Show or hide the tables.
    Tables,
    /// Write a note about the moment that panels answer for.
    WriteNote,
    /// Write a note about the marked range.
    WriteNoteOnRange,
    /// Show or hide the notes.
    Notes,
    /// Show or hide the lanes bar.
    LanesBar,
    /// Make all watches strips.
    CollapseAll,
    /// Open the watches with trouble.
    OpenTrouble,
    /// Pin the focused lane, or unpin it.
    Pin,
    /// Hide the focused lane.
    Hide,
    /// Move the focused pinned lane up.
    PinUp,
    /// Move the focused pinned lane down.
    PinDown,
    /// Open the palette of all actions, lanes and places.
    Palette,
    /// Open the palette with lanes alone.
    GoToLane,
    /// The row above in the palette.
    RowUp,
    /// The row below in the palette.
    RowDown,
    /// Do what the palette's row says.
    Choose,
    /// Show or hide the keys.
    Help,
}

impl Action {
    /// All actions, in the order of the help.
    pub const ALL: [Self; 63] = [
        Self::Play,
        Self::Lesson(LessonAction::Play),
        Self::Lesson(LessonAction::NextPassage),
        Self::Lesson(LessonAction::PreviousPassage),
        Self::Lesson(LessonAction::Step),
        Self::Lesson(LessonAction::FirstAnswer),
        Self::Lesson(LessonAction::SecondAnswer),
        Self::Lesson(LessonAction::ThirdAnswer),
        Self::Lesson(LessonAction::FourthAnswer),
        Self::Lesson(LessonAction::Check),
        Self::Lesson(LessonAction::TakeAct),
        Self::Slower,
        Self::Faster,
        Self::TogglePause,
        Self::Follow,
        Self::Oldest,
        Self::PanEarlier,
        Self::PanLater,
        Self::ZoomIn,
        Self::ZoomOut,
        Self::Fit,
        Self::LaneUp,
        Self::LaneDown,
        Self::PageUp,
        Self::PageDown,
        Self::Collapse,
        Self::Expand,
        Self::Open,
        Self::NextTrouble,
        Self::PreviousTrouble,
        Self::PreviousRecord,
        Self::NextRecord,
        Self::LanesBar,
        Self::CollapseAll,
        Self::OpenTrouble,
        Self::Pin,
        Self::PinUp,
        Self::PinDown,
        Self::Hide,
        Self::Focus,
        Self::Why,
        Self::MarkCursor,
        Self::ZoomToRange,
        Self::Export,
        Self::Charts,
        Self::Findings,
        Self::Watches,
        Self::Tables,
        Self::Notes,
        Self::WriteNote,
        Self::WriteNoteOnRange,
        Self::Filter,
        Self::Search,
        Self::NextHit,
        Self::PreviousHit,
        Self::CloseSearch,
        Self::GoToLane,
        Self::Palette,
        Self::RowUp,
        Self::RowDown,
        Self::Choose,
        Self::Clear,
        Self::Help,
    ];

    /// Returns what the action does, in the words of help and palette.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::ZoomIn => "zoom in",
            Self::ZoomOut => "zoom out",
            Self::Fit => "show all that is kept",
            Self::PanEarlier => "go earlier",
            Self::PanLater => "go later",
            Self::LaneUp => "lane above",
            Self::LaneDown => "lane below",
            Self::PageUp => "a screen of lanes up",
            Self::PageDown => "a screen of lanes down",
            Self::Expand => "open the group",
            Self::Collapse => "close the group",
            Self::Oldest => "go to the oldest record kept",
            Self::Follow => "go to now and follow",
            Self::TogglePause => "pause the picture, or follow again",
            Self::Play => "play the recording, or pause it",
            Self::Lesson(LessonAction::Play) => "play the lesson, or pause it",
            Self::Lesson(LessonAction::NextPassage) => "next step of the lesson",
            Self::Lesson(LessonAction::PreviousPassage) => {
                "back to where the step begins; again: the step before"
            }
            Self::Lesson(LessonAction::Step) => "next message or moment of the lesson",
            Self::Lesson(LessonAction::FirstAnswer) => "first answer to the question",
            Self::Lesson(LessonAction::SecondAnswer) => "second answer",
            Self::Lesson(LessonAction::ThirdAnswer) => "third answer",
            Self::Lesson(LessonAction::FourthAnswer) => "fourth answer",
            Self::Lesson(LessonAction::Check) => "check the marks that answer the question",
            Self::Lesson(LessonAction::TakeAct) => {
                "take the act that can be moved; then the arrow keys move it"
            }
            Self::PreviousRecord => "record before, in the lane",
            Self::NextRecord => "record after, in the lane",
            Self::Focus => "bring the selection into view; again: fit it",
            Self::NextTrouble => "next problem, over all lanes",
            Self::PreviousTrouble => "previous problem, over all lanes",
            Self::Open => "open what is focused; on a chip such as F11 ×3: the next of the three",
            Self::Clear => "close what has the focus, drop B, A, range, then selection",
            Self::Why => "why: the selection in steps, from the write to where it stopped",
            Self::Faster => "play the recording faster",
            Self::Slower => "play the recording more slowly",
            Self::MarkCursor => "set A at the pointer, then B; then move the nearer one",
            Self::ZoomToRange => "zoom to the marked range",
            Self::Export => "export what is in view, or the marked range",
            Self::Charts => "show charts of the same",
            Self::Filter => "filter the lanes",
            Self::Search => "search the log",
            Self::NextHit => "next hit, towards the past",
            Self::PreviousHit => "hit before",
            Self::CloseSearch => "close the search",
            Self::Findings => "show or hide the findings",
            Self::Watches => "show or hide the table of watches",
            Self::Tables => "show the picture as tables, or hide them",
            Self::WriteNote => "write a note about this moment",
            Self::WriteNoteOnRange => "write a note about the marked range",
            Self::Notes => "show or hide the notes",
            Self::LanesBar => "show or hide the lanes bar: group and sort",
            Self::CollapseAll => "collapse all watches to strips",
            Self::OpenTrouble => "open the watches with trouble",
            Self::Pin => "pin the lane, or unpin it",
            Self::Hide => "hide the lane",
            Self::PinUp => "move the pinned lane up",
            Self::PinDown => "move the pinned lane down",
            Self::Palette => "find an action, a lane or a place",
            Self::GoToLane => "go to a lane",
            Self::RowUp => "row above",
            Self::RowDown => "row below",
            Self::Choose => "do what the row says",
            Self::Help => "show or hide these keys",
        }
    }
}
