//! What the model publishes to the panels: plain data in signals, written at most four times a second.

use std::cell::Cell;

use leptos::prelude::*;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::findings::{Board, Restored, Tally};
use watchscope_timeline::health::{HealthRow, Order};
use watchscope_timeline::sides::Sides;
use watchscope_timeline::words::{Check, Checked, Description, Presence, Problem};
use watchscope_timeline::{LaneId, RecordId};

use super::bodies::Body;
use super::texts::Texts;
use crate::body::diff::Difference;
use crate::core::panel_state::Tab;
use crate::core::screen::ThemeChoice;
use crate::core::summary::Summary;
use crate::source::connection::Status;

/// All signals. Copied freely; each panel reads its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    pub(super) summary: RwSignal<Summary>,
    /// What is wrong now, worst first.
    pub(super) problems: RwSignal<Vec<Problem>>,
    pub(super) following: RwSignal<bool>,
    pub(super) status: RwSignal<StatusBar>,
    pub(super) way: RwSignal<Status>,
    /// The browser's clock, while a banner counts down.
    pub(super) now_ms: RwSignal<u64>,
    /// What could not be read, until the person dismisses it.
    pub(super) trouble: RwSignal<Option<String>>,
    pub(super) empty: RwSignal<Option<Emptiness>>,
    pub(super) tooltip: RwSignal<Option<Tooltip>>,
    pub(super) detail: RwSignal<Option<Detail>>,
    /// Why the object of the selected lane is here, or is not.
    pub(super) presence: RwSignal<Option<Presence>>,
    pub(super) checking: RwSignal<Checking>,
    /// The record of the selected finding's evidence that is pointed at.
    pub(super) lit: RwSignal<Option<RecordId>>,
    /// Records that came since the picture was paused.
    pub(super) pill: RwSignal<Option<u64>>,
    /// What the live region says.
    pub(super) said: RwSignal<String>,
    /// The focused lane in words.
    pub(super) lane_text: RwSignal<String>,
    /// The last line of a narrator or a person: when, and what.
    pub(super) note: RwSignal<Option<(String, String)>>,
    pub(super) filter: RwSignal<String>,
    pub(super) theme: RwSignal<ThemeChoice>,
    pub(super) help: RwSignal<bool>,
    /// What stands.
    pub(super) standing: RwSignal<Tally>,
    /// The findings, while they are shown.
    pub(super) board: RwSignal<Board>,
    pub(super) findings_open: RwSignal<bool>,
    /// What there is to say of each row of the catalogue, once it was asked for.
    pub(super) texts: RwSignal<Texts>,
    /// The table of watches in its order, while it is shown.
    pub(super) watches: RwSignal<Vec<HealthRow>>,
    pub(super) watches_open: RwSignal<bool>,
    pub(super) order: RwSignal<Order>,
    /// The cluster's history began anew.
    pub(super) restored: RwSignal<Option<Restored>>,
}

thread_local! {
    /// Those of the page, which live as long as the page.
    static SIGNALS: Cell<Option<Signals>> = const { Cell::new(None) };
}

/// These are the page's from now on.
pub(super) fn begin(signals: Signals) {
    SIGNALS.set(Some(signals));
}

/// The page's signals.
pub(super) fn signals() -> Signals {
    SIGNALS
        .get()
        .expect("the second part begins with its signals")
}

impl Signals {
    pub(super) fn new(theme: ThemeChoice) -> Self {
        Self {
            summary: RwSignal::new(Summary::default()),
            problems: RwSignal::new(Vec::new()),
            following: RwSignal::new(true),
            status: RwSignal::new(StatusBar::default()),
            way: RwSignal::new(Status::Connecting),
            now_ms: RwSignal::new(0),
            trouble: RwSignal::new(None),
            empty: RwSignal::new(None),
            tooltip: RwSignal::new(None),
            detail: RwSignal::new(None),
            presence: RwSignal::new(None),
            checking: RwSignal::new(Checking::default()),
            lit: RwSignal::new(None),
            pill: RwSignal::new(None),
            said: RwSignal::new(String::new()),
            lane_text: RwSignal::new(String::new()),
            note: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            theme: RwSignal::new(theme),
            help: RwSignal::new(false),
            standing: RwSignal::new(Tally::default()),
            board: RwSignal::new(Board::default()),
            findings_open: RwSignal::new(false),
            texts: RwSignal::new(Texts::default()),
            watches: RwSignal::new(Vec::new()),
            watches_open: RwSignal::new(false),
            order: RwSignal::new(Order::default()),
            restored: RwSignal::new(None),
        }
    }
}

/// Writes a signal only if it says something else than before.
pub(super) fn publish<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|known| *known != value) {
        signal.set(value);
    }
}

/// The status bar's texts; an empty one is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusBar {
    pub(super) left: Vec<String>,
    pub(super) right: Vec<String>,
}

/// Why the lane area is empty, or says something besides its lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Emptiness {
    /// One sentence, and one line of what to do.
    pub(super) words: (String, String),
    /// From the top of the picture, in px.
    pub(super) top_px: i32,
    /// What can be done with a button.
    pub(super) remedy: Remedy,
}

/// What can be done about emptiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
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
pub(super) struct Tooltip {
    pub(super) x_px: i32,
    pub(super) y_px: i32,
    /// Lane, time, what.
    pub(super) lines: Vec<String>,
    /// The key that opens it.
    pub(super) keys: Option<&'static str>,
}

/// What is selected, told in full.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Detail {
    /// Numbers the selections, so that a late answer does not land in a newer one.
    pub(super) number: u64,
    pub(super) told: Description,
    pub(super) object: Option<ObjectPane>,
    /// What may be compared with the cluster from its lane.
    pub(super) check: Option<Check>,
    /// What each side believes then; only a simulated cluster can tell.
    pub(super) sides: Option<Sides>,
    /// What it rests on, if it is a finding.
    pub(super) evidence: Option<Evidence>,
    pub(super) tab: Tab,
}

/// What became of the comparison that was asked for last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Checking {
    /// None was.
    #[default]
    Idle,
    /// It is going on, or over.
    Of {
        lane: LaneId,
        /// What came of it so far.
        found: Option<Checked>,
        is_over: bool,
    },
}

/// The object of a change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectPane {
    /// `EPOCH.SEQ` of the change.
    pub(super) position: (String, u64),
    /// The same of the version before, if the page knows it.
    pub(super) before: Option<(String, u64)>,
    /// Absent while it is being fetched.
    pub(super) body: Option<Body>,
    /// Absent while being fetched, or without a version before.
    pub(super) difference: Option<Result<Vec<Difference>, String>>,
}
