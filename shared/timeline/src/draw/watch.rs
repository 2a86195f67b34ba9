//! Draws a watch as a signal: a plateau while its stream is open, with its errors, relists, bookmarks and audits.

use watchscope_model::Time;
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{AuditOutcome, Cause, Certainty, LossPlace};

use super::drawer::{Drawer, EpochView, record};
use super::label::{Label, Rank};
use super::look::{GlyphMark, HAIR, LABEL_INSET, LEAST, Layer, SPILL, TextLook};
use super::over_lanes::REACH;
use crate::format::{count, duration, number, version};
use crate::glyph::Glyph;
use crate::id::{LaneId, WatchId};
use crate::lanes::{Row, RowKind};
use crate::phrases::why_ended;
use crate::scene::{Align, Drawn, Px, Sign, Step, StretchKind, Stroke, Target};
use crate::sorted::within;
use crate::store::{Fall, ListMark, Span, StreamSpan, WatchTrace};
use crate::tokens::Token;

/// Least distance in px of a torn end from the torn end before it, because its zigzag is 7 px wide. Nearer torn ends
/// are drawn as ticks. The number has no other source.
const TORN_APART: Px = Px::whole(8);
/// Least distance in px of an ERROR diamond from the diamond before it. Nearer diamonds become ticks at least 3 px
/// apart, and errors nearer than that are left out. An audit read without a difference is left out if it follows a
/// drawn read by less than this distance. The number has no source.
const ERRORS_APART: Px = Px::whole(6);
impl Drawer<'_> {
    /// Draws frames that watchscope could not read, as ticks on the plateau.
    fn unread(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let middle = self.y(row) + row.height.half();
        let ys = (middle - Px::whole(5), middle + Px::whole(5));
        let mut drawn = -SPILL;
        for loss in within(&trace.losses, |loss| loss.moment.at, self.left, self.right) {
            let x = self.x(loss.moment.at).floor();
            if loss.place != LossPlace::Frame || x < drawn {
                continue;
            }
            let xs = (x - HAIR, x + Px::whole(2));
            self.fill(Layer::Error, xs, ys, Token::Error);
            self.occupy(xs, ys);
            let target = Target::Record(record(epoch, loss.moment.seq));
            self.hit(xs, ys, row.id, target);
            drawn = x + LEAST;
        }
    }

    /// Draws the watch's own row.
    pub(super) fn watch_row(&mut self, row: &Row) {
        let LaneId::Watch(watch) = row.id else {
            return;
        };
        for (epoch, trace) in self.watch_traces(watch) {
            let mut torn = -SPILL - TORN_APART;
            let streams = trace.streams.in_sequence(self.left, self.right);
            for span in streams {
                self.stream(row, epoch, trace, span, &mut torn);
            }
            self.phases(row, epoch, trace);
            if row.kind == RowKind::Strip {
                self.state_label(row, watch, epoch, trace);
            } else {
                for span in streams {
                    self.stream_label(row, epoch, span);
                }
            }
            if let Some(records) = self.picture.records {
                (records.body)(self, row, epoch, trace);
            }
        }
    }

    /// Draws errors, relists, bookmarks, the strip of a collapsed watch, audits and unreadable frames.
    pub(crate) fn records_in_body(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        self.errors(row, epoch, trace);
        self.list_labels(row, trace);
        self.end_labels(row, trace);
        self.bookmarks(row, epoch, trace);
        if row.kind == RowKind::Strip {
            let (y, bottom) = self.body(row);
            let limit = (bottom - y - Px::whole(2)).to_f64() as u8;
            self.strip(trace, bottom, limit);
        }
        self.audits(row, epoch, trace);
        self.unread(row, epoch, trace);
    }

    /// Adds the label behind each relist in view.
    fn list_labels(&mut self, row: &Row, trace: &WatchTrace) {
        let lists = within(
            &trace.lists,
            |list| list.moment.at,
            self.picture.view.left(),
            self.right,
        );
        let y = self.label_y(row);
        for list in lists.iter().filter(|list| list.is_shown()) {
            let xs = (self.x(list.moment.at) + Px::whole(10), self.end_x);
            let look = TextLook::plain(Token::Text1).over(Token::StreamFill);
            let words = [list_words(list)];
            let label = Label::new(Rank::List, Layer::Error, words, look, y, xs);
            self.label(label.reaching(Px::whole(24)));
        }
    }

    /// Adds, inside the end of each stream that did not end normally, why it ended: the row of the failure catalogue,
    /// and the certainty.
    fn end_labels(&mut self, row: &Row, trace: &WatchTrace) {
        let y = self.label_y(row);
        for span in trace.streams.in_sequence(self.left, self.right) {
            let rank = match trace.fall(span) {
                Some((Fall::Torn, _)) => Rank::Error,
                Some((Fall::Fade, _)) => Rank::Wait,
                Some((Fall::Square, _)) | None => continue,
            };
            let (Some(end), Some(attributed)) = (span.end, trace.attribution(span)) else {
                continue;
            };
            let x1 = self.x(end.at);
            let failure = attributed.why().and_then(Attributed::row);
            let Some(failure) = failure.filter(|_| x1 <= self.end_x) else {
                continue;
            };
            let x0 = self.x(span.start.at).max(Px::ZERO);
            let xs = (x0 + LABEL_INSET, x1 - Px::whole(12));
            let look = TextLook::plain(Token::Text1)
                .over(Token::StreamFill)
                .aligned(Align::End);
            let short = match attributed.certainty {
                Certainty::Definite => attributed.code.to_string(),
                _ => format!("{}?", attributed.code),
            };
            let full = why_ended(&attributed.code, attributed.certainty);
            let words = [full, format!("{short} {}", failure.name()), short];
            self.label(Label::new(rank, Layer::Error, words, look, y, xs));
        }
    }

    fn label_y(&self, row: &Row) -> Px {
        let down = if row.kind == RowKind::Strip { 4 } else { 5 };
        self.y(row) + row.height.half() + Px::whole(down)
    }

    /// Adds a label with the number of objects that the watch holds now.
    fn state_label(&mut self, row: &Row, watch: WatchId, epoch: EpochView<'_>, trace: &WatchTrace) {
        let store = self.picture.store;
        let known = store
            .state()
            .and_then(|state| state.watches.get(store.names().watch_name(watch)));
        let (Some(known), Some(started)) = (known, trace.started) else {
            return;
        };
        let listed = known.list.as_ref().filter(|list| list.complete.is_some());
        let (Some(list), true) = (listed, known.stream.is_some()) else {
            return;
        };
        let words = match known.objects.len() as u64 {
            0 if list.items == 0 && known.last_change.is_none() => {
                "empty: the list had no items".to_owned()
            }
            objects if known.last_change.is_none() && !trace.differs_over_seam() => {
                format!("{}, none changed", count(objects, "object"))
            }
            objects => count(objects, "object"),
        };
        let (y, look) = (self.label_y(row), TextLook::plain(Token::Text3));
        let xs = (self.x(started.at), self.x(epoch.end));
        let label = Label::new(Rank::Name, Layer::Stream, [words], look, y, xs);
        self.label_inside(label.reaching(REACH));
    }

    fn stream(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        span: &Span<StreamSpan>,
        torn: &mut Px,
    ) {
        let (y, bottom) = self.body(row);
        let x0 = self.x(span.start.at);
        let x1 = self.x(span.end_at(epoch.end)).max(x0 + Px::whole(2));
        if x1 < -SPILL {
            return;
        }
        self.fill(Layer::Stream, (x0, x1), (y, bottom), Token::StreamFill);
        self.fill(
            Layer::Stream,
            (x0, x1),
            (y, y + Px::whole(2)),
            Token::Stream,
        );
        self.fill(Layer::Stream, (x0, x0 + HAIR), (y, bottom), Token::Stream);
        self.trails_off(epoch, span, y, Token::Stream);
        let target = Target::Stretch(StretchKind::Stream, record(epoch, span.start.seq));
        self.hit((x0, x1), (y, bottom), row.id, target);
        if let (Some(end), Some((fall, cause))) = (span.end, trace.fall(span)) {
            let drawn = self.fall(fall, x1, (y, bottom), torn);
            // The diamond of an ERROR covers the end that it caused.
            let drawn = drawn.filter(|_| cause != Cause::ErrorEvent);
            let area = (x1 - Px::whole(4), x1 + Px::whole(4));
            let target = Target::Record(record(epoch, end.seq));
            self.hit_drawn(area, (y, bottom), row.id, target, drawn);
        }
    }

    fn stream_label(&mut self, row: &Row, epoch: EpochView<'_>, span: &Span<StreamSpan>) {
        let xs = (self.x(span.start.at), self.x(span.end_at(epoch.end)));
        let stream = &span.what;
        let words = format!("stream {}", stream.stream);
        let mut full = words.clone();
        if let Some(from) = &stream.from {
            full.push_str(&format!(" · from {}", version(from)));
        }
        if let Some(timeout_ms) = stream.timeout_ms {
            full.push_str(&format!(" · timeout {} s", timeout_ms / 1_000));
        }
        let (y, look) = (self.label_y(row), TextLook::plain(Token::Text2));
        let forms = [full, words];
        let label = Label::new(Rank::Name, Layer::Stream, forms, look, y, xs);
        self.label_inside(Label {
            joins: true,
            ..label.reaching(REACH)
        });
    }

    /// Draws the fall of a plateau, whose shape says how the stream ended. Returns the drawn sign; `None` for a mere
    /// tick.
    fn fall(&mut self, fall: Fall, x: Px, (y, bottom): (Px, Px), torn: &mut Px) -> Option<Drawn> {
        let (glyph, x, y) = match fall {
            Fall::Square => {
                let xs = (x - Px::whole(2), x);
                self.fill(Layer::Stream, xs, (y, bottom), Token::Stream);
                self.occupy(xs, (y, bottom));
                (Glyph::EndNormal, x - HAIR, bottom - HAIR)
            }
            Fall::Fade => {
                let third = Px((bottom - y - HAIR).0 / 3);
                for (step, dx) in [1, 3, 5].into_iter().enumerate() {
                    let at = (x + Px::whole(dx), x + Px::whole(dx + 2));
                    let from = y + HAIR + Px(third.0 * step as i32);
                    self.fill(Layer::Rule, at, (from, from + Px::whole(2)), Token::Stream);
                }
                self.occupy((x, x + Px::whole(7)), (y, bottom));
                (Glyph::EndUnknown, x + Px::whole(4), y + Px::whole(7))
            }
            Fall::Torn if x < *torn + TORN_APART => {
                let xs = (x - HAIR, x + Px::whole(2));
                self.fill(Layer::Rule, xs, (y, bottom), Token::Error);
                self.occupy(xs, (y, bottom));
                return None;
            }
            Fall::Torn => {
                *torn = x;
                return self.tear(x, (y, bottom), Token::Ground0);
            }
        };
        self.explains(glyph, (x - HAIR, x + HAIR));
        let (sign, ink) = (Sign::Glyph(glyph), Token::Stream);
        Some(Drawn { sign, ink, x, y })
    }

    /// Draws a torn end at x over the given height.
    pub(crate) fn tear(&mut self, x: Px, (y, bottom): (Px, Px), ground: Token) -> Option<Drawn> {
        if x > self.width + SPILL {
            return None;
        }
        let quarter = Px((bottom - y).0 / 4);
        let at = |dx: i32, steps: i32| (x + Px::whole(dx), Px(y.0 + quarter.0 * steps));
        let xs = (x - Px::whole(5), x + Px::whole(7));
        self.fill(Layer::Stream, xs, (y, bottom), ground);
        self.occupy(xs, (y, bottom));
        let points = [at(4, 1), at(-3, 2), at(4, 3)];
        let start = y + HAIR;
        let mut steps = vec![Step::Move(x - Px::whole(5), start), Step::Line(x, start)];
        steps.extend(points.map(|(x, y)| Step::Line(x, y)));
        steps.push(Step::Line(x, bottom));
        self.stroke(
            Layer::Rule,
            &steps,
            Stroke::solid(Token::Error, Px::whole(2)),
        );
        self.explains(Glyph::EndAbnormal, (x - Px::whole(5), x + Px::whole(5)));
        Some(Drawn {
            sign: Sign::Glyph(Glyph::EndAbnormal),
            ink: Token::Error,
            x: x - Px::whole(3),
            y: start,
        })
    }

    /// Draws the diamonds and codes of ERROR events.
    fn errors(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let mid = self.y(row) + row.height.half();
        let mut drawn = -SPILL - ERRORS_APART;
        let mut tick = drawn;
        for error in within(
            &trace.errors,
            |error| error.moment.at,
            self.left,
            self.right,
        ) {
            let x = self.x(error.moment.at);
            let target = Target::Record(record(epoch, error.moment.seq));
            if x < drawn + ERRORS_APART {
                if x >= tick + LEAST {
                    let xs = (x - HAIR, x + Px::whole(2));
                    let ys = (mid - Px::whole(5), mid + Px::whole(5));
                    self.fill(Layer::Error, xs, ys, Token::Error);
                    self.occupy(xs, ys);
                    self.hit(xs, ys, row.id, target);
                    tick = x;
                }
                continue;
            }
            (drawn, tick) = (x, x);
            let is_lost = |at: Time| {
                trace.gaps.in_sequence(at, at).iter().any(|span| {
                    span.what.outcome.is_some_and(|outcome| !outcome.resumed)
                        && span.start.at <= at
                        && span.end.is_some_and(|end| end.at >= at)
                })
            };
            let ground = if is_lost(error.moment.at) {
                Token::LostGround
            } else {
                self.ground(row)
            };
            self.glyph(
                Layer::Error,
                GlyphMark::new(Glyph::Error, x, mid, 12, ground),
                row.id,
                target,
            );
            let look = TextLook {
                weight: 700,
                ..TextLook::plain(Token::Error)
            };
            self.label(Label::new(
                Rank::Error,
                Layer::Error,
                [error.code.to_string()],
                look.over(ground).aligned(Align::End),
                mid + Px::whole(4),
                (Px::ZERO, x - Px::whole(12)),
            ));
        }
    }

    /// Draws bookmarks as ticks on the plateau of an open stream.
    fn bookmarks(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let y = self.y(row) + HAIR;
        let marks = &trace.marks;
        let mut drawn = -SPILL - LEAST;
        let to = marks.place_at(Time(self.right.0.saturating_add(1)));
        marks.each_bookmark(marks.place_at(self.left)..to, &mut |place| {
            let glyph = marks.kind(place).glyph();
            let x = self.x(marks.at(place)).floor();
            let is_end = glyph == Glyph::InitialEnd;
            if x < drawn + LEAST && !is_end {
                return;
            }
            drawn = x;
            self.fill(
                Layer::Change,
                (x, x + Px::whole(2)),
                (y, y + Px::whole(4)),
                Token::Bookmark,
            );
            if is_end {
                let bar = (x - Px::whole(2), x + Px::whole(4));
                self.fill(Layer::Change, bar, (y, y + Px::whole(2)), Token::Bookmark);
            }
            self.explains(glyph, (x, x + Px::whole(2)));
            let area = (x - Px::whole(2), x + Px::whole(4));
            let target = Target::Record(record(epoch, marks.seq(place)));
            self.hit(area, (y - HAIR, y + Px::whole(5)), row.id, target);
        });
    }

    /// Draws audit reads, low in the body of the plateau.
    fn audits(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let low = if row.kind == RowKind::Strip { 7 } else { 10 };
        let y = self.y(row) + row.height - Px::whole(low);
        let mut drawn = -SPILL - SPILL;
        for audit in within(
            &trace.audits,
            |audit| audit.moment.at,
            self.left,
            self.right,
        ) {
            let x = self.x(audit.moment.at);
            let differs = audit.read.outcome() == AuditOutcome::Differs;
            if x < drawn + ERRORS_APART && !differs {
                continue;
            }
            drawn = x;
            let glyph = if differs {
                Glyph::ReadDiffers
            } else {
                Glyph::ReadAgrees
            };
            let mut mark = GlyphMark::new(glyph, x, y, 10, Token::StreamFill);
            if audit.read.outcome() == AuditOutcome::CannotTell {
                mark.ink = Token::Line3;
            }
            let layer = if differs {
                Layer::Divergence
            } else {
                Layer::Change
            };
            self.glyph(
                layer,
                mark,
                row.id,
                Target::Record(record(epoch, audit.moment.seq)),
            );
        }
    }
}

