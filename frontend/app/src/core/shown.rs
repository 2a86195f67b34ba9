//! The contents of the panels, as plain data. The second part writes them, and the panels mirror each change.

use std::sync::Arc;

use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::findings::{Board, Restored, Tally};
use watchscope_timeline::health::HealthRow;
use watchscope_timeline::inside::beliefs::BeliefTable;
use watchscope_timeline::words::{
    Check, Checked, Description, Presence, Problem, RangeWords, TroubleWords,
};

use super::cursors::CursorsShown;
use super::lanes::{LanesShown, OwnerShown};
use super::notes::NotesShown;
use super::palette::PaletteShown;
use super::panel_state::Tab;
use super::search::SearchShown;
use super::summary::Summary;
use super::table::TableView;
use crate::body::diff::Difference;

/// The words of a finished comparison without a result.
pub const NOTHING_CAME: &str = "Nothing came of it. Ask again.";

/// The contents of the panels besides those that the model holds anyway.
#[derive(Debug, Default)]
pub struct Shown {
    /// The header's summary of the watches.
    pub summary: Summary,
    /// The present problems, the worst first.
    pub problems: Vec<Problem>,
    /// The stepper through all trouble; `None` while there is none.
    pub stepper: Option<Stepper>,
    /// The trouble off the edges of the picture.
    pub edges: Edges,
    /// The place of the selected finding among its occurrences; `None` if it has only one.
    pub occurrence: Option<Nth>,
    /// The status bar.
    pub status: StatusBar,
    /// Why the lane area is empty; `None` while it has lanes.
    pub empty: Option<Emptiness>,
    /// The tooltip for the place under the pointer.
    pub tooltip: Option<Tooltip>,
    /// The selection in full.
    pub detail: Option<Detail>,
    /// Why the object of the selected lane is present or absent.
    pub presence: Option<Presence>,
    /// The moment for which panels answer; `None` for now.
    pub as_of: Option<AsOfWords>,
    /// The selection then and now; only while panels answer for the past.
    pub beside: Option<Beside>,
    /// The marked range.
    pub range: Option<RangeShown>,
    /// Where the marked range begins in the lanes, in px. Its words stand there if they have room.
    pub range_x_px: i32,
    /// The controls of a recording.
    pub replay: Option<ReplayShown>,
    /// The state of the last comparison.
    pub checking: Checking,
    /// The number of records that came since the picture was paused.
    pub pill: Option<u64>,
    /// The focused lane in words.
    pub lane_text: String,
    /// The narrator's last line: its time and its words.
    pub note: Option<(String, String)>,
    /// The number of findings that stand.
    pub standing: Tally,
    /// The board of findings, while it is open.
    pub board: Board,
    /// The rows of the table of watches in its order, while it is open.
    pub watches: Vec<HealthRow>,
    /// The cursors A and B; `None` while none is set.
    pub cursors: Option<CursorsShown>,
    /// The palette, while it is open.
    pub palette: Option<PaletteShown>,
    /// The tables, while they are open.
    pub table: Option<TableView>,
    /// The search, while it is open.
    pub search: Option<SearchShown>,
    /// The lanes bar.
    pub lanes: LanesShown,
    /// Notes of persons.
    pub notes: NotesShown,
    /// The restore of the cluster's history, if it was restored.
    pub restored: Option<Restored>,
}

/// The stepper through all trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepper {
    /// `Problem 2 of 9`, or `9 problems` while none is selected.
    pub words: String,
    /// The selected one.
    pub current: Option<TroubleWords>,
    /// Whether it is the first of all.
    pub is_first: bool,
    /// Whether it is the last of all.
    pub is_last: bool,
}

/// The trouble off the edges of the picture. An edge without trouble is not drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Before the view.
    pub left: Option<Edge>,
    /// After the view.
    pub right: Option<Edge>,
    /// On lanes above the window.
    pub above: Option<Edge>,
    /// On lanes below the window.
    pub below: Option<Edge>,
    /// Distance of the lanes from the top of the picture, in px.
    pub top_px: i32,
}

/// The trouble off one edge of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// `2 problems above`.
    pub words: String,
    /// How many.
    pub count: u64,
    /// The worst, with their indexes among all trouble.
    pub named: Vec<(usize, TroubleWords)>,
    /// The index of the one to which a click leads: the nearest in time, or the worst on other lanes.
    pub goes_to: usize,
}

/// A number among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nth {
    /// From 1.
    pub number: u64,
    /// How many there are.
    pub total: u64,
}

/// The moment for which panels answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsOfWords {
    /// `03:12:40`.
    pub clock: String,
    /// Whether it is the end of the marked range.
    pub is_range: bool,
    /// Why the state at that moment is unknown.
    pub unknown: Option<&'static str>,
}

/// The selection at the moment for which panels answer, and now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// How a finding stood then; `None` for other selections.
    pub then: Option<String>,
    /// The present state.
    pub now: String,
}

/// The marked range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeShown {
    /// Its begin: `03:11:48.000`.
    pub from: String,
    /// Its end, in the same form.
    pub to: String,
    /// The words about its contents.
    pub words: RangeWords,
}

