//! What the panels show, as plain data. The second part writes it, and the panels mirror what has changed.

use std::sync::Arc;

use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::findings::{Board, Restored, Tally};
use watchscope_timeline::health::HealthRow;
use watchscope_timeline::inside::beliefs::BeliefTable;
use watchscope_timeline::words::{Check, Checked, Description, Presence, Problem, RangeWords};

use super::notes::NotesShown;
use super::panel_state::Tab;
use super::summary::Summary;
use crate::body::diff::Difference;

/// What a comparison tells that is over and found nothing to tell.
pub const NOTHING_CAME: &str = "Nothing came of it. Ask again.";

/// What the panels show beside what the model itself holds.
#[derive(Debug, Default)]
pub struct Shown {
    /// What the header says of the watches.
    pub summary: Summary,
    /// What is wrong now, worst first.
    pub problems: Vec<Problem>,
    /// The status bar.
    pub status: StatusBar,
    /// Why the lane area is empty, if it is.
    pub empty: Option<Emptiness>,
    /// What is under the pointer.
    pub tooltip: Option<Tooltip>,
    /// What is selected, told in full.
    pub detail: Option<Detail>,
    /// Why the object of the selected lane is here, or is not.
    pub presence: Option<Presence>,
    /// The moment that panels answer for, unless it is now.
    pub as_of: Option<AsOfWords>,
    /// What is selected, then and now; only while panels answer for the past.
    pub beside: Option<Beside>,
    /// The marked range.
    pub range: Option<RangeShown>,
    /// Where it begins in the lanes, in px: its words stand there if they have room.
    pub range_x_px: i32,
    /// The controls of a recording.
    pub replay: Option<ReplayShown>,
    /// What became of the comparison that was asked for last.
    pub checking: Checking,
    /// Records that came since the picture was paused.
    pub pill: Option<u64>,
    /// The focused lane in words.
    pub lane_text: String,
    /// The last line of a narrator: when, and what.
    pub note: Option<(String, String)>,
    /// How many findings stand.
    pub standing: Tally,
    /// The findings, while they are shown.
    pub board: Board,
    /// The table of watches in its order, while it is shown.
    pub watches: Vec<HealthRow>,
    /// Notes of persons.
    pub notes: NotesShown,
    /// The cluster's history began anew.
    pub restored: Option<Restored>,
}

/// The moment that panels answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsOfWords {
    /// `03:12:40`.
    pub clock: String,
    /// Whether it is the end of the marked range.
    pub is_range: bool,
    /// Why it is not known what was so then.
    pub unknown: Option<&'static str>,
}

/// What is selected, at the moment that panels answer for and now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Of a finding: how it stood then.
    pub then: Option<String>,
    /// What is so now.
    pub now: String,
}

/// The marked range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeShown {
    /// Its begin: `03:11:48.000`.
    pub from: String,
    /// Its end.
    pub to: String,
    /// What is in it.
    pub words: RangeWords,
}

/// What can be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exportable {
    /// How many notes there are.
    pub notes: usize,
    /// The cluster's name.
    pub cluster: String,
    /// The namespaces that are watched.
    pub namespaces: String,
    /// The marked range.
    pub marked: Option<(Time, Time)>,
    /// What is in the window, as far as there are records.
    pub view: (Time, Time),
    /// From the first record that is loaded to the last.
    pub loaded: (Time, Time),
    /// What the person opened and closed, as [`Lanes::choices`](watchscope_timeline::Lanes::choices) writes it.
    pub choices: String,
    /// The filter as typed.
    pub filter: String,
}

/// The controls of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayShown {
    /// Where the time stands: `03:12:40`.
    pub clock: String,
    /// The same from 0, the first record, to 1, the last.
    pub share: f64,
    /// How long the recording is.
    pub lasts: String,
    /// When it begins.
    pub begins: String,
    /// When it ends.
    pub ends: String,
    /// Whether it is played.
    pub is_playing: bool,
    /// Whether the time stands at the end.
    pub is_at_end: bool,
    /// Seconds of it a second.
    pub speed: u32,
}

