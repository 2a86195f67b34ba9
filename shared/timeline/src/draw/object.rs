//! Draws an object's row: its life as far as it is known, its marks, and where the watch and the truth differ.

use watchscope_model::Time;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::Divergence;

use super::drawer::{Drawer, EpochView, record};
use super::label::{Label, Rank};
use super::look::{GlyphMark, LEAST, Layer, SPILL, TextLook};
use super::over_lanes::REACH;
use crate::format::duration;
use crate::glyph::Glyph;
use crate::id::{LaneId, ObjectId};
use crate::lanes::{Row, divergence_glyph};
use crate::phrases::verdict_words;
use crate::scene::{Area, Hatch, Primitive, Px, Step, StretchKind, Stroke, Target};
use crate::store::{
    Differs, Epoch, MarkKind, ObjectMark, ObjectTrace, Span, VerdictSpan, WatchTrace,
};
use crate::tokens::Token;

/// Opacity in percent of the life of an object that does not change in view; that of any other object has 100. The
/// number has no source.
const UNCHANGED: u8 = 70;
/// Distance of a quarter circle's control points from the quarter's ends: (4/3)(√2 - 1) of the radius, in 64ths of it.
const CIRCLE: i32 = 35;
/// Words for an object that an epoch's first list does not have, the longest first. The first that fit are written;
/// nothing is written if none fit.
const REMOVED_WORDS: [&str; 3] = [
    "not in LIST: deleted while nobody watched",
    "deleted while nobody watched",
    "deleted",
];
/// Words for an object that an epoch's first list has under another uid, the longest first. The first that fit are
/// written; nothing is written if none fit.
const REPLACED_WORDS: [&str; 3] = [
    "another uid: deleted and created while nobody watched",
    "deleted and created",
    "another uid",
];

