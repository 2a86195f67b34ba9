//! The lanes of a page: the viewer's choices, the state of the lanes, and the rows that result from both.

use watchscope_model::event::Finding;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use super::arrange::Arrangement;
use super::builder::RowBuilder;
use super::choice::{Choice, Choices};
use super::filter::Filter;
use super::in_view::is_wanted;
use super::kept::Kept;
use super::row::{Density, Rows};
use super::setup::Setup;
use crate::findings::Muted;
use crate::id::{LaneId, LayerId, WatchId};
use crate::scene::Px;
use crate::store::Store;
use crate::view::View;

/// Most watches whose choices a page stores, because the storage of a browser is small: the first watches by name.
/// Choices for other watches are not stored, and further stored lines are not read. The number has no source.
const CHOICES_MOST: usize = 1_000;

/// The viewer's choices (opened and closed lanes, pins, filter, density) and the state of the lanes. The state has at
/// most one entry for each watch, lane and layer that the viewer chose or the store met.
///
/// A function that takes a store and a watch or lane panics if that store never gave out the number of this watch or
/// object.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The height of rows, and whether names stand above the rows.
    pub density: Density,
    /// Height of the screen area for the rows. Watches open by themselves while all rows fit into this height. Quiet
    /// watches that do not fit fold into one row. `None`: unlimited.
    pub height: Option<Px>,
    /// Opens every watch with all its objects in view, whatever the height: for lessons, and pictures of a failure. A
    /// choice of the viewer for a watch takes precedence.
    pub shows_all: bool,
    /// Which layers of a simulated cluster have rows.
    pub layers: LayerRows,
    /// Whether the rows stay as they are arranged even while the view follows now. A recording that is being played
    /// shows the lanes of the whole recording. The flag has no effect with `shows_all`.
    pub is_held: bool,
    /// The selected lane; `None` if no lane is selected. A selected watch or object has a row in any view once
    /// `records` is set, unless the filter hides it. Two kinds of selected objects that are not pinned may lack a row:
    /// those of a closed watch, and hidden ones while a filter is set or with `shows_all`.
    pub selected: Option<LaneId>,
    /// The functions that make all rows except that of findings: [`RECORDS`](crate::records::RECORDS), or `None` before
    /// they are loaded. Until then the rows are that of findings and the strips that [`Lanes::rows`] names.
    pub records: Option<&'static RowTable>,
    /// Findings that the viewer muted; [`Row::finding`](super::row::Row::finding) leaves them out.
    pub muted: Muted,
    pub(super) filter: Filter,
    /// Layers that the viewer opened although they are closed by default, or the reverse.
    pub(crate) toggled_layers: Vec<LayerId>,
    pub(super) choices: Choices,
    /// Whether the viewer opened the row of quiet watches.
    pub(super) quiet_is_open: bool,
    pub(super) arrangement: Arrangement,
    /// Whether the viewer points at a lane. While the viewer does, an order of watches that follows the log does not
    /// change.
    pub is_pointed: bool,
    /// Whether the tree has room for a column with the names of sections.
    pub is_wide: bool,
    /// The viewer's wishes for all lanes.
    pub(super) setup: Setup,
    /// The number of lanes that the store knew when the keys of `setup` were last looked up in it; `None` if they must
    /// be looked up again.
    pub(super) resolved: Option<usize>,
    /// The pinned lanes that the store knows, from top to bottom.
    pub(super) pinned: Vec<LaneId>,
    /// The hidden lanes that the store knows.
    pub(super) hidden: Vec<LaneId>,
    /// The watches whose gone objects the viewer opened.
    pub(super) gone_open: Vec<WatchId>,
}

/// Which layers of a simulated cluster have rows, as a lesson wants it. Each level has those of the level after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerRows {
    /// All layers.
    #[default]
    All,
    /// All but the connections of watchscope itself.
    Programs,
    /// etcd, the apiservers and the client programs.
    Sides,
}

/// The functions that make the rows which a page shows once it has read records.
#[derive(Clone, Copy, Debug)]
pub struct RowTable {
    /// The function that makes all rows except that of the findings.
    pub(crate) rows: fn(&mut Lanes, &Store, &mut RowBuilder, &View, Time),
}

impl Lanes {
    /// Returns lanes that show all rows of all watches. The functions of `table` make the rows.
    pub(crate) fn showing_all_by(table: &'static RowTable) -> Self {
        Self {
            shows_all: true,
            records: Some(table),
            ..Self::default()
        }
    }