/// The status bar's texts; an empty one is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusBar {
    /// How the history fares; it stands first.
    pub history: HistoryWords,
    /// At the left.
    pub left: Vec<String>,
    /// At the right.
    pub right: Vec<String>,
}

/// What is said of the history on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryWords {
    /// In words; empty before the server has greeted.
    pub text: String,
    /// Whether there is trouble.
    pub is_trouble: bool,
}

/// Why the lane area is empty, or says something besides its lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emptiness {
    /// One sentence, and one line of advice.
    pub words: (String, String),
    /// From the top of the picture, in px.
    pub top_px: i32,
    /// What can be done with a button.
    pub remedy: Remedy,
}

/// What can be done about emptiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing here.
    None,
    /// Choose one of these contexts.
    Contexts(Vec<String>),
    /// Clear the filter.
    ClearFilter,
    /// Go to the oldest record kept.
    GoToOldest,
}

/// What is under the pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tooltip {
    /// From the left of the picture, in px.
    pub x_px: i32,
    /// From its top, in px.
    pub y_px: i32,
    /// Lane, time, what.
    pub lines: Vec<String>,
    /// The key that opens it.
    pub keys: Option<&'static str>,
}

/// What is selected, told in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Numbers the selections, so that a late answer does not land in a newer one.
    pub number: u64,
    /// In words.
    pub description: Description,
    /// Where its object is to be had.
    pub object: Option<ObjectPane>,
    /// What may be compared with the cluster from its lane.
    pub check: Option<Check>,
    /// What each side believes then; only a simulated cluster can tell.
    pub beliefs: Option<BeliefTable>,
    /// What it rests on, if it is a finding.
    pub evidence: Option<Evidence>,
    /// The tab that is shown.
    pub tab: Tab,
}

/// What became of the comparison that was asked for last.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Checking {
    /// None was.
    #[default]
    Idle,
    /// It is going on, or over.
    Of {
        /// The lane that is compared.
        lane: LaneId,
        /// Its result so far.
        found: Option<Checked>,
        /// Whether nothing more comes.
        is_over: bool,
    },
}

/// Where the object of a change is to be had.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPane {
    /// `EPOCH.SEQ` of the change.
    pub position: (String, u64),
    /// The same of the version before, if the page knows it.
    pub before: Option<(String, u64)>,
}

/// The bodies of a selection, as far as they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// The number of the selection.
    pub number: u64,
    /// The body of the change; absent while it is being fetched.
    pub body: Option<Body>,
    /// What differs from the version before; absent while that is being fetched.
    pub difference: Option<Result<Vec<Difference>, String>>,
}

/// The answer to a request for a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Here it is.
    Text(String),
    /// It was dropped to stay within the budget (410).
    Gone,
    /// There is none (404).
    None,
    /// Something else answered, or nobody.
    Failed(Option<u16>),
}

/// What is said of the rows of the failure catalogue, by their codes.
pub type SaidOfRows = Vec<(String, Said)>;

/// What is said of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Where its picture is.
    pub picture: String,
    /// Headings and texts.
    pub parts: Vec<(String, String)>,
}

/// The texts of the failure catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Texts {
    /// Nobody asked.
    #[default]
    Unasked,
    /// They are on their way.
    Coming,
    /// Here they are.
    Here(Arc<SaidOfRows>),
    /// They could not be had.
    Failed,
}

impl Texts {
    /// What is said of a row; nothing while it is not here, or if there is no such row.
    #[must_use]
    pub fn of(&self, code: &str) -> Option<Said> {
        let Self::Here(rows) = self else {
            return None;
        };
        let row = rows.iter().find(|(other, _)| other == code);
        row.map(|(_, said)| said.clone())
    }
}
