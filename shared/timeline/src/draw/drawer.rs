//! The drawer turns a picture into a scene. This file also has the methods for strokes that all rows share.
//!
//! `Drawer` is one type. The methods for each kind of row, and for each thing that covers several rows, stand in a file
//! of their own.

use std::rc::Rc;

use watchscope_model::tree::BTreeMap;
use watchscope_model::{Seq, Time};

use super::flags::Flagged;
use super::label::Label;
use super::look::{GlyphMark, LAYERS, Layer, SPILL};
use crate::evidence::Evidence;
use crate::glyph::{GLYPH_BOX, Glyph};
use crate::id::{LaneId, RecordId, WatchId};
use crate::lanes::{Row, RowKind, Rows};
use crate::levels::LayerTrace;
use crate::scene::{Area, Drawn, Hatch, Hit, Primitive, Px, Scene, Sign, Step, Stroke, Target};
use crate::store::{Coverage, Store, Stretch, Trace, WatchTrace};
use crate::tokens::Token;
use crate::troubles::Troubles;
use crate::view::View;

/// What the viewer has marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// The moment that the panels answer for, drawn as a line; `None` if they answer for now.
    pub as_of: Option<Time>,
    /// The marked range: its start and its end, in this order, both included; `None` if no range is marked.
    pub range: Option<(Time, Time)>,
    /// The cursors A and B: the two moments that are compared.
    pub cursors: Cursors,
}

/// The cursors A and B: the two moments that the viewer compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursors {
    /// Cursor A, the earlier moment; `None` if no cursor is set.
    pub a: Option<Time>,
    /// Cursor B, not earlier than A; `None` if it is not set. B is never set without A.
    pub b: Option<Time>,
}

/// The inputs of the scenes of the lanes and of the ruler.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The records to draw.
    pub store: &'a Store,
    /// The rows, from [`crate::lanes::Lanes::rows`] for the same store and view.
    pub rows: &'a Rows,
    /// The stretch of time in view.
    pub view: &'a View,
    /// The time of the pen, the line of now. On a page it is the present by the server's clock, or without a connection
    /// the time of the last message. In an exported picture it is the end of the range.
    pub now: Time,
    /// Whether the page is connected to watchscope. While it is not, the time to the right of the pen is unknown, and
    /// is hatched.
    pub connected: bool,
    /// How far the rows are scrolled: the distance from the top of all rows to the top of the lanes on screen.
    pub top: Px,
    /// Height of the lanes on screen, which is the height of their scene.
    pub height: Px,
    /// The selected lane, drawn with a frame; `None` if no lane is selected.
    pub selected: Option<LaneId>,
    /// The selected record; `None` if no record is selected. If the record is a write in a simulated cluster, its whole
    /// propagation stands out.
    pub record: Option<RecordId>,
    /// The evidence of the selected finding, numbered on the lanes once `records` is loaded; `None` if no finding is
    /// selected.
    pub evidence: Option<&'a Evidence>,
    /// The trouble of the store, for the arrows on lanes with trouble outside of the view, drawn once `records` is
    /// loaded. `None` draws no arrows.
    pub troubles: Option<&'a Troubles>,
    /// The record of the evidence under the pointer, whose tag stands out; `None` if the pointer is on none.
    pub lit: Option<RecordId>,
    /// What the viewer has marked: moment, range and cursors. They are drawn once `records` is loaded. Until then only
    /// the ruler's badge shows the moment.
    pub marked: Marked,
    /// Notes of viewers, drawn as flags once `records` is loaded.
    pub flagged: Flagged<'a>,
    /// Which propagations of writes through a simulated cluster are drawn.
    pub ways: Ways,
    /// The functions that draw records: [`RECORDS`](crate::records::RECORDS), or `None` before they are loaded. Without
    /// them the scene has the grid, unknown stretches, strips with streams, phases and gaps, lines of findings, and the
    /// pen.
    pub records: Option<&'a DrawTable>,
}

