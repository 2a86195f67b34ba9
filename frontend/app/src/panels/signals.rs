//! The contents of the panels, as signals: mirrors of the model, which only this file writes, and only when they
//! change.

use std::cell::Cell;

use leptos::prelude::*;
use watchscope_timeline::RecordId;
use watchscope_timeline::findings::{Board, Restored, Tally};
use watchscope_timeline::health::{HealthRow, Order};
use watchscope_timeline::words::{Presence, Problem};

use super::mirror::Mirror;
use crate::core::cursors::CursorsShown;
use crate::core::lanes::LanesShown;
use crate::core::model::Model;
use crate::core::notes::NotesShown;
use crate::core::palette::PaletteShown;
use crate::core::screen::ThemeChoice;
use crate::core::search::SearchShown;
use crate::core::shown::{
    AsOfWords, Beside, Bodies, Checking, Detail, Edges, Emptiness, Nth, RangeShown, ReplayShown,
    StatusBar, Stepper, Texts, Tooltip,
};
use crate::core::summary::Summary;
use crate::core::table::TableView;
use crate::source::connection::Status;

/// All signals. The struct is a cheap copy. Each panel reads its own signals, and none writes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    pub(super) summary: Mirror<Summary>,
    /// The present problems, the worst first.
    pub(super) problems: Mirror<Vec<Problem>>,
    /// The stepper through all trouble.
    pub(super) stepper: Mirror<Option<Stepper>>,
    /// The trouble off the edges of the picture.
    pub(super) edges: Mirror<Edges>,
    /// The place of the selected finding among its occurrences.
    pub(super) occurrence: Mirror<Option<Nth>>,
    pub(super) following: Mirror<bool>,
    pub(super) status: Mirror<StatusBar>,
    pub(super) link_status: Mirror<Status>,
    /// The browser's clock, in milliseconds; it stands still while the page is connected.
    pub(super) now_ms: Mirror<u64>,
    /// The last error, until the person dismisses it.
    pub(super) trouble: Mirror<Option<String>>,
    pub(super) empty: Mirror<Option<Emptiness>>,
    pub(super) tooltip: Mirror<Option<Tooltip>>,
    pub(super) detail: Mirror<Option<Detail>>,
    /// The bodies of the selection, as they come.
    pub(super) bodies: Mirror<Bodies>,
    /// Why the object of the selected lane is present or absent.
    pub(super) presence: Mirror<Option<Presence>>,
    /// The moment for which panels answer; `None` for now.
    pub(super) as_of: Mirror<Option<AsOfWords>>,
    /// The selection then and now.
    pub(super) beside: Mirror<Option<Beside>>,
    /// The marked range.
    pub(super) range: Mirror<Option<RangeShown>>,
    /// Where the marked range begins in the lanes, in px.
    pub(super) range_x_px: Mirror<i32>,
    /// The controls of a recording.
    pub(super) replay: Mirror<Option<ReplayShown>>,
    pub(super) checking: Mirror<Checking>,
    /// The lit record of the selected finding's evidence.
    pub(super) lit: Mirror<Option<RecordId>>,
    /// The number of records that came since the picture was paused.
    pub(super) pill: Mirror<Option<u64>>,
    /// The text of the live region.
    pub(super) said: Mirror<String>,
    /// The focused lane in words.
    pub(super) lane_text: Mirror<String>,
    /// The narrator's last line: its time and its words.
    pub(super) note: Mirror<Option<(String, String)>>,
    pub(super) filter: Mirror<String>,
    pub(super) theme: Mirror<ThemeChoice>,
    pub(super) help: Mirror<bool>,
    /// The search, while it is open.
    pub(super) search: Mirror<Option<SearchShown>>,
    /// The cursors A and B.
    pub(super) cursors: Mirror<Option<CursorsShown>>,
    /// The palette, while it is open.
    pub(super) palette: Mirror<Option<PaletteShown>>,
    /// The tables, while they are open.
    pub(super) table: Mirror<Option<TableView>>,
    /// The numbers of standing findings.
    pub(super) standing: Mirror<Tally>,
    /// The board of findings, while it is open.
    pub(super) board: Mirror<Board>,
    pub(super) findings_open: Mirror<bool>,
    /// The texts of the rows of the failure catalogue, once they were requested.
    pub(super) texts: Mirror<Texts>,
    /// The rows of the table of watches in its order, while it is open.
    pub(super) watches: Mirror<Vec<HealthRow>>,
    pub(super) watches_open: Mirror<bool>,
    pub(super) order: Mirror<Order>,
    /// The lanes bar, and the list of hidden lanes.
    pub(super) lanes: Mirror<LanesShown>,
    /// Notes of persons. The rows are filled while the panel is open.
    pub(super) notes: Mirror<NotesShown>,
    pub(super) notes_open: Mirror<bool>,
    /// The restore of the cluster's history, if it was restored.
    pub(super) restored: Mirror<Option<Restored>>,
}

thread_local! {
    /// The page's signals, which live as long as the page.
    static SIGNALS: Cell<Option<Signals>> = const { Cell::new(None) };
}

/// Makes the page's signals, and a further value of the same lifetime.
pub(super) fn begin<T>(of: impl FnOnce(Signals) -> T) -> (Signals, T) {
    // The root of all panels lives as long as the page.
    let root = Owner::new();
    let (signals, made) = root.with(|| {
        let signals = Signals::new();
        (signals, of(signals))
    });
    std::mem::forget(root);
    SIGNALS.set(Some(signals));
    (signals, made)
}

