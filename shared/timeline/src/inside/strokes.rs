//! The strokes that several kinds of layers share: lines on etcd's scale, stretches of one level, density, words.

use watchscope_model::Time;

use crate::draw::{
    Drawer, EpochView, HAIR, LABEL_INSET, LABEL_SPARE, Label, Layer as Paint, Line, Rank, SPILL,
    Scale, TextLook, Ways,
};
use crate::format::text_width;
use crate::id::LayerId;
use crate::lanes::Row;
use crate::levels::{Layer, LayerTrace, Level, LevelPoint, Tone};
use crate::scene::{Primitive, Px, Step, Stroke};
use crate::sorted::within;
use crate::tokens::Token;

/// Distance of a trace from the row's edges, in px. The number has no source.
const INSET: Px = Px::whole(6);
/// Width of a density column, in px: that of a strip's columns.
pub(super) const COLUMN: Px = Px::whole(2);
/// Height of a density column, in px. The number has no source.
const COLUMN_HIGH: Px = Px::whole(4);
/// Opacity of a density column, in percent, so that it is fainter than a gap or a ghost. The number has no other
/// source.
const DENSITY: u8 = 38;

impl Drawer<'_> {
    /// Returns the points of a layer to draw: the last point before the view, and all points in it.
    pub(super) fn shown<'b>(&self, layers: &'b LayerTrace, id: LayerId) -> &'b [LevelPoint] {
        let points = layers.levels(id);
        let from = points.partition_point(|point| point.moment.at < self.left);
        let to = points.partition_point(|point| point.moment.at <= self.right);
        &points[from.saturating_sub(1).min(to)..to]
    }

    pub(super) fn line_of_layer(&self, epoch: EpochView<'_>, id: LayerId) -> Option<Line> {
        let left = self.picture.view.left();
        let points = self.shown(epoch.layers, id);
        let first = points.first()?;
        let moves = points[1..].iter();
        let moves = moves.map(|point| (point.moment.at, point.level.revision));
        let start = (first.moment.at.max(left), first.level.revision);
        // The opening of a chapter repeats the level, so equal revisions are skipped.
        let mut last = start.1;
        let moves = moves.filter(|&(at, revision)| {
            at >= left && std::mem::replace(&mut last, revision) != revision
        });
        Some(self.line_of(start, moves, epoch.end))
    }

    /// Returns the vertical scale of etcd's revisions, which the rows of watch caches share.
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

    /// Returns the stretches of points that `alike` finds equal, in px, without those that end before the view.
    /// Stretches under 1 px are left out, too, unless the layer has failed in them.
    pub(super) fn stretches<'b>(
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

    pub(super) fn low_line(
        &mut self,
        row: &Row,
        (x0, x1): (Px, Px),
        level: &Level,
        bands: &[(Px, Px)],
    ) {
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

    /// Returns the x from which words at the beginning of a stretch meet no band of ghosts.
    pub(super) fn clear_of(
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

    /// Draws the objects that a cache or a client received, as density at the bottom of the layer's row. Lessons draw
    /// each propagation instead of this density.
    pub(super) fn taken_in(&mut self, epoch: EpochView<'_>, id: LayerId, bottom: Px) {
        if self.picture.ways == Ways::Stopped {
            let held = epoch.layers.held(id);
            let held = within(held, |mark| mark.moment.at, self.left, self.right);
            self.density(held.iter().map(|mark| mark.moment.at), bottom);
        }
    }

    /// Draws a density column on `bottom` in each [`COLUMN`] px of the view in which at least one of `times` falls. The
    /// times must rise. Columns that touch are one stroke.
    pub(super) fn density(&mut self, times: impl Iterator<Item = Time>, bottom: Px) {
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

    /// Writes words inside a stretch if they fit. If not, writes their part before a colon or an arrow, if that fits.
    /// Empty words are skipped.
    pub(super) fn say_inside(
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

    /// Writes words at the end of the lanes, if there is room.
    pub(super) fn say_at_end(&mut self, paint: Paint, y: Px, words: String, look: TextLook) {
        let xs = (Px::ZERO, self.end_x - Px::whole(6));
        self.label(Label::new(Rank::Name, paint, [words], look, y, xs));
    }
}

/// Returns the words' part before the first colon or arrow.
pub(super) fn short(words: &str) -> &str {
    let ends = [": ", " →"].map(|mark| words.find(mark).unwrap_or(words.len()));
    &words[..ends[0].min(ends[1])]
}