/// The propagations of writes through a simulated cluster that are drawn. The propagation of the selected write is
/// always drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// All known propagations to the first 8 clients on screen that are in no crowd: a lesson shows how a write
    /// travels. Of writes that arrived or are travelling, those too near each other and those beyond the first 240 are
    /// left out.
    All,
    /// As `All`, in a lesson: times in words are seconds since the midnight at which it began.
    Lesson,
    /// As `Lesson`, while a question covers what each side holds: no ghosts are drawn.
    Covered,
    /// Only propagations that stopped, to the first 8 clients on screen that are in no crowd; of several stopped writes
    /// in a row, only the first. The other writes show as density.
    Stopped,
}

/// Functions that draw records. The first part of the page draws a strip for each watch, and a line for each open
/// finding. The page reaches the rest of the drawing through this table.
#[derive(Clone, Copy, Debug)]
pub struct DrawTable {
    pub(crate) group: fn(&mut Drawer<'_>, WatchId, EpochView<'_>, &WatchTrace, Group),
    pub(crate) body: fn(&mut Drawer<'_>, &Row, EpochView<'_>, &WatchTrace),
    /// Draws a row that belongs to no watch.
    pub(crate) row: fn(&mut Drawer<'_>, &Row),
    pub(crate) travels: fn(&mut Drawer<'_>, &[Row]),
    pub(crate) evidence: fn(&mut Drawer<'_>),
    pub(crate) seam: fn(&mut Drawer<'_>, Time, Time),
    pub(crate) marked: fn(&mut Drawer<'_>),
    /// Draws the marks of the viewer on the ruler, and the row of flags below it.
    pub(crate) on_ruler: fn(&mut Scene, &Picture<'_>),
    /// Draws the dots after a stretch that was still open when its run ended.
    pub(crate) trail: fn(&mut Drawer<'_>, Px, Px, Token),
}

/// The position of marks that concern all rows of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// Top of the watch's first row, and bottom of its last row.
    pub(crate) ys: (Px, Px),
    /// Baseline for the count of missed events; `None` if the watch has a row of its resourceVersion, which shows the
    /// count.
    pub(crate) words_y: Option<Px>,
}

/// An epoch's records, the epoch's number, and the time up to which it is drawn.
#[derive(Clone, Copy)]
pub(crate) struct EpochView<'a> {
    pub(crate) number: u32,
    pub(crate) trace: &'a Trace,
    pub(crate) layers: &'a LayerTrace,
    pub(crate) end: Time,
    /// Whether the epoch is still being written.
    pub(crate) is_live: bool,
}

/// A scene while it is being drawn.
pub(crate) struct Drawer<'a> {
    pub(crate) picture: &'a Picture<'a>,
    pub(crate) layers: [Vec<Primitive>; LAYERS],
    pub(crate) scene: Scene,
    pub(crate) epochs: Vec<EpochView<'a>>,
    pub(crate) coverage: Vec<Stretch>,
    /// Areas that a cover hides. Nothing shows in covered areas, so labels stay out of them.
    pub(crate) covered: Vec<Area>,
    /// Time at the left edge less [`SPILL`].
    pub(crate) left: Time,
    /// The earlier of now and the time [`SPILL`] right of the right edge.
    pub(crate) right: Time,
    pub(crate) width: Px,
    /// The x at which the lanes end: that of the pen or that of the right edge, whichever is less.
    pub(crate) end_x: Px,
    /// Areas taken by marks, in the current row and below it.
    pub(crate) marked: Vec<Area>,
    /// Areas taken by texts, in the current row and below it.
    pub(crate) written: Vec<Area>,
    /// The borders of buckets among the marks of a watch, by epoch, watch, begin and width in µs of the first bucket.
    borders: BTreeMap<(u32, WatchId, Time, i64), Rc<[usize]>>,
    /// Labels of the current row that are not placed yet.
    pub(crate) labels: Vec<Label>,
}

impl<'a> Drawer<'a> {
    pub(crate) fn new(picture: &'a Picture<'a>) -> Self {
        let view = picture.view;
        let width = Px::from_f64(view.width_px);
        let store = picture.store;
        let last = store.newest_epoch();
        let epochs = store
            .epochs()
            .iter()
            .map(|epoch| EpochView {
                number: epoch.number(),
                trace: &epoch.trace,
                layers: &epoch.layer_trace,
                is_live: Some(epoch.number()) == last,
                end: if Some(epoch.number()) == last {
                    picture.now
                } else {
                    epoch.ends().unwrap_or(picture.now)
                },
            })
            .collect();
        let coverage = store.coverage(picture.now);
        let cover = |from, to| Area::between(view.x(from), view.x(to), Px::ZERO, picture.height);
        let covers = coverage
            .iter()
            .filter(|stretch| stretch.coverage != Coverage::Loaded)
            .map(|stretch| cover(stretch.from, stretch.to));
        let mut covered: Vec<Area> = covers.collect();
        for epoch in store.epochs() {
            let pauses = epoch.trace.pauses.iter();
            covered.extend(pauses.map(|pause| cover(pause.since(), pause.moment.at)));
        }
        let scene = Scene {
            width,
            height: picture.height,
            ..Scene::default()
        };
        Self {
            picture,
            layers: std::array::from_fn(|_| Vec::new()),
            scene,
            epochs,
            coverage,
            covered,
            left: view.time_from_x(-SPILL.to_f64()),
            right: view
                .time_from_x(view.width_px + SPILL.to_f64())
                .min(picture.now),
            width,
            end_x: view.x(picture.now).min(width),
            marked: Vec::new(),
            written: Vec::new(),
            borders: BTreeMap::new(),
            labels: Vec::new(),
        }
    }

    /// Returns, for buckets of `bucket_us` from `from` to the right end of the picture, the index of the first mark of
    /// a watch behind each. They are looked up once in a picture.
    pub(crate) fn borders(
        &mut self,
        (epoch, watch): (u32, WatchId),
        trace: &WatchTrace,
        from: Time,
        bucket_us: i64,
    ) -> Rc<[usize]> {
        let borders = self.borders.entry((epoch, watch, from, bucket_us));
        let looked_up = || trace.marks.borders(from, self.right, bucket_us).into();
        Rc::clone(borders.or_insert_with(looked_up))
    }

    pub(crate) fn finish(mut self) -> Scene {
        self.scene
            .primitives
            .reserve(self.layers.iter().map(Vec::len).sum());
        for layer in &mut self.layers {
            self.scene.primitives.append(layer);
        }
        self.scene
    }

    /// Returns the top and bottom of a row's plateau, the high part that shows an open stream. The plateau of a low
    /// strip leaves 1 px at each edge; that of other rows leaves 5 px.
    pub(crate) fn body(&self, row: &Row) -> (Px, Px) {
        let inset = if row.kind == RowKind::Strip { 1 } else { 5 };
        let (y, inset) = (self.y(row), Px::whole(inset));
        (y + inset, y + row.height - inset)
    }

    /// Returns a row's top edge on screen.
    pub(crate) fn y(&self, row: &Row) -> Px {
        row.y - self.picture.top
    }

    pub(crate) fn x(&self, at: Time) -> Px {
        self.picture.view.x(at)
    }

    /// Returns a watch's traces, one for each epoch that has records of it.
    pub(crate) fn watch_traces(&self, watch: WatchId) -> Vec<(EpochView<'a>, &'a WatchTrace)> {
        self.epochs
            .iter()
            .filter_map(|&epoch| Some((epoch, epoch.trace.watch(watch)?)))
            .collect()
    }

    /// Returns the colour under a row's marks.
    pub(crate) fn ground(&self, row: &Row) -> Token {
        if row.diverged {
            Token::DivergenceGround
        } else if self.picture.selected == Some(row.id) {
            Token::SelectGround
        } else {
            Token::Ground0
        }
    }

    pub(crate) fn push(&mut self, layer: Layer, primitive: Primitive) {
        self.layers[layer as usize].push(primitive);
    }

    /// Fills a rectangle between two x, cut to the view and [`SPILL`] on each side.
    pub(crate) fn fill(
        &mut self,
        layer: Layer,
        (x0, x1): (Px, Px),
        (y0, y1): (Px, Px),
        ink: Token,
    ) {
        self.fill_faint(layer, (x0, x1), (y0, y1), ink, 100);
    }

    pub(crate) fn fill_faint(
        &mut self,
        layer: Layer,
        (x0, x1): (Px, Px),
        (y0, y1): (Px, Px),
        ink: Token,
        opacity: u8,
    ) {
        let (x0, x1) = (x0.max(-SPILL), x1.min(self.width + SPILL));
        if x0 < x1 && y0 < y1 {
            let area = Area::between(x0, x1, y0, y1);
            self.push(
                layer,
                Primitive::Rect {
                    area,
                    fill: Some(ink),
                    stroke: None,
                    radius: 0,
                    opacity,
                },
            );
        }
    }

    pub(crate) fn stroke(&mut self, layer: Layer, steps: &[Step], stroke: Stroke) {
        let steps = self.scene.path(steps);
        self.push(
            layer,
            Primitive::Path {
                steps,
                fill: None,
                stroke: Some(stroke),
                opacity: 100,
            },
        );
    }

    pub(crate) fn hatch(
        &mut self,
        layer: Layer,
        (x0, x1): (Px, Px),
        (y0, y1): (Px, Px),
        hatch: Hatch,
    ) {
        let anchor = x0;
        let (x0, x1) = (x0.max(-SPILL), x1.min(self.width + SPILL));
        if x0 < x1 && y0 < y1 {
            if self.is_seen((x0, x1)) {
                self.scene.legend.hatches.insert(match hatch {
                    Hatch::LostWide | Hatch::LostStrip => Hatch::Lost,
                    other => other,
                });
            }
            self.push(
                layer,
                Primitive::Hatch {
                    area: Area::between(x0, x1, y0, y1),
                    hatch,
                    anchor,
                },
            );
        }
    }

    pub(crate) fn glyph(&mut self, layer: Layer, mark: GlyphMark, lane: LaneId, target: Target) {
        let GlyphMark {
            glyph,
            x,
            y,
            size,
            ink,
            ground,
            halo,
        } = mark;
        let side = Px::whole(i32::from(size));
        self.explains(glyph, (x - side.half(), x + side.half()));
        self.push(
            layer,
            Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ground,
                halo,
            },
        );
        let area = Area {
            x: x - side.half(),
            y: y - side.half(),
            w: side,
            h: side,
        };
        self.marked.push(area);
        let (dx, dy) = glyph.ink_point();
        let scale = f64::from(size) / GLYPH_BOX;
        let ink_at = (
            area.x + Px::from_f64(dx * scale),
            area.y + Px::from_f64(dy * scale),
        );
        self.scene.hits.push(Hit {
            area,
            lane,
            target,
            drawn: Some(Drawn {
                sign: Sign::Glyph(glyph),
                ink,
                x: ink_at.0,
                y: ink_at.1,
            }),
        });
    }

    pub(crate) fn hit(&mut self, xs: (Px, Px), ys: (Px, Px), lane: LaneId, target: Target) {
        self.hit_drawn(xs, ys, lane, target, None);
    }

    pub(crate) fn hit_drawn(
        &mut self,
        (x0, x1): (Px, Px),
        (y0, y1): (Px, Px),
        lane: LaneId,
        target: Target,
        drawn: Option<Drawn>,
    ) {
        let (x0, x1) = (x0.max(Px::ZERO), x1.min(self.width));
        if x0 <= x1 {
            self.scene.hits.push(Hit {
                area: Area::between(x0, x1, y0, y1),
                lane,
                target,
                drawn,
            });
        }
    }

    /// Adds a sign to the legend if it is in view although it is not drawn as a glyph.
    pub(crate) fn explains(&mut self, glyph: Glyph, xs: (Px, Px)) {
        if self.is_seen(xs) {
            self.scene.legend.glyphs.insert(glyph);
        }
    }

    /// Whether any part of `xs` is between the edges of the view. Parts beyond the edges are drawn only to be cut off.
    pub(crate) fn is_seen(&self, (x0, x1): (Px, Px)) -> bool {
        x1 > Px::ZERO && x0 < self.width
    }
}

/// Returns the id of a record of an epoch.
pub(crate) fn record(epoch: EpochView<'_>, seq: Seq) -> RecordId {
    RecordId {
        epoch: epoch.number,
        seq,
    }
}
