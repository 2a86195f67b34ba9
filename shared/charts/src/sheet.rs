//! A whole chart: title, unit, plot, notes, and a legend of at most two rows.

use std::convert::Infallible;

use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use thiserror::Error;
use watchscope_timeline::scene::{Align, Area, TextLine};
use watchscope_timeline::{Primitive, Px, Scene, Token};

use crate::backend::SceneBackend;
use crate::data::{Chart, Fill, Frame, Merge, Plot, Shape};
use crate::pen::{Pen, UNITS, line_of};
use crate::plot::{self, divergence, dot, fill, label_width, plot, seam_lines, style_of};
use crate::text::{fitted, lines};

/// Width of every chart, in px, so that their time axes are equal. A title or note that is too wide for one line takes
/// two; the unit has one line. A text for which its lines are too short ends in `…`. The number has no source.
pub const CHART_WIDTH: Px = Px::whole(640);
/// The name of the series that stands for those without room in the legend.
pub(crate) const OTHERS: &str = "others";

/// Room left and right of texts and of the legend, in px. The number has no source.
const EDGE: i32 = 16;
/// Height of a row of the legend, in px. The number has no source.
const LEGEND_ROW: i32 = 18;
/// The most rows of a legend. If the entries need more rows, the two least important series become one, "others". This
/// repeats until the rows fit or one series is left. So a chart of many series stays readable. The number has no
/// source.
const LEGEND_ROWS: usize = 2;
/// Width of a legend's sign with the space right of it, in px. The widest sign is a line of 24 px; the space is 6 px
/// wide. The two numbers have no source.
const SIGN: i32 = 30;
/// The greatest width of a name in a legend, in px; a longer name ends in `…`. So two of the longest names fit in a
/// row. The number has no source.
const NAME: Px = Px::whole(170);

/// The reason why a chart could not be drawn. Our backend cannot fail, so the error is one of plotters itself.
#[derive(Debug, Error)]
pub enum ChartError {
    /// plotters could not place an element.
    #[error("plotters could not draw: {0}")]
    Plotters(#[from] DrawingAreaErrorKind<Infallible>),
}

/// Draws a chart; returns a scene that is [`CHART_WIDTH`] wide and as high as the chart's texts and rows need. If the
/// legend would have more than two rows, the least important series are merged into one, "others". A chart without
/// numbers says that nothing is in its range.
///
/// # Errors
/// [`ChartError::Plotters`] if plotters cannot place an element.
///
/// # Panics
/// If the frame's time ends before it begins, and something has to be drawn in it.
pub fn draw(chart: &Chart, frame: &Frame) -> Result<Scene, ChartError> {
    let (shown, legend) = with_legend(&chart.plot, frame);
    let mut sheet = Sheet::default();
    sheet.text(&chart.title, 15, 600, Token::Text1, 22, 2);
    sheet.text(&chart.unit, 12, 400, Token::Text2, 17, 1);
    sheet.append(plot(&shown, frame)?, 4);
    for note in &chart.notes {
        sheet.text(note, 11, 400, Token::Text3, 15, 2);
    }
    if !legend.is_empty() {
        sheet.append(draw_legend(&legend)?, 4);
    }
    Ok(sheet.finish())
}

/// The sign before a name in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Line(Pen, u32),
    Fill(Fill),
    Dot(Shape),
    Divergence,
    Band,
    Seam,
}

type Entry = (Sign, String);

/// Merges series until the legend has at most two rows, or no two series are left; returns the plot and the legend's
/// rows.
fn with_legend(plot: &Plot, frame: &Frame) -> (Plot, Vec<Vec<Entry>>) {
    let mut shown = plot.clone();
    loop {
        let rows = rows_of(entries(&shown, frame));
        if rows.len() <= LEGEND_ROWS || !merge_two(&mut shown) {
            return (shown, rows);
        }
    }
}

/// Returns the legend's entries: one for each series that is not empty, and those for divergences, band and seams if
/// the chart has them.
fn entries(plot: &Plot, frame: &Frame) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |sign, name: &str| {
        entries.push((sign, fitted(name, 11, 400, NAME)));
    };
    match plot {
        Plot::Lines(lines) => {
            // The unit describes a single line.
            let is_explained = lines.series.len() > 1;
            for (place, line) in lines.series.iter().enumerate() {
                if is_explained && line.values.iter().any(Option::is_some) {
                    let (pen, width) = line_of(place, line.name == OTHERS);
                    add(Sign::Line(pen, width), &line.name);
                }
            }
        }
        Plot::Columns(columns) => {
            for stack in &columns.series {
                if stack.counts.iter().any(|count| *count > 0) {
                    add(Sign::Fill(stack.fill), &stack.name);
                }
            }
            if !columns.divergences.is_empty() {
                add(Sign::Divergence, "a read differs from the watch");
            }
        }
        Plot::Dots(dots) => {
            for series in dots.series.iter().filter(|series| !series.dots.is_empty()) {
                add(Sign::Dot(series.shape), &series.name);
            }
        }
        Plot::Bars(_) => return entries,
    }
    if frame.reported.is_some() {
        add(Sign::Band, "the time reported");
    }
    if !frame.seams.is_empty() {
        add(Sign::Seam, "nobody watched");
    }
    entries
}

/// Breaks the legend's entries into rows that fit.
fn rows_of(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let room = CHART_WIDTH - Px::whole(2 * EDGE);
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut used = Px::ZERO;
    for entry in entries {
        let width = width_of(&entry);
        match rows.last_mut() {
            Some(row) if used + width <= room => {
                row.push(entry);
                used = used + width;
            }
            _ => {
                rows.push(vec![entry]);
                used = width;
            }
        }
    }
    rows
}