/// The data that the dialogs of exports and charts get about the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exportable {
    /// The number of notes.
    pub notes: usize,
    /// The cluster's name.
    pub cluster: String,
    /// The namespaces that are watched.
    pub namespaces: String,
    /// The marked range.
    pub marked: Option<(Time, Time)>,
    /// The view, as far as there are records.
    pub view: (Time, Time),
    /// The range of the loaded records. Of a live log it ends now.
    pub loaded: (Time, Time),
    /// The lanes that the person opened and closed, in the form of
    /// [`Lanes::choices`](watchscope_timeline::Lanes::choices).
    pub choices: String,
    /// The filter as typed.
    pub filter: String,
}

/// The controls of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayShown {
    /// The time of the recording: `03:12:40`.
    pub clock: String,
    /// The position of that time, from 0 at the first record to 1 at the last.
    pub share: f64,
    /// The length of the recording, in words.
    pub lasts: String,
    /// Its begin, in words.
    pub begins: String,
    /// Its end, in words.
    pub ends: String,
    /// Whether it is playing.
    pub is_playing: bool,
    /// Whether its time is at the end.
    pub is_at_end: bool,
    /// The speed, in seconds of the recording per second.
    pub speed: u32,
}

/// The status bar's texts. An empty text is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusBar {
    /// The state of the history, which stands first.
    pub history: HistoryWords,
    /// The texts at the left.
    pub left: Vec<String>,
    /// The texts at the right.
    pub right: Vec<String>,
}

/// The text about the history on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryWords {
    /// The text; empty before the server has greeted.
    pub text: String,
    /// Whether the history has trouble.
    pub is_trouble: bool,
}

/// The message in the lane area: why it is empty, or what it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emptiness {
    /// One sentence, and one line of advice.
    pub words: (String, String),
    /// Distance from the top of the picture, in px.
    pub top_px: i32,
    /// The remedy that the message's button offers.
    pub remedy: Remedy,
}

/// A remedy for an empty lane area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The page has none.
    None,
    /// Choose one of these contexts.
    Contexts(Vec<String>),
    /// Clear the filter.
    ClearFilter,
    /// Go to the oldest record kept.
    GoToOldest,
}

/// A tooltip.
#[derive(Clone, Debug, PartialEq)]
pub struct Tooltip {
    /// Distance from the left of the picture, in px.
    pub x_px: i32,
    /// Distance from the top of the picture, in px.
    pub y_px: i32,
    /// The lines: lane, time, event.
    pub lines: Vec<String>,
    /// The hint how to open it.
    pub keys: Option<&'static str>,
}

/// The selection in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// The number of the selection. By it, a late answer is not shown for a newer selection.
    pub number: u64,
    /// The description.
    pub description: Description,
    /// The position of its object's body.
    pub object: Option<ObjectPane>,
    /// The comparison with the cluster that its lane offers.
    pub check: Option<Check>,
    /// The belief of each layer then; only for a simulated cluster.
    pub beliefs: Option<BeliefTable>,
    /// The evidence, if a finding is selected.
    pub evidence: Option<Evidence>,
    /// The steps of its "why", if something explains it and the third part is loaded.
    pub why: Option<Evidence>,
    /// The controllers above the selected object, from its own upwards; `None` for other lanes.
    pub owners: Option<Vec<OwnerShown>>,
    /// The tab that is shown.
    pub tab: Tab,
}

/// The state of the last comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Checking {
    /// No comparison was requested.
    #[default]
    Idle,
    /// A comparison is running or finished.
    Of {
        /// The lane that is compared.
        lane: LaneId,
        /// Its result so far.
        found: Option<Checked>,
        /// Whether it is finished.
        is_over: bool,
    },
}

/// The positions of the bodies of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPane {
    /// Epoch and number of the change.
    pub position: (String, u64),
    /// Epoch and number of the previous version, if the page knows it.
    pub before: Option<(String, u64)>,
}

/// The bodies of a selection, as far as they are fetched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// The number of the selection.
    pub number: u64,
    /// The body of the change; `None` until its answer comes.
    pub body: Option<Body>,
    /// The differences from the previous version; `None` until its answer comes.
    pub difference: Option<Result<Vec<Difference>, String>>,
}

/// The answer to a request for a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The body.
    Text(String),
    /// watchscope dropped the body to stay within its memory (410).
    Gone,
    /// The change has no body (404).
    None,
    /// Another status, or no answer.
    Failed(Option<u16>),
}

/// The texts of the rows of the failure catalogue, with their codes.
pub type SaidOfRows = Vec<(String, Said)>;

/// The texts of a row of the failure catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The address of its picture.
    pub picture: String,
    /// Pairs of heading and text.
    pub parts: Vec<(String, String)>,
}

/// The texts of the failure catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Texts {
    /// They were not requested.
    #[default]
    Unasked,
    /// They are being loaded.
    Coming,
    /// They are loaded.
    Here(Arc<SaidOfRows>),
    /// They could not be loaded.
    Failed,
}

impl Texts {
    /// Returns the texts of a row; `None` while they are not loaded, or if there is no such row.
    #[must_use]
    pub fn of(&self, code: &str) -> Option<Said> {
        let Self::Here(rows) = self else {
            return None;
        };
        let row = rows.iter().find(|(other, _)| other == code);
        row.map(|(_, said)| said.clone())
    }
}
