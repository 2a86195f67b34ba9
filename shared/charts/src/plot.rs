//! The plot of a chart: plotters' mesh over our axes, and the series in it.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontFamily, TextStyle};
use watchscope_timeline::format::text_width;
use watchscope_timeline::scene::Hatch;
use watchscope_timeline::{Px, Scene, Token};

use crate::axis::Axis;
use crate::backend::SceneBackend;
use crate::data::{
    Bar, Callout, Columns, Dots, Fill, Frame, Grid, Line, Lines, Plot, Scale, Shape, Span,
};
use crate::pen::{Pen, UNITS, line_of};
use crate::sheet::{CHART_WIDTH, ChartError, OTHERS};
use crate::text::fitted;

/// Size of labels, in px. The number has no source.
const LABEL: u8 = 11;
/// Room for the labels of a vertical axis, in px. This room is the same in all charts over time, so that their time
/// axes are equal. The number has no source.
const LEFT: i32 = 68;
/// Room for the labels of rows, in px. A label is at most 179 px wide by estimate, which leaves room for wider fonts; a
/// longer label ends in `…`. The number has no source.
const ROW_LEFT: i32 = 226;
/// Room right of a plot, in px, for half of the last label of its axis. The number has no source.
const RIGHT: i32 = 36;
/// Room above a plot, in px. The number has no source.
const TOP: i32 = 8;
/// Room below a plot for the labels of its axis, in px. The number has no source.
const BOTTOM: i32 = 24;
/// Height of a plot over time, in px. The number has no source.
const HEIGHT: i32 = 150;
/// Height of a row of bars, in px; a chart has room for at least three rows. The number has no source.
const ROW: i32 = 21;
/// Width in px that a chart of rows leaves right of its axis for words, in addition to [`RIGHT`]. Words without room
/// between their bar and the edge of the chart end in `…`. The number has no source.
const ROW_WORDS: i32 = 190;
/// The text in the middle of an empty chart.
const NOTHING: &str = "nothing in this range";
/// The least distance between the two lines of a seam, in eighths of a px: 4 px, so that a short seam is visible. The
/// number has no source.
const SEAM: i32 = 4 * UNITS;

pub(crate) type Area<'a> = DrawingArea<SceneBackend<'a>, Shift>;
type Context<'a, 'b> = ChartContext<'a, SceneBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Draws the plot of a chart, [`CHART_WIDTH`] wide. It fails only if plotters cannot place an element; so do all
/// functions here that return a [`ChartError`].
pub(crate) fn plot(plot: &Plot, frame: &Frame) -> Result<Scene, ChartError> {
    match plot {
        Plot::Lines(lines) => {
            let values = lines.series.iter().flat_map(|line| &line.values).flatten();
            let axis = axis_of(lines.scale, values.copied());
            let is_empty = !has_numbers(lines);
            over_time(frame, axis, is_empty, |chart, root| {
                draw_lines(lines, frame, chart)?;
                callout(lines.callout.as_ref(), lines.grid.step_us, chart, root)
            })
        }
        Plot::Columns(columns) => {
            let sums = (0..columns.grid.count).map(|place| {
                let counts = columns.series.iter();
                let counts = counts.filter_map(|stack| stack.counts.get(place));
                counts.fold(0_u64, |sum, count| sum.saturating_add(*count))
            });
            let most = sums.max().unwrap_or(0);
            let axis = Axis::numbers(thousandths(most), true);
            let is_empty = most == 0 && columns.divergences.is_empty();
            over_time(frame, axis, is_empty, |chart, root| {
                draw_columns(columns, chart, root)
            })
        }
        Plot::Dots(dots) => {
            let values = dots.series.iter().flat_map(|series| &series.dots);
            let axis = axis_of(Scale::LogMicros, values.map(|(_, value)| *value));
            let is_empty = dots.series.iter().all(|series| series.dots.is_empty());
            over_time(frame, axis, is_empty, |chart, root| {
                draw_dots(dots, chart, root)?;
                callout(dots.callout.as_ref(), 0, chart, root)
            })
        }
        Plot::Bars(bars) => rows(bars),
    }
}

fn has_numbers(lines: &Lines) -> bool {
    let mut values = lines.series.iter().flat_map(|line| &line.values).flatten();
    match lines.scale {
        Scale::Thousandths => values.any(|value| *value > 0),
        Scale::LogMicros => values.next().is_some(),
    }
}

fn thousandths(count: u64) -> i64 {
    i64::try_from(count)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000)
}

