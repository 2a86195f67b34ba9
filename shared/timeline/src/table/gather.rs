//! Gathers the rows of a table: what the lanes of a picture show in a time range, and all findings that are loaded.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::{Seq, Time};

use super::kind::Kind;
use super::row::TableRow;
use crate::id::{LaneId, ObjectId, RecordId, WatchId};
use crate::lanes::{RowKind, Rows};
use crate::store::{Epoch, Span, Store, WatchTrace};

/// The most rows that the page asks [`in_view`] for. If the range has more rows, the newest are listed. The number has
/// no source.
pub const ROWS_MOST: usize = 200_000;
/// The most findings that a table lists, the newest ones. Older findings are only counted. The number has no source.
const FINDINGS_MOST: usize = 10_000;

/// The rows of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InView {
    /// The rows, the newest first; may be empty. The function that returns them names the bound.
    pub rows: Vec<TableRow>,
    /// How many rows there would be without the bound. For [`in_view`] it is an estimate if more rows than the bound
    /// were gathered. It is also one if the watches have more changes, bookmarks and lists than the bound, those of
    /// hidden objects included. The estimate is the number of these changes, bookmarks and lists, or of gathered rows
    /// if that is greater.
    pub total: u64,
}

/// The lanes of a picture.
#[derive(Default)]
struct Shown {
    /// The watches, and which of their objects are shown.
    watches: BTreeMap<WatchId, Objects>,
    others: BTreeSet<LaneId>,
}

/// The objects of a watch that a picture shows.
#[derive(Default)]
struct Objects {
    /// Whether the picture has a row that stands for all objects of the watch without rows of their own.
    all: bool,
    own: BTreeSet<ObjectId>,
}

impl Shown {
    fn of(rows: &Rows) -> Self {
        let mut shown = Self::default();
        for row in &rows.rows {
            shown.others.insert(row.id);
            let Some(watch) = row.id.watch() else {
                continue;
            };
            let objects = shown.watches.entry(watch).or_default();
            objects.own.extend(row.id.object());
            objects.all |= matches!(row.kind, RowKind::Strip | RowKind::More | RowKind::Gone);
        }
        shown
    }
}

/// Returns the records and stretches in the lanes of a picture between two times, both included, the newest first.
/// `rows` must be rows of this store: otherwise the call may panic. The later time is cut to `now`; for a reversed
/// range, only stretches that cover it are returned. A stretch counts if it reaches into the range. At most `most` rows
/// are returned; of more, the oldest are left out.
///
/// Of changes, bookmarks and lists at most the newest `most` are considered, those of hidden objects included. So fewer
/// rows than `most` may be returned, and older rows of other kinds may be among them. A loss that concerns no single
/// watch is in the lane of that shown watch which the store met first.
#[must_use]
pub fn in_view(store: &Store, rows: &Rows, range: (Time, Time), now: Time, most: usize) -> InView {
    let shown = Shown::of(rows);
    let (left, right) = (range.0, range.1.min(now));
    let (from, counted) = cut(store, &shown, (left, right), most);
    let mut gather = Gather {
        from: from.max(left),
        left,
        right,
        now,
        rows: Vec::new(),
    };
    for epoch in store.epochs() {
        gather.epoch(store, epoch, &shown);
    }
    let mut rows = gather.rows;
    newest_first(&mut rows);
    let is_cut = from > left || rows.len() > most;
    let total = if is_cut {
        counted.max(rows.len())
    } else {
        rows.len()
    };
    rows.truncate(most);
    InView {
        rows,
        total: total as u64,
    }
}

/// Returns all occurrences of findings that loaded chapters show, the newest first. These are the occurrences raised in
/// the chapters, and the last occurrence of each finding that was open at a chapter's begin. Of more than 10,000, the
/// oldest are left out. An occurrence that is still open ends at `now`.
#[must_use]
pub fn findings(store: &Store, now: Time) -> InView {
    let mut rows = Vec::new();
    for epoch in store.epochs() {
        let spans = epoch.trace.occurrences.all();
        rows.extend(spans.iter().map(|span| finding(epoch.number(), span, now)));
    }
    newest_first(&mut rows);
    let total = rows.len() as u64;
    rows.truncate(FINDINGS_MOST);
    InView { rows, total }
}

