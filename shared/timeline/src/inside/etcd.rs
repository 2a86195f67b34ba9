//! Draws the row of etcd: its last revision over time, the writes, and the compactions of history.

use watchscope_model::vocabulary::ChangeType;

use super::strokes::COLUMN;
use crate::draw::{
    Drawer, EpochView, GlyphMark, HAIR, LEAST, Label, Layer as Paint, Line, Rank, Scale, TextLook,
    Ways, record,
};
use crate::format::{number, text_width};
use crate::glyph::Glyph;
use crate::id::LayerId;
use crate::lanes::Row;
use crate::levels::{LayerTrace, WriteMark};
use crate::scene::{Align, Px, Step, Stroke, Target};
use crate::sorted::within;
use crate::tokens::Token;

/// Writes nearer than this, in px, are drawn as ticks, because their glyphs would touch. A triangle is 8.7 px wide, and
/// its halo 1.5 px on each side. The selected write keeps its glyph. In a picture of only the stopped propagations
/// ([`Ways::Stopped`]) all other writes are density.
const GLYPHS_APART: Px = Px::whole(12);

impl Drawer<'_> {
    pub(super) fn etcd_row(&mut self, row: &Row, id: LayerId) {
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

    /// Writes the last revision, beside the trace's end.
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

    /// Draws the compactions: revisions below them can no longer be read.
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

    /// Draws the writes: glyphs on the trace if there is room, else ticks under it. In a picture of only the stopped
    /// propagations they are density, except for the selected write.
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
                // The last revision stands at the end of the trace already.
                if self.picture.ways != Ways::Stopped && write.revision != line.last() {
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

    /// Writes the revision of a write, above or below its glyph, because the text of a lesson names it.
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
}

/// Returns the glyph of a write, and its colour.
pub(super) fn drawn_as(change: ChangeType) -> (Glyph, Token) {
    match change {
        ChangeType::Added => (Glyph::Added, Token::Added),
        ChangeType::Deleted => (Glyph::Deleted, Token::Deleted),
        ChangeType::Modified | ChangeType::Unknown => (Glyph::Modified, Token::Modified),
    }
}
