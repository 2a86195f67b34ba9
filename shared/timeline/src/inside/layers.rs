//! The layers of a simulated cluster: how far each is, what it does, and how a write travels through them.
//!
//! etcd's head and each cache's progress share one scale, so that what lies lower is behind. Under a cache's progress
//! lies the window from which a watch may resume, and under the cache a thin row for each stream it feeds, filled by what
//! waits in its buffer.

use watchscope_model::fold::Moment;
use watchscope_model::time::SECOND_US;
use watchscope_model::tree;
use watchscope_model::vocabulary::{ChangeType, ClientPhase};
use watchscope_model::{Text, Time};

use crate::draw::{
    Drawer, EpochView, GlyphMark, HAIR, LABEL_INSET, LABEL_SPARE, LEAST, Label, Layer as Paint,
    Line, Rank, SPILL, Scale, TextLook, Ways, record,
};
use crate::format::{clock, count, duration, number, text_width};
use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId};
use crate::lanes::{Row, RowKind};
use crate::levels::{Layer, LayerTrace, Level, LevelPoint, Tone, WriteMark};
use crate::scene::{Align, Area, Primitive, Px, Step, Stroke, Target};
use crate::sorted::within;
use crate::tokens::Token;

/// A trace keeps so far from the row's edges.
const INSET: Px = Px::whole(6);
/// Writes nearer than this are drawn as ticks.
const GLYPHS_APART: Px = Px::whole(12);
/// A column of density is so wide…
const COLUMN: Px = Px::whole(2);
/// …so high…
const COLUMN_HIGH: Px = Px::whole(4);
/// …and so faint, in percent: nothing inside the cluster is brighter than a gap or a ghost.
const DENSITY: u8 = 38;
/// A difference from the truth that lasts no longer is on its way, in microseconds.
const UNDER_WAY_US: i64 = 1_000_000;
/// What a learner needs to know of the rows below.
const HEADING_WORDS: &str = "a write goes from etcd through a watch cache to its clients; none of this is seen from outside";

