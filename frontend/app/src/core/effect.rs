//! Effects: tasks for the browser after a message. The runtime carries them out while nothing borrows the model.

use watchscope_model::Time;
use watchscope_model::id::LogId;

use super::shown::ObjectPane;
use crate::source::connection;

/// One task for the browser. The runtime carries tasks out in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A task of the connection: ask for the session, exchange a secret, open or close a socket, send.
    Link(connection::Effect),
    /// Set the connection's only timer to this time of the browser's clock, in milliseconds. `None` clears it.
    WakeAt(Option<u64>),
    /// Call back with [`Msg::Frame`](super::msg::Msg::Frame) before the next paint.
    ArmFrame,
    /// Send [`Msg::Step`](super::msg::Msg::Step) after this time.
    ArmAfter {
        /// The time, in milliseconds.
        wait_ms: f64,
    },
    /// Prepare what each picture needs, while the first socket opens.
    WarmUp,
    /// Paint the model's rows, scene and ruler.
    Paint,
    /// Move the elements that lie over the picture: it was painted.
    Drawn,
    /// Show the date over the lane tree, and the counts in it.
    ShowDate(String),
    /// Update the panels that changed.
    Show,
    /// Load the second part once the browser shows the painted picture.
    LoadSecond,
    /// Report that the second part is missing.
    TellIncomplete,
    /// Use the theme that the screen has now.
    Theme,
    /// A task that only the second part can do.
    Panel(PanelEffect),
}

/// A task for the second part. The browser calls back at once when an element takes the focus.
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
    /// Keep a text in this browser. A browser without storage keeps it as long as the page is open.
    Keep(Kept, String),
    /// Recall what this browser kept of a log: [`Person::Muted`](super::person::Person::Muted) returns muted findings,
    /// and [`LanesDeed::Kept`](super::lanes::LanesDeed::Kept) the wishes for lanes.
    Recall(Kept),
    /// Fetch the body of a change and of the version before.
    FetchBodies {
        /// The number of the selection.
        selection: u64,
        /// The positions of both versions.
        pane: ObjectPane,
    },
    /// Fetch the texts of the failure catalogue, unless they are loaded or being loaded.
    FetchTexts,
    /// Open the export dialog.
    OpenExport {
        /// Whether the dialog opens with a recording chosen; otherwise with a picture.
        as_recording: bool,
    },
    /// Show charts of the marked range, or of the view.
    OpenCharts,
    /// Hand the records of a range to the dialog that requested them.
    HandRange {
        /// The begin of the range.
        from: Time,
        /// Its end.
        to: Time,
    },
    /// Report to that dialog why it gets no records.
    RefuseRange(&'static str),
    /// Search the log on the server, in place of the search before.
    Search {
        /// The number of the search.
        number: u64,
        /// The text.
        text: String,
        /// The position before which the search goes on: `EPOCH.SEQ`. `None` begins at the newest record.
        before: Option<String>,
    },
    /// Let the browser handle events, then search the next chapter that the page holds.
    SearchOn {
        /// The number of the search.
        number: u64,
    },
    /// End the request of the search.
    EndSearch,
    /// Paint the model's overview.
    PaintOverview,
    /// Fetch the server's notes of all runs; [`Person::NotesCame`](super::person::Person::NotesCame) returns them.
    FetchNotes,
    /// Make the address bar name the person's place.
    Address {
        /// The fragment, without `#`.
        fragment: String,
        /// Whether the place is new, so that the browser's back button leads to the place before it.
        is_new: bool,
    },
}

/// An element that takes the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The picture.
    Picture,
    /// The findings.
    Findings,
    /// The table of watches.
    Watches,
    /// The table that is shown.
    Table,
    /// The notes.
    Notes,
    /// The note that is selected.
    SelectedNote,
    /// The field of the note that is being written.
    NoteField,
    /// The tab that is shown.
    Tab,
    /// The palette's field.
    Palette,
    /// The search's field.
    Search,
    /// The field with the lanes' filter.
    Filter,
}

/// A kind of text that a browser keeps until the page is loaded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The panels and lanes that the person opened and closed.
    Opened,
    /// The theme.
    Theme,
    /// The muted findings of a log. The key names the log, because another cluster may be served at this address later.
    Muted(LogId),
    /// The wishes for the lanes of a log: grouping, order, pins, hidden lanes.
    Lanes(LogId),
}