    /// Sets a filter: only lanes that match it are shown, and the watch of each matching object. An empty text shows
    /// all lanes. A closed watch still shows no objects under it; objects that the grouping puts into other sections
    /// show. A lane's name must contain each word, and must not contain the word of `-word` or `!word`. For an object,
    /// the name of its watch may contain the word, too, or its namespace may be the word. `kind=pods` and `kind≠events`
    /// (`:`, `!=` and `resource` work as well) are about the resource, in singular or plural. Spaces separate words,
    /// and ASCII case does not count, except in `kind` itself. The filter never hides pinned lanes, findings in view
    /// and own requests; it always hides connections and layers. The row of quiet watches then stands only for watches
    /// that lack a word, unless the viewer opened it.
    pub fn set_filter(&mut self, text: &str) {
        self.filter = Filter::parse(text);
    }

    /// Returns the filter as typed, without spaces at both ends; empty if none is set.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter.text
    }

    /// Whether a filter is set.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.filter.terms.is_empty()
    }

    /// Shows or hides the rows under a watch, as the viewer's choice. With `expanded`, a watch that the viewer opened
    /// with all objects keeps all of them.
    pub fn set_expanded(&mut self, store: &Store, watch: WatchId, expanded: bool) {
        let name = store.names().watch_name(watch);
        let choice = match (expanded, self.choices.get(name)) {
            (false, _) => Choice::Closed,
            (true, Some(Choice::Whole)) => Choice::Whole,
            (true, _) => Choice::Open,
        };
        self.choices.insert(name.clone(), choice);
    }

    /// Shows the rows under a watch if they are hidden, and hides them if they are shown, as the viewer's choice.
    pub fn toggle(&mut self, store: &Store, watch: WatchId) {
        let is_open = self.is_open(store, watch);
        self.set_expanded(store, watch, !is_open);
    }

    /// Returns whether the rows under a watch are shown: by the viewer's choice, or else by [`Lanes::shows_all`] or the
    /// last arrangement.
    #[must_use]
    pub fn is_open(&self, store: &Store, watch: WatchId) -> bool {
        let choice = self.choices.get(store.names().watch_name(watch)).copied();
        self.opens(choice, self.arrangement.of(watch))
    }

    pub(super) fn opens(&self, choice: Option<Choice>, kept: Option<&Kept>) -> bool {
        match choice {
            Some(choice) => choice != Choice::Closed,
            None => self.shows_all || kept.is_some_and(|kept| kept.is_open(None)),
        }
    }

    /// Opens a watch, as the viewer's choice: with all its objects if `is_whole`, otherwise with at most 12 and the
    /// selected one. If the screen has room, it may be more than 12. Gone objects stay in the row of gone objects.
    pub fn set_whole(&mut self, store: &Store, watch: WatchId, is_whole: bool) {
        let name = store.names().watch_name(watch).clone();
        let choice = if is_whole {
            Choice::Whole
        } else {
            Choice::Open
        };
        self.choices.insert(name, choice);
    }

    /// Shows all objects of a watch; if the viewer had opened all, shows those that [`set_whole`](Self::set_whole)
    /// shows without `is_whole`. A closed watch opens.
    pub fn toggle_more(&mut self, store: &Store, watch: WatchId) {
        let name = store.names().watch_name(watch);
        let is_whole = self.choices.get(name) == Some(&Choice::Whole);
        self.set_whole(store, watch, !is_whole);
    }

    /// Shows the quiet watches without room if `is_open`, otherwise folds them into one row. Selected and pinned
    /// watches stay. With a filter all watches stay; with [`Lanes::shows_all`] those without a choice of the viewer.
    /// The call has no effect on the rows if the lanes are grouped, or if the folding is not
    /// [`Folding::ByItself`](super::Folding::ByItself).
    pub fn set_quiet_open(&mut self, is_open: bool) {
        self.quiet_is_open = is_open;
    }

    /// Shows the quiet watches if they are folded, and folds them if they are shown, as
    /// [`set_quiet_open`](Self::set_quiet_open) does.
    pub fn toggle_quiet(&mut self) {
        self.quiet_is_open = !self.quiet_is_open;
    }

    /// Returns what the viewer opened and closed, as a page stores it: one line for each watch by name, at most the
    /// first 1,000. A line has `-` (closed), `+` (open) or `*` (all objects), then the name. The text is empty if the
    /// viewer made no choice.
    #[must_use]
    pub fn choices(&self) -> String {
        let mut text = String::new();
        for (name, choice) in self.choices.iter().take(CHOICES_MOST) {
            text.push(choice.sign());
            text.push_str(name.as_str());
            text.push('\n');
        }
        text
    }

    /// Restores what [`Lanes::choices`] returned; other watches keep their choices. Skips lines that it cannot read,
    /// and all lines after the first 1,000. Of several lines for one watch, the last counts.
    pub fn set_choices(&mut self, text: &str) {
        for line in text.lines().take(CHOICES_MOST) {
            let mut chars = line.chars();
            let choice = chars.next().and_then(Choice::of_sign);
            if let Some(choice) = choice.filter(|_| !chars.as_str().is_empty()) {
                self.choices.insert(chars.as_str().into(), choice);
            }
        }
    }

    /// Shows or hides the rows under all watches of the store, as the viewer's choice for each.
    pub fn set_all_expanded(&mut self, store: &Store, expanded: bool) {
        for &watch in store.names().watches_by_name() {
            self.set_expanded(store, watch, expanded);
        }
    }

    /// Forgets the state of the lanes, for when the store begins anew. The viewer's choices stay, but gone objects are
    /// folded again. The numbers of the selected lane and of the toggled layers stay, though the new store may give
    /// these numbers to others.
    pub fn forget(&mut self) {
        self.arrangement = Arrangement::default();
        self.resolved = None;
        self.gone_open.clear();
    }

    /// Returns the rows for a view, and moves the state of the lanes on with the log; see [`Arrangement`]. `now` is the
    /// time of the pen, the line of now. Without [`Lanes::records`] the result has the row of findings, and by name a
    /// strip for each watch that was wanted in the view. A watch was wanted in the view if in some epoch its last start
    /// is neither after the view's end nor after `now`. It must not have stopped before the view's begin. Without a
    /// finding in view, the row of findings is missing before the store met a watch, with a filter, and with
    /// [`Lanes::shows_all`].
    pub fn rows(&mut self, store: &Store, view: &View, now: Time) -> Rows {
        let window = (view.left(), view.right().min(now));
        let mut builder = RowBuilder {
            density: self.density,
            rows: Rows::default(),
        };
        // The row of findings is there even without findings, so that no row moves when one comes into view.
        let is_needed = !self.shows_all && self.filter.terms.is_empty();
        builder.findings(store, window, is_needed);
        if let Some(records) = self.records {
            (records.rows)(self, store, &mut builder, view, now);
            return builder.rows;
        }
        for &watch in store.names().watches_by_name() {
            let traces = store.watch_traces(watch);
            if traces.iter().any(|trace| is_wanted(trace, window)) {
                let row = builder.watch(store, watch, &traces, false, window);
                let name = store.names().watch_name(watch);
                row.finding = self.worst_finding(store, |finding| finding.concerns(name));
            }
        }
        builder.rows
    }

    /// Returns code and severity of the most severe of the open findings that `is_meant` accepts and that are not
    /// muted; of equally severe findings, the first by key. `None` if there is no such finding.
    pub(crate) fn worst_finding(
        &self,
        store: &Store,
        is_meant: impl Fn(&Finding) -> bool,
    ) -> Option<(Text, Severity)> {
        let mut worst: Option<&Finding> = None;
        for (key, open) in &store.state()?.findings {
            let finding = &open.finding;
            if is_meant(finding)
                && worst.is_none_or(|worst| {
                    worst.worst_severity().rank() < finding.worst_severity().rank()
                })
                && !self.muted.has(key)
            {
                worst = Some(finding);
            }
        }
        worst.map(|finding| (finding.code.clone(), finding.worst_severity()))
    }

    /// Looks up the lanes of the pinned and hidden keys again, if the store met new names or the viewer changed these
    /// keys.
    pub(super) fn resolve(&mut self, store: &Store) {
        let lanes = store.count_lanes();
        if self.resolved == Some(lanes) {
            return;
        }
        self.resolved = Some(lanes);
        let find = |key: &String| store.lane_of_key(key);
        self.pinned = self.setup.pinned.iter().filter_map(find).collect();
        self.hidden = self.setup.hidden.iter().filter_map(find).collect();
    }
}
