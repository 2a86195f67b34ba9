//! Lanes: which rows the picture has, in which order, how high, and what stands in the tree beside them.
//!
//! A watch in which nothing happened is one strip. Which watches are open, and which objects have rows, is the state of
//! the lanes ([`Arrangement`]); what a person opened or closed comes before it. Watches are ordered by name.

mod arrange;
mod filter;
mod layers;

use std::collections::BTreeSet;

use watchscope_model::event::Finding;
use watchscope_model::id::Extent;
use watchscope_model::vocabulary::{Divergence, Severity};
use watchscope_model::{Text, Time};

pub use self::arrange::Arrangement;
pub(crate) use self::arrange::OBJECTS_MOST;
use self::arrange::{Choice, Choices, Kept, Room, arrange};
use self::filter::Filter;
pub(crate) use self::layers::level_at;
use crate::findings::{Muted, is_of_cause};
use crate::format::{count, number};
use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId, ObjectId, ServerId, WatchId};
use crate::phrases::ASIDES;
use crate::scene::Px;
use crate::store::{AsideStep, Known, ObjectTrace, Span, Store, VerdictSpan, WatchTrace};
use crate::tokens::Token;
use crate::view::View;

/// The most watches for which a page keeps what a person chose: the first of them by name.
const CHOICES_MOST: usize = 1_000;

/// How high rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Density {
    /// Many lanes on a screen.
    #[default]
    Compact,
    /// Larger rows and glyphs.
    Comfortable,
    /// Compact, with room above each lane for its name: narrow screens have no tree.
    Labelled,
}

/// What kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The findings of all watches.
    Findings,
    /// A watch; its rows hang under it.
    Watch,
    /// A watch whose rows are not shown.
    Strip,
    /// The connections to a server.
    Connection,
    /// The resourceVersion trace of a watch.
    Version,
    /// An object.
    Object,
    /// The objects of a watch that have no rows of their own.
    More,
    /// The quiet watches that have no rows of their own.
    Quiet,
    /// What watchscope asks beside its watches.
    Asides,
    /// A layer of a simulated cluster, by what it does.
    Layer,
    /// A layer of a simulated cluster, by how far it is.
    LayerTrace,
    /// The connections of a client in a simulated cluster's network.
    LayerConnection,
    /// What a watch cache of a simulated cluster feeds one client.
    LayerStream,
}

/// A row of the picture and of the tree beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which lane.
    pub id: LaneId,
    /// What kind.
    pub kind: RowKind,
    /// Top edge, from the top of all rows.
    pub y: Px,
    /// Room left above the top edge for the name.
    pub label: Px,
    /// Height.
    pub height: Px,
    /// Side of its glyphs, in whole px.
    pub glyph_size: u8,
    /// Where its name begins in the tree, in px.
    pub indent_px: u8,
    /// What stands before the name, quieter: `shop/`.
    pub prefix: Text,
    /// Its name. Hostile: show as text.
    pub name: Text,
    /// The figure on its right: events loaded, or objects.
    pub count: Option<u64>,
    /// For a watch: whether its rows are shown.
    pub expanded: Option<bool>,
    /// The worst thing in it, as a mark in the tree.
    pub mark: Option<(Glyph, Token)>,
    /// The worst finding that stands in it and is not muted: its code, and how bad it is.
    pub finding: Option<(Text, Severity)>,
    /// Whether the watch and the truth have parted here.
    pub diverged: bool,
    /// Whether it is pinned to the top.
    pub pinned: bool,
}

impl Row {
    /// Bottom edge.
    #[must_use]
    pub fn bottom(&self) -> Px {
        self.y + self.height
    }
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// From top to bottom.
    pub rows: Vec<Row>,
    /// Height of all together.
    pub height: Px,
    /// How many lanes the filter hides.
    pub hidden: usize,
}

impl Rows {
    /// The row of a lane.
    #[must_use]
    pub fn find(&self, lane: LaneId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == lane)
    }

    /// The row at a y from the top of all rows.
    #[must_use]
    pub fn at(&self, y: Px) -> Option<&Row> {
        let place = self.rows.partition_point(|row| row.bottom() <= y);
        self.rows.get(place).filter(|row| row.y <= y)
    }

    /// The places of the rows that show between two y.
    #[must_use]
    pub fn window(&self, top: Px, bottom: Px) -> std::ops::Range<usize> {
        let from = self.rows.partition_point(|row| row.bottom() <= top);
        let to = self.rows.partition_point(|row| row.y < bottom);
        from..to.max(from)
    }
}