/// Returns the page's signals.
pub(super) fn signals() -> Signals {
    SIGNALS.get().expect("the panels begin with their signals")
}

/// Writes the signals of the second part's panels whose values have changed.
pub(super) fn show(model: &Model) {
    let signals = signals();
    let (shown, panels) = (&model.shown, &model.panels);
    mirror(signals.summary, &shown.summary);
    mirror(signals.problems, &shown.problems);
    mirror(signals.stepper, &shown.stepper);
    mirror(signals.edges, &shown.edges);
    mirror(signals.following, &model.view.following);
    mirror(signals.status, &shown.status);
    mirror(signals.link_status, &model.link.connection.status());
    mirror(signals.trouble, &model.trouble);
    mirror(signals.empty, &shown.empty);
    mirror(signals.tooltip, &shown.tooltip);
    mirror(signals.as_of, &shown.as_of);
    mirror(signals.replay, &shown.replay);
    mirror(signals.pill, &shown.pill);
    mirror(signals.said, &model.said);
    mirror(signals.lane_text, &shown.lane_text);
    mirror(signals.note, &shown.note);
    mirror(signals.filter, &panels.filter);
    mirror(signals.theme, &model.screen.theme);
    mirror(signals.standing, &shown.standing);
    mirror(signals.findings_open, &panels.findings_open);
    mirror(signals.watches_open, &panels.watches_open);
    mirror(signals.lanes, &shown.lanes);
    mirror(signals.notes, &shown.notes);
    mirror(signals.notes_open, &panels.notes.is_open);
    mirror(signals.restored, &shown.restored);
}

/// Writes the signals of the third part's panels whose values have changed. That part has this function, so that the
/// second does not carry the code that compares and copies their values.
pub(super) fn show_late(model: &Model) {
    let signals = signals();
    let (shown, panels) = (&model.shown, &model.panels);
    mirror(signals.detail, &shown.detail);
    mirror(signals.presence, &shown.presence);
    mirror(signals.beside, &shown.beside);
    mirror(signals.range, &shown.range);
    mirror(signals.range_x_px, &shown.range_x_px);
    mirror(signals.checking, &shown.checking);
    mirror(signals.lit, &model.pick.lit);
    mirror(signals.help, &panels.help);
    mirror(signals.palette, &shown.palette);
    mirror(signals.cursors, &shown.cursors);
    mirror(signals.search, &shown.search);
    mirror(signals.table, &shown.table);
    mirror(signals.board, &shown.board);
    mirror(signals.watches, &shown.watches);
    mirror(signals.order, &panels.order);
    mirror(signals.occurrence, &shown.occurrence);
}

/// Writes a signal only if its value has changed.
fn mirror<T: Clone + PartialEq>(signal: Mirror<T>, value: &T) {
    if signal.with_untracked(|known| known != value) {
        signal.set(value.clone());
    }
}

/// Sets the clock of the banner's countdown, while the page is not connected.
pub(super) fn tick(now_ms: u64) {
    let signals = signals();
    if signals
        .link_status
        .with_untracked(|status| *status != Status::Live)
    {
        signals.now_ms.set(now_ms);
    }
}

/// Shows the bodies of a selection; drops them if the person has selected something else since.
pub(super) fn show_bodies(bodies: Bodies) {
    let signals = signals();
    let is_shown = signals.detail.with_untracked(|detail| {
        let number = detail.as_ref().map(|detail| detail.number);
        number == Some(bodies.number)
    });
    if is_shown {
        signals.bodies.set(bodies);
    }
}

/// Shows the texts of the failure catalogue.
pub(super) fn show_texts(texts: Texts) {
    signals().texts.set(texts);
}

impl Signals {
    fn new() -> Self {
        Self {
            summary: Mirror::new(Summary::default()),
            problems: Mirror::new(Vec::new()),
            stepper: Mirror::new(None),
            edges: Mirror::new(Edges::default()),
            occurrence: Mirror::new(None),
            following: Mirror::new(true),
            status: Mirror::new(StatusBar::default()),
            link_status: Mirror::new(Status::Connecting),
            now_ms: Mirror::new(0),
            trouble: Mirror::new(None),
            empty: Mirror::new(None),
            tooltip: Mirror::new(None),
            detail: Mirror::new(None),
            bodies: Mirror::new(Bodies::default()),
            presence: Mirror::new(None),
            as_of: Mirror::new(None),
            beside: Mirror::new(None),
            range: Mirror::new(None),
            range_x_px: Mirror::new(0),
            replay: Mirror::new(None),
            checking: Mirror::new(Checking::default()),
            lit: Mirror::new(None),
            pill: Mirror::new(None),
            said: Mirror::new(String::new()),
            lane_text: Mirror::new(String::new()),
            note: Mirror::new(None),
            filter: Mirror::new(String::new()),
            theme: Mirror::new(ThemeChoice::default()),
            help: Mirror::new(false),
            palette: Mirror::new(None),
            cursors: Mirror::new(None),
            table: Mirror::new(None),
            search: Mirror::new(None),
            standing: Mirror::new(Tally::default()),
            board: Mirror::new(Board::default()),
            findings_open: Mirror::new(false),
            texts: Mirror::new(Texts::default()),
            watches: Mirror::new(Vec::new()),
            watches_open: Mirror::new(false),
            order: Mirror::new(Order::default()),
            lanes: Mirror::new(LanesShown::default()),
            notes: Mirror::new(NotesShown::default()),
            notes_open: Mirror::new(false),
            restored: Mirror::new(None),
        }
    }
}
