//! Lanes: which rows the picture has, in which order, how high, and what stands in the tree beside them.
//!
//! A row is there if something of it lies in the view, so that objects long gone do not pile up; what is pinned or
//! selected stays. Rows are ordered by name, whatever came first.

mod filter;
mod layers;

use std::collections::BTreeSet;

use watchscope_model::event::Finding;
use watchscope_model::map::Map;
use watchscope_model::vocabulary::{Divergence, Severity};
use watchscope_model::{Text, Time, WatchName};

use self::filter::Filter;
pub(crate) use self::layers::{crowd_words, level_at};
use crate::draw::Records;
use crate::findings::{Muted, rank, worse};
use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId, ObjectId, WatchId};
use crate::scene::Px;
use crate::store::{AsideStep, Span, Store, VerdictSpan, WatchTrace};
use crate::tokens::Token;
use crate::view::View;

/// A watch with more objects than this starts collapsed.
const COLLAPSE_OVER: usize = 24;

/// The name of the lane of what watchscope asks beside its watches: the observer's own load.
pub(crate) const ASIDES: &str = "Own requests";

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
    /// The connections of a watch.
    Connection,
    /// The resourceVersion trace of a watch.
    Version,
    /// An object.
    Object,
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

/// What the person chose: collapsed lanes, pins, filter, density.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// How high rows are.
    pub density: Density,
    /// The selected lane: it stays, whatever the view.
    pub selected: Option<LaneId>,
    /// How records are drawn: layers have rows only where something draws them.
    pub records: Option<&'static Records>,
    /// Findings the person does not want to see.
    pub muted: Muted,
    filter: Filter,
    /// Layers that were opened or closed, against what they are unless asked.
    toggled_layers: Vec<LayerId>,
    expanded: Map<WatchName, bool>,
    pinned: BTreeSet<LaneId>,
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
struct Found {
    objects: Vec<FoundObject>,
    hidden: usize,
}

impl Lanes {
    /// Shows only lanes that fit: words a name must have, `-word` it must not, `kind=pods`, `kind≠events`.
    pub fn set_filter(&mut self, text: &str) {
        self.filter = Filter::parse(text);
    }

    /// The filter as typed.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter.text
    }

    /// Shows or hides the rows under a watch.
    pub fn set_expanded(&mut self, store: &Store, watch: WatchId, expanded: bool) {
        self.expanded
            .insert(store.names().watch_name(watch).clone(), expanded);
    }

    /// Turns the rows under a watch on or off.
    pub fn toggle(&mut self, store: &Store, watch: WatchId) {
        let name = store.names().watch_name(watch).clone();
        let expanded = self.expanded.get(&name).copied().unwrap_or(true);
        self.expanded.insert(name, !expanded);
    }

    /// Shows or hides the rows under all watches.
    pub fn set_all_expanded(&mut self, store: &Store, expanded: bool) {
        for &watch in store.names().watches_by_name() {
            self.set_expanded(store, watch, expanded);
        }
    }

    /// Pins a lane to the top, or lets it go.
    pub fn set_pinned(&mut self, lane: LaneId, pinned: bool) {
        if pinned {
            self.pinned.insert(lane);
        } else {
            self.pinned.remove(&lane);
        }
    }

    /// The rows for a view. Remembers which watches it found small enough to start expanded.
    pub fn rows(&mut self, store: &Store, view: &View, now: Time) -> Rows {
        let (left, right) = (view.left(), view.right().min(now));
        let mut builder = RowBuilder {
            density: self.density,
            rows: Rows::default(),
        };
        builder.findings(store, left, right);
        if let Some(records) = self.records {
            (records.layer_rows)(self, store, &mut builder, right);
        }
        for &lane in &self.pinned {
            builder.pinned(store, lane, left, right);
        }
        for &watch in store.names().watches_by_name() {
            let traces: Vec<&WatchTrace> = store
                .epochs()
                .iter()
                .filter_map(|epoch| epoch.trace.watch(watch))
                .collect();
            if !traces.iter().any(|trace| is_wanted(trace, left, right))
                && self.selected_watch() != Some(watch)
            {
                continue;
            }
            let name = store.names().watch_name(watch);
            if !self.filter.allows_watch(name) {
                builder.rows.hidden += 1;
                continue;
            }
            let known = self.expanded.get(name).copied();
            // Whether the objects matter at all: a collapsed watch under no filter is one row.
            let found = (known != Some(false) || !self.filter.terms.is_empty())
                .then(|| self.objects(store, watch, &traces, left, right));
            let expanded = known.unwrap_or_else(|| {
                let small = found
                    .as_ref()
                    .is_none_or(|found| found.objects.len() <= COLLAPSE_OVER);
                if traces.iter().any(|trace| !trace.objects.is_empty()) {
                    self.expanded.insert(name.clone(), small);
                }
                small
            });
            let found = found.unwrap_or(Found {
                objects: Vec::new(),
                hidden: 0,
            });
            builder.rows.hidden += found.hidden;
            if found.objects.is_empty() && !self.filter.allows(name, None) {
                builder.rows.hidden += 1;
                continue;
            }
            let row = builder.watch(store, watch, &traces, expanded, (left, right));
            row.finding = self.worst_finding(store, |finding| {
                let beyond = self.records.filter(|_| finding.has_more());
                finding.concerns(name)
                    || beyond.is_some_and(|records| (records.is_of_cause)(store, finding, name))
            });
            if expanded {
                builder.under_watch(store, watch, &traces, &found.objects);
            }
        }
        builder.asides(store, left, right);
        builder.rows
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
                    rank(worst.worst_severity()) < rank(finding.worst_severity())
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
        left: Time,
        right: Time,
    ) -> Found {
        let name = store.names().watch_name(watch);
        let mut found = Found {
            objects: Vec::new(),
            hidden: 0,
        };
        for &object in store.names().objects_by_name(watch) {
            let lane = LaneId::Object(watch, object);
            let mut shown = self.selected == Some(lane);
            let lives = |start: Time, end: Time| start <= right && end >= left;
            let parts = || {
                traces
                    .iter()
                    .filter_map(|trace| Some((trace, trace.objects.get(object.0 as usize)?)))
            };
            let mark = divergence_mark(
                parts().flat_map(|(_, part)| part.verdicts.all()),
                left,
                right,
            );
            let count = parts().map(|(_, part)| part.marks.len() as u64).sum();
            shown |= parts().any(|(trace, part)| {
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
                found.objects.push(FoundObject {
                    object,
                    mark,
                    count,
                });
            } else {
                found.hidden += 1;
            }
        }
        found
    }
}