impl Density {
    /// How high a row is: the room for its name above it, and the row itself.
    fn heights(self, kind: RowKind, diverged: bool) -> (Px, Px) {
        let is_compact = self != Self::Comfortable;
        let (compact, comfortable) = match (kind, diverged) {
            (RowKind::Findings | RowKind::Watch | RowKind::Layer, _) => (26, 32),
            (RowKind::Connection | RowKind::LayerConnection | RowKind::Asides, _) => (20, 24),
            (RowKind::Version | RowKind::LayerTrace, _) => (40, 56),
            (RowKind::LayerStream, _) => (16, 20),
            (RowKind::Strip | RowKind::More | RowKind::Quiet, _) => (14, 18),
            (RowKind::Object, false) => (18, 24),
            (RowKind::Object, true) => (26, 30),
        };
        let label = match (self, kind) {
            (Self::Compact | Self::Comfortable, _) => 0,
            (Self::Labelled, RowKind::Findings | RowKind::Watch) => 16,
            (Self::Labelled, _) => 14,
        };
        let height = if is_compact { compact } else { comfortable };
        (Px::whole(label), Px::whole(height))
    }

    /// Height of a row with the room for its name; of an object that does not diverge.
    fn whole_height(self, kind: RowKind) -> Px {
        let (label, height) = self.heights(kind, false);
        label + height
    }
}

/// What the person chose: opened and closed lanes, pins, filter, density. And the state of the lanes.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// How high rows are.
    pub density: Density,
    /// Height of the window: watches open by themselves while all rows end above its lower edge. `None`: without end.
    pub height: Option<Px>,
    /// Every watch is open with all that it has, whatever the height: for lessons, and pictures of a failure.
    pub shows_all: bool,
    /// The rows stay as they are arranged: a recording that is played shows the lanes of all of it.
    pub is_held: bool,
    /// The selected lane: it stays, whatever the view.
    pub selected: Option<LaneId>,
    /// What makes all rows but strips and findings: that of [`RECORDS`](crate::records::RECORDS), or `None` before it is
    /// loaded.
    pub records: Option<&'static RowTable>,
    /// Findings the person does not want to see.
    pub muted: Muted,
    filter: Filter,
    /// Layers that were opened or closed, against what they are unless asked.
    toggled_layers: Vec<LayerId>,
    choices: Choices,
    /// Whether a person opened the row of quiet watches.
    quiet_is_open: bool,
    arrangement: Arrangement,
    pinned: BTreeSet<LaneId>,
}

/// What makes the rows that a page shows once it has taken in records.
#[derive(Clone, Copy, Debug)]
pub struct RowTable {
    /// All rows but that of the findings.
    pub(crate) rows: fn(&mut Lanes, &Store, &mut RowBuilder, &View, Time),
}

/// An object whose row shows.
struct FoundObject {
    object: ObjectId,
    /// Its divergence, if it has one in the view.
    mark: Option<(Glyph, Token)>,
    /// How many changes of it are loaded.
    count: u64,
}

/// The objects of a watch whose rows show, in order, and how many are hidden.
#[derive(Default)]
struct Found {
    objects: Vec<FoundObject>,
    hidden: usize,
}

impl Lanes {
    /// Lanes that show all rows of all watches, as a table makes them.
    pub(crate) fn showing_all_by(table: &'static RowTable) -> Self {
        Self {
            shows_all: true,
            records: Some(table),
            ..Self::default()
        }
    }

    /// Shows only lanes that fit: words a name must have, `-word` it must not, `kind=pods`, `kind≠events`.
    pub fn set_filter(&mut self, text: &str) {
        self.filter = Filter::parse(text);
    }

