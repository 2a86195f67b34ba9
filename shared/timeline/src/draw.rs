//! The lanes of a view as a scene.
//!
//! What is drawn is sorted into layers by meaning, in the paint order of the look: what must be seen is painted
//! last. Errors, gaps, relists and findings are drawn at any zoom and never merged away.

mod areas;
mod asides;
mod connection;
mod evidence;
mod findings;
mod flags;
mod labels;
mod layers;
mod level_of_detail;
mod marked;
mod marks;
mod more;
mod object;
mod phases;
mod ruler;
mod seam;
mod strip;
mod travel;
mod version;
mod watch;

use watchscope_model::Time;

pub(crate) use self::flags::{FLAG, spread};
pub use self::flags::{FLAGS_ROW, FlagMark, Flagged, flag_at};
use self::labels::Label;
pub use self::ruler::{RULER_HEIGHT, ruler};
use crate::evidence::Evidence;
use crate::glyph::{GLYPH_BOX, Glyph};
use crate::id::{LaneId, RecordId, WatchId};
use crate::lanes::{Lanes, Row, RowBuilder, RowKind, Rows};
use crate::levels::LayerTrace;
use crate::scene::{
    Align, Area, Drawn, Hatch, Hit, Primitive, Px, Scene, Sign, Step, Stroke, Target,
};
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
    /// How all but strips and findings is drawn: [`RECORDS`], or `None` before it is loaded.
    pub records: Option<&'a Records>,
}

impl<'a> Picture<'a> {
    /// All of some rows, in which nothing is selected or marked, with all ways.
    #[must_use]
    pub fn new(store: &'a Store, rows: &'a Rows, view: &'a View, now: Time) -> Self {
        Self {
            store,
            rows,
            view,
            now,
            connected: true,
            top: Px::ZERO,
            height: rows.height,
            selected: None,
            record: None,
            evidence: None,
            lit: None,
            marked: Marked::default(),
            flagged: Flagged::default(),
            ways: Ways::All,
            records: Some(RECORDS),
        }
    }
}

/// Which ways of writes through the layers of a simulated cluster are drawn, besides that of the selected write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// All that there is room for: a lesson shows how a write goes.
    All,
    /// Those that stopped: what went well is density.
    Stopped,
}

