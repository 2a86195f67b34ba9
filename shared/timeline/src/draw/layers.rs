//! The layers of a simulated cluster: how far each is, what it does, and how a write travels through them.
//!
//! etcd's head and each cache's progress share one scale, so that what lies lower is behind. Under a cache's progress
//! lies the window from which a watch may resume. A write's way is a line from etcd over the cache to the client,
//! tilted by its delay; where it stopped stands a cross.

use watchscope_model::Time;
use watchscope_model::vocabulary::ChangeType;

use super::labels::{Label, Rank};
use super::version::{Line, Scale};
use super::{Drawer, EpochView, GlyphMark, HAIR, LEAST, Layer as Paint, SPILL, TextLook, record};
use crate::format::{clock, count, number, text_width};
use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId};
use crate::lanes::Row;
use crate::scene::{Align, Area, Primitive, Px, Step, Stroke, Target};
use crate::store::{Layer, LayerTrace, Level, LevelPoint, Tone, WriteMark};
use crate::tokens::Token;

/// A trace keeps so far from the row's edges.
const INSET: Px = Px::whole(6);
/// Writes nearer than this are drawn as ticks.
const GLYPHS_APART: Px = Px::whole(12);
/// A way is drawn if it is tilted by so much.
const TILT: Px = Px::whole(3);
/// A difference from the truth that lasts no longer is on its way, in microseconds.
const UNDER_WAY_US: i64 = 1_000_000;
/// What a learner needs to know of the rows below.
const HEADING_WORDS: &str = "a write goes from etcd through a watch cache to its clients; none of this is seen from outside";