/// Whether a watch is wanted at some time between `left` and `right`.
fn is_wanted(trace: &WatchTrace, left: Time, right: Time) -> bool {
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
        let compact = self.density != Density::Comfortable;
        let (height, glyph_size) = match (kind, diverged) {
            (RowKind::Findings | RowKind::Watch | RowKind::Layer, _) => {
                (if compact { 26 } else { 32 }, 12)
            }
            (RowKind::Connection | RowKind::LayerConnection | RowKind::Asides, _) => {
                (if compact { 20 } else { 24 }, 12)
            }
            (RowKind::Version | RowKind::LayerTrace, _) => (if compact { 40 } else { 56 }, 12),
            (RowKind::LayerStream, _) => (if compact { 16 } else { 20 }, 10),
            (RowKind::Object, false) => {
                (if compact { 18 } else { 24 }, if compact { 10 } else { 12 })
            }
            (RowKind::Object, true) => {
                (if compact { 26 } else { 30 }, if compact { 12 } else { 14 })
            }
        };
        let indent_px = match kind {
            RowKind::Findings | RowKind::Watch | RowKind::Asides => 12,
            _ => 44,
        };
        let label = match (self.density, kind) {
            (Density::Compact | Density::Comfortable, _) => Px::ZERO,
            (Density::Labelled, RowKind::Findings | RowKind::Watch) => Px::whole(16),
            (Density::Labelled, _) => Px::whole(14),
        };
        let y = self.rows.height + label;
        self.rows.height = y + Px::whole(height);
        self.rows.rows.push(Row {
            id,
            kind,
            y,
            label,
            height: Px::whole(height),
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

    fn findings(&mut self, store: &Store, left: Time, right: Time) {
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
            worst = worse(worst, span.what.severity);
        }
        if codes.is_empty() {
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
    fn asides(&mut self, store: &Store, left: Time, right: Time) {
        let asides = store.epochs().iter().flat_map(|epoch| &epoch.trace.asides);
        let (mut sent, mut is_seen) = (0, false);
        for aside in asides {
            sent += u64::from(aside.step == AsideStep::Sent);
            is_seen |= aside.moment.at >= left && aside.moment.at <= right;
        }
        if is_seen {
            let (id, kind) = (LaneId::Asides, RowKind::Asides);
            self.push(id, kind, false, "", ASIDES.into(), Some(sent));
        }
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
        let (prefix, rest) = match name.namespace() {
            "-" => ("", name.resource()),
            namespace => (namespace, name.resource()),
        };
        let prefix = if prefix.is_empty() {
            String::new()
        } else {
            format!("{prefix}/")
        };
        let count = traces
            .iter()
            .map(|trace| {
                trace
                    .objects
                    .iter()
                    .map(|object| object.marks.len() as u64)
                    .sum::<u64>()
            })
            .sum();
        let mark = worst_mark(traces, left, right);
        let row = self.push(
            LaneId::Watch(watch),
            RowKind::Watch,
            false,
            &prefix,
            rest.into(),
            Some(count),
        );
        row.expanded = Some(expanded);
        row.mark = mark;
        row
    }

    fn under_watch(
        &mut self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        objects: &[FoundObject],
    ) {
        // Where a watch is pinned to a server, that is what tells it from the others of the same.
        let server = traces.iter().find_map(|trace| trace.server.as_ref());
        let connection = match server {
            Some(server) => format!("to {server}").into(),
            None => Text::from("connection"),
        };
        self.push(
            LaneId::Connection(watch),
            RowKind::Connection,
            false,
            "",
            connection,
            None,
        );
        self.push(
            LaneId::Version(watch),
            RowKind::Version,
            false,
            "",
            "resourceVersion".into(),
            None,
        );
        for found in objects {
            self.object(store, watch, found);
        }
    }

    fn object(&mut self, store: &Store, watch: WatchId, found: &FoundObject) -> &mut Row {
        let &FoundObject {
            object,
            mark,
            count,
        } = found;
        let place = store.names().object_at(watch, object);
        let name = store.names().watch_name(watch);
        let everywhere = name.namespace() == "*";
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

    fn pinned(&mut self, store: &Store, lane: LaneId, left: Time, right: Time) {
        let LaneId::Object(watch, object) = lane else {
            return;
        };
        let traces = store
            .epochs()
            .iter()
            .filter_map(|epoch| epoch.trace.watch(watch));
        let parts: Vec<_> = traces
            .filter_map(|trace| trace.objects.get(object.0 as usize))
            .collect();
        let mark = divergence_mark(
            parts.iter().flat_map(|part| part.verdicts.all()),
            left,
            right,
        );
        let count = parts.iter().map(|part| part.marks.len() as u64).sum();
        let prefix = format!("{} ", store.names().watch_name(watch));
        let row = self.object(
            store,
            watch,
            &FoundObject {
                object,
                mark,
                count,
            },
        );
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