fn width_of((_, name): &Entry) -> Px {
    label_width(name) + Px::whole(SIGN + 12)
}

/// Merges the two least important series into one; returns whether there were at least two.
fn merge_two(plot: &mut Plot) -> bool {
    match plot {
        Plot::Lines(lines) if lines.series.len() > 1 => {
            let last = lines.series.pop();
            let merge = lines.merge;
            if let (Some(last), Some(into)) = (last, lines.series.last_mut()) {
                OTHERS.clone_into(&mut into.name);
                for (value, other) in into.values.iter_mut().zip(last.values) {
                    *value = match (*value, other) {
                        (Some(one), Some(two)) => Some(match merge {
                            Merge::Sum => one.saturating_add(two),
                            Merge::Largest => one.max(two),
                        }),
                        (one, two) => one.or(two),
                    };
                }
            }
            true
        }
        Plot::Columns(columns) if columns.series.len() > 1 => {
            let last = columns.series.pop();
            if let (Some(last), Some(into)) = (last, columns.series.last_mut()) {
                OTHERS.clone_into(&mut into.name);
                into.fill = Fill::Mid;
                for (count, other) in into.counts.iter_mut().zip(last.counts) {
                    *count = count.saturating_add(other);
                }
            }
            true
        }
        Plot::Dots(dots) if dots.series.len() > 1 => {
            let first = dots.series.remove(0);
            if let Some(into) = dots.series.first_mut() {
                OTHERS.clone_into(&mut into.name);
                into.shape = Shape::Ring;
                into.dots.extend(first.dots);
            }
            true
        }
        _ => false,
    }
}

/// Draws the legend's rows. It fails only if plotters cannot place an element; so does [`sign`].
fn draw_legend(rows: &[Vec<Entry>]) -> Result<Scene, ChartError> {
    let height = i32::try_from(rows.len()).unwrap_or(i32::MAX);
    let mut scene = Scene {
        width: CHART_WIDTH,
        height: Px::whole(height.saturating_mul(LEGEND_ROW)),
        ..Scene::default()
    };
    let root = SceneBackend::new(&mut scene).into_drawing_area();
    for (place, row) in rows.iter().enumerate() {
        let mut x = EDGE * UNITS;
        let y = (i32::try_from(place).unwrap_or(0) * LEGEND_ROW + LEGEND_ROW / 2) * UNITS;
        for entry in row {
            sign(&root, entry.0, (x, y))?;
            let style = style_of(Pen::text(Token::Text2, false, false));
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            root.draw_text(&entry.1, &style, (x + SIGN * UNITS, y))?;
            x += width_of(entry).0 / (64 / UNITS);
        }
    }
    root.present()?;
    drop(root);
    Ok(scene)
}

/// Draws a sign of a legend; `x` is the sign's left edge, `y` its middle.
fn sign(root: &plot::Area<'_>, sign: Sign, (x, y): (i32, i32)) -> Result<(), ChartError> {
    let corners = [(x + 4, y - 5 * UNITS), (x + 16 * UNITS, y + 5 * UNITS)];
    let middle = (x + 12 * UNITS, y);
    match sign {
        Sign::Line(pen, width) => {
            let ends = vec![(x, y), (x + 24 * UNITS, y)];
            Ok(root.draw(&PathElement::new(ends, pen.line(width)))?)
        }
        Sign::Fill(how) => fill(root, how, corners),
        Sign::Dot(shape) => dot(root, shape, middle),
        Sign::Divergence => divergence(root, middle),
        Sign::Band => {
            let band = Pen::of(Token::Ground4).faint(60).area();
            Ok(root.draw(&Rectangle::new(corners, band))?)
        }
        Sign::Seam => {
            let (top, bottom) = (y - 6 * UNITS, y + 6 * UNITS);
            let left = x + 10 * UNITS;
            seam_lines(root, left, left + 4 * UNITS, top, bottom)
        }
    }
}

/// A scene that grows from the top down.
struct Sheet {
    scene: Scene,
    y: Px,
}

impl Default for Sheet {
    fn default() -> Self {
        Self {
            scene: Scene::default(),
            y: Px::whole(10),
        }
    }
}

impl Sheet {
    /// Appends a text in at most `most` lines, each `high` px high.
    fn text(&mut self, text: &str, size: u8, weight: u16, ink: Token, high: i32, most: usize) {
        let room = CHART_WIDTH - Px::whole(2 * EDGE);
        // Some typefaces are wider than estimated, most of all in bold.
        let spare = if weight > 400 { 6 } else { 8 };
        let width = room - Px(room.0 / spare);
        for line in lines(text, size, weight, width, most) {
            self.y = self.y + Px::whole(high);
            self.scene.primitives.push(Primitive::Text(TextLine {
                x: Px::whole(EDGE),
                y: self.y - Px::whole(4),
                text: line,
                size,
                weight,
                ink,
                halo: None,
                align: Align::Start,
                max_width: None,
            }));
        }
    }

    /// Appends another scene below, after `space` px.
    fn append(&mut self, other: Scene, space: i32) {
        let y = self.y + Px::whole(space);
        self.y = y + other.height;
        self.scene.append(other, Px::ZERO, y);
    }

    /// Returns the whole chart's scene, with its ground painted first.
    fn finish(self) -> Scene {
        let height = (self.y + Px::whole(14)).floor();
        let ground = Primitive::Rect {
            area: Area::between(Px::ZERO, CHART_WIDTH, Px::ZERO, height),
            fill: Some(Token::Ground0),
            stroke: None,
            radius: 0,
            opacity: 100,
        };
        let mut scene = Scene {
            width: CHART_WIDTH,
            height,
            primitives: vec![ground],
            ..Scene::default()
        };
        scene.append(self.scene, Px::ZERO, Px::ZERO);
        scene
    }
}