    /// The filter as typed.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter.text
    }

    /// Shows or hides the rows under a watch, as a person chose.
    pub fn set_expanded(&mut self, store: &Store, watch: WatchId, expanded: bool) {
        let name = store.names().watch_name(watch);
        let choice = match (expanded, self.choices.get(name)) {
            (false, _) => Choice::Closed,
            (true, Some(Choice::Whole)) => Choice::Whole,
            (true, _) => Choice::Open,
        };
        self.choices.insert(name.clone(), choice);
    }

    /// Shows or hides the rows under a watch, whichever it is not.
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

    /// Shows all objects of a watch, or only those that changed last.
    pub fn set_whole(&mut self, store: &Store, watch: WatchId, is_whole: bool) {
        let name = store.names().watch_name(watch).clone();
        let choice = if is_whole {
            Choice::Whole
        } else {
            Choice::Open
        };
        self.choices.insert(name, choice);
    }

    /// Shows all objects of a watch if it shows some, and the other way round.
    pub fn toggle_more(&mut self, store: &Store, watch: WatchId) {
        let name = store.names().watch_name(watch);
        let is_whole = self.choices.get(name) == Some(&Choice::Whole);
        self.set_whole(store, watch, !is_whole);
    }

    /// Shows or folds the quiet watches for which there is no room.
    pub fn set_quiet_open(&mut self, is_open: bool) {
        self.quiet_is_open = is_open;
    }

    /// Shows or folds them, whichever they are not.
    pub fn toggle_quiet(&mut self) {
        self.quiet_is_open = !self.quiet_is_open;
    }

    /// What a person opened and closed, as a page keeps it: a line for each watch, at most [`CHOICES_MOST`].
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

    /// Takes what a page kept of [`Lanes::choices`]; a line that cannot be read is passed over.
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

    /// Lets go of the state of the lanes: the store begins again. What the person chose stays.
    pub fn forget(&mut self) {
        self.arrangement = Arrangement::default();
    }

    /// Pins a lane to the top, or lets it go.
    pub fn set_pinned(&mut self, lane: LaneId, pinned: bool) {
        if pinned {
            self.pinned.insert(lane);
        } else {
            self.pinned.remove(&lane);
        }
    }

    /// The rows for a view. The state of the lanes moves on with the log; see [`Arrangement`]. Before there are
    /// [`Lanes::records`], each watch is a strip.
    pub fn rows(&mut self, store: &Store, view: &View, now: Time) -> Rows {
        let window = (view.left(), view.right().min(now));
        let mut builder = RowBuilder {
            density: self.density,
            rows: Rows::default(),
        };
        // It stands without any as well, so that no row moves as one comes into view.
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

    /// All rows but that of the findings.
    pub(crate) fn all_rows(
        &mut self,
        store: &Store,
        builder: &mut RowBuilder,
        view: &View,
        now: Time,
    ) {
        let window = (view.left(), view.right().min(now));
        self.layer_rows(store, builder, if self.shows_all { window.1 } else { now });
        for &lane in &self.pinned {
            builder.pinned(store, lane, window);
        }
        let room = Room {
            height: self.height,
            taken: builder.rows.height,
            density: self.density,
        };
        // What shows all of it is drawn for one view, and follows whichever that is.
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
        if after.has_asides {
            builder.asides(store);
        }
        self.arrangement = after;
    }

    /// The rows of a watch, if it has some; says whether it is not folded into the last row.
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
            Found::default()
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

    /// The worst of some findings that stands and is not muted.
    fn worst_finding(
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

    /// The objects of a watch that have something in the view and pass the filter.
    fn objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        (left, right): (Time, Time),
    ) -> Found {
        let name = store.names().watch_name(watch);
        let mut found = Found {
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
            // What is held stays; what is gone has a row only where it is in view.
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
                    .push(FoundObject::of(traces, object, (left, right)));
            } else {
                found.hidden += 1;
            }
        }
        found
    }

    /// The objects of a watch that the state of the lanes has rows for, and the selected one.
    fn kept_objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        kept: &Kept,
        window: (Time, Time),
    ) -> Found {
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
        Found {
            objects: objects
                .map(|&object| FoundObject::of(traces, object, window))
                .collect(),
            hidden: 0,
        }
    }
}

impl FoundObject {
    fn of(traces: &[&WatchTrace], object: ObjectId, (left, right): (Time, Time)) -> Self {
        let parts = || {
            traces
                .iter()
                .filter_map(|trace| trace.objects.get(object.0 as usize))
        };
        let verdicts = parts().flat_map(|part| part.verdicts.all());
        Self {
            object,
            mark: divergence_mark(verdicts, left, right),
            count: parts().map(ObjectTrace::changes).sum(),
        }
    }
}

/// Whether a watch is wanted at some time between `left` and `right`.
fn is_wanted(trace: &WatchTrace, (left, right): (Time, Time)) -> bool {
    let Some(started) = trace.started else {
        return false;
    };
    let stopped = trace
        .phases
        .all()
        .last()
        .filter(|span| span.what.phase == watchscope_model::vocabulary::Phase::Stopped)
        .map(|span| span.start.at);
    started.at <= right && stopped.is_none_or(|at| at >= left)
}

/// Whether one of an object's marks lies between `left` and `right`.
fn has_mark(trace: &WatchTrace, marks: &[u32], left: Time, right: Time) -> bool {
    let place = marks.partition_point(|&mark| trace.marks.at(mark as usize) < left);
    marks
        .get(place)
        .is_some_and(|&mark| trace.marks.at(mark as usize) <= right)
}