/// Returns a vertical axis for all values. Without values the axis has the usual range: up to 1, or from 10 ms to 10 s.
fn axis_of(scale: Scale, values: impl Iterator<Item = i64> + Clone) -> Axis {
    let most = values.clone().max();
    match scale {
        Scale::Thousandths => Axis::numbers(most.unwrap_or(1_000), false),
        Scale::LogMicros => {
            let least = values.min().unwrap_or(10_000);
            Axis::log(least, most.unwrap_or(10_000_000))
        }
    }
}

/// Returns an empty scene for a plot of this height, in px.
fn scene_of(height: i32) -> Scene {
    Scene {
        width: CHART_WIDTH,
        height: Px::whole(height),
        ..Scene::default()
    }
}

/// Draws axes over the time of a frame, with the frame's band and seams, and what `draw` adds.
fn over_time(
    frame: &Frame,
    axis: Axis,
    is_empty: bool,
    draw: impl FnOnce(&mut Context<'_, '_>, &Area<'_>) -> Result<(), ChartError>,
) -> Result<Scene, ChartError> {
    let mut scene = scene_of(TOP + HEIGHT + BOTTOM);
    let root = SceneBackend::new(&mut scene).into_drawing_area();
    let mut builder = ChartBuilder::on(&root);
    builder.margin_top(TOP * UNITS).margin_right(RIGHT * UNITS);
    builder.x_label_area_size(BOTTOM * UNITS);
    builder.y_label_area_size(LEFT * UNITS);
    let mut chart = builder.build_cartesian_2d(Axis::time(frame.context), axis)?;
    if let Some(band) = frame.reported {
        let (left, right, top, bottom) = edges(&chart, band);
        let right = right.max(left + UNITS);
        let band = Pen::of(Token::Ground4).faint(60).area();
        root.draw(&Rectangle::new([(left, top), (right, bottom)], band))?;
    }
    mesh(&mut chart, true)?;
    draw(&mut chart, &root)?;
    for seam in &frame.seams {
        draw_seam(&chart, &root, *seam)?;
    }
    if is_empty {
        nothing(&chart, &root, frame.context)?;
    }
    root.present()?;
    drop((chart, root));
    Ok(scene)
}

/// Returns the edges of a stretch of time in a plot: left, right, top, bottom, in eighths of a px.
fn edges(chart: &Context<'_, '_>, span: Span) -> (i32, i32, i32, i32) {
    let y = chart.y_range();
    let (left, top) = chart.backend_coord(&(span.from.0, y.end));
    let (right, bottom) = chart.backend_coord(&(span.to.0, y.start));
    (left, right, top, bottom)
}

/// Draws axes with labels. Draws a line for each tick of the vertical axis if `is_level`, else for each tick of the
/// horizontal axis.
fn mesh(chart: &mut Context<'_, '_>, is_level: bool) -> Result<(), ChartError> {
    let mut mesh = chart.configure_mesh();
    if is_level {
        mesh.disable_x_mesh();
    } else {
        mesh.disable_y_mesh().disable_y_axis();
    }
    let faint = Pen::of(Token::Line2).line(8);
    mesh.bold_line_style(faint).light_line_style(faint);
    mesh.axis_style(Pen::of(Token::Line3).line(8));
    mesh.label_style(style_of(Pen::text(Token::Text2, false, false)));
    mesh.set_all_tick_mark_size(3 * UNITS);
    Ok(mesh.draw()?)
}

/// Returns the style of a label.
pub(crate) fn style_of(pen: Pen) -> TextStyle<'static> {
    sized(pen, LABEL)
}

pub(crate) fn sized(pen: Pen, size: u8) -> TextStyle<'static> {
    let mut style = TextStyle::from((FontFamily::SansSerif, u32::from(size)));
    style.color = pen.colour().to_backend_color();
    style
}

fn nothing(chart: &Context<'_, '_>, root: &Area<'_>, span: Span) -> Result<(), ChartError> {
    let (left, right, top, bottom) = edges(chart, span);
    let middle = ((left + right) / 2, (top + bottom) / 2);
    let style = sized(Pen::text(Token::Text2, false, true), 12);
    let style = style.pos(Pos::new(HPos::Center, VPos::Center));
    Ok(root.draw_text(NOTHING, &style, middle)?)
}