impl Drawer<'_> {
    pub(crate) fn layer_row(&mut self, row: &Row) {
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
            Layer::Stream(..) | Layer::Direct(..) => self.stream_row(row, id),
            Layer::Crowd(name) => self.crowd_row(row, &name),
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
    pub(super) fn layer_scale(&self, row: &Row) -> Option<Scale> {
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
            self.compactions(row, epoch, id, (&line, scale));
            self.writes(row, epoch, (&line, scale));
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
        let words = format!("revision {}", number(line.last()));
        self.say_at_end(Paint::Change, y, words, look);
    }

    /// Where history was compacted: below that revision nothing can be read any more.
    fn compactions(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        id: LayerId,
        (line, scale): (&Line, Scale),
    ) {
        let points = self.shown(epoch.layers, id);
        for pair in points.windows(2) {
            let (before, point) = (&pair[0].level, &pair[1]);
            if point.level.from <= before.from {
                continue;
            }
            let x = self.x(point.moment.at).floor();
            let (y, bottom) = (self.y(row), self.y(row) + row.height);
            let half = x + HAIR.half();
            let edge = [Step::Move(half, y), Step::Line(half, bottom)];
            self.stroke(Paint::Rule, &edge, Stroke::dashed(Token::Line3, HAIR, 3, 3));
            let words = format!("compacted below {}", number(point.level.from));
            let look = TextLook::plain(Token::Text2).over(self.ground(row));
            let from = x + Px::whole(6);
            let words_xs = (from, from + text_width(&words, look.size, look.weight));
            let lines = std::slice::from_ref(line);
            if let Some(y) = self.beside(lines, scale, words_xs, Some(y + Px::whole(12))) {
                let xs = (from, self.end_x);
                self.label(Label::new(Rank::List, Paint::Rule, [words], look, y, xs));
            }
            let target = Target::Record(record(epoch, point.moment.seq));
            self.hit((x - LEAST, x + LEAST), (y, bottom), row.id, target);
        }
    }

    /// The writes: glyphs on the trace where there is room, ticks under it else. In a picture that draws only the ways
    /// that stopped they are density, but for the selected one.
    fn writes(&mut self, row: &Row, epoch: EpochView<'_>, (line, scale): (&Line, Scale)) {
        let shown = self.shown_writes(epoch.layers);
        let xs: Vec<Px> = shown.iter().map(|write| self.x(write.moment.at)).collect();
        let bottom = self.y(row) + row.height;
        let is_density = self.picture.ways == Ways::Stopped;
        let mut counted = Vec::new();
        for (place, write) in shown.iter().enumerate() {
            let x = xs[place];
            let is_far = |other: Option<&Px>| {
                other.is_none_or(|&other| (other - x).max(x - other) >= GLYPHS_APART)
            };
            let before = place.checked_sub(1).and_then(|before| xs.get(before));
            let id = record(epoch, write.moment.seq);
            let (glyph, _) = drawn_as(write.change);
            let has_room = is_far(before) && is_far(xs.get(place + 1));
            if self.picture.record == Some(id) || (has_room && !is_density) {
                let y = scale.y(write.revision);
                let mark = GlyphMark::new(glyph, x, y, 10, self.ground(row));
                self.glyph(Paint::Change, mark, row.id, Target::Record(id));
                // The last stands at the end of the trace.
                if self.picture.ways == Ways::All && write.revision != line.last() {
                    self.revision_at(row, (x, y), write.revision);
                }
                continue;
            }
            let xs = (x.floor(), x.floor() + COLUMN);
            if is_density {
                counted.push(write.moment.at);
            } else {
                let ys = (bottom - Px::whole(5), bottom - HAIR);
                self.fill(Paint::Change, xs, ys, glyph.ink());
            }
            self.hit(xs, (self.y(row), bottom), row.id, Target::Record(id));
        }
        self.density(counted.into_iter(), bottom - HAIR);
    }

    /// What a cache or a client took in, as density at the bottom of its row; lessons draw each way instead.
    fn taken_in(&mut self, epoch: EpochView<'_>, id: LayerId, bottom: Px) {
        if self.picture.ways == Ways::Stopped {
            let held = epoch.layers.held(id);
            let held = within(held, |mark| mark.moment.at, self.left, self.right);
            self.density(held.iter().map(|mark| mark.moment.at), bottom);
        }
    }

    /// A column for each [`COLUMN`] in which something happened, at times that rise, standing on `bottom`. Columns that
    /// touch are one stroke.
    fn density(&mut self, times: impl Iterator<Item = Time>, bottom: Px) {
        let middle = bottom - COLUMN_HIGH.half();
        let mut runs: Vec<(Px, Px)> = Vec::new();
        for at in times {
            let x = self.x(at).floor();
            match runs.last_mut() {
                Some(run) if x < run.1 => {}
                Some(run) if x == run.1 => run.1 = x + COLUMN,
                _ => runs.push((x, x + COLUMN)),
            }
        }
        let columns: Vec<Step> = runs
            .into_iter()
            .flat_map(|(from, to)| [Step::Move(from, middle), Step::Line(to, middle)])
            .collect();
        if columns.is_empty() {
            return;
        }
        let steps = self.scene.path(&columns);
        self.push(
            Paint::Stream,
            Primitive::Path {
                steps,
                fill: None,
                stroke: Some(Stroke::solid(Token::Stream, COLUMN_HIGH)),
                opacity: DENSITY,
            },
        );
    }

    /// The revision of a write, over its glyph or under it: the text of a lesson names it.
    fn revision_at(&mut self, row: &Row, (x, y): (Px, Px), revision: u64) {
        let over = y - Px::whole(7);
        let has_room = over - Px::whole(9) >= self.y(row);
        let baseline = if has_room { over } else { y + Px::whole(15) };
        let revision = number(revision);
        let forms = [format!("revision {revision}"), revision];
        let look = TextLook::plain(Token::Text2).over(self.ground(row));
        let xs = (x + Px::whole(6), self.end_x);
        let (rank, paint) = (Rank::List, Paint::Change);
        self.label(Label::new(rank, paint, forms, look, baseline, xs));
    }

    fn shown_writes<'b>(&self, layers: &'b LayerTrace) -> &'b [WriteMark] {
        within(
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
                    self.low_line(row, xs, level, &[]);
                }
            }
            for (xs, level) in self.stretches(points, epoch.end, |a, b| a.waiting == b.waiting) {
                self.waiting(xs, bottom, (Px::whole(2), 10.0), level.waiting);
            }
            let window = points.last().map(|point| &point.level);
            if let Some(level) = window.filter(|level| level.tone == Tone::Open) {
                let window = if level.from >= level.revision {
                    "no window: nothing older can be resumed".to_owned()
                } else {
                    format!("window from {}", number(level.from))
                };
                let words = match level.feeds {
                    0 => window,
                    feeds => format!("{window} · feeds {}", count(feeds, "watch")),
                };
                let look = TextLook::plain(Token::Text3)
                    .over(self.ground(row))
                    .aligned(Align::End);
                let is_low = scale.y(level.revision) > self.y(row) + row.height.half();
                let y = if is_low {
                    self.y(row) + Px::whole(9)
                } else {
                    bottom - HAIR
                };
                self.say_at_end(Paint::Change, y, words, look);
            }
            self.taken_in(epoch, id, bottom);
            self.ghost_bands(row, epoch, id);
        }
    }

    /// What waits in a buffer: a bar of at least a height, and as much more as it is full.
    fn waiting(
        &mut self,
        xs: (Px, Px),
        bottom: Px,
        (least, room): (Px, f64),
        (waiting, slots): (u64, u64),
    ) {
        if waiting == 0 {
            return;
        }
        let share = waiting.min(slots) as f64 / slots.max(1) as f64;
        let height = least + Px::from_f64(share * room);
        let ink = if waiting >= slots {
            Token::Error
        } else {
            Token::Warning
        };
        let xs = (xs.0, xs.1.max(xs.0 + Px::whole(2)));
        self.fill(Paint::Change, xs, (bottom - height, bottom), ink);
    }

    /// What a watch cache feeds one client: a line while there is a watch, over it what waits in the buffer.
    fn stream_row(&mut self, row: &Row, id: LayerId) {
        let (top, bottom) = (self.y(row) + Px::whole(2), self.y(row) + row.height - HAIR);
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase, a.waiting) == (b.tone, &b.phase, b.waiting)
            }) {
                if level.tone == Tone::Resting {
                    continue;
                }
                let is_held = level.tone == Tone::Failed;
                let ink = if is_held { Token::Error } else { Token::Stream };
                self.fill(Paint::Stream, xs, (bottom - Px::whole(2), bottom), ink);
                let room = (bottom - top).to_f64() - 4.0;
                self.waiting(xs, bottom, (Px::whole(4), room), level.waiting);
                let (waiting, slots) = level.waiting;
                let mut words = level.phase.to_string();
                if waiting > 0 {
                    let many = format!("{} of {} wait", number(waiting), number(slots));
                    words = if words.is_empty() {
                        many
                    } else {
                        format!("{many}: {words}")
                    };
                }
                let ink = if is_held { Token::Error } else { Token::Text2 };
                let look = TextLook::plain(ink).over(self.ground(row));
                let y = bottom - Px::whole(3);
                self.say_inside(Rank::Wait, Paint::Change, xs, y, &words, look);
            }
        }
    }

    /// A crowd of clients: how many of them follow, of all that are there, and what ghosts they hold together.
    fn crowd_row(&mut self, row: &Row, crowd: &Text) {
        let members = self.picture.store.layer_names().members(crowd);
        let members: Vec<LayerId> = members.into_iter().map(|(_, id)| id).collect();
        for epoch in self.epochs.clone() {
            // What each of them changes in how many follow and in how many ghosts there are.
            let (mut all, mut changes) = (0_u64, Vec::new());
            for &id in &members {
                let points = self.shown(epoch.layers, id);
                all += u64::from(!points.is_empty());
                let mut before = (0, 0);
                for (place, LevelPoint { moment, level }) in points.iter().enumerate() {
                    let now = (
                        i64::from(level.tone == Tone::Open),
                        level.ghosts.cast_signed(),
                    );
                    let (follow, haunt) = (now.0 - before.0, now.1 - before.1);
                    if follow != 0 {
                        changes.push((*moment, (follow, 0)));
                    }
                    if haunt != 0 {
                        let since = match place {
                            0 => haunted_since(epoch.layers, id, *moment),
                            _ => *moment,
                        };
                        changes.push((since, (0, haunt)));
                    }
                    before = now;
                }
            }
            tree::sort_by_key(&mut changes, |change| change.0.seq);
            let (mut following, mut ghosts) = (0, 0);
            // Since when there are ghosts, and how many at most.
            let mut haunted: Option<(Moment, i64)> = None;
            for (place, &(moment, (follow, haunt))) in changes.iter().enumerate() {
                following += follow;
                ghosts += haunt;
                let until = changes.get(place + 1).map_or(epoch.end, |next| next.0.at);
                let xs = (self.x(moment.at), self.x(until));
                self.crowd_stretch(row, xs, (following.unsigned_abs(), all));
                haunted = (ghosts > 0).then(|| match haunted {
                    Some((since, most)) => (since, most.max(ghosts)),
                    None => (moment, ghosts),
                });
                let ends = place + 1 == changes.len() || ghosts + changes[place + 1].1.1 <= 0;
                if let Some((since, most)) = haunted
                    && ends
                    && until.micros_since(since.at) > UNDER_WAY_US
                {
                    let target = Target::Record(record(epoch, since.seq));
                    self.ghost_band(row, (since.at, until), most.unsigned_abs(), target);
                }
            }
        }
    }

    /// So many of a crowd follow.
    fn crowd_stretch(&mut self, row: &Row, xs: (Px, Px), (following, all): (u64, u64)) {
        if following == 0 || xs.1 - xs.0 < HAIR || xs.1 < -SPILL {
            return;
        }
        let (top, bottom) = (
            self.y(row) + Px::whole(5),
            self.y(row) + row.height - Px::whole(5),
        );
        let share = following as f64 / all.max(1) as f64;
        let y = bottom - Px::from_f64(share * (bottom - top).to_f64());
        self.fill(Paint::Stream, xs, (y, bottom), Token::StreamFill);
        self.fill(Paint::Stream, xs, (y, y + Px::whole(2)), Token::Stream);
        let words = format!("{} of {} watching", number(following), number(all));
        let (look, paint) = (TextLook::plain(Token::Text2), Paint::Stream);
        let text_y = self.y(row) + row.height.half() + Px::whole(5);
        let label = Label::new(Rank::Name, paint, [words], look, text_y, xs);
        self.label_inside(label.reaching(xs.1 - xs.0));
    }

    /// What an apiserver or a client does.
    fn doing_row(&mut self, row: &Row, id: LayerId) {
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            let bands = self.ghost_bands(row, epoch, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase) == (b.tone, &b.phase)
            }) {
                match (level.tone, level.client) {
                    (Tone::Open, _) => self.plateau(row, xs, level, &bands),
                    (_, Some(ClientPhase::Spinning)) => self.spin(row, xs, epoch, id),
                    (_, Some(ClientPhase::Returned)) => self.silence(row, xs, epoch, id, level),
                    _ => self.low_line(row, xs, level, &bands),
                }
            }
            self.taken_in(epoch, id, self.y(row) + row.height - Px::whole(5));
        }
    }

    /// All points of a layer that are like the last before `x`, from the first of them on.
    fn run_at<'b>(&self, epoch: EpochView<'b>, id: LayerId, x: Px) -> &'b [LevelPoint] {
        let points = epoch.layers.levels(id);
        let at = |point: &LevelPoint| self.x(point.moment.at);
        let to = points.partition_point(|point| at(point) < x);
        let Some(last) = points[..to].last() else {
            return &[];
        };
        let other = points[..to]
            .iter()
            .rposition(|point| point.level.phase != last.level.phase);
        &points[other.map_or(0, |other| other + 1)..to]
    }

    /// A client in a loop that never waits: how often it has read a stream that is no more, and how fast.
    fn spin(&mut self, row: &Row, xs: (Px, Px), epoch: EpochView<'_>, id: LayerId) {
        let run = self.run_at(epoch, id, xs.1.min(self.end_x));
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return;
        };
        let turns = last.level.turns.saturating_sub(first.level.turns);
        let rate = per_second(turns, last.moment.at.micros_since(first.moment.at));
        let bottom = self.y(row) + row.height - Px::whole(5);
        // A meter: each factor of ten is as high.
        let most = row.height - Px::whole(10);
        let height =
            Px::whole(2) + Px::whole(3 * rate.checked_ilog10().map_or(0, |tens| tens as i32 + 1));
        let ys = (bottom - height.min(most), bottom);
        self.fill_faint(Paint::Stream, xs, ys, Token::Error, 24);
        self.fill(
            Paint::Stream,
            xs,
            (bottom - Px::whole(2), bottom),
            Token::Error,
        );
        let (turns, rate) = (number(turns), number(rate));
        let forms = vec![
            format!("reads a dead stream: {turns} turns for 0 bytes, {rate} a second"),
            format!("{turns} turns for 0 bytes, {rate} a second"),
            format!("{turns} turns for 0 bytes"),
            format!("{turns} turns"),
        ];
        self.beside_ghosts(row, xs, forms);
    }

    /// A client that has returned: since when nothing comes from it any more.
    fn silence(
        &mut self,
        row: &Row,
        xs: (Px, Px),
        epoch: EpochView<'_>,
        id: LayerId,
        level: &Level,
    ) {
        self.low_line(
            row,
            xs,
            &Level {
                phase: "".into(),
                ..level.clone()
            },
            &[],
        );
        let Some(since) = self.run_at(epoch, id, xs.1.min(self.end_x)).first() else {
            return;
        };
        let since = since.moment.at;
        // To the second: it is written anew with each frame.
        let until = self.picture.view.right().min(epoch.end);
        let lasted_us = until.micros_since(since).max(0) / SECOND_US * SECOND_US;
        let (since, lasted) = (clock(since), duration(lasted_us));
        let forms = vec![
            format!("returned: silent since {since}, for {lasted}"),
            format!("silent since {since}"),
            format!("silent for {lasted}"),
        ];
        self.beside_ghosts(row, xs, forms);
    }

    /// What is wrong with a client in its row, behind what is said of the ghosts that it often leaves.
    fn beside_ghosts(&mut self, row: &Row, xs: (Px, Px), forms: Vec<String>) {
        let look = TextLook::strong(Token::Error);
        let y = self.y(row) + row.height.half() + Px::whole(4);
        let label = Label::new(Rank::Error, Paint::Finding, forms, look, y, xs);
        self.label_inside(Label {
            joins: true,
            ..label.reaching(xs.1 - xs.0)
        });
    }

    /// A client's connections in the network: a bar while there are streams on them, torn where one is cut.
    fn connections_of_layer(&mut self, row: &Row, id: LayerId) {
        let (y, bottom) = (
            self.y(row) + Px::whole(3),
            self.y(row) + row.height - Px::whole(3),
        );
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            let mut said: Option<&Text> = None;
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
                    // What comes again and again is said once.
                    _ if said == Some(&level.phase) => {
                        let silent = Level {
                            phase: "".into(),
                            ..level.clone()
                        };
                        self.low_line(row, xs, &silent, &[]);
                    }
                    _ => {
                        self.low_line(row, xs, level, &[]);
                        let words = short(&level.phase);
                        let long = text_width(words, 11, 400) + LABEL_INSET + LABEL_SPARE;
                        if xs.1 - self.shows_from(xs.0) >= long {
                            said = Some(&level.phase);
                        }
                    }
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

    /// A client or server that follows; what it does is said clear of the bands of ghosts.
    fn plateau(&mut self, row: &Row, xs: (Px, Px), level: &Level, bands: &[(Px, Px)]) {
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
        let xs = self.clear_of(bands, xs, &words, look);
        self.say_inside(Rank::Name, Paint::Stream, xs, y, &words, look);
    }

    /// Where words at the beginning of a stretch meet no band of ghosts.
    fn clear_of(
        &self,
        bands: &[(Px, Px)],
        (x0, x1): (Px, Px),
        words: &str,
        look: TextLook,
    ) -> (Px, Px) {
        let long = text_width(words, look.size, look.weight) + LABEL_INSET + LABEL_SPARE;
        let mut from = self.shows_from(x0);
        for band in bands {
            if band.0 < from + long && from < band.1 {
                from = band.1;
            }
        }
        (from, x1)
    }

    fn low_line(&mut self, row: &Row, (x0, x1): (Px, Px), level: &Level, bands: &[(Px, Px)]) {
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
        let xs = self.clear_of(bands, (x0, x1), &level.phase, look);
        self.say_inside(Rank::Wait, Paint::Stream, xs, text_y, &level.phase, look);
    }

    /// Stretches in which a layer holds what is not in etcd, if they last longer than what is under way; where they are.
    fn ghost_bands(&mut self, row: &Row, epoch: EpochView<'_>, id: LayerId) -> Vec<(Px, Px)> {
        let points = self.shown(epoch.layers, id);
        let mut bands = Vec::new();
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
            let since = match begins {
                0 => haunted_since(epoch.layers, id, first.moment),
                _ => first.moment,
            };
            if end.micros_since(since.at) <= UNDER_WAY_US {
                continue;
            }
            let most = points[begins..place].iter().map(|point| point.level.ghosts);
            let most = most.max().unwrap_or(0);
            let target = Target::Record(record(epoch, since.seq));
            self.ghost_band(row, (since.at, end), most, target);
            bands.push((self.x(since.at), self.x(end)));
        }
        bands
    }

    fn ghost_band(&mut self, row: &Row, (from, to): (Time, Time), ghosts: u64, target: Target) {
        let (x0, x1) = (self.x(from).max(-SPILL), self.x(to).min(self.width + SPILL));
        let x1 = x1.max(x0 + LEAST);
        let middle = self.y(row) + row.height.half();
        // Lower where words stand over and under it.
        let half = Px::whole(if row.kind == RowKind::LayerTrace {
            6
        } else {
            8
        });
        let (y, bottom) = (middle - half, middle + half);
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
        let (rank, paint) = (Rank::Lost, Paint::Divergence);
        let label = Label::new(rank, paint, [words], look, text_y, (x0, x1));
        self.label_inside(label.reaching(x1 - x0));
        self.hit((x0, x1), (y, bottom), row.id, target);
    }

    /// Words, if there are any, inside a stretch, if there is room; else what stands before a colon or an arrow, if there is for that.
    fn say_inside(
        &mut self,
        rank: Rank,
        paint: Paint,
        xs: (Px, Px),
        y: Px,
        words: &str,
        look: TextLook,
    ) {
        if words.is_empty() {
            return;
        }
        let forms = [words.to_owned(), short(words).to_owned()];
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
}