/// Rows under construction.
pub(crate) struct RowBuilder {
    density: Density,
    rows: Rows,
}

impl RowBuilder {
    fn push(
        &mut self,
        id: LaneId,
        kind: RowKind,
        diverged: bool,
        prefix: &str,
        name: Text,
        count: Option<u64>,
    ) -> &mut Row {
        let is_compact = self.density != Density::Comfortable;
        let (label, height) = self.density.heights(kind, diverged);
        let glyph_size = match (kind, diverged) {
            (RowKind::Object, false) | (RowKind::LayerStream, _) if is_compact => 10,
            (RowKind::LayerStream, _) => 10,
            (RowKind::Object, true) if !is_compact => 14,
            _ => 12,
        };
        let indent_px = match kind {
            RowKind::Findings
            | RowKind::Watch
            | RowKind::Strip
            | RowKind::Connection
            | RowKind::Quiet
            | RowKind::Asides => 12,
            RowKind::More => 28,
            _ => 44,
        };
        let y = self.rows.height + label;
        self.rows.height = y + height;
        self.rows.rows.push(Row {
            id,
            kind,
            y,
            label,
            height,
            glyph_size,
            indent_px,
            prefix: prefix.into(),
            name,
            count,
            expanded: None,
            mark: None,
            finding: None,
            diverged,
            pinned: false,
        });
        self.rows.rows.last_mut().expect("a row was just pushed")
    }

    fn findings(&mut self, store: &Store, (left, right): (Time, Time), is_needed: bool) {
        let spans = store
            .epochs()
            .iter()
            .flat_map(|epoch| epoch.trace.findings.all());
        // As the panel counts them: those of one row of the catalogue are one.
        let (mut codes, mut worst): (Vec<&Text>, _) = (Vec::new(), Severity::Unknown);
        for span in spans.filter(|span| span.start.at <= right && span.end_at(right) >= left) {
            if !codes.contains(&&span.what.code) {
                codes.push(&span.what.code);
            }
            worst = worst.worse(span.what.severity);
        }
        if codes.is_empty() && (!is_needed || store.names().watches_by_name().is_empty()) {
            return;
        }
        let row = self.push(
            LaneId::Findings,
            RowKind::Findings,
            false,
            "",
            "Findings".into(),
            Some(codes.len() as u64),
        );
        row.mark = match worst {
            Severity::Divergence => Some((Glyph::Ghost, Token::Divergence)),
            Severity::Error => Some((Glyph::Error, Token::Error)),
            _ => None,
        };
    }

    /// Last of all, since it tells of us and not of the cluster.
    pub(crate) fn asides(&mut self, store: &Store) {
        let asides = store.epochs().iter().flat_map(|epoch| &epoch.trace.asides);
        let sent = asides.filter(|aside| aside.step == AsideStep::Sent).count();
        let (id, kind) = (LaneId::Asides, RowKind::Asides);
        self.push(id, kind, false, "", ASIDES.into(), Some(sent as u64));
    }

    /// The connections to a server, by the number of the one that is open.
    fn connection(&mut self, store: &Store, server: ServerId) {
        let remote = store.names().server_name(server);
        let open = store
            .state()
            .into_iter()
            .flat_map(|state| &state.connections);
        let mut open = open.filter(|(_, connection)| connection.remote == *remote);
        let name = match (open.next(), open.next()) {
            (Some((id, _)), None) => format!("conn {id} → {remote}"),
            _ => format!("connections → {remote}"),
        };
        let (id, kind) = (LaneId::Connection(server), RowKind::Connection);
        self.push(id, kind, false, "", name.into(), None);
    }

    /// The objects of a watch that have no rows.
    fn more(&mut self, watch: WatchId, kept: &Kept, is_whole: bool) {
        let name = if is_whole {
            format!("only {OBJECTS_MOST}")
        } else {
            format!("and {} more", number(kept.others as u64))
        };
        let (id, kind) = (LaneId::More(watch), RowKind::More);
        let row = self.push(id, kind, false, "", name.into(), None);
        row.expanded = Some(is_whole);
    }

    /// The quiet watches that have no rows, or had none until a person opened them.
    fn quiet(&mut self, folded: usize, is_open: bool) {
        let name = if is_open {
            "fewer quiet watches".to_owned()
        } else {
            format!("and {}", count(folded as u64, "quiet watch"))
        };
        let (id, kind) = (LaneId::Quiet, RowKind::Quiet);
        let row = self.push(id, kind, false, "", name.into(), None);
        row.expanded = Some(is_open);
    }

