//! The drawer: a picture on its way to a scene, and the strokes that all rows are drawn with.
//!
//! `Drawer` is one type. What draws one kind of row, or one thing, adds its methods in a file of its own.

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
use crate::view::View;

/// What a person has marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// The moment that panels answer for; absent: now.
    pub as_of: Option<Time>,
    /// From when to when.
    pub range: Option<(Time, Time)>,
}

/// What a picture is made of.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The records.
    pub store: &'a Store,
    /// The rows, from [`crate::lanes::Lanes::rows`] for the same view.
    pub rows: &'a Rows,
    /// The stretch of time.
    pub view: &'a View,
    /// Where the pen is: the server's time, or that of the last word from it.
    pub now: Time,
    /// Whether the page hears from watchscope; if not, what is right of the pen is not known.
    pub connected: bool,
    /// How far the rows are scrolled.
    pub top: Px,
    /// Height of the lanes on screen.
    pub height: Px,
    /// The selected lane, framed.
    pub selected: Option<LaneId>,
    /// The selected record: of a write its whole way stands out.
    pub record: Option<RecordId>,
    /// What the selected finding rests on, numbered on the lanes.
    pub evidence: Option<&'a Evidence>,
    /// The record of its evidence that is pointed at.
    pub lit: Option<RecordId>,
    /// What a person has marked.
    pub marked: Marked,
    /// Notes of persons.
    pub flagged: Flagged<'a>,
    /// Which ways of writes through a simulated cluster are drawn.
    pub ways: Ways,
    /// Draws all but strips and findings: that of [`RECORDS`](crate::records::RECORDS), or `None` before it is loaded.
    pub records: Option<&'a DrawTable>,
}

/// Which ways of writes through the layers of a simulated cluster are drawn, besides that of the selected write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// All that there is room for: a lesson shows how a write goes.
    All,
    /// Those that stopped: what went well is density.
    Stopped,
}

/// Functions that draw records. The first part of the page draws a strip for each watch, and its findings; it reaches the
/// rest through this table.
#[derive(Clone, Copy, Debug)]
pub struct DrawTable {
    pub(crate) group: fn(&mut Drawer<'_>, WatchId, EpochView<'_>, &WatchTrace, Group),
    pub(crate) body: fn(&mut Drawer<'_>, &Row, EpochView<'_>, &WatchTrace),
    /// A row that is no watch's own.
    pub(crate) row: fn(&mut Drawer<'_>, &Row),
    pub(crate) travels: fn(&mut Drawer<'_>, &[Row]),
    pub(crate) evidence: fn(&mut Drawer<'_>),
    pub(crate) seam: fn(&mut Drawer<'_>, Time, Time),
    pub(crate) marked: fn(&mut Drawer<'_>),
    /// What is marked, on the ruler and in the row of flags below it.
    pub(crate) on_ruler: fn(&mut Scene, &Picture<'_>),
    /// The end of something that was open when a run ended.
    pub(crate) trail: fn(&mut Drawer<'_>, Px, Px, Token),
}

/// Where that is drawn which concerns all rows of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// From its first row to its last.
    pub(crate) ys: (Px, Px),
    /// Where what was missed is told, if no row of its resourceVersion tells it.
    pub(crate) words_y: Option<Px>,
}

/// An epoch's trace with its number and the time up to which it goes on.
#[derive(Clone, Copy)]
pub(crate) struct EpochView<'a> {
    pub(crate) number: u32,
    pub(crate) trace: &'a Trace,
    pub(crate) layers: &'a LayerTrace,
    pub(crate) end: Time,
    /// Whether it goes on.
    pub(crate) is_live: bool,
}

/// A picture on its way to a scene.
pub(crate) struct Drawer<'a> {
    pub(crate) picture: &'a Picture<'a>,
    pub(crate) layers: [Vec<Primitive>; LAYERS],
    pub(crate) scene: Scene,
    pub(crate) epochs: Vec<EpochView<'a>>,
    pub(crate) coverage: Vec<Stretch>,
    /// Where something is not known, in px: nothing shows under its cover.
    pub(crate) covered: Vec<Area>,
    /// Time at the left edge, less a spill.
    pub(crate) left: Time,
    /// Time at the right edge or now, whichever is first, plus a spill.
    pub(crate) right: Time,
    pub(crate) width: Px,
    /// Where the lanes end: at the pen, or at the right edge.
    pub(crate) end_x: Px,
    /// Where marks stand, in the row at hand and below.
    pub(crate) marked: Vec<Area>,
    /// Where something is written, in the row at hand and below.
    pub(crate) written: Vec<Area>,
    /// Words of the row at hand that have no place yet.
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
            labels: Vec::new(),
        }
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

    /// The body of a plateau in a row: a strip is low, and its plateau takes all of it but a px.
    pub(crate) fn body(&self, row: &Row) -> (Px, Px) {
        let inset = if row.kind == RowKind::Strip { 1 } else { 5 };
        let (y, inset) = (self.y(row), Px::whole(inset));
        (y + inset, y + row.height - inset)
    }

    /// A row's top edge on screen.
    pub(crate) fn y(&self, row: &Row) -> Px {
        row.y - self.picture.top
    }

    pub(crate) fn x(&self, at: Time) -> Px {
        self.picture.view.x(at)
    }

    /// The traces of a watch in all epochs.
    pub(crate) fn watch_traces(&self, watch: WatchId) -> Vec<(EpochView<'a>, &'a WatchTrace)> {
        self.epochs
            .iter()
            .filter_map(|&epoch| Some((epoch, epoch.trace.watch(watch)?)))
            .collect()
    }

    /// The colour under a row's marks.
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

    /// A filled rectangle between two x, cut to the view and its spill.
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

    /// What a legend explains although it is not drawn as a glyph, where it is seen.
    pub(crate) fn explains(&mut self, glyph: Glyph, xs: (Px, Px)) {
        if self.is_seen(xs) {
            self.scene.legend.glyphs.insert(glyph);
        }
    }

    /// Whether any of it is between the sides: what is drawn beyond them is there only to be cut off.
    pub(crate) fn is_seen(&self, (x0, x1): (Px, Px)) -> bool {
        x1 > Px::ZERO && x0 < self.width
    }
}

/// A record of an epoch.
pub(crate) fn record(epoch: EpochView<'_>, seq: Seq) -> RecordId {
    RecordId {
        epoch: epoch.number,
        seq,
    }
}