impl Drawer<'_> {
    pub(super) fn object_row(&mut self, row: &Row) {
        let LaneId::Object(watch, object) = row.id else {
            return;
        };
        let traces = self.watch_traces(watch);
        let changes = |&(_, trace): &(_, &WatchTrace)| self.changes_in_view(trace, object);
        let opacity = match traces.iter().any(changes) {
            true => 100,
            false => UNCHANGED,
        };
        for (epoch, trace) in traces {
            let seam = ListOverSeam::of(trace, object);
            if let Some(seam) = seam {
                self.over_seam(row, epoch, trace, object, seam);
            }
            let Some(object) = trace.objects.get(object.0 as usize) else {
                continue;
            };
            self.lives(row, epoch, trace, object, opacity);
            for span in object.verdicts.all() {
                self.divergence(row, epoch, span);
            }
            self.marks(row, epoch, trace, &object.marks, seam);
        }
    }

    /// Draws how an epoch's first list differs from an object that the watch held at the end of the epoch before. Until
    /// that list the object's life is unknown. An object that is not in the list was deleted while nobody watched.
    fn over_seam(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        object: ObjectId,
        seam: ListOverSeam,
    ) {
        let was_held = match seam.differs {
            Some(Differs::Added) => false,
            Some(Differs::Changed | Differs::Replaced | Differs::Removed) => true,
            // The object is unchanged if the list has it.
            None => trace.objects.get(object.0 as usize).is_some_and(|object| {
                let first = object.marks.first();
                first.is_some_and(|first| seam.is_part(trace, first))
            }),
        };
        if !was_held {
            return;
        }
        let mid = self.y(row) + row.height.half();
        let x = self.x(seam.list.at);
        let run = self.picture.store.epoch(epoch.number);
        let from = run.and_then(Epoch::begins).unwrap_or(seam.list.at);
        self.dots(self.x(from), x, mid);
        let forms = match seam.differs {
            Some(Differs::Removed) => REMOVED_WORDS,
            Some(Differs::Replaced) => REPLACED_WORDS,
            _ => return,
        };
        if x > self.width + SPILL || x < -SPILL {
            return;
        }
        let is_gone = seam.differs == Some(Differs::Removed);
        if is_gone {
            let ground = self.ground(row);
            let mark = GlyphMark::new(Glyph::DeletedInferred, x, mid, row.glyph_size, ground);
            let target = Target::Record(record(epoch, seam.list.seq));
            self.glyph(Layer::Change, mark, row.id, target);
        }
        let forms = forms.map(str::to_owned);
        let look = TextLook::plain(Token::Text3).over(self.ground(row));
        let mut xs = (x + Px::whole(10), self.end_x);
        let object = trace.objects.get(object.0 as usize).filter(|_| is_gone);
        if let Some(object) = object {
            // Words about a deleted object must not stand on a later life of that name.
            let starts = object.lives.all().iter().map(|life| life.start.at);
            let next = starts.filter(|&at| at > seam.list.at).min();
            let end = next.map(|next| self.x(next) - Px::whole(8));
            xs.1 = end.map_or(xs.1, |end| end.min(xs.1));
        }
        let y = mid + Px::whole(4);
        let label = Label::new(Rank::List, Layer::Change, forms, look, y, xs);
        self.label(label.reaching(REACH));
    }

    /// Whether an object has a mark of a change in view. A mark of a list's item does not count as a change.
    fn changes_in_view(&self, trace: &WatchTrace, object: ObjectId) -> bool {
        let Some(object) = trace.objects.get(object.0 as usize) else {
            return false;
        };
        let in_view = object
            .marks
            .within(&trace.marks.places_within(self.left, self.right));
        let mut newest_first = in_view.iter().rev();
        newest_first.any(|mark| mark.kind() != MarkKind::AddedByList)
    }

    fn lives(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        object: &ObjectTrace,
        opacity: u8,
    ) {
        let mid = self.y(row) + row.height.half();
        let ys = (mid - Px::whole(1), mid + Px::whole(1));
        for span in object.lives.in_sequence(self.left, self.right) {
            let end = span.end_at(epoch.end);
            if end < self.left {
                continue;
            }
            // Between a ghost's last event and its first proof it is unknown whether the object lives. After the proof
            // it does not live, until the proof is withdrawn. The records of an earlier proof may not be loaded, so
            // nothing later depends on them.
            let doubted = trace.doubt(object, span);
            let doubt = |from: Time| doubted.map(|doubt| doubt.max(from));
            let mut from = span.start.at;
            let ghosts = object.verdicts.all().iter().filter(|verdict| {
                verdict.what.kind == Divergence::Ghost
                    && verdict.start.at >= span.start.at
                    && verdict.start.at <= end
            });
            for ghost in ghosts {
                let proof = ghost.start.at;
                let last = last_mark_before(trace, object, proof).map_or(from, |at| at.max(from));
                let known_to = doubt(from).unwrap_or(last).min(proof);
                self.alive(from, known_to, ys, opacity);
                self.dots(self.x(known_to), self.x(proof), mid);
                from = ghost.end_at(epoch.end).min(end);
            }
            let known_to = doubt(from).map_or(end, |doubt| doubt.min(end));
            self.alive(from, known_to, ys, opacity);
            self.dots(self.x(known_to), self.x(end), mid);
            self.trails_off(epoch, span, ys.0, Token::Life);
            let target = Target::Stretch(StretchKind::Life, record(epoch, span.start.seq));
            let reach = Px::whole(4);
            self.hit(
                (self.x(span.start.at), self.x(end)),
                (mid - reach, mid + reach),
                row.id,
                target,
            );
        }
    }

    /// Draws a life that is certain.
    fn alive(&mut self, from: Time, to: Time, ys: (Px, Px), opacity: u8) {
        if from < to {
            let xs = (self.x(from), self.x(to));
            self.fill_faint(Layer::Life, xs, ys, Token::Life, opacity);
        }
    }

    /// Draws a life that is uncertain, as dots.
    fn dots(&mut self, x0: Px, x1: Px, y: Px) {
        /// Distance from dot to dot of an uncertain life, in px: a dot of 2 px and a space of 3 px. The numbers have no
        /// source.
        const PERIOD_PX: i32 = 5;
        let mut from = x0;
        if x0 < -SPILL {
            // Dots lie on whole periods of time, so that they do not swim when the view moves, wherever the line
            // began.
            let period_us = f64::from(PERIOD_PX) * self.picture.view.us_per_px;
            let first = (self.left.0 as f64 / period_us).floor() * period_us;
            from = self.x(Time(first as i64)).max(-SPILL - SPILL);
        }
        let to = x1.min(self.width + SPILL);
        if from < to {
            let line = [Step::Move(from, y), Step::Line(to, y)];
            self.stroke(
                Layer::Life,
                &line,
                Stroke::dashed(Token::Life, Px::whole(2), 2, 3),
            );
        }
    }

    fn divergence(&mut self, row: &Row, epoch: EpochView<'_>, span: &Span<VerdictSpan>) {
        let end = span.end_at(epoch.end);
        if span.start.at > self.right || end < self.left {
            return;
        }
        let mid = self.y(row) + row.height.half();
        let half = match row.height {
            height if height >= Px::whole(30) => 10,
            height if height >= Px::whole(24) => 8,
            _ => 6,
        };
        let half = Px::whole(half);
        let x0 = self.x(span.start.at);
        let x1 = self.x(end).max(x0 + LEAST);
        let ys = (mid - half, mid + half);
        let kind = span.what.kind;
        // Left of the view the body continues, so its corner does not show.
        let left = x0.max(-SPILL - SPILL);
        let right = x1.min(self.width + SPILL);
        let inset = Px(48);
        // A verdict of one read alone looks unknown; it gets the divergence colour only when a second read confirmed
        // it.
        let is_confirmed = span.what.is_confirmed;
        let ink = if is_confirmed {
            Token::Divergence
        } else {
            Token::Text3
        };
        match kind {
            _ if !is_confirmed => self.slot((left, right), ys, ink, Some((2, 2))),
            Divergence::Ghost => {
                let body = self.round_left(left, right, ys, half);
                let fill = Some(Token::GhostFill);
                self.push(
                    Layer::Divergence,
                    Primitive::Path {
                        steps: body,
                        fill,
                        stroke: None,
                        opacity: 100,
                    },
                );
                let outline =
                    self.round_left(left, right, (ys.0 + inset, ys.1 - inset), half - inset);
                let dashed = Some(Stroke::dashed(Token::Divergence, Px(96), 5, 3));
                self.push(
                    Layer::Divergence,
                    Primitive::Path {
                        steps: outline,
                        fill: None,
                        stroke: dashed,
                        opacity: 100,
                    },
                );
            }
            Divergence::Missing => self.slot((left, right), ys, ink, Some((2, 2))),
            Divergence::Stale | Divergence::ListOlder | Divergence::Unknown => {
                self.fill(Layer::Divergence, (left, right), ys, Token::Ground0);
                self.hatch(Layer::Divergence, (x0, right), ys, Hatch::Stale);
                self.slot((left, right), ys, ink, None);
            }
        }
        let target = Target::Stretch(StretchKind::Divergence, record(epoch, span.start.seq));
        self.hit((x0, x1), ys, row.id, target.clone());
        let glyph = divergence_glyph(kind);
        let is_filled = kind == Divergence::Ghost && is_confirmed;
        let ground = if is_filled {
            Token::GhostFill
        } else {
            Token::Ground0
        };
        let x = x0.max(Px::ZERO) + Px::whole(14);
        if x + Px::whole(8) <= x1 {
            let mut mark = GlyphMark::new(glyph, x, mid, row.glyph_size.min(12), ground);
            mark.halo = false;
            mark.ink = ink;
            self.glyph(Layer::Divergence, mark, row.id, target);
        } else {
            self.explains(glyph, (x0, x1));
        }
        let lasting_us = end.micros_since(span.start.at);
        let look = TextLook::strong(ink);
        let look = if is_filled {
            look
        } else {
            look.over(Token::Ground0)
        };
        let from = x0.max(Px::ZERO) + Px::whole(19);
        let forms = [
            verdict_words(&span.what, lasting_us),
            verdict_short(&span.what, lasting_us),
        ];
        let (layer, y) = (Layer::Divergence, mid + Px::whole(4));
        let label = Label::new(Rank::Lost, layer, forms, look, y, (from, x1));
        self.label_inside(label.reaching(REACH));
    }

    /// Draws a box with square corners and no fill.
    fn slot(&mut self, (x0, x1): (Px, Px), (y0, y1): (Px, Px), ink: Token, dash: Option<(u8, u8)>) {
        let inset = Px(48);
        let area = Area::between(
            x0 + inset,
            (x1 - inset).max(x0 + inset),
            y0 + inset,
            y1 - inset,
        );
        let stroke = Some(Stroke {
            ink,
            width: Px(96),
            dash,
        });
        self.push(
            Layer::Divergence,
            Primitive::Rect {
                area,
                fill: None,
                stroke,
                radius: 0,
                opacity: 100,
            },
        );
    }

    /// Draws the outline of a life with a round left end, open to the right.
    fn round_left(
        &mut self,
        x0: Px,
        x1: Px,
        (y0, y1): (Px, Px),
        radius: Px,
    ) -> std::ops::Range<u32> {
        let radius = radius.min((x1 - x0).max(Px::ZERO));
        let mid = y0 + (y1 - y0).half();
        let reach = Px(radius.0 * CIRCLE / 64);
        let start = x0 + radius;
        let steps = [
            Step::Move(x1, y0),
            Step::Line(start, y0),
            Step::Curve(start - reach, y0, x0, mid - reach, x0, mid),
            Step::Curve(x0, mid + reach, start - reach, y1, start, y1),
            Step::Line(x1, y1),
        ];
        self.scene.path(&steps)
    }
}