/// Draws a seam: two dotted lines with nothing between them.
fn draw_seam(chart: &Context<'_, '_>, root: &Area<'_>, seam: Span) -> Result<(), ChartError> {
    let (left, right, top, bottom) = edges(chart, seam);
    let right = right.max(left + SEAM);
    let ground = Pen::of(Token::Ground1).area();
    root.draw(&Rectangle::new([(left, top), (right, bottom)], ground))?;
    seam_lines(root, left, right, top, bottom)
}

pub(crate) fn seam_lines(
    root: &Area<'_>,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
) -> Result<(), ChartError> {
    let dotted = Pen::of(Token::Text1).dashed(2).line(10);
    for x in [left, right] {
        root.draw(&PathElement::new(vec![(x, top), (x, bottom)], dotted))?;
    }
    Ok(())
}

fn draw_lines(lines: &Lines, frame: &Frame, chart: &mut Context<'_, '_>) -> Result<(), ChartError> {
    // Draws the most important series last, over the others.
    for (place, line) in lines.series.iter().enumerate().rev() {
        let (pen, width) = line_of(place, line.name == OTHERS);
        for piece in pieces(line, lines.grid, frame) {
            chart.draw_series(LineSeries::new(piece, pen.line(width)))?;
        }
    }
    Ok(())
}

/// Returns the steps of a line in pieces. A piece ends where a number is missing, at a seam, and at the edges of the
/// shown time.
fn pieces(line: &Line, grid: Grid, frame: &Frame) -> Vec<Vec<(i64, i64)>> {
    let mut pieces: Vec<Vec<(i64, i64)>> = Vec::new();
    let mut ended = None;
    for (place, value) in line.values.iter().enumerate().take(grid.count) {
        let Some(value) = *value else {
            continue;
        };
        let bucket = Span {
            from: grid.begins(place).max(frame.context.from),
            to: grid.begins(place + 1).min(frame.context.to),
        };
        for part in without(bucket, &frame.seams) {
            let (from, to) = (part.from.0, part.to.0);
            let step = [(from, value), (to, value)];
            match pieces.last_mut() {
                Some(piece) if ended == Some(from) => piece.extend(step),
                _ => pieces.push(step.to_vec()),
            }
            ended = Some(to);
            // A line ends at a seam, however short the seam is.
            if frame.seams.iter().any(|seam| seam.from == part.to) {
                ended = None;
            }
        }
    }
    pieces
}

/// Returns the parts of a stretch that lie outside all seams.
fn without(span: Span, seams: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    let mut from = span.from;
    for seam in seams {
        if seam.to <= from || seam.from >= span.to {
            continue;
        }
        if seam.from > from {
            left.push(Span {
                from,
                to: seam.from,
            });
        }
        from = from.max(seam.to);
    }
    if from < span.to {
        left.push(Span { from, to: span.to });
    }
    left
}

fn draw_columns(
    columns: &Columns,
    chart: &Context<'_, '_>,
    root: &Area<'_>,
) -> Result<(), ChartError> {
    let context = chart.x_range();
    for place in 0..columns.grid.count {
        let from = columns.grid.begins(place).0.max(context.start);
        let to = columns.grid.begins(place + 1).0.min(context.end);
        let mut below = 0_u64;
        for stack in &columns.series {
            let count = stack.counts.get(place).copied().unwrap_or(0);
            if count == 0 {
                continue;
            }
            let above = below.saturating_add(count);
            let (left, bottom) = chart.backend_coord(&(from, thousandths(below)));
            let (right, top) = chart.backend_coord(&(to, thousandths(above)));
            let air = if right - left > 5 * UNITS { UNITS } else { 0 };
            fill(root, stack.fill, [(left + air, top), (right - air, bottom)])?;
            below = above;
        }
    }
    for at in &columns.divergences {
        let (x, top) = chart.backend_coord(&(at.0, chart.y_range().end));
        divergence(root, (x, top + 6 * UNITS))?;
    }
    Ok(())
}

