//! The lanes of a page: the viewer's choices, the state of the lanes, and the rows that result from both.

use std::collections::BTreeSet;

use watchscope_model::event::Finding;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use super::arrange::{Arrangement, Choice, Choices, Kept, Room, arrange};
use super::builder::RowBuilder;
use super::filter::Filter;
use super::in_view::{has_mark, is_wanted};
use super::objects::{VisibleObject, VisibleObjects};
use super::row::{Density, RowKind, Rows};
use crate::findings::{Muted, is_of_cause};
use crate::id::{LaneId, LayerId, ObjectId, WatchId};
use crate::scene::Px;
use crate::store::{Known, Store, WatchTrace};
use crate::view::View;

/// Most watches whose choices a page stores: the first by name. Others are not stored.
const CHOICES_MOST: usize = 1_000;

/// The viewer's choices (opened and closed lanes, pins, filter, density) and the state of the lanes.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The height of rows.
    pub density: Density,
    /// Height of the window: watches open by themselves while all rows end above its lower edge. `None`: unlimited.
    pub height: Option<Px>,
    /// Opens every watch with all its objects, whatever the height: for lessons, and pictures of a failure.
    pub shows_all: bool,
    /// Keeps the rows as they are arranged. A recording that is played shows the lanes of the whole recording.
    pub is_held: bool,
    /// The selected lane; it stays, whatever the view.
    pub selected: Option<LaneId>,
    /// Makes all rows except strips and findings: [`RECORDS`](crate::records::RECORDS), or `None` before it is loaded.
    pub records: Option<&'static RowTable>,
    /// Findings that the viewer muted.
    pub muted: Muted,
    pub(super) filter: Filter,
    /// Layers that the viewer toggled from their default, open or closed.
    pub(crate) toggled_layers: Vec<LayerId>,
    choices: Choices,
    /// Whether the viewer opened the row of quiet watches.
    quiet_is_open: bool,
    arrangement: Arrangement,
    pub(super) pinned: BTreeSet<LaneId>,
}

/// The functions that make the rows which a page shows once it has read records.
#[derive(Clone, Copy, Debug)]
pub struct RowTable {
    /// Makes all rows except that of the findings.
    pub(crate) rows: fn(&mut Lanes, &Store, &mut RowBuilder, &View, Time),
}

impl Lanes {
    /// Returns lanes that show all rows of all watches, made by a table.
    pub(crate) fn showing_all_by(table: &'static RowTable) -> Self {
        Self {
            shows_all: true,
            records: Some(table),
            ..Self::default()
        }
    }

    /// Shows only lanes that match: a name must have each word, must not have `-word`; `kind=pods`, `kind≠events`.
    pub fn set_filter(&mut self, text: &str) {
        self.filter = Filter::parse(text);
    }

