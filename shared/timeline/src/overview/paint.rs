//! Draws the strip as a scene. From the top: hours and labels, problem ticks, divergences, density, an empty foot.

use std::ops::Range;

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;
use watchscope_model::tree;

use super::density::{Counted, Density, Heights};
use super::known::{Known, is_gone, runs};
use super::lasted;
use super::problems::{Overlaps, Problems, TICK_INKS};
use super::scale::{BREAK_PX, EXPIRED_PX, Moments, Overview, STUB_PX};
use crate::format::{date, text_width, tick};
use crate::scene::{
    Align, Area, Column, Hatch, Primitive, Px, STRIP_COLUMN_PX, Scene, Step, Stroke, TextLine,
};
use crate::store::{Coverage, Store};
use crate::tokens::Token;
use crate::view::View;

/// Least height of a strip, in px, at which the density has 11 px. A lower strip is drawn this high. The number has no
/// other source.
const LEAST_HEIGHT_PX: i64 = 44;
/// Height of a strip, in px, from which its rows stand farther apart: 2 px instead of 1. The density then has at least
/// 17 px. The number has no other source.
const ROOMY_PX: i64 = 56;
/// Height of the row of hours and labels, in px: room for words of 11 px. The number has no other source.
const LABELS_PX: i64 = 14;
/// Baseline of labels, in px from the top, so that they stand in their row. The number has no other source.
const LABEL_BASELINE_PX: i64 = 12;
/// Height and width of a problem tick, in px. The numbers have no source.
const TICK_PX: (i64, i64) = (7, 3);
/// Height of a divergence, in px. The number has no source.
const BAR_PX: i64 = 2;
/// Width of the edges of a lost gap, in px, as in the lanes.
const GAP_EDGE_PX: i64 = 2;
/// Width of a handle, in px, and the distance that words keep from the view's frame. The number has no source.
const HANDLE_PX: i64 = 4;
/// Least distance of labels from each other, in px. A label that would be nearer to a label of a more important rank,
/// or to an earlier one of its rank, is left out. The number has no source.
const APART_PX: i64 = 6;
/// Distance of words from the edges of their stretch, in px. Words that cannot keep it on both sides are left out.
/// The number has no source.
const INSET_PX: i64 = 8;
/// Font size of all words, in px: that of most words in the lanes.
const SIZE: u8 = 11;

/// The y of each row in px.
struct Rows {
    height: i64,
    ticks: Range<i64>,
    bars: Range<i64>,
    density: Range<i64>,
}

impl Rows {
    fn of(height: i64) -> Self {
        let (gap, foot) = if height >= ROOMY_PX { (2, 8) } else { (1, 5) };
        let ticks = LABELS_PX + gap..LABELS_PX + gap + TICK_PX.0;
        let bars = ticks.end + gap + 1..ticks.end + gap + 1 + BAR_PX;
        Self {
            height,
            density: bars.end + gap + 1..height - foot,
            ticks,
            bars,
        }
    }

    fn all(&self) -> Range<i64> {
        0..self.height
    }
}

/// Returns the y of the ticks of a search in the foot of a strip, in px. The ticks begin at the density's lower edge,
/// are at most 6 px high, and end above the frame's lower edge.
pub(super) fn foot_of(height: Px) -> Range<i64> {
    let height = i64::from(height.0 / 64).max(LEAST_HEIGHT_PX);
    let top = Rows::of(height).density.end;
    top..(top + 6).min(height - 1)
}

/// Draws the strip of a scale, with a frame around `view`; a frame that would lie outside of the strip stands at the
/// strip's nearer edge. The strip is as wide as the scale and `height` high, cut to whole px, but at least 44 px high.
#[must_use]
pub fn overview(
    store: &Store,
    scale: &Overview,
    view: &View,
    moments: Moments,
    height: Px,
) -> Scene {
    overview_again(store, scale, view, moments, height, &mut None)
}