pub(super) fn newest_first(rows: &mut [TableRow]) {
    rows.sort_unstable_by(|a, b| {
        let of = |row: &TableRow| (row.at, row.record, row.lane, row.kind);
        of(b).cmp(&of(a))
    });
}

/// Returns the earliest time in a range from which on the range has at most `most` marks of the watches, and the number
/// of marks in the whole range.
fn cut(store: &Store, shown: &Shown, (left, right): (Time, Time), most: usize) -> (Time, usize) {
    let traces = store.epochs().iter().flat_map(|epoch| {
        let watches = shown.watches.keys();
        watches.filter_map(|&watch| epoch.trace.watch(watch))
    });
    let traces: Vec<&WatchTrace> = traces.collect();
    let count = |from: Time| -> usize {
        let of = |trace: &&WatchTrace| {
            let to = trace.marks.place_at(right.plus_micros(1));
            to.saturating_sub(trace.marks.place_at(from))
        };
        traces.iter().map(of).sum()
    };
    let total = count(left);
    if total <= most {
        return (left, total);
    }
    // `few` has at most `most` marks, `many` has more.
    let (mut many, mut few) = (left.0, right.0.saturating_add(1));
    while few - many > 1 {
        let middle = many + (few - many) / 2;
        if count(Time(middle)) > most {
            many = middle;
        } else {
            few = middle;
        }
    }
    (Time(few), total)
}

fn finding<T>(epoch: u32, span: &Span<T>, now: Time) -> TableRow {
    stretch(epoch, span, LaneId::Findings, Kind::Finding, now)
}

fn stretch<T>(epoch: u32, span: &Span<T>, lane: LaneId, kind: Kind, now: Time) -> TableRow {
    let id = RecordId {
        epoch,
        seq: span.start.seq,
    };
    TableRow {
        until: span.end_at(now).max(span.start.at),
        ..TableRow::moment(span.start.at, lane, kind, id)
    }
}

struct Gather {
    /// The time from which on marks are gathered.
    from: Time,
    left: Time,
    right: Time,
    now: Time,
    rows: Vec<TableRow>,
}

impl Gather {
    fn epoch(&mut self, store: &Store, epoch: &Epoch, shown: &Shown) {
        let number = epoch.number();
        for (&watch, objects) in &shown.watches {
            if let Some(trace) = epoch.trace.watch(watch) {
                self.watch(number, watch, trace, objects, shown);
            }
        }
        if let Some(&first) = shown.watches.keys().next() {
            for loss in &epoch.trace.losses {
                let lane = LaneId::Watch(first);
                self.moment(number, loss.moment.seq, loss.moment.at, lane, Kind::Loss);
            }
        }
        for &lane in &shown.others {
            match lane {
                LaneId::Findings => {
                    self.stretches(number, epoch.trace.occurrences.all(), lane, Kind::Finding);
                }
                LaneId::OwnRequests => {
                    for own in &epoch.trace.own_requests {
                        let (seq, at) = (own.moment.seq, own.moment.at);
                        self.moment(number, seq, at, lane, Kind::OwnRequest);
                    }
                }
                LaneId::Connection(_) => {
                    let remote = store.lane_server(lane);
                    let spans = epoch.trace.connections.all().iter();
                    for span in spans.filter(|span| Some(&span.what.remote) == remote) {
                        self.stretch(number, span, lane, Kind::Connection);
                    }
                }
                LaneId::Layer(layer) => {
                    for point in epoch.layer_trace.levels(layer) {
                        let (seq, at) = (point.moment.seq, point.moment.at);
                        self.moment(number, seq, at, lane, Kind::Layer);
                    }
                }
                _ => {}
            }
        }
    }