    /// Returns the filter as typed.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter.text
    }

    /// Whether a filter is set.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.filter.terms.is_empty()
    }

    /// Shows or hides the rows under a watch, as the viewer's choice.
    pub fn set_expanded(&mut self, store: &Store, watch: WatchId, expanded: bool) {
        let name = store.names().watch_name(watch);
        let choice = match (expanded, self.choices.get(name)) {
            (false, _) => Choice::Closed,
            (true, Some(Choice::Whole)) => Choice::Whole,
            (true, _) => Choice::Open,
        };
        self.choices.insert(name.clone(), choice);
    }

    /// Shows the rows under a watch if they are hidden, and hides them if they are shown.
    pub fn toggle(&mut self, store: &Store, watch: WatchId) {
        let is_open = self.is_open(store, watch);
        self.set_expanded(store, watch, !is_open);
    }

    /// Whether the rows under a watch are shown.
    #[must_use]
    pub fn is_open(&self, store: &Store, watch: WatchId) -> bool {
        let choice = self.choices.get(store.names().watch_name(watch)).copied();
        self.opens(choice, self.arrangement.of(watch))
    }

    fn opens(&self, choice: Option<Choice>, kept: Option<&Kept>) -> bool {
        match choice {
            Some(choice) => choice != Choice::Closed,
            None => self.shows_all || kept.is_some_and(|kept| kept.is_open(None)),
        }
    }

    /// Shows all objects of a watch, or only the 12 that changed last.
    pub fn set_whole(&mut self, store: &Store, watch: WatchId, is_whole: bool) {
        let name = store.names().watch_name(watch).clone();
        let choice = if is_whole {
            Choice::Whole
        } else {
            Choice::Open
        };
        self.choices.insert(name, choice);
    }

    /// Shows all objects of a watch if only some are shown, and the other way round.
    pub fn toggle_more(&mut self, store: &Store, watch: WatchId) {
        let name = store.names().watch_name(watch);
        let is_whole = self.choices.get(name) == Some(&Choice::Whole);
        self.set_whole(store, watch, !is_whole);
    }

    /// Shows or folds the quiet watches without room.
    pub fn set_quiet_open(&mut self, is_open: bool) {
        self.quiet_is_open = is_open;
    }

    /// Shows the quiet watches if they are folded, and folds them if they are shown.
    pub fn toggle_quiet(&mut self) {
        self.quiet_is_open = !self.quiet_is_open;
    }

    /// Returns what the viewer opened and closed, as a page stores it: one line for each watch, at most
    /// [`CHOICES_MOST`].
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

    /// Restores what [`Lanes::choices`] returned. Skips lines that it cannot read, and lines beyond [`CHOICES_MOST`].
    pub fn set_choices(&mut self, text: &str) {
        for line in text.lines().take(CHOICES_MOST) {
            let mut chars = line.chars();
            let choice = chars.next().and_then(Choice::of_sign);
            if let Some(choice) = choice.filter(|_| !chars.as_str().is_empty()) {
                self.choices.insert(chars.as_str().into(), choice);
            }
        }
    }

    /// Shows or hides the rows under all watches.
    pub fn set_all_expanded(&mut self, store: &Store, expanded: bool) {
        for &watch in store.names().watches_by_name() {
            self.set_expanded(store, watch, expanded);
        }
    }

    /// Forgets the state of the lanes, because the store begins anew. The viewer's choices stay.
    pub fn forget(&mut self) {
        self.arrangement = Arrangement::default();
    }

    /// Pins a lane to the top, or unpins it.
    pub fn set_pinned(&mut self, lane: LaneId, pinned: bool) {
        if pinned {
            self.pinned.insert(lane);
        } else {
            self.pinned.remove(&lane);
        }
    }

    /// Returns the rows for a view, and moves the state of the lanes on with the log; see [`Arrangement`]. Without
    /// [`Lanes::records`] each watch is a strip.
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

    /// Adds all rows except those of findings and of layers.
    pub(crate) fn watch_and_other_rows(
        &mut self,
        store: &Store,
        builder: &mut RowBuilder,
        view: &View,
        now: Time,
    ) {
        let window = (view.left(), view.right().min(now));
        for &lane in &self.pinned {
            builder.pinned(store, lane, window);
        }
        let room = Room {
            height: self.height,
            taken: builder.rows.height,
            density: self.density,
        };
        // A picture with all rows is drawn for one view, so it always follows that view.
        let follows = (view.following && !self.is_held) || self.shows_all;
        let before = std::mem::take(&mut self.arrangement);
        let after = arrange(store, &self.choices, room, window, follows, before);
        if self.filter.terms.is_empty() {
            for &server in &after.connections {
                builder.connection(store, server);
            }
        }
        let mut folded = 0;
        for &watch in store.names().watches_by_name() {
            let Some(kept) = after.of(watch) else {
                continue;
            };
            folded += usize::from(!self.watch_rows(store, builder, watch, kept, window));
        }
        if folded > 0 || (self.quiet_is_open && after.folds()) {
            builder.quiet(folded, self.quiet_is_open);
        }
        if after.has_own_requests {
            builder.own_requests(store);
        }
        self.arrangement = after;
    }

    /// Adds the rows of a watch, if it has any. Returns whether the watch is not folded into the row of quiet watches.
    fn watch_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        watch: WatchId,
        kept: &Kept,
        window: (Time, Time),
    ) -> bool {
        let traces = store.watch_traces(watch);
        let is_shown = if self.shows_all {
            traces.iter().any(|trace| is_wanted(trace, window))
        } else {
            kept.is_shown
        };
        let is_selected = self.selected_watch() == Some(watch);
        if !is_shown && !is_selected {
            return true;
        }
        let name = store.names().watch_name(watch);
        if !self.filter.allows_watch(name) {
            builder.rows.hidden += 1;
            return true;
        }
        let is_filtered = !self.filter.terms.is_empty();
        let choice = self.choices.get(name).copied();
        let is_open = self.opens(choice, Some(kept));
        let shows_all = self.shows_all && choice.is_none();
        let is_whole = shows_all || is_filtered || choice == Some(Choice::Whole);
        let stays = shows_all || is_filtered || is_selected || self.quiet_is_open;
        if kept.is_folded && !stays {
            return false;
        }
        let found = if is_filtered || (is_open && is_whole) {
            self.objects(store, watch, &traces, window)
        } else if is_open {
            self.kept_objects(store, watch, &traces, kept, window)
        } else {
            VisibleObjects::default()
        };
        builder.rows.hidden += found.hidden;
        if found.objects.is_empty() && !self.filter.allows(name, None) {
            builder.rows.hidden += 1;
            return true;
        }
        let row = builder.watch(store, watch, &traces, is_open, window);
        let known = Known::now(store, window.1);
        row.finding = self.worst_finding(store, |finding| {
            finding.concerns(name) || (finding.has_more() && is_of_cause(known, finding, name))
        });
        if kept.shows_version(choice) || (shows_all && is_open) {
            let (lane, kind) = (LaneId::Version(watch), RowKind::Version);
            builder.push(lane, kind, false, "", "resourceVersion".into(), None);
        }
        if !is_open {
            return true;
        }
        for found in &found.objects {
            builder.object(store, watch, found);
        }
        if kept.others > 0 && !shows_all && !is_filtered {
            builder.more(watch, kept, choice == Some(Choice::Whole));
        }
        true
    }

    /// Returns the most severe of the open findings that `is_meant` accepts and that are not muted.
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

    fn selected_watch(&self) -> Option<WatchId> {
        self.selected.and_then(LaneId::watch)
    }

    /// Returns the objects of a watch that have something in view and pass the filter.
    fn objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        (left, right): (Time, Time),
    ) -> VisibleObjects {
        let name = store.names().watch_name(watch);
        let mut found = VisibleObjects {
            objects: Vec::new(),
            hidden: 0,
        };
        let known = store.state().and_then(|state| state.watches.get(name));
        for &object in store.names().objects_by_name(watch) {
            let lane = LaneId::Object(watch, object);
            let lives = |start: Time, end: Time| start <= right && end >= left;
            let mut parts = traces
                .iter()
                .filter_map(|trace| Some((trace, trace.objects.get(object.0 as usize)?)));
            // A held object keeps its row. A deleted one has a row only if it is in view.
            let is_held = !self.shows_all
                && known.is_some_and(|known| {
                    known.held(store.names().object_at(watch, object)).is_some()
                });
            let shown = self.selected == Some(lane)
                || is_held
                || parts.any(|(trace, part)| {
                    let verdicts = part.verdicts.all().iter();
                    let mut verdicts = verdicts.map(|span| (span.start.at, span.end_at(right)));
                    verdicts.any(|(start, end)| lives(start, end))
                        || part
                            .lives
                            .all()
                            .iter()
                            .any(|span| lives(span.start.at, span.end_at(right)))
                        || has_mark(trace, &part.marks, left, right)
                });
            if !shown || self.pinned.contains(&lane) {
                continue;
            }
            if self
                .filter
                .allows(name, Some(store.names().object_at(watch, object)))
            {
                found
                    .objects
                    .push(VisibleObject::of(traces, object, (left, right)));
            } else {
                found.hidden += 1;
            }
        }
        found
    }

    /// Returns the objects with rows by the state of the lanes, and the selected one.
    fn kept_objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        kept: &Kept,
        window: (Time, Time),
    ) -> VisibleObjects {
        let selected = match self.selected {
            Some(LaneId::Object(of, object)) if of == watch => Some(object),
            _ => None,
        };
        let selected = selected.filter(|object| !kept.objects.contains(object));
        let is_here = |object: &&ObjectId| {
            !self.pinned.contains(&LaneId::Object(watch, **object))
                && (object.0 as usize) < store.names().objects_by_name(watch).len()
        };
        let objects = kept.objects.iter().chain(&selected).filter(is_here);
        VisibleObjects {
            objects: objects
                .map(|&object| VisibleObject::of(traces, object, window))
                .collect(),
            hidden: 0,
        }
    }
}