/// Draws the strip as [`overview`] does, but keeps the counted changes in `counted` from call to call, and counts only
/// changes that were appended since. If `counted` is `None`, or the scale or anything else of the store changed, it
/// counts all anew. For another store the caller sets `counted` to `None`.
#[must_use]
pub fn overview_again(
    store: &Store,
    scale: &Overview,
    view: &View,
    moments: Moments,
    height: Px,
    counted: &mut Option<Counted>,
) -> Scene {
    let now = moments.now;
    let height = i64::from(height.0 / 64).max(LEAST_HEIGHT_PX);
    let mut painter = Painter {
        scene: Scene {
            width: px(scale.pixels() as i64),
            height: px(height),
            ..Scene::default()
        },
        scale,
        rows: Rows::of(height),
        window: scale.window(view),
        known: Known::read(&store.coverage(now), scale, now),
        labels: Vec::new(),
    };
    painter.ground();
    painter.hours();
    painter.density(Counted::of(counted, store, scale));
    painter.shade();
    painter.seams();
    painter.own_losses();
    let problems = Problems::read(store, scale, now);
    painter.lost_gaps(&problems.gaps);
    painter.words();
    painter.divergences(&problems.divergences);
    for (place, ink) in (1..).zip(TICK_INKS) {
        painter.ticks(&problems.worst, place, ink);
    }
    painter.stub();
    painter.window(view, moments);
    painter.place_labels();
    painter.scene
}

const fn px(whole: i64) -> Px {
    Px::whole(whole as i32)
}

/// Returns the words that name `before`, the time before which records have expired.
fn before_words(before: Time) -> String {
    let day = date(before);
    format!("before {} {}", &day[5..], tick(before, 60 * SECOND_US))
}

/// A label of the strip's first row. A label is drawn if its room is free.
struct Label {
    /// Labels of the least rank are placed first.
    rank: u8,
    x: i64,
    align: Align,
    text: String,
    ink: Token,
    weight: u16,
}

struct Painter<'a> {
    scene: Scene,
    scale: &'a Overview,
    rows: Rows,
    window: (i64, i64),
    known: Known,
    labels: Vec<Label>,
}