/// Fills an area between two corners.
pub(crate) fn fill(
    root: &Area<'_>,
    fill: Fill,
    corners: [(i32, i32); 2],
) -> Result<(), ChartError> {
    let area = |pen: Pen| Rectangle::new(corners, pen.area());
    let edge = |pen: Pen| Rectangle::new(corners, pen.line(9));
    match fill {
        Fill::Plain => {
            root.draw(&area(Pen::of(Token::StreamFill)))?;
            root.draw(&edge(Pen::of(Token::Stream)))?;
        }
        Fill::Mid => root.draw(&area(Pen::of(Token::Life)))?,
        Fill::Dark => root.draw(&area(Pen::of(Token::Text1)))?,
        Fill::Own => {
            root.draw(&area(Pen::of(Token::Ground0)))?;
            root.draw(&edge(Pen::of(Token::Text1)))?;
        }
        Fill::Resumed => {
            root.draw(&area(Pen::of(Token::Ground0)))?;
            root.draw(&area(Pen::hatch(Hatch::Resumed)))?;
            root.draw(&edge(Pen::of(Token::Resumed)))?;
        }
        Fill::Lost => {
            root.draw(&area(Pen::of(Token::LostGround)))?;
            root.draw(&area(Pen::hatch(Hatch::Lost)))?;
            root.draw(&edge(Pen::of(Token::Lost)))?;
        }
        Fill::Error => root.draw(&area(Pen::of(Token::Error)))?,
        Fill::Unknown => {
            root.draw(&area(Pen::of(Token::Ground0)))?;
            root.draw(&edge(Pen::of(Token::Text1).dashed(2)))?;
        }
    }
    Ok(())
}

/// Draws the mark of an audit read that differs from the watch: a square with a stroke. Nothing else in a chart has
/// this colour.
pub(crate) fn divergence(root: &Area<'_>, (x, y): (i32, i32)) -> Result<(), ChartError> {
    let (pen, r) = (Pen::of(Token::Divergence).line(12), 4 * UNITS);
    root.draw(&Rectangle::new([(x - r, y - r), (x + r, y + r)], pen))?;
    Ok(root.draw(&PathElement::new(vec![(x - r, y + r), (x + r, y - r)], pen))?)
}

fn draw_dots(dots: &Dots, chart: &Context<'_, '_>, root: &Area<'_>) -> Result<(), ChartError> {
    for series in &dots.series {
        for (at, value) in &series.dots {
            let place = chart.backend_coord(&(at.0, *value));
            dot(root, series.shape, place)?;
        }
    }
    Ok(())
}

/// Draws a dot with its middle at (`x`, `y`).
pub(crate) fn dot(root: &Area<'_>, shape: Shape, (x, y): (i32, i32)) -> Result<(), ChartError> {
    let r = 24;
    let halo = |reach: i32| {
        let ground = Pen::of(Token::Ground0).area();
        Circle::new((x, y), reach, ground)
    };
    match shape {
        Shape::Disc => root.draw(&Circle::new((x, y), r, Pen::of(Token::Stream).area()))?,
        Shape::Ring => {
            root.draw(&halo(r))?;
            root.draw(&Circle::new((x, y), r, Pen::of(Token::Stream).line(11)))?;
        }
        Shape::Square => {
            let corners = [(x - r, y - r), (x + r, y + r)];
            root.draw(&Rectangle::new(corners, Pen::of(Token::Text1).area()))?;
        }
        Shape::Triangle => {
            let corners = vec![(x, y - r - 4), (x + r + 6, y + r), (x - r - 6, y + r)];
            root.draw(&Polygon::new(corners, Pen::of(Token::Text2).colour()))?;
        }
        Shape::Cross => {
            let pen = Pen::of(Token::Text1).line(12);
            for way in [1, -1] {
                let ends = vec![(x - r, y - r * way), (x + r, y + r * way)];
                root.draw(&PathElement::new(ends, pen))?;
            }
        }
        Shape::Diamond => {
            let r = r + 12;
            let corners = vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y)];
            root.draw(&halo(r + 4))?;
            root.draw(&Polygon::new(corners, Pen::of(Token::Error).colour()))?;
        }
    }
    Ok(())
}

/// Draws a callout's words beside its point, which extends to the right by `lasts_us` µs of the axis.
fn callout(
    callout: Option<&Callout>,
    lasts_us: i64,
    chart: &Context<'_, '_>,
    root: &Area<'_>,
) -> Result<(), ChartError> {
    let Some(callout) = callout else {
        return Ok(());
    };
    let (times, values) = (chart.x_range(), chart.y_range());
    let (x, y) = chart.backend_coord(&(callout.at.0, callout.value));
    let (left, top) = chart.backend_coord(&(times.start, values.end));
    let (right, bottom) = chart.backend_coord(&(times.end, values.start));
    // The words stand on the left if they fit there, because a line that rises leaves room there.
    let width = text_width(&callout.words, LABEL, 600).0 / (64 / UNITS) + 14 * UNITS;
    let is_left = x - left > width;
    let (side, x) = if is_left {
        (HPos::Right, x - 7 * UNITS)
    } else {
        let end = callout.at.plus_micros(lasts_us).0;
        let (end, _) = chart.backend_coord(&(end, callout.value));
        (HPos::Left, end + 7 * UNITS)
    };
    let room = Px((if is_left { x - left } else { right - x }) * (64 / UNITS));
    let words = fitted(&callout.words, LABEL, 600, room);
    let y = y.clamp(top + 6 * UNITS, bottom - 6 * UNITS);
    let style = style_of(Pen::text(Token::Text1, true, true));
    let style = style.pos(Pos::new(side, VPos::Center));
    Ok(root.draw_text(&words, &style, (x, y))?)
}