impl Drawer<'_> {
    pub(super) fn layer_row(&mut self, row: &Row) {
        let LaneId::Layer(id) = row.id else {
            return;
        };
        let Some(layer) = self.picture.store.layer_names().layer(id).cloned() else {
            return;
        };
        match layer {
            Layer::All => {
                let y = self.y(row) + row.height.half() + Px::whole(4);
                let look = TextLook::plain(Token::Text3);
                let across = (Px::ZERO, self.width);
                self.say_inside(Rank::Name, Paint::Stream, across, y, HEADING_WORDS, look);
            }
            Layer::Etcd => self.etcd_row(row, id),
            Layer::Cache(..) => self.cache_row(row, id),
            Layer::Server(_) | Layer::Client(_) => self.doing_row(row, id),
            Layer::Connections(_) => self.connections_of_layer(row, id),
        }
    }

    /// The points of a layer that show: the last before the view, and those in it.
    fn shown<'b>(&self, layers: &'b LayerTrace, id: LayerId) -> &'b [LevelPoint] {
        let points = layers.levels(id);
        let from = points.partition_point(|point| point.moment.at < self.left);
        let to = points.partition_point(|point| point.moment.at <= self.right);
        &points[from.saturating_sub(1).min(to)..to]
    }

    fn line_of_layer(&self, epoch: EpochView<'_>, id: LayerId) -> Option<Line> {
        let left = self.picture.view.left();
        let points = self.shown(epoch.layers, id);
        let first = points.first()?;
        let moves = points[1..].iter();
        let moves = moves.map(|point| (point.moment.at, point.level.revision));
        let start = (first.moment.at.max(left), first.level.revision);
        // Where a chapter opened, a level is told again.
        let mut last = start.1;
        let moves = moves.filter(|&(at, revision)| {
            at >= left && std::mem::replace(&mut last, revision) != revision
        });
        Some(self.line_of(start, moves, epoch.end))
    }

    /// What etcd's head, and everything beside it, is scaled to.
    fn layer_scale(&self, row: &Row) -> Option<Scale> {
        let etcd = self.picture.store.layer_names().find(&Layer::Etcd)?;
        let ranges = self.epochs.iter();
        let ranges = ranges.filter_map(|&epoch| Some(self.line_of_layer(epoch, etcd)?.range()));
        let (low, high) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Scale {
            low,
            high,
            top: self.y(row) + INSET,
            bottom: self.y(row) + row.height - INSET,
        })
    }

    fn etcd_row(&mut self, row: &Row, id: LayerId) {
        let Some(scale) = self.layer_scale(row) else {
            return;
        };
        let floor = self.y(row) + row.height - HAIR;
        for epoch in self.epochs.clone() {
            let Some(line) = self.line_of_layer(epoch, id) else {
                continue;
            };
            self.version_line(&line, scale, Some(floor));
            self.revision_words(&line, scale, row);
            self.compactions(row, epoch, id);
            self.writes(row, epoch, scale);
        }
    }

    /// The last revision, beside the trace's end.
    fn revision_words(&mut self, line: &Line, scale: Scale, row: &Row) {
        let look = TextLook::plain(Token::Text2)
            .over(self.ground(row))
            .aligned(Align::End);
        let is_high = scale.y(line.last()) < self.y(row) + row.height.half();
        let y = if is_high {
            self.y(row) + row.height - Px::whole(6)
        } else {
            self.y(row) + Px::whole(14)
        };
        self.say_at_end(Paint::Change, y, number(line.last()), look);
    }

    /// Where history was compacted: below that revision nothing can be read any more.
    fn compactions(&mut self, row: &Row, epoch: EpochView<'_>, id: LayerId) {
        let points = self.shown(epoch.layers, id);
        for pair in points.windows(2) {
            let (before, point) = (&pair[0].level, &pair[1]);
            if before.from == 0 || point.level.from <= before.from {
                continue;
            }
            let x = self.x(point.moment.at).floor();
            let (y, bottom) = (self.y(row), self.y(row) + row.height);
            let half = x + HAIR.half();
            let edge = [Step::Move(half, y), Step::Line(half, bottom)];
            self.stroke(Paint::Rule, &edge, Stroke::dashed(Token::Line3, HAIR, 3, 3));
            let words = format!("compacted below {}", number(point.level.from));
            let look = TextLook::plain(Token::Text2).over(self.ground(row));
            let xs = (x + Px::whole(6), self.end_x);
            let y = y + Px::whole(12);
            self.label(Label::new(Rank::List, Paint::Rule, [words], look, y, xs));
            let target = Target::Record(record(epoch, point.moment.seq));
            self.hit((x - LEAST, x + LEAST), (y, bottom), row.id, target);
        }
    }

    /// The writes: glyphs on the trace where there is room, ticks under it else.
    fn writes(&mut self, row: &Row, epoch: EpochView<'_>, scale: Scale) {
        let shown = self.shown_writes(epoch.layers);
        let xs: Vec<Px> = shown.iter().map(|write| self.x(write.moment.at)).collect();
        let bottom = self.y(row) + row.height;
        for (place, write) in shown.iter().enumerate() {
            let x = xs[place];
            let is_far = |other: Option<&Px>| {
                other.is_none_or(|&other| (other - x).max(x - other) >= GLYPHS_APART)
            };
            let before = place.checked_sub(1).and_then(|before| xs.get(before));
            let target = Target::Record(record(epoch, write.moment.seq));
            let (glyph, _) = drawn_as(write.change);
            if is_far(before) && is_far(xs.get(place + 1)) {
                let y = scale.y(write.revision);
                let mark = GlyphMark::new(glyph, x, y, 10, self.ground(row));
                self.glyph(Paint::Change, mark, row.id, target);
            } else {
                let xs = (x.floor(), x.floor() + Px::whole(2));
                let ys = (bottom - Px::whole(5), bottom - HAIR);
                self.fill(Paint::Change, xs, ys, glyph.ink());
                self.hit(xs, (self.y(row), bottom), row.id, target);
            }
        }
    }

    fn shown_writes<'b>(&self, layers: &'b LayerTrace) -> &'b [WriteMark] {
        super::within(
            &layers.writes,
            |write| write.moment.at,
            self.left,
            self.right,
        )
    }

    /// A watch cache: its progress on etcd's scale, under it its window, at the bottom what waits for its watches.
    fn cache_row(&mut self, row: &Row, id: LayerId) {
        let Some(scale) = self.layer_scale(row) else {
            return;
        };
        let bottom = self.y(row) + row.height - HAIR;
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, a.from, a.revision) == (b.tone, b.from, b.revision)
            }) {
                if level.tone == Tone::Open {
                    let ys = (scale.y(level.revision), scale.y(level.from));
                    let floor = if level.from < scale.low { bottom } else { ys.1 };
                    self.fill(Paint::Stream, xs, (ys.0, floor), Token::StreamFill);
                }
            }
            if let Some(line) = self.line_of_layer(epoch, id) {
                self.version_line(&line, scale, None);
            }
            for (xs, level) in self.stretches(points, epoch.end, |a, b| a.tone == b.tone) {
                if level.tone != Tone::Open {
                    self.low_line(row, xs, level);
                }
            }
            for (xs, level) in self.stretches(points, epoch.end, |a, b| a.waiting == b.waiting) {
                let (waiting, slots) = level.waiting;
                if waiting > 0 {
                    let share = waiting.min(slots) as f64 / slots.max(1) as f64;
                    let height = Px::whole(2) + Px::from_f64(share * 10.0);
                    let ink = if waiting >= slots {
                        Token::Error
                    } else {
                        Token::Warning
                    };
                    let xs = (xs.0, xs.1.max(xs.0 + Px::whole(2)));
                    self.fill(Paint::Change, xs, (bottom - height, bottom), ink);
                }
            }
            let window = points.last().map(|point| &point.level);
            if let Some(level) = window.filter(|level| level.tone == Tone::Open) {
                let words = if level.from >= level.revision {
                    "no window: nothing older can be resumed".to_owned()
                } else {
                    format!("window from {}", number(level.from))
                };
                let look = TextLook::plain(Token::Text3)
                    .over(self.ground(row))
                    .aligned(Align::End);
                let is_low = scale.y(level.revision) > self.y(row) + row.height.half();
                let y = if is_low {
                    self.y(row) + Px::whole(10)
                } else {
                    bottom - Px::whole(3)
                };
                self.say_at_end(Paint::Change, y, words, look);
            }
            self.ghost_bands(row, epoch, points);
        }
    }

    /// What an apiserver or a client does.
    fn doing_row(&mut self, row: &Row, id: LayerId) {
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            self.ghost_bands(row, epoch, points);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase) == (b.tone, &b.phase)
            }) {
                if level.tone == Tone::Open {
                    self.plateau(row, xs, level);
                } else {
                    self.low_line(row, xs, level);
                }
            }
        }
    }

    /// A client's connections in the network: a bar while there are streams on them, torn where one is cut.
    fn connections_of_layer(&mut self, row: &Row, id: LayerId) {
        let (y, bottom) = (
            self.y(row) + Px::whole(3),
            self.y(row) + row.height - Px::whole(3),
        );
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase) == (b.tone, &b.phase)
            }) {
                match level.tone {
                    Tone::Open => {
                        self.connection_bar(xs, (y, bottom));
                        let look = TextLook::plain(Token::Text3);
                        let text_y = self.y(row) + row.height.half() + Px::whole(4);
                        let rank = Rank::Name;
                        self.say_inside(rank, Paint::Stream, xs, text_y, &level.phase, look);
                    }
                    _ if level.phase.is_empty() => {}
                    _ => self.low_line(row, xs, level),
                }
            }
            for pair in points.windows(2) {
                let (before, point) = (&pair[0].level, &pair[1]);
                let x = self.x(point.moment.at);
                if point.level.cut <= before.cut || x < -SPILL {
                    continue;
                }
                let drawn = self.tear(x, (y - HAIR, bottom + HAIR), Token::Ground0);
                let torn = (x - Px::whole(4), x + Px::whole(4));
                let target = Target::Record(record(epoch, point.moment.seq));
                self.hit_drawn(torn, (y, bottom), row.id, target, drawn);
            }
        }
    }

    fn plateau(&mut self, row: &Row, xs: (Px, Px), level: &Level) {
        let (top, bottom) = (
            self.y(row) + Px::whole(5),
            self.y(row) + row.height - Px::whole(5),
        );
        self.fill(Paint::Stream, xs, (top, bottom), Token::StreamFill);
        self.fill(Paint::Stream, xs, (top, top + Px::whole(2)), Token::Stream);
        let mut words = level.phase.to_string();
        if !level.looks_at.0.is_empty() {
            words = format!("{words} {}", level.looks_at.0);
        }
        if words.is_empty() {
            words = "all watch caches ready".to_owned();
        }
        let y = self.y(row) + row.height.half() + Px::whole(5);
        let look = TextLook::plain(Token::Text2);
        self.say_inside(Rank::Name, Paint::Stream, xs, y, &words, look);
    }

    fn low_line(&mut self, row: &Row, (x0, x1): (Px, Px), level: &Level) {
        let y = self.y(row) + row.height - Px::whole(6);
        let line = [
            Step::Move(x0.max(-SPILL), y),
            Step::Line(x1.min(self.width + SPILL), y),
        ];
        let width = Px::whole(2);
        let (stroke, ink) = match level.tone {
            Tone::Failed => (Stroke::solid(Token::Error, width), Token::Error),
            Tone::Asking => (Stroke::dashed(Token::Stream, width, 2, 2), Token::Text2),
            _ => (Stroke::dashed(Token::Stream, width, 4, 3), Token::Text2),
        };
        self.stroke(Paint::Stream, &line, stroke);
        let look = TextLook::plain(ink);
        let text_y = y - Px::whole(4);
        self.say_inside(
            Rank::Wait,
            Paint::Stream,
            (x0, x1),
            text_y,
            &level.phase,
            look,
        );
    }

    /// Stretches in which a layer holds what is not in etcd, if they last longer than what is under way.
    fn ghost_bands(&mut self, row: &Row, epoch: EpochView<'_>, points: &[LevelPoint]) {
        let mut place = 0;
        while let Some(first) = points.get(place) {
            let begins = place;
            while points
                .get(place)
                .is_some_and(|point| (point.level.ghosts > 0) == (first.level.ghosts > 0))
            {
                place += 1;
            }
            if first.level.ghosts == 0 {
                continue;
            }
            let end = points.get(place).map_or(epoch.end, |point| point.moment.at);
            if end.micros_since(first.moment.at) <= UNDER_WAY_US {
                continue;
            }
            let most = points[begins..place].iter().map(|point| point.level.ghosts);
            let most = most.max().unwrap_or(0);
            let target = Target::Record(record(epoch, first.moment.seq));
            self.ghost_band(row, (first.moment.at, end), most, target);
        }
    }

    fn ghost_band(&mut self, row: &Row, (from, to): (Time, Time), ghosts: u64, target: Target) {
        let (x0, x1) = (self.x(from).max(-SPILL), self.x(to).min(self.width + SPILL));
        let x1 = x1.max(x0 + LEAST);
        let middle = self.y(row) + row.height.half();
        let (y, bottom) = (middle - Px::whole(8), middle + Px::whole(8));
        self.fill(Paint::Divergence, (x0, x1), (y, bottom), Token::GhostFill);
        let stroke = Some(Stroke::dashed(Token::Divergence, Px(96), 5, 3));
        self.push(
            Paint::Divergence,
            Primitive::Rect {
                area: Area::between(x0, x1, y, bottom),
                fill: None,
                stroke,
                radius: 0,
                opacity: 100,
            },
        );
        self.explains(Glyph::Ghost, (x0, x1));
        let words = format!("{} since {}", count(ghosts, "ghost"), clock(from));
        let look = TextLook::plain(Token::Divergence);
        let text_y = middle + Px::whole(4);
        self.say_inside(
            Rank::Lost,
            Paint::Divergence,
            (x0, x1),
            text_y,
            &words,
            look,
        );
        self.hit((x0, x1), (y, bottom), row.id, target);
    }

    /// Words inside a stretch, if there is room; else what stands before a colon or an arrow, if there is for that.
    fn say_inside(
        &mut self,
        rank: Rank,
        paint: Paint,
        xs: (Px, Px),
        y: Px,
        words: &str,
        look: TextLook,
    ) {
        let ends = [": ", " →"].map(|mark| words.find(mark).unwrap_or(words.len()));
        let short = &words[..ends[0].min(ends[1])];
        let forms = [words.to_owned(), short.to_owned()];
        self.label_inside(Label::new(rank, paint, forms, look, y, xs));
    }

    /// Words at the end of the lanes, if there is room.
    fn say_at_end(&mut self, paint: Paint, y: Px, words: String, look: TextLook) {
        let xs = (Px::ZERO, self.end_x - Px::whole(6));
        self.label(Label::new(Rank::Name, paint, [words], look, y, xs));
    }

    /// The stretches of points that are alike, in px; those that would not show are left out.
    fn stretches<'b>(
        &self,
        points: &'b [LevelPoint],
        end: Time,
        alike: impl Fn(&Level, &Level) -> bool,
    ) -> Vec<((Px, Px), &'b Level)> {
        let mut found: Vec<((Px, Px), &Level)> = Vec::new();
        let mut place = 0;
        while let Some(first) = points.get(place) {
            while points
                .get(place)
                .is_some_and(|point| alike(&point.level, &first.level))
            {
                place += 1;
            }
            let until = points.get(place).map_or(end, |point| point.moment.at);
            let xs = (self.x(first.moment.at), self.x(until));
            let is_seen = xs.1 - xs.0 >= HAIR || first.level.tone == Tone::Failed;
            if is_seen && xs.1 >= -SPILL {
                found.push((xs, &first.level));
            }
        }
        found
    }

    /// The ways of writes from etcd over a cache to the clients that look at them.
    pub(super) fn travels(&mut self, rows: &[Row]) {
        let names = self.picture.store.layer_names();
        let layer = |row: &Row| match row.id {
            LaneId::Layer(id) => Some((names.layer(id)?.clone(), id)),
            _ => None,
        };
        let middle = |drawer: &Self, row: &Row| drawer.y(row) + row.height.half();
        let found: Vec<(Layer, LayerId, Px)> = rows
            .iter()
            .filter_map(|row| {
                let (layer, id) = layer(row)?;
                Some((layer, id, middle(self, row)))
            })
            .collect();
        let Some(&(_, _, etcd_y)) = found.iter().find(|(layer, ..)| *layer == Layer::Etcd) else {
            return;
        };
        let clients: Vec<(LayerId, Px)> = found
            .iter()
            .filter(|(layer, ..)| matches!(layer, Layer::Client(_)))
            .map(|&(_, id, y)| (id, y))
            .collect();
        for epoch in self.epochs.clone() {
            for &(client, client_y) in &clients {
                let Some((_, now)) = epoch.layers.level_at(client, epoch.end) else {
                    continue;
                };
                let (resource, namespace) = now.looks_at.clone();
                let cache = found
                    .iter()
                    .find(|(layer, ..)| matches!(layer, Layer::Cache(_, of) if *of == resource));
                let cache = cache.map(|&(_, id, y)| (id, y));
                let is_meant = |write: &&WriteMark| {
                    write.resource == resource
                        && (namespace.is_empty()
                            || write.object.namespace.as_deref() == Some(&*namespace))
                };
                // What was written before the client was there came to it by other ways.
                let first = epoch.layers.levels(client).first();
                let begun = first.map_or(Time(i64::MAX), |first| first.moment.at);
                let since = |write: &&WriteMark| is_meant(write) && write.moment.at >= begun;
                // One that keeps no revision came as far as the newest it ever held, and does not say which deletions
                // came to it: only that it still believes in what is gone.
                let levels = epoch.layers.levels(client).iter();
                let come_to = match now.keeps_none {
                    true => levels.map(|point| point.level.revision).max(),
                    false => Some(now.revision),
                };
                let come_to = come_to.unwrap_or(0);
                let is_told = |write: &&WriteMark| {
                    !now.keeps_none || write.change != ChangeType::Deleted || now.ghosts > 0
                };
                let stopped = epoch.layers.writes.iter().filter(since).filter(is_told);
                let stopped = stopped
                    .filter(|write| epoch.end.micros_since(write.moment.at) > 2 * UNDER_WAY_US)
                    .find(|write| write.revision > come_to)
                    .map(|write| write.moment.seq);
                let ys = (etcd_y, cache.map(|(_, y)| y), client_y);
                let layers = (cache.map(|(id, _)| id), client);
                for write in self.shown_writes(epoch.layers).iter().filter(since) {
                    let is_last = stopped == Some(write.moment.seq);
                    self.travel(epoch, write, layers, ys, is_last);
                }
            }
        }
    }

    fn travel(
        &mut self,
        epoch: EpochView<'_>,
        write: &WriteMark,
        (cache, client): (Option<LayerId>, LayerId),
        (etcd_y, cache_y, client_y): (Px, Option<Px>, Px),
        is_last: bool,
    ) {
        let begun = self.x(write.moment.at);
        let (_, ink) = drawn_as(write.change);
        let start = (begun, etcd_y + Px::whole(6));
        let at_cache = cache.and_then(|cache| self.arrival(epoch, cache, write));
        let over = at_cache.zip(cache_y);
        let from = over.unwrap_or(start);
        match self.arrival(epoch, client, write) {
            Some(x) if x - begun >= TILT => {
                let mut way = vec![Step::Move(start.0, start.1)];
                way.extend(over.map(|(x, y)| Step::Line(x, y)));
                way.push(Step::Line(x, client_y));
                self.stroke(Paint::Rule, &way, Stroke::solid(ink, Px(80)));
            }
            None if is_last => {
                let mut way = vec![Step::Move(start.0, start.1)];
                way.extend(over.map(|(x, y)| Step::Line(x, y)));
                way.push(Step::Line(from.0, client_y));
                self.stroke(Paint::Rule, &way, Stroke::dashed(ink, Px(80), 4, 3));
                let (x, arm) = (from.0, Px::whole(4));
                let cross = [
                    Step::Move(x - arm, client_y - arm),
                    Step::Line(x + arm, client_y + arm),
                    Step::Move(x - arm, client_y + arm),
                    Step::Line(x + arm, client_y - arm),
                ];
                // Over the ghost that it often leaves.
                self.stroke(Paint::Finding, &cross, Stroke::solid(Token::Error, Px(128)));
                let look = TextLook::strong(Token::Error)
                    .over(Token::Ground0)
                    .aligned(Align::End);
                let at = (x - Px::whole(8), client_y + Px::whole(4));
                let revision = number(write.revision);
                // Less is said where there is little room.
                let forms =
                    ["never came here", "never came"].map(|form| format!("{revision} {form}"));
                let fits = |words: &String| text_width(words, look.size, look.weight) <= at.0;
                if let Some(words) = forms.into_iter().find(fits) {
                    self.write(Paint::Finding, at.0, at.1, words, look);
                }
            }
            _ => {}
        }
    }

    /// Where a layer came to a write's revision.
    fn arrival(&self, epoch: EpochView<'_>, layer: LayerId, write: &WriteMark) -> Option<Px> {
        let points = epoch.layers.levels(layer);
        let after = points.partition_point(|point| point.moment.at < write.moment.at);
        let mut later = points[after.saturating_sub(1)..].iter();
        let point = later.find(|point| point.level.revision >= write.revision)?;
        Some(self.x(point.moment.at.max(write.moment.at)))
    }
}

/// The glyph of a write, and its colour.
fn drawn_as(change: ChangeType) -> (Glyph, Token) {
    match change {
        ChangeType::Added => (Glyph::Added, Token::Added),
        ChangeType::Deleted => (Glyph::Deleted, Token::Deleted),
        ChangeType::Modified | ChangeType::Unknown => (Glyph::Modified, Token::Modified),
    }
}