impl Painter<'_> {
    fn rect(&mut self, xs: Range<i64>, ys: Range<i64>, ink: Token) {
        self.rect_faint(xs, ys, ink, 100);
    }

    fn rect_faint(&mut self, xs: Range<i64>, ys: Range<i64>, ink: Token, opacity: u8) {
        if xs.is_empty() || ys.is_empty() {
            return;
        }
        self.scene.primitives.push(Primitive::Rect {
            area: area(xs, ys),
            fill: Some(ink),
            stroke: None,
            radius: 0,
            opacity,
        });
    }

    fn dashes(&mut self, x: Px, stroke: Stroke) {
        let line = [Step::Move(x, Px::ZERO), Step::Line(x, px(self.rows.height))];
        self.stroke(&line, stroke);
    }

    fn stroke(&mut self, line: &[Step], stroke: Stroke) {
        let steps = self.scene.path(line);
        self.scene.primitives.push(Primitive::Path {
            steps,
            fill: None,
            stroke: Some(stroke),
            opacity: 100,
        });
    }

    fn hatch(&mut self, xs: Range<i64>, ys: Range<i64>, hatch: Hatch) {
        // Dots keep to their time when the strip moves, because it moves by whole columns.
        let pitch_px = 6;
        let column = self.scale.left().0.div_euclid(self.scale.column_us());
        let anchor = -(column * i64::from(STRIP_COLUMN_PX)).rem_euclid(pitch_px);
        self.scene.primitives.push(Primitive::Hatch {
            area: area(xs, ys),
            hatch,
            anchor: px(anchor),
        });
    }

    /// Draws the ground, expired stretches and stretches that are not loaded.
    fn ground(&mut self) {
        let width = self.scale.pixels() as i64;
        self.rect(0..width, self.rows.all(), Token::Ground1);
        for xs in self.known.runs(is_gone) {
            self.expired(xs);
        }
        for xs in self.known.runs(|of| of == Coverage::NotLoaded) {
            self.hatch(xs, LABELS_PX..self.rows.density.end, Hatch::NotLoaded);
        }
    }

    /// Draws the ground where records have expired, with a dashed edge to the next stretch.
    fn expired(&mut self, xs: Range<i64>) {
        let edge = xs.end;
        self.rect(xs, self.rows.all(), Token::Expired);
        if edge < self.scale.pixels() as i64 {
            let x = px(edge) - px(1).half();
            self.dashes(x, Stroke::dashed(Token::Line3, px(1), 3, 3));
        }
    }

    /// Draws lines at the labelled hours, wherever something is known.
    fn hours(&mut self) {
        let step = self.scale.tick_step();
        let mut at = self.scale.left().0.div_euclid(step).saturating_mul(step);
        while at <= self.scale.right().0 {
            let x = self.scale.px_of(Time(at));
            let is_known = usize::try_from(x).ok().and_then(|x| self.known.at(x));
            if is_known.is_some_and(|of| !is_gone(of) && of != Coverage::Seam) {
                self.rect(x..x + 1, 0..self.rows.density.end, Token::Line2);
                self.labels.push(Label {
                    rank: 3,
                    x: x + 4,
                    align: Align::Start,
                    text: tick(Time(at), step),
                    ink: Token::Text3,
                    weight: 400,
                });
            }
            let Some(next) = at.checked_add(step) else {
                break;
            };
            at = next;
        }
    }

    fn density(&mut self, density: &Density) {
        let base = self.rows.density.end;
        let is_watched = |of| !is_gone(of) && of != Coverage::Seam;
        for xs in self.known.runs(is_watched) {
            self.rect(xs, base..base + 1, Token::Line2);
        }
        let limit = (base - self.rows.density.start).clamp(0, 255) as u8;
        let heights = Heights::new(limit, density.most());
        self.steps(density, &heights);
        self.columns(&density.narrow, &heights, Some(Coverage::NotLoaded), 30);
        self.columns(&density.loaded, &heights, None, 62);
    }

    /// Draws one step for each listed chapter of at least 6 px. Steps of at least 12 px stand 1 px apart.
    fn steps(&mut self, density: &Density, heights: &Heights) {
        let base = self.rows.density.end;
        let value = |px: usize| {
            let (count, begins) = density.wide[px];
            let is_seen = count > 0 && !begins && self.known.at(px) == Some(Coverage::NotLoaded);
            is_seen.then(|| heights.height_px(count))
        };
        let steps: Vec<_> = runs(density.wide.len(), value).collect();
        for (xs, height) in steps {
            self.rect_faint(xs, base - i64::from(height)..base, Token::Stream, 30);
        }
    }

    /// Draws density columns where the coverage is `only`; for `None`, draws them everywhere.
    fn columns(&mut self, counts: &[u32], heights: &Heights, only: Option<Coverage>, opacity: u8) {
        let start = self.scene.columns.len() as u32;
        for (column, &count) in counts.iter().enumerate() {
            let x = column * STRIP_COLUMN_PX as usize;
            let is_seen = only.is_none() || self.known.at(x) == only;
            if count > 0 && is_seen {
                self.scene.columns.push(Column {
                    x: px(x as i64),
                    heights: [heights.height_px(count), 0, 0],
                });
            }
        }
        let columns = start..self.scene.columns.len() as u32;
        if !columns.is_empty() {
            self.scene.primitives.push(Primitive::Strip {
                bottom: px(self.rows.density.end),
                columns,
                inks: [Token::Stream; 3],
                opacity,
            });
        }
    }

    /// Shades the time outside of the view. Problems are drawn later, so the shade does not cover them.
    fn shade(&mut self) {
        let (left, right) = self.window;
        self.rect_faint(0..left, self.rows.all(), Token::Ground0, 35);
        let width = self.scale.pixels() as i64;
        self.rect_faint(right..width, self.rows.all(), Token::Ground0, 35);
    }

    /// Draws the seams, the times in which nobody watched: two dotted lines each, and nothing between the two.
    fn seams(&mut self) {
        let step = self.scale.tick_step().min(60 * SECOND_US);
        for seam in std::mem::take(&mut self.known.seams) {
            self.rect(seam.pxs.clone(), self.rows.all(), Token::Ground1);
            for x in [seam.pxs.start + 1, seam.pxs.end - 1] {
                self.dashes(px(x), Stroke::dashed(Token::Text2, px(2), 2, 2));
            }
            self.labels.push(Label {
                rank: 1,
                x: seam.pxs.end + 5,
                align: Align::Start,
                text: format!("{} restarted", tick(seam.ends, step)),
                ink: Token::Text1,
                weight: 400,
            });
        }
    }

    fn own_losses(&mut self) {
        for xs in self.known.runs(|of| of == Coverage::Lost) {
            let ys = LABELS_PX..self.rows.density.end;
            self.rect(xs.clone(), ys.clone(), Token::Ground1);
            self.hatch(xs, ys, Hatch::Own);
        }
    }

    /// Draws the stub for all that is older than the axis: expired records, kept records, and two slanted lines where
    /// the axis continues.
    fn stub(&mut self) {
        let end = self.scale.before_px();
        if end == 0 {
            return;
        }
        self.labels.retain(|label| label.x >= end);
        self.rect(0..end, self.rows.all(), Token::Ground1);
        let kept = (end - BREAK_PX - STUB_PX).max(0)..end - BREAK_PX;
        let y = self.rows.density.start + 9;
        let lines = |first: String, second: &str| [(y - 12, first), (y + 2, second.to_owned())];
        if let Some(before) = self.known.expired_before
            && kept.start == EXPIRED_PX
        {
            let expired = 0..kept.start;
            self.expired(expired.clone());
            for (y, words) in lines("expired".to_owned(), &before_words(before)) {
                self.words_in(expired.clone(), y, &words, Token::Text3, Align::End);
            }
        }
        if let Some(older) = self.known.older
            && !kept.is_empty()
        {
            let ys = LABELS_PX..self.rows.density.end;
            let held = if older.is_loaded {
                "loaded"
            } else {
                self.hatch(kept.clone(), ys, Hatch::NotLoaded);
                "not loaded"
            };
            let earlier = lasted(self.scale.begin().micros_since(older.from));
            for (y, words) in lines(format!("{earlier} earlier"), held) {
                self.words_in(kept.clone(), y, &words, Token::Text2, Align::Start);
            }
        }
        let bottom = self.rows.height;
        for x in [end - BREAK_PX + 2, end - BREAK_PX + 7] {
            let line = [
                Step::Move(px(x), px(bottom)),
                Step::Line(px(x + 4), Px::ZERO),
            ];
            self.stroke(&line, Stroke::solid(Token::Line3, px(1)));
        }
    }

    /// Names each kind of stretch without records, if there is room.
    fn words(&mut self) {
        let y = self.rows.density.start + 9;
        for (coverage, words, ink) in [
            (Coverage::NotLoaded, "not loaded", Token::Text2),
            (Coverage::Dropped, "dropped by this page", Token::Text3),
            (Coverage::Lost, "lost by watchscope", Token::Text2),
            (Coverage::Seam, "not watched", Token::Text2),
        ] {
            for xs in self.known.runs(|of| of == coverage) {
                let room = self.beside_window(xs);
                self.words_in(room, y, words, ink, Align::Start);
            }
        }
        for xs in self.known.runs(|of| of == Coverage::Expired) {
            self.name_expired(xs, y);
        }
    }

    /// Writes that records have expired, and before which time: in two lines, or in one line if two have no room.
    fn name_expired(&mut self, xs: Range<i64>, y: i64) {
        let before = self.known.expired_before;
        let before = before.filter(|&before| self.scale.px_of(before) == xs.end);
        let room = self.beside_window(xs);
        let (ink, align) = (Token::Text3, Align::End);
        let second = before.map(before_words);
        if let Some(second) = second
            && self.words_in(room.clone(), y + 2, &second, ink, align)
        {
            self.words_in(room, y - 12, "expired", ink, align);
        } else {
            self.words_in(room, y, "expired", ink, align);
        }
    }

    /// Returns the part of a stretch before the view's frame or the part after it, whichever is wider.
    fn beside_window(&self, xs: Range<i64>) -> Range<i64> {
        let (left, right) = self.window;
        let before = xs.start..xs.end.min(left - HANDLE_PX);
        let after = xs.start.max(right + HANDLE_PX)..xs.end;
        if before.end - before.start >= after.end - after.start {
            before
        } else {
            after
        }
    }

    /// Writes words in a stretch; returns whether there was room.
    fn words_in(&mut self, xs: Range<i64>, y: i64, words: &str, ink: Token, align: Align) -> bool {
        let has_room = xs.end - xs.start >= width_of(words, 400) + 2 * INSET_PX;
        if has_room {
            let (x, halo) = match align {
                Align::End => (xs.end - INSET_PX, Token::Expired),
                _ => (xs.start + INSET_PX, Token::Ground1),
            };
            self.text((x, y), words, (ink, 400), halo, align);
        }
        has_room
    }

    fn text(
        &mut self,
        (x, y): (i64, i64),
        words: &str,
        (ink, weight): (Token, u16),
        halo: Token,
        align: Align,
    ) {
        self.scene.primitives.push(Primitive::Text(TextLine {
            x: px(x),
            y: px(y),
            text: words.to_owned(),
            size: SIZE,
            weight,
            ink,
            halo: Some(halo),
            align,
            max_width: Some(px(width_of(words, weight))),
        }));
    }

    /// Hatches lost gaps, because there the density does not show whether something happened.
    fn lost_gaps(&mut self, gaps: &Overlaps) {
        for xs in gaps.runs() {
            let ys = self.rows.density.clone();
            self.rect(xs.clone(), ys.clone(), Token::LostGround);
            for edge in [xs.start, xs.end - GAP_EDGE_PX] {
                self.rect(edge..edge + GAP_EDGE_PX, ys.clone(), Token::Lost);
            }
        }
    }

    fn divergences(&mut self, divergences: &Overlaps) {
        for xs in divergences.runs() {
            self.rect(xs, self.rows.bars.clone(), Token::Divergence);
        }
    }

    /// Draws the problem ticks of one rank in one colour; ticks that touch become one.
    fn ticks(&mut self, worst: &[usize], place: usize, ink: Token) {
        let width = worst.len() as i64;
        let mut run: Option<Range<i64>> = None;
        let places = (0..).zip(worst).filter(|&(_, &found)| found == place);
        let ticks: Vec<i64> = places.map(|(px, _)| px).collect();
        for px in ticks {
            let start = (px - TICK_PX.1 / 2).clamp(0, width - TICK_PX.1);
            let tick = start..start + TICK_PX.1;
            run = match run {
                Some(run) if tick.start <= run.end => Some(run.start..tick.end),
                other => {
                    self.tick(other, ink);
                    Some(tick)
                }
            };
        }
        self.tick(run, ink);
    }

    fn tick(&mut self, xs: Option<Range<i64>>, ink: Token) {
        if let Some(xs) = xs {
            self.rect(xs, self.rows.ticks.clone(), ink);
        }
    }

    /// Draws the frame of the view with its two handles, the line of now, and the line of the moment that panels answer
    /// for.
    fn window(&mut self, view: &View, moments: Moments) {
        let (left, right) = self.window;
        let (width, height) = (self.scale.pixels() as i64, self.rows.height);
        if let Some(at) = moments.as_of {
            let x = self.scale.px_of(at);
            if (0..width).contains(&x) {
                self.rect(x..x + 1, 0..height, Token::Text1);
            }
        }
        let x = self.scale.px_of(moments.now).clamp(0, width - 1);
        self.rect_faint(x..x + 1, 0..height, Token::Text1, 80);
        let words = if moments.is_end {
            format!("ends {}", tick(moments.now, SECOND_US))
        } else {
            "now".to_owned()
        };
        self.labels.push(Label {
            rank: 0,
            x: x - 4,
            align: Align::End,
            text: words,
            ink: Token::Text1,
            weight: 400,
        });
        for ys in [0..1, height - 1..height] {
            self.rect(left..right, ys, Token::Text1);
        }
        for x in [left, right - 1] {
            self.rect(x..x + 1, 0..height, Token::Text1);
        }
        let middle = height / 2;
        for x in [left, right] {
            let x = (x - HANDLE_PX / 2).clamp(0, width - HANDLE_PX);
            self.scene.primitives.push(Primitive::Rect {
                area: area(x..x + HANDLE_PX, middle - 8..middle + 8),
                fill: Some(Token::Text1),
                stroke: None,
                radius: 1,
                opacity: 100,
            });
        }
        self.name_window(view);
    }

    /// Adds two labels with the view's time, one left and one right of the view's frame. At most one of the two is
    /// written.
    fn name_window(&mut self, view: &View) {
        let (step, _) = view.tick_steps();
        let step = step.min(60 * SECOND_US);
        let text = format!("{} – {}", tick(view.left(), step), tick(view.right(), step));
        let (left, right) = self.window;
        for (x, align) in [(left - 6, Align::End), (right + 6, Align::Start)] {
            self.labels.push(Label {
                rank: 2,
                x,
                align,
                text: text.clone(),
                ink: Token::Text1,
                weight: 600,
            });
        }
    }

    /// Writes the labels of the first row by rank; leaves out each label that would meet one written before.
    fn place_labels(&mut self) {
        let mut labels = std::mem::take(&mut self.labels);
        tree::sort_by_key(&mut labels, |label| label.rank);
        let width = self.scale.pixels() as i64;
        let mut taken: Vec<Range<i64>> = Vec::new();
        let mut is_named = false;
        for label in labels {
            let wide = width_of(&label.text, label.weight);
            let start = match label.align {
                Align::End => label.x - wide,
                _ => label.x,
            };
            let xs = start..start + wide;
            let is_free = taken
                .iter()
                .all(|other| xs.start >= other.end + APART_PX || other.start >= xs.end + APART_PX);
            let is_second_name = label.rank == 2 && is_named;
            if xs.start < 0 || xs.end > width || !is_free || is_second_name {
                continue;
            }
            is_named |= label.rank == 2;
            let place = (label.x, LABEL_BASELINE_PX);
            let ink = (label.ink, label.weight);
            self.text(place, &label.text, ink, Token::Ground1, label.align);
            taken.push(xs);
        }
    }
}

fn area(xs: Range<i64>, ys: Range<i64>) -> Area {
    Area::between(px(xs.start), px(xs.end), px(ys.start), px(ys.end))
}

/// Returns the room that words take at most, in px. Words in a font wider than calculated are squeezed into it.
fn width_of(words: &str, weight: u16) -> i64 {
    i64::from(text_width(words, SIZE, weight).0 / 64) + 3
}