    fn watch(
        &mut self,
        epoch: u32,
        watch: WatchId,
        trace: &WatchTrace,
        objects: &Objects,
        shown: &Shown,
    ) {
        let lane = LaneId::Watch(watch);
        self.marks(epoch, watch, trace, objects);
        for span in trace.phases.all() {
            self.stretch(epoch, span, lane, Kind::Phase);
        }
        for span in trace.streams.all() {
            self.stretch(epoch, span, lane, Kind::Stream);
            if let Some(end) = span.end {
                self.moment(epoch, end.seq, end.at, lane, Kind::StreamEnd);
            }
        }
        for span in trace.gaps.all() {
            self.stretch(epoch, span, lane, Kind::Gap);
        }
        let errors = trace.errors.iter().map(|mark| (mark.moment, Kind::Error));
        let losses = trace.losses.iter().map(|mark| (mark.moment, Kind::Loss));
        let reads = trace.audits.iter().map(|mark| (mark.moment, Kind::Read));
        for (moment, kind) in errors.chain(losses).chain(reads) {
            self.moment(epoch, moment.seq, moment.at, lane, kind);
        }
        let version = LaneId::Version(watch);
        for step in trace
            .steps
            .iter()
            .filter(|_| shown.others.contains(&version))
        {
            let kind = if step.back {
                Kind::Reversal
            } else {
                Kind::Jump
            };
            self.moment(epoch, step.moment.seq, step.moment.at, version, kind);
        }
        for (place, object) in (0..).zip(&trace.objects) {
            let id = ObjectId(place);
            if objects.all || objects.own.contains(&id) {
                let lane = LaneId::Object(watch, id);
                self.stretches(epoch, object.lives.all(), lane, Kind::Life);
                self.stretches(epoch, object.verdicts.all(), lane, Kind::Divergence);
            }
        }
    }

    /// Gathers the marks of a watch in the range, each with the lane of its object.
    fn marks(&mut self, epoch: u32, watch: WatchId, trace: &WatchTrace, objects: &Objects) {
        let marks = &trace.marks;
        let places = marks.places_within(self.from, self.right);
        // The object of each mark; `None` for the watch's own marks and hidden objects.
        let mut lanes = vec![None; places.len()];
        for (place, object) in (0..).zip(&trace.objects) {
            let id = ObjectId(place);
            if !objects.all && !objects.own.contains(&id) {
                continue;
            }
            for mark in object.marks.within(&places) {
                lanes[mark.place() - places.start] = Some(LaneId::Object(watch, id));
            }
        }
        for (place, lane) in places.zip(lanes) {
            let kind = marks.kind(place);
            let lane = match kind.class() {
                Some(_) => lane,
                None => Some(LaneId::Watch(watch)),
            };
            let Some(lane) = lane else {
                continue;
            };
            let seq = marks.seq(place);
            let id = RecordId { epoch, seq };
            let row = TableRow::moment(marks.at(place), lane, Kind::of_mark(kind), id);
            self.rows.push(TableRow {
                version: marks.version(place),
                ..row
            });
        }
    }

    fn moment(&mut self, epoch: u32, seq: Seq, at: Time, lane: LaneId, kind: Kind) {
        if at >= self.left && at <= self.right {
            let id = RecordId { epoch, seq };
            self.rows.push(TableRow::moment(at, lane, kind, id));
        }
    }

    fn stretches<T>(&mut self, epoch: u32, spans: &[Span<T>], lane: LaneId, kind: Kind) {
        for span in spans {
            self.stretch(epoch, span, lane, kind);
        }
    }

    fn stretch<T>(&mut self, epoch: u32, span: &Span<T>, lane: LaneId, kind: Kind) {
        let row = stretch(epoch, span, lane, kind, self.now);
        if row.at <= self.right && row.until >= self.left {
            self.rows.push(row);
        }
    }
}
