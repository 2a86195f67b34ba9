//! What the browser is to do after a message: the runtime carries it out while nothing borrows the model.

use watchscope_model::Time;
use watchscope_model::id::LogId;

use super::shown::ObjectPane;
use crate::source::connection;

/// One thing to do. The runtime does them in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask, exchange, open, close, send: what the connection wants of the browser.
    Link(connection::Effect),
    /// Set the connection's one timer to this time of the browser's clock, in milliseconds; to none if absent.
    WakeAt(Option<u64>),
    /// Call back before the next paint.
    ArmFrame,
    /// Ask for a frame after this time.
    ArmAfter {
        /// In milliseconds.
        wait_ms: f64,
    },
    /// Make what any picture needs, while the first socket opens.
    WarmUp,
    /// Paint rows, scene and ruler as the model has them.
    Paint,
    /// The picture was painted: move what lies over it.
    Drawn,
    /// Show the date over the lane tree.
    ShowDate(String),
    /// Show in the panels what has changed.
    Show,
    /// Load the second part once what was painted is seen.
    LoadSecond,
    /// Say that the second part is missing.
    TellIncomplete,
    /// Use the theme that the screen has now.
    Theme,
    /// Something that only the second part can do.
    Panel(PanelEffect),
}

/// What the second part is to do. Where an element takes the focus, the browser calls back at once.
#[derive(Clone, Debug, PartialEq)]
pub enum PanelEffect {
    /// Put the panels around the picture, and listen to the person.
    Mount,
    /// The filter takes the focus.
    FocusFilter,
    /// The picture takes the focus from the detail, which is about to close.
    TakeFocusBack,
    /// An element takes the focus once it is drawn.
    FocusSoon(Focus),
    /// Keep a text in this browser. In one without storage it lasts as long as the page.
    Keep(Kept, String),
    /// Tell what was muted of this log, with [`Person::Muted`](super::person::Person::Muted).
    RecallMuted(LogId),
    /// Fetch the body of a change and of the version before.
    FetchBodies {
        /// The number of the selection.
        selection: u64,
        /// Where they are.
        pane: ObjectPane,
    },
    /// Fetch the texts of the failure catalogue, unless they are here.
    FetchTexts,
    /// Open the export dialog.
    OpenExport {
        /// The form that is chosen in it is a recording; else a picture.
        as_recording: bool,
    },
    /// Show charts of the marked range, or of the view.
    OpenCharts,
    /// Hand the records of a range to the dialog that asked.
    HandRange {
        /// From here,
        from: Time,
        /// to here.
        to: Time,
    },
    /// Say to it why it is handed nothing.
    RefuseRange(&'static str),
    /// Paint the overview as the model has it.
    PaintOverview,
    /// Fetch the notes that the server has of all runs, and tell with [`Person::NotesCame`](super::person::Person::NotesCame).
    FetchNotes,
    /// Have the address bar name the place where the person is.
    Address {
        /// The fragment, without `#`.
        fragment: String,
        /// Whether it is a new place, to come back from with the browser's own button.
        is_new: bool,
    },
}

/// What takes the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The picture.
    Picture,
    /// The findings.
    Findings,
    /// The table of watches.
    Watches,
    /// The notes.
    Notes,
    /// The note that is selected.
    SelectedNote,
    /// The field of the note that is being written.
    NoteField,
    /// The tab that is shown.
    Tab,
}

/// What a browser keeps for when the page is loaded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// What the person opened and closed.
    Opened,
    /// The theme.
    Theme,
    /// What is muted of a log: the next cluster may be served at the same address.
    Muted(LogId),
}