    fn watch(
        &mut self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        expanded: bool,
        (left, right): (Time, Time),
    ) -> &mut Row {
        let name = store.names().watch_name(watch);
        let rest = name.resource();
        let prefix = match name.namespace() {
            namespace if name.extent() == Extent::Cluster || namespace.is_empty() => String::new(),
            namespace => format!("{namespace}/"),
        };
        let count = traces
            .iter()
            .map(|trace| trace.objects.iter().map(ObjectTrace::changes).sum::<u64>())
            .sum();
        let mark = worst_mark(traces, left, right);
        // Where a watch is pinned to a server, that is what tells it from the others of the same.
        let server = traces.iter().find_map(|trace| trace.server.as_ref());
        let rest = match server {
            Some(server) => format!("{rest} to {server}"),
            None => rest.to_owned(),
        };
        let kind = if expanded {
            RowKind::Watch
        } else {
            RowKind::Strip
        };
        let row = self.push(
            LaneId::Watch(watch),
            kind,
            false,
            &prefix,
            rest.into(),
            Some(count),
        );
        row.expanded = Some(expanded);
        row.mark = mark;
        row
    }

    fn object(&mut self, store: &Store, watch: WatchId, found: &FoundObject) -> &mut Row {
        let &FoundObject {
            object,
            mark,
            count,
        } = found;
        let place = store.names().object_at(watch, object);
        let name = store.names().watch_name(watch);
        let everywhere = name.extent() == Extent::All;
        let prefix = match &place.namespace {
            Some(namespace) if everywhere => format!("{namespace}/"),
            _ => String::new(),
        };
        let lane = LaneId::Object(watch, object);
        let row = self.push(
            lane,
            RowKind::Object,
            mark.is_some(),
            &prefix,
            place.name.clone(),
            Some(count),
        );
        row.mark = mark;
        row
    }

    fn pinned(&mut self, store: &Store, lane: LaneId, window: (Time, Time)) {
        let LaneId::Object(watch, object) = lane else {
            return;
        };
        let traces = store.watch_traces(watch);
        let prefix = format!("{} ", store.names().watch_name(watch));
        let row = self.object(store, watch, &FoundObject::of(&traces, object, window));
        row.pinned = true;
        row.indent_px = 12;
        row.prefix = prefix.into();
    }
}

/// The worst thing between `left` and `right`, as a mark beside the watch's name.
fn worst_mark(traces: &[&WatchTrace], left: Time, right: Time) -> Option<(Glyph, Token)> {
    let within = |at: Time| at >= left && at <= right;
    let verdicts = traces
        .iter()
        .flat_map(|trace| &trace.objects)
        .flat_map(|object| object.verdicts.all());
    if let Some(mark) = divergence_mark(verdicts, left, right) {
        return Some(mark);
    }
    let refused = traces
        .iter()
        .flat_map(|trace| trace.phases.in_sequence(left, right))
        .any(|span| {
            span.what.phase == watchscope_model::vocabulary::Phase::Refused
                && span.start.at <= right
                && span.end_at(right) >= left
        });
    let error = traces
        .iter()
        .flat_map(|trace| &trace.errors)
        .any(|error| within(error.moment.at));
    let lost = traces
        .iter()
        .flat_map(|trace| trace.gaps.in_sequence(left, right))
        .any(|span| {
            span.what.outcome.is_some_and(|outcome| !outcome.resumed)
                && span.end.is_some_and(|end| within(end.at))
        });
    (refused || error || lost).then_some((Glyph::Error, Token::Error))
}

/// The mark of the worst divergence between `left` and `right` that is confirmed.
fn divergence_mark<'a>(
    verdicts: impl Iterator<Item = &'a Span<VerdictSpan>>,
    left: Time,
    right: Time,
) -> Option<(Glyph, Token)> {
    let shown = verdicts.filter(|span| span.start.at <= right && span.end_at(right) >= left);
    let shown = shown.filter(|span| span.what.is_confirmed);
    let worst = shown.map(|span| span.what.kind).min()?;
    Some((divergence_glyph(worst), Token::Divergence))
}

/// The glyph of a divergence.
pub(crate) fn divergence_glyph(kind: Divergence) -> Glyph {
    match kind {
        Divergence::Ghost => Glyph::Ghost,
        Divergence::Missing => Glyph::Missing,
        Divergence::ListOlder => Glyph::ListOlder,
        Divergence::Stale | Divergence::Unknown => Glyph::Stale,
    }
}