/// What stands before a colon or an arrow.
fn short(words: &str) -> &str {
    let ends = [": ", " →"].map(|mark| words.find(mark).unwrap_or(words.len()));
    &words[..ends[0].min(ends[1])]
}

/// Since when a layer has held ghosts without a break that it holds at a moment, whether that shows or not.
fn haunted_since(layers: &LayerTrace, id: LayerId, now: Moment) -> Moment {
    let points = layers.levels(id);
    let to = points.partition_point(|point| point.moment.seq <= now.seq);
    let run = points[..to].iter().rev();
    let run = run.take_while(|point| point.level.ghosts > 0);
    run.last().map_or(now, |point| point.moment)
}

/// How many in a second, of so many in a time.
pub(crate) fn per_second(count: u64, lasted_us: i64) -> u64 {
    let lasted_us = u128::from(lasted_us.max(1).unsigned_abs());
    let rate = u128::from(count) * 1_000_000 / lasted_us;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The glyph of a write, and its colour.
pub(super) fn drawn_as(change: ChangeType) -> (Glyph, Token) {
    match change {
        ChangeType::Added => (Glyph::Added, Token::Added),
        ChangeType::Deleted => (Glyph::Deleted, Token::Deleted),
        ChangeType::Modified | ChangeType::Unknown => (Glyph::Modified, Token::Modified),
    }
}