/// Returns a list's words: `LIST 214 items +0 ~2 −2`, or for the first list of an epoch `LIST 58 items, over the seam
/// +4 ~3 −2`.
pub(crate) fn list_words(list: &ListMark) -> String {
    if list.older {
        return format!(
            "LIST {} items, older than held: ignored",
            number(list.items)
        );
    }
    let items = number(list.items);
    let over_seam = list.over_seam();
    let (added, changed, removed) = match over_seam {
        Some(of) => (of.added, of.changed, of.removed),
        None => (list.added, list.changed, list.removed),
    };
    let differs = [('+', added), ('~', changed), ('−', removed)];
    let part = |(sign, count): (char, u64)| format!(" {sign}{}", number(count));
    match over_seam {
        None => format!("LIST {items} items{}", differs.map(part).concat()),
        Some(_) if added + changed + removed == 0 => {
            format!("LIST {items} items, nothing changed over the seam")
        }
        Some(_) => {
            let parts = differs.into_iter().filter(|(_, count)| *count > 0);
            let parts: String = parts.map(part).collect();
            format!("LIST {items} items, over the seam{parts}")
        }
    }
}

/// Returns the words of a wait, which say how long until the next try.
pub(super) fn next_try(micros: i64) -> String {
    if micros <= 0 {
        "trying again".to_string()
    } else {
        format!("next try in {}", duration(whole_seconds(micros)))
    }
}

/// Rounds times over 1 s up to whole seconds, so that a countdown does not flicker.
fn whole_seconds(micros: i64) -> i64 {
    /// One second in µs.
    const SECOND: i64 = 1_000_000;
    if micros > SECOND {
        (micros + SECOND - 1) / SECOND * SECOND
    } else {
        micros
    }
}
