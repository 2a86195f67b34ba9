//! Draws the resourceVersion trace of a watch: a step line, with its jumps and reversals.

use watchscope_model::Time;

use super::drawer::{Drawer, EpochView, record};
use super::label::{Label, Rank};
use super::look::{GlyphMark, Layer, SPILL, TextLook};
use crate::format::{duration, number, text_width};
use crate::glyph::Glyph;
use crate::id::LaneId;
use crate::lanes::Row;
use crate::phrases::step_words;
use crate::scene::{Align, Primitive, Px, Step, Stroke, Target};
use crate::sorted::within;
use crate::store::{StepMark, WatchTrace};
use crate::tokens::Token;

/// Least distance in px of a jump or reversal from the one before it, because nearer glyphs cover each other. Of nearer
/// jumps and reversals the first is drawn, but a reversal is drawn instead of a jump. The number has no other source.
const STEPS_APART: Px = Px::whole(6);

/// Words in place of a line for resourceVersions without an order: those of aggregated APIs, even if they are numbers
/// (docs/semantics/checks.md#trap-aggregated).
const OPAQUE: &str = "another apiserver's: only whether two are equal can be told";

/// The visible part of one epoch's trace: its first value, then its values in each px column.
pub(crate) struct Line {
    /// The value at the left edge of the view; if none is known there, the first value in view.
    pub(crate) first: (Time, u64),
    columns: Vec<Column>,
    end: Time,
}

/// The values in one column of 1 px, drawn as one stroke from the least to the greatest.
struct Column {
    x: Px,
    least: u64,
    most: u64,
    last: u64,
}

impl Line {
    /// Returns the least and the greatest value.
    pub(crate) fn range(&self) -> (u64, u64) {
        let first = (self.first.1, self.first.1);
        self.columns.iter().fold(first, |(low, high), column| {
            (low.min(column.least), high.max(column.most))
        })
    }

    pub(crate) fn last(&self) -> u64 {
        self.columns
            .last()
            .map_or(self.first.1, |column| column.last)
    }
}

/// The scale from values to heights.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) top: Px,
    pub(crate) bottom: Px,
}

impl Scale {
    pub(crate) fn y(self, value: u64) -> Px {
        let span = self.high - self.low;
        if span == 0 {
            return self.top + (self.bottom - self.top).half();
        }
        let share = value.min(self.high).saturating_sub(self.low) as f64 / span as f64;
        self.bottom - Px::from_f64(share * (self.bottom - self.top).to_f64())
    }
}