/// The first list of an epoch, and how an object in it differs from the object at the end of the epoch before.
#[derive(Clone, Copy)]
pub(super) struct ListOverSeam {
    list: Moment,
    differs: Option<Differs>,
}

impl ListOverSeam {
    fn of(trace: &WatchTrace, object: ObjectId) -> Option<Self> {
        let (list, found) = trace.list_over_seam()?;
        Some(Self {
            list: list.moment,
            differs: found.of(object),
        })
    }

    /// Whether a mark stands for an item of that first list.
    fn is_part(self, trace: &WatchTrace, mark: ObjectMark) -> bool {
        trace.marks.seq(mark.place()) < self.list.seq && mark.kind().is_by_list()
    }

    /// Returns the kind of change that a mark of the first list shows against the epoch before; `None` if the object is
    /// unchanged.
    pub(super) fn kind(self, trace: &WatchTrace, mark: ObjectMark) -> Option<MarkKind> {
        let kind = mark.kind();
        match self.differs {
            _ if !self.is_part(trace, mark) => Some(kind),
            Some(Differs::Changed) => Some(MarkKind::ModifiedByList),
            Some(_) => Some(kind),
            None => None,
        }
    }
}

/// Returns the time of an object's last mark before a time.
fn last_mark_before(trace: &WatchTrace, object: &ObjectTrace, at: Time) -> Option<Time> {
    let earlier = object.marks.within(&(0..trace.marks.place_at(at)));
    Some(trace.marks.at(earlier.last()?.place()))
}

/// Returns the kind of a verdict and how long it has lasted, with `?` if no second read confirmed it.
fn verdict_short(verdict: &VerdictSpan, lasting_us: i64) -> String {
    let doubt = if verdict.is_confirmed { "" } else { "?" };
    format!("{}{doubt} · {}", verdict.kind, duration(lasting_us))
}
