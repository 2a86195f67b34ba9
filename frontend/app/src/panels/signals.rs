//! What the panels show, as signals: mirrors of the model, written where it has changed and nowhere else.

use std::cell::Cell;

use leptos::prelude::*;
use watchscope_timeline::RecordId;
use watchscope_timeline::findings::{Board, Restored, Tally};
use watchscope_timeline::health::{HealthRow, Order};
use watchscope_timeline::words::{Presence, Problem};

use crate::core::model::Model;
use crate::core::notes::NotesShown;
use crate::core::screen::ThemeChoice;
use crate::core::shown::{
    AsOfWords, Beside, Bodies, Checking, Detail, Emptiness, RangeShown, ReplayShown, StatusBar,
    Texts, Tooltip,
};
use crate::core::summary::Summary;
use crate::source::connection::Status;

/// All signals. Copied freely; each panel reads its own, and none writes one.
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
    /// The bodies of the selection, as they come.
    pub(super) bodies: RwSignal<Bodies>,
    /// Why the object of the selected lane is here, or is not.
    pub(super) presence: RwSignal<Option<Presence>>,
    /// The moment that panels answer for, unless it is now.
    pub(super) as_of: RwSignal<Option<AsOfWords>>,
    /// What is selected, then and now.
    pub(super) beside: RwSignal<Option<Beside>>,
    /// The marked range.
    pub(super) range: RwSignal<Option<RangeShown>>,
    /// Where it begins in the lanes, in px.
    pub(super) range_x_px: RwSignal<i32>,
    /// The controls of a recording.
    pub(super) replay: RwSignal<Option<ReplayShown>>,
    pub(super) checking: RwSignal<Checking>,
    /// The record of the selected finding's evidence that is pointed at.
    pub(super) lit: RwSignal<Option<RecordId>>,
    /// Records that came since the picture was paused.
    pub(super) pill: RwSignal<Option<u64>>,
    /// What the live region says.
    pub(super) said: RwSignal<String>,
    /// The focused lane in words.
    pub(super) lane_text: RwSignal<String>,
    /// The last line of a narrator: when, and what.
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
    /// Notes of persons; the rows while they are shown.
    pub(super) notes: RwSignal<NotesShown>,
    pub(super) notes_open: RwSignal<bool>,
    /// The cluster's history began anew.
    pub(super) restored: RwSignal<Option<Restored>>,
}

thread_local! {
    /// Those of the page, which live as long as the page.
    static SIGNALS: Cell<Option<Signals>> = const { Cell::new(None) };
}

/// Makes the page's signals.
pub(super) fn begin() -> Signals {
    // The root of all panels lives as long as the page.
    let root = Owner::new();
    let signals = root.with(Signals::new);
    std::mem::forget(root);
    SIGNALS.set(Some(signals));
    signals
}

/// The page's signals.
pub(super) fn signals() -> Signals {
    SIGNALS.get().expect("the panels begin with their signals")
}

/// Writes what differs from what the panels show.
pub(crate) fn show(model: &Model) {
    let signals = signals();
    let (shown, panels) = (&model.shown, &model.panels);
    mirror(signals.summary, &shown.summary);
    mirror(signals.problems, &shown.problems);
    mirror(signals.following, &model.view.following);
    mirror(signals.status, &shown.status);
    mirror(signals.way, &model.link.connection.status());
    mirror(signals.trouble, &model.trouble);
    mirror(signals.empty, &shown.empty);
    mirror(signals.tooltip, &shown.tooltip);
    mirror(signals.detail, &shown.detail);
    mirror(signals.presence, &shown.presence);
    mirror(signals.as_of, &shown.as_of);
    mirror(signals.beside, &shown.beside);
    mirror(signals.range, &shown.range);
    mirror(signals.range_x_px, &shown.range_x_px);
    mirror(signals.replay, &shown.replay);
    mirror(signals.checking, &shown.checking);
    mirror(signals.lit, &model.pick.lit);
    mirror(signals.pill, &shown.pill);
    mirror(signals.said, &model.said);
    mirror(signals.lane_text, &shown.lane_text);
    mirror(signals.note, &shown.note);
    mirror(signals.filter, &panels.filter);
    mirror(signals.theme, &model.screen.theme);
    mirror(signals.help, &panels.help);
    mirror(signals.standing, &shown.standing);
    mirror(signals.board, &shown.board);
    mirror(signals.findings_open, &panels.findings_open);
    mirror(signals.watches, &shown.watches);
    mirror(signals.watches_open, &panels.watches_open);
    mirror(signals.order, &panels.order);
    mirror(signals.notes, &shown.notes);
    mirror(signals.notes_open, &panels.notes.is_open);
    mirror(signals.restored, &shown.restored);
}

/// Writes a signal only if it says something else than before.
fn mirror<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: &T) {
    if signal.with_untracked(|known| known != value) {
        signal.set(value.clone());
    }
}

/// Tells the banner what time it is, if one is shown that counts down.
pub(super) fn tick(now_ms: u64) {
    let signals = signals();
    if signals.way.with_untracked(|way| *way != Status::Live) {
        signals.now_ms.set(now_ms);
    }
}

/// Shows the bodies of a selection, unless another thing was selected since.
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

/// Shows what there is to say of the rows of the failure catalogue.
pub(super) fn show_texts(texts: Texts) {
    signals().texts.set(texts);
}

impl Signals {
    fn new() -> Self {
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
            bodies: RwSignal::new(Bodies::default()),
            presence: RwSignal::new(None),
            as_of: RwSignal::new(None),
            beside: RwSignal::new(None),
            range: RwSignal::new(None),
            range_x_px: RwSignal::new(0),
            replay: RwSignal::new(None),
            checking: RwSignal::new(Checking::default()),
            lit: RwSignal::new(None),
            pill: RwSignal::new(None),
            said: RwSignal::new(String::new()),
            lane_text: RwSignal::new(String::new()),
            note: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            theme: RwSignal::new(ThemeChoice::default()),
            help: RwSignal::new(false),
            standing: RwSignal::new(Tally::default()),
            board: RwSignal::new(Board::default()),
            findings_open: RwSignal::new(false),
            texts: RwSignal::new(Texts::default()),
            watches: RwSignal::new(Vec::new()),
            watches_open: RwSignal::new(false),
            order: RwSignal::new(Order::default()),
            notes: RwSignal::new(NotesShown::default()),
            notes_open: RwSignal::new(false),
            restored: RwSignal::new(None),
        }
    }
}