impl Drawer<'_> {
    pub(crate) fn version_row(&mut self, row: &Row) {
        let LaneId::Version(watch) = row.id else {
            return;
        };
        let traces = self.watch_traces(watch);
        let lines: Vec<Line> = traces
            .iter()
            .filter_map(|&(epoch, trace)| self.line(epoch, trace))
            .collect();
        let Some(first) = lines.first() else {
            if traces.iter().any(|(_, trace)| trace.marks.are_opaque()) {
                let y = self.y(row) + row.height.half() + Px::whole(4);
                let look = TextLook::plain(Token::Text3);
                self.text(Layer::Change, Px::whole(12), y, OPAQUE.to_owned(), look);
            }
            return;
        };
        let (low, high) = lines.iter().fold(first.range(), |(low, high), line| {
            let range = line.range();
            (low.min(range.0), high.max(range.1))
        });
        let (y, bottom) = (self.y(row), self.y(row) + row.height);
        let scale = Scale {
            low,
            high,
            top: y + INSET,
            bottom: bottom - INSET,
        };
        for line in &lines {
            self.version_line(line, scale, Some(bottom - Px::whole(1)));
        }
        let values = TextLook::plain(Token::Text2).aligned(Align::End);
        if let Some(value) = lines.last().map(Line::last)
            && high > low
        {
            let x = self.end_x - Px::whole(6);
            let xs = (x - text_width(&number(value), 11, 400), x);
            self.value(&lines, scale, value, values, xs);
        }
        if let Some((at, value)) = lines.first().map(|line| line.first) {
            let x = self.x(at).max(Px::ZERO) + Px::whole(6);
            let xs = (x, x + text_width(&number(value), 11, 400));
            self.value(&lines, scale, value, TextLook::plain(Token::Text3), xs);
        }
        for (epoch, trace) in traces {
            // The count of missed events stands where no line is.
            self.missed(epoch, trace, |drawer, xs| {
                drawer.beside(&lines, scale, xs, None)
            });
            self.version_steps(row, epoch, trace, &lines, scale);
        }
    }

    /// Writes the value at an end of the trace where the text meets no line.
    fn value(&mut self, lines: &[Line], scale: Scale, value: u64, look: TextLook, xs: (Px, Px)) {
        if let Some(y) = self.beside(lines, scale, xs, None) {
            let words = [number(value)];
            self.label(Label::new(Rank::Name, Layer::Change, words, look, y, xs));
        }
    }

    /// Returns the baseline of a text between two x that meets no line: `wanted` if it is free, else under all lines
    /// between the two x, else over these lines. `None` if neither lies in the row.
    pub(crate) fn beside(
        &self,
        lines: &[Line],
        scale: Scale,
        (x0, x1): (Px, Px),
        wanted: Option<Px>,
    ) -> Option<Px> {
        // A face wider than calculated takes this much more room.
        let (x0, x1) = (x0 - BESIDE, x1 + BESIDE);
        let (mut top, mut bottom) = (scale.bottom, scale.top);
        for line in lines.iter().filter(|line| self.x(line.first.0) <= x1) {
            // The last value before the text counts too, because its line runs under the text.
            let from = line.columns.partition_point(|column| column.x <= x0);
            let before = match from.checked_sub(1) {
                Some(before) => line.columns[before].last,
                None => line.first.1,
            };
            let columns = line.columns[from..].iter();
            let under = columns.take_while(|column| column.x <= x1);
            let values = under.flat_map(|column| [column.least, column.most]);
            for value in values.chain([before]) {
                let y = scale.y(value);
                (top, bottom) = (top.min(y), bottom.max(y));
            }
        }
        let is_free = |&y: &Px| y - CAP > bottom || y + HALF < top;
        let is_inside = |&y: &Px| y - CAP >= scale.top - INSET && y <= scale.bottom + HALF + HALF;
        let (under, over) = (bottom + CAP + Px::whole(5), top - Px::whole(4));
        let in_row = [under, over].into_iter().find(is_inside);
        wanted.filter(is_free).or(in_row)
    }

    fn line(&self, epoch: EpochView<'_>, trace: &WatchTrace) -> Option<Line> {
        let marks = &trace.marks;
        let view = self.picture.view;
        let left = view.left();
        let from = marks.place_at(left);
        let to = marks.place_at(Time(self.right.0.saturating_add(1)));
        // The value at the left edge comes from the last mark before it, or from the opening of a later chapter.
        let before = (0..from)
            .rev()
            .find_map(|place| Some((marks.seq(place), marks.moved_to(place)?)));
        let openings = &trace.openings[..trace
            .openings
            .partition_point(|point| point.moment.at < left)];
        let opened = openings
            .last()
            .and_then(|point| Some((point.moment.seq, point.seen?)));
        let (first, from) = match before.max(opened) {
            Some((_, value)) => ((left, value), from),
            None => {
                let (place, value) =
                    (from..to).find_map(|place| Some((place, marks.moved_to(place)?)))?;
                ((marks.at(place), value), place + 1)
            }
        };
        let mut columns = Vec::new();
        let mut end_of = |at: Time| self.column_ends(at);
        marks.sum_by(from..to, &mut end_of, &mut |_, sums| {
            columns.extend(sums.versions.map(|versions| Column {
                x: self.x(versions.since),
                least: versions.least,
                most: versions.most,
                last: versions.last,
            }));
        });
        Some(Line {
            first,
            columns,
            end: epoch.end,
        })
    }

    /// Returns the end of the time that the px column of `at` shows.
    fn column_ends(&self, at: Time) -> Time {
        let x = self.x(at).floor() + Px::whole(1);
        self.picture.view.time_from_x(x.to_f64())
    }

    /// Returns the visible part of a trace: the `first` value, and one column for each px in which values change.
    pub(crate) fn line_of(
        &self,
        first: (Time, u64),
        moves: impl Iterator<Item = (Time, u64)>,
        end: Time,
    ) -> Line {
        let mut columns: Vec<Column> = Vec::new();
        // The end of the column as a time: cheaper to compare than each mark's x.
        let mut until = Time(i64::MIN);
        for (at, value) in moves {
            if at < until
                && let Some(column) = columns.last_mut()
            {
                column.least = column.least.min(value);
                column.most = column.most.max(value);
                column.last = value;
                continue;
            }
            until = self.column_ends(at);
            columns.push(Column {
                x: self.x(at),
                least: value,
                most: value,
                last: value,
            });
        }
        Line {
            first,
            columns,
            end,
        }
    }

    /// Draws the trace as a line. If `floor` is given, fills the area between line and `floor`.
    pub(crate) fn version_line(&mut self, line: &Line, scale: Scale, floor: Option<Px>) {
        let (start, value) = line.first;
        let x0 = self.x(start).max(-SPILL);
        let mut at = scale.y(value);
        let mut steps = vec![Step::Move(x0, at)];
        for column in &line.columns {
            let x = column.x;
            let ys = [column.least, column.most, column.last].map(|value| scale.y(value));
            if ys == [at; 3] {
                continue;
            }
            steps.push(Step::Line(x, at));
            for y in ys {
                if y != at {
                    steps.push(Step::Line(x, y));
                    at = y;
                }
            }
        }
        let end = self.x(line.end).min(self.width + SPILL);
        steps.push(Step::Line(end, at));
        let stroke = self.scene.path(&steps);
        if let Some(floor) = floor {
            steps.extend([Step::Line(end, floor), Step::Line(x0, floor), Step::Close]);
            let fill = self.scene.path(&steps);
            self.push(
                Layer::Version,
                Primitive::Path {
                    steps: fill,
                    fill: Some(Token::StreamFill),
                    stroke: None,
                    opacity: 60,
                },
            );
        }
        let pen = Some(Stroke::solid(Token::Version, Px(96)));
        self.push(
            Layer::Version,
            Primitive::Path {
                steps: stroke,
                fill: None,
                stroke: pen,
                opacity: 100,
            },
        );
    }

    /// Draws jumps and reversals, each with its signed delta where there is room.
    fn version_steps(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        lines: &[Line],
        scale: Scale,
    ) {
        // One step stands for several that overlap. A reversal is an error, so it is never hidden behind a jump.
        let mut shown: Vec<(Px, &StepMark)> = Vec::new();
        for step in within(&trace.steps, |step| step.moment.at, self.left, self.right) {
            let x = self.x(step.moment.at);
            match shown.last_mut() {
                Some(last) if x < last.0 + STEPS_APART => {
                    if step.back && !last.1.back {
                        *last = (x, step);
                    }
                }
                _ => shown.push((x, step)),
            }
        }
        for (x, step) in shown {
            let place = trace.marks.place_of(step.moment.seq);
            let y = scale.y(trace.marks.moved_to(place).unwrap_or(scale.low));
            let (glyph, text_y) = if step.back {
                (Glyph::Reversal, self.y(row) + row.height - Px::whole(6))
            } else {
                (Glyph::Jump, self.y(row) + Px::whole(15))
            };
            let short = step_words(step);
            let mut forms = vec![short.clone()];
            // The longest form adds the time since the value before, if that value is in view.
            let before = trace.marks.moved_before(place);
            if let Some(before) = before.filter(|before| before.0 >= self.picture.view.left()) {
                let lasted = duration(step.moment.at.micros_since(before.0));
                forms.insert(0, format!("{short} in {lasted}"));
            }
            let nudge = if step.back { HALF } else { -HALF };
            let mark = GlyphMark::new(glyph, x, y + nudge, 12, self.ground(row));
            self.glyph(
                Layer::Error,
                mark,
                row.id,
                Target::Record(record(epoch, step.moment.seq)),
            );
            if x < Px::ZERO {
                continue;
            }
            // The words stand left of the step, or else right of it, in the longest form that fits.
            let rank = if step.back { Rank::Error } else { Rank::List };
            let look = TextLook::strong(glyph.ink()).over(self.ground(row));
            let mut label = None;
            for (form, is_left) in forms
                .iter()
                .flat_map(|form| [(form, true), (form, false)])
                .rev()
            {
                let width = text_width(form, 11, 600);
                let (xs, align) = if is_left {
                    let right = x - Px::whole(12);
                    ((right - width, right), Align::End)
                } else {
                    let left = x + Px::whole(12);
                    ((left, left + width), Align::Start)
                };
                let y = self.beside(lines, scale, xs, Some(text_y));
                let Some(y) = y.filter(|_| xs.0 >= Px::ZERO && xs.1 <= self.end_x) else {
                    continue;
                };
                let (layer, look) = (Layer::Error, look.aligned(align));
                label = Some(Label {
                    or: label.map(Box::new),
                    ..Label::new(rank, layer, [form.clone()], look, y, xs)
                });
            }
            self.labels.extend(label);
        }
    }
}

/// Room in px on each side of words that no line may cross. Words may be up to 2 px wider than calculated
/// (`MISRECKONED` in `labels.rs`). The number has no other source.
const BESIDE: Px = Px::whole(4);
/// Distance in px of the trace from the row's edges. The number has no source.
const INSET: Px = Px::whole(6);
/// Greatest height in px of a digit of font size 11 px over its baseline. The number has no other source.
const CAP: Px = Px::whole(9);
/// Distance in px of a step's glyph from the line: over the line for a jump, under it for a reversal. Words over a line
/// keep more than this distance from it. The number has no source.
const HALF: Px = Px::whole(1);