/// Draws durations: in each row a bar with its name and its words.
fn rows(bars: &[Bar]) -> Result<Scene, ChartError> {
    let count = bars.len().max(3);
    let height = i32::try_from(count).unwrap_or(i32::MAX).saturating_mul(ROW);
    let mut scene = scene_of(TOP.saturating_add(height).saturating_add(BOTTOM));
    let root = SceneBackend::new(&mut scene).into_drawing_area();
    let mut builder = ChartBuilder::on(&root);
    builder.margin_top(TOP * UNITS);
    builder.margin_right((RIGHT + ROW_WORDS) * UNITS);
    builder.x_label_area_size(BOTTOM * UNITS);
    builder.y_label_area_size(ROW_LEFT * UNITS);
    let most = bars
        .iter()
        .map(|bar| bar.micros)
        .max()
        .unwrap_or(10_000_000);
    let mut chart = builder.build_cartesian_2d(Axis::durations(most), Axis::rows(count))?;
    mesh(&mut chart, false)?;
    let y_end = chart.y_range().end;
    for (place, bar) in bars.iter().enumerate() {
        let row = |part: i64| y_end - 1_000 * place as i64 - part;
        let (left, top) = chart.backend_coord(&(0, row(240)));
        let (right, bottom) = chart.backend_coord(&(bar.micros, row(760)));
        let right = right.max(left + UNITS);
        fill(&root, bar.fill, [(left, top), (right, bottom)])?;
        let middle = (top + bottom) / 2;
        let ink = if bar.is_strong {
            Token::Text1
        } else {
            Token::Text2
        };
        let weight = if bar.is_strong { 600 } else { 400 };
        let style = style_of(Pen::text(ink, bar.is_strong, false));
        let name = fitted(
            &bar.label,
            LABEL,
            weight,
            Px::whole((ROW_LEFT - 24) * 8 / 9),
        );
        let end = style.pos(Pos::new(HPos::Right, VPos::Center));
        root.draw_text(&name, &end, (left - 8 * UNITS, middle))?;
        let style = style_of(Pen::text(ink, false, true));
        let start = style.pos(Pos::new(HPos::Left, VPos::Center));
        let room = CHART_WIDTH - Px(right * (64 / UNITS)) - Px::whole(14);
        let words = fitted(&bar.words, LABEL, 400, room);
        root.draw_text(&words, &start, (right + 7 * UNITS, middle))?;
    }
    if bars.is_empty() {
        let x = chart.x_range();
        let span = Span {
            from: watchscope_model::Time(x.start),
            to: watchscope_model::Time(x.end),
        };
        nothing(&chart, &root, span)?;
    }
    root.present()?;
    drop((chart, root));
    Ok(scene)
}

/// Returns the width of a legend's text, with an eighth to spare for wide typefaces.
pub(crate) fn label_width(text: &str) -> Px {
    let width = text_width(text, LABEL, 400);
    width + Px(width.0 / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchscope_model::Time;

    fn span(from: i64, to: i64) -> Span {
        Span {
            from: Time(from),
            to: Time(to),
        }
    }

    #[test]
    fn a_line_ends_at_a_seam_and_where_nothing_is_known() {
        let frame = Frame {
            context: span(0, 60),
            reported: None,
            seams: vec![span(12, 14), span(30, 30)],
        };
        let grid = Grid {
            from: Time(0),
            step_us: 10,
            count: 6,
        };
        let line = Line {
            name: "a".to_owned(),
            values: vec![Some(1), Some(2), Some(3), Some(4), None, Some(5)],
        };
        let pieces = pieces(&line, grid, &frame);
        assert_eq!(
            pieces,
            [
                vec![(0, 1), (10, 1), (10, 2), (12, 2)],
                vec![(14, 2), (20, 2), (20, 3), (30, 3)],
                vec![(30, 4), (40, 4)],
                vec![(50, 5), (60, 5)],
            ]
        );
    }
}