/// All but what a page draws before it has taken in records: a strip for each watch, and its findings. The first part of
/// the page holds no more than that; this is how it reaches the rest.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    group: fn(&mut Drawer<'_>, WatchId, EpochView<'_>, &WatchTrace, Group),
    body: fn(&mut Drawer<'_>, &Row, EpochView<'_>, &WatchTrace),
    /// A row that is no watch's own.
    row: fn(&mut Drawer<'_>, &Row),
    travels: fn(&mut Drawer<'_>, &[Row]),
    evidence: fn(&mut Drawer<'_>),
    seam: fn(&mut Drawer<'_>, Time, Time),
    marked: fn(&mut Drawer<'_>),
    /// What is marked, on the ruler and in the row of flags below it.
    on_ruler: fn(&mut Scene, &Picture<'_>),
    /// The end of something that was open when a run ended.
    trail: fn(&mut Drawer<'_>, Px, Px, Token),
    /// All rows but that of the findings.
    pub(crate) rows: fn(&mut Lanes, &Store, &mut RowBuilder, &View, Time),
}

/// All of it.
pub const RECORDS: &Records = &Records {
    group: |drawer, watch, epoch, trace, group| drawer.records_of_group(watch, epoch, trace, group),
    body: |drawer, row, epoch, trace| drawer.records_in_body(row, epoch, trace),
    row: |drawer, row| drawer.other_row(row),
    travels: |drawer, rows| drawer.travels(rows),
    evidence: |drawer| drawer.evidence(),
    seam: |drawer, from, to| drawer.seam(from, to),
    marked: |drawer| {
        drawer.flag_lines();
        drawer.marked();
    },
    on_ruler: |scene, picture| {
        let Marked { as_of, range } = picture.marked;
        if let Some(range) = range {
            ruler::mark_range(scene, picture.view, range);
        }
        let Picture {
            view, flagged, now, ..
        } = *picture;
        flags::draw(scene, view, flagged, now, (as_of, range));
    },
    trail: |drawer, x, y, ink| drawer.trail(x, y, ink),
    rows: |lanes, store, builder, view, now| lanes.all_rows(store, builder, view, now),
};

/// Where that is drawn which concerns all rows of a watch.
#[derive(Clone, Copy)]
struct Group {
    /// From its first row to its last.
    ys: (Px, Px),
    /// Where what was missed is told, if no row of its resourceVersion tells it.
    words_y: Option<Px>,
}

/// Layers in paint order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Ground,
    Grid,
    Gap,
    Stream,
    Version,
    Life,
    Rule,
    Change,
    Error,
    Divergence,
    Finding,
    Cover,
    Thread,
    Frame,
    Pen,
}

const LAYERS: usize = Layer::Pen as usize + 1;

/// How far beside the view something may still show in it.
const SPILL: Px = Px::whole(16);
/// What cannot be averaged away is at least this wide.
const LEAST: Px = Px::whole(3);
/// A hair, a stroke of one px.
const HAIR: Px = Px::whole(1);

/// Draws the rows that show.
#[must_use]
pub fn lanes(picture: &Picture<'_>) -> Scene {
    let mut drawer = Drawer::new(picture);
    drawer.grid();
    drawer.covers();
    let window = picture
        .rows
        .window(picture.top, picture.top + picture.height);
    let rows = &picture.rows.rows[window];
    for row in rows {
        drawer.row_ground(row);
    }
    // Before the rows: their words keep clear of what is said of ways, and of the numbers of evidence.
    if let Some(records) = picture.records {
        (records.travels)(&mut drawer, rows);
        (records.evidence)(&mut drawer);
    }
    let mut last_watch = None;
    for row in rows {
        if let Some(watch) = row.id.watch().filter(|_| !row.pinned)
            && last_watch != Some(watch)
        {
            last_watch = Some(watch);
            drawer.watch_group(watch);
        }
        let y = drawer.y(row);
        drawer.marked.retain(|area| area.bottom() > y);
        drawer.written.retain(|area| area.bottom() > y);
        match row.kind {
            RowKind::Findings => drawer.findings_row(row),
            RowKind::Watch | RowKind::Strip => drawer.watch_row(row),
            _ => {
                if let Some(records) = picture.records {
                    (records.row)(&mut drawer, row);
                }
            }
        }
        drawer.place_labels();
    }
    drawer.pen();
    if let Some(records) = picture.records {
        (records.marked)(&mut drawer);
    }
    drawer.finish()
}

/// Draws the ruler of a picture: on its badge stands the moment that panels answer for, else now; a marked range is marked.
/// The row of flags belongs to it.
#[must_use]
pub fn ruler_of(picture: &Picture<'_>) -> Scene {
    let Picture { view, marked, .. } = *picture;
    let mut scene = ruler(view, marked.as_of.unwrap_or(picture.now));
    if let Some(records) = picture.records {
        (records.on_ruler)(&mut scene, picture);
    }
    scene
}

/// An epoch's trace with its number and the time up to which it goes on.
#[derive(Clone, Copy)]
struct EpochView<'a> {
    number: u32,
    trace: &'a Trace,
    layers: &'a LayerTrace,
    end: Time,
    /// Whether it goes on.
    is_live: bool,
}

struct Drawer<'a> {
    picture: &'a Picture<'a>,
    layers: [Vec<Primitive>; LAYERS],
    scene: Scene,
    epochs: Vec<EpochView<'a>>,
    coverage: Vec<Stretch>,
    /// Where something is not known, in px: nothing shows under its cover.
    covered: Vec<Area>,
    /// Time at the left edge, less a spill.
    left: Time,
    /// Time at the right edge or now, whichever is first, plus a spill.
    right: Time,
    width: Px,
    /// Where the lanes end: at the pen, or at the right edge.
    end_x: Px,
    /// Where marks stand, in the row at hand and below.
    marked: Vec<Area>,
    /// Where something is written, in the row at hand and below.
    written: Vec<Area>,
    /// Words of the row at hand that have no place yet.
    labels: Vec<Label>,
}

impl<'a> Drawer<'a> {
    fn new(picture: &'a Picture<'a>) -> Self {
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
            covered.extend(
                pauses.map(|&(moment, paused_us)| {
                    cover(moment.at.plus_micros(-paused_us), moment.at)
                }),
            );
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

    /// A row that is no watch's own.
    fn other_row(&mut self, row: &Row) {
        match row.kind {
            RowKind::Connection => self.connection_row(row),
            RowKind::Version => self.version_row(row),
            RowKind::Object => self.object_row(row),
            RowKind::More => self.more_row(row),
            RowKind::Asides => self.asides_row(row),
            RowKind::Layer
            | RowKind::LayerTrace
            | RowKind::LayerConnection
            | RowKind::LayerStream => self.layer_row(row),
            RowKind::Findings | RowKind::Watch | RowKind::Strip | RowKind::Quiet => {}
        }
    }

    fn finish(mut self) -> Scene {
        self.scene
            .primitives
            .reserve(self.layers.iter().map(Vec::len).sum());
        for layer in &mut self.layers {
            self.scene.primitives.append(layer);
        }
        self.scene
    }

    /// The body of a plateau in a row: a strip is low, and its plateau takes all of it but a px.
    fn body(&self, row: &Row) -> (Px, Px) {
        let inset = if row.kind == RowKind::Strip { 1 } else { 5 };
        let (y, inset) = (self.y(row), Px::whole(inset));
        (y + inset, y + row.height - inset)
    }

    /// A row's top edge on screen.
    fn y(&self, row: &Row) -> Px {
        row.y - self.picture.top
    }

    fn x(&self, at: Time) -> Px {
        self.picture.view.x(at)
    }

    /// The traces of a watch in all epochs.
    fn watch_traces(&self, watch: WatchId) -> Vec<(EpochView<'a>, &'a WatchTrace)> {
        self.epochs
            .iter()
            .filter_map(|&epoch| Some((epoch, epoch.trace.watch(watch)?)))
            .collect()
    }

    /// The colour under a row's marks.
    fn ground(&self, row: &Row) -> Token {
        if row.diverged {
            Token::DivergenceGround
        } else if self.picture.selected == Some(row.id) {
            Token::SelectGround
        } else {
            Token::Ground0
        }
    }

    fn push(&mut self, layer: Layer, primitive: Primitive) {
        self.layers[layer as usize].push(primitive);
    }

    /// A filled rectangle between two x, cut to the view and its spill.
    fn fill(&mut self, layer: Layer, (x0, x1): (Px, Px), (y0, y1): (Px, Px), ink: Token) {
        self.fill_faint(layer, (x0, x1), (y0, y1), ink, 100);
    }

    fn fill_faint(
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

    fn stroke(&mut self, layer: Layer, steps: &[Step], stroke: Stroke) {
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

    fn hatch(&mut self, layer: Layer, (x0, x1): (Px, Px), (y0, y1): (Px, Px), hatch: Hatch) {
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

    fn glyph(&mut self, layer: Layer, mark: GlyphMark, lane: LaneId, target: Target) {
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

    fn hit(&mut self, xs: (Px, Px), ys: (Px, Px), lane: LaneId, target: Target) {
        self.hit_drawn(xs, ys, lane, target, None);
    }

    fn hit_drawn(
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
    fn explains(&mut self, glyph: Glyph, xs: (Px, Px)) {
        if self.is_seen(xs) {
            self.scene.legend.glyphs.insert(glyph);
        }
    }

    /// Whether any of it is between the sides: what is drawn beyond them is there only to be cut off.
    fn is_seen(&self, (x0, x1): (Px, Px)) -> bool {
        x1 > Px::ZERO && x0 < self.width
    }

    fn row_ground(&mut self, row: &Row) {
        // The name that stands on a lane belongs to it.
        let (y, bottom) = (self.y(row) - row.label, self.y(row) + row.height);
        let across = (Px::ZERO, self.width);
        let ground = self.ground(row);
        if ground != Token::Ground0 {
            self.fill(Layer::Ground, across, (y, bottom), ground);
        }
        let line = if matches!(
            row.kind,
            RowKind::Watch | RowKind::Findings | RowKind::Layer | RowKind::Asides
        ) {
            Token::Line2
        } else {
            Token::Line1
        };
        self.fill(Layer::Grid, across, (y, y + HAIR), line);
        if self.picture.selected == Some(row.id) {
            let half = HAIR.half();
            let area = Area {
                x: half,
                y: y + half,
                w: self.width - HAIR,
                h: bottom - y - HAIR,
            };
            let stroke = Some(Stroke::solid(Token::Select, HAIR));
            self.push(
                Layer::Frame,
                Primitive::Rect {
                    area,
                    fill: None,
                    stroke,
                    radius: 0,
                    opacity: 100,
                },
            );
        }
        self.hit(across, (y, bottom), row.id, Target::Lane);
    }
}

/// A glyph to be drawn.
#[derive(Clone, Copy)]
struct GlyphMark {
    glyph: Glyph,
    x: Px,
    y: Px,
    size: u8,
    ink: Token,
    ground: Token,
    halo: bool,
}

impl GlyphMark {
    fn new(glyph: Glyph, x: Px, y: Px, size: u8, ground: Token) -> Self {
        Self {
            glyph,
            x,
            y,
            size,
            ink: glyph.ink(),
            ground,
            halo: true,
        }
    }
}

/// How a text looks.
#[derive(Clone, Copy)]
struct TextLook {
    size: u8,
    weight: u16,
    ink: Token,
    halo: Option<Token>,
    align: Align,
}

impl TextLook {
    const fn plain(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 400,
            ink,
            halo: None,
            align: Align::Start,
        }
    }

    const fn strong(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 600,
            ink,
            halo: None,
            align: Align::Start,
        }
    }

    const fn over(self, ground: Token) -> Self {
        Self {
            halo: Some(ground),
            ..self
        }
    }

    const fn aligned(self, align: Align) -> Self {
        Self { align, ..self }
    }
}

/// A label begins so far inside its stretch…
const LABEL_INSET: Px = Px::whole(6);
/// …and is shown only with so much room to spare.
const LABEL_SPARE: Px = Px::whole(10);

/// A record of an epoch.
fn record(epoch: EpochView<'_>, seq: watchscope_model::Seq) -> RecordId {
    RecordId {
        epoch: epoch.number,
        seq,
    }
}
