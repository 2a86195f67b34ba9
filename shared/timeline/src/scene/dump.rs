//! A scene as text, one primitive on each line. Tests compare scenes by this text, and people read it.

use std::fmt::Write;

use super::hit::Target;
use super::list::Scene;
use super::primitive::{Align, Primitive, Step, Stroke};
use super::px::{Area, Px};
use crate::tokens::Token;

impl Scene {
    /// Returns the display list as text: one line for each primitive, in paint order. Without primitives the text is
    /// empty. Lengths are in px, rounded to 1/100. The text leaves out halos, radii, anchors, grounds, control points
    /// of curves, inks and opacity of strips, and greatest widths of texts.
    #[must_use]
    pub fn dump(&self) -> String {
        let mut out = String::new();
        for primitive in &self.primitives {
            self.dump_one(primitive, &mut out);
            out.push('\n');
        }
        out
    }

    /// Returns the hit boxes as text: one line for each hit box, in the order of [`Scene::hits`], without those of
    /// whole lanes; empty if there are none. The text names a record by its seq alone, and leaves out lanes and signs.
    #[must_use]
    pub fn dump_hits(&self) -> String {
        let mut out = String::new();
        for hit in self.hits.iter().filter(|hit| hit.target != Target::Lane) {
            let target = match &hit.target {
                Target::Record(id) => format!("record {}", id.seq),
                Target::Merged { first, last, count } => {
                    format!("{count} records {} to {}", first.seq, last.seq)
                }
                Target::Findings(ids) => {
                    let seqs: Vec<String> = ids.iter().map(|id| id.seq.to_string()).collect();
                    format!("findings raised by {}", seqs.join(", "))
                }
                Target::Stretch(kind, id) => format!("{kind:?} since {}", id.seq),
                Target::Lane => String::new(),
            };
            put(&mut out, format_args!("{} {target}\n", area(hit.area)));
        }
        out
    }

    fn dump_one(&self, primitive: &Primitive, out: &mut String) {
        match primitive {
            Primitive::Rect {
                area: at,
                fill,
                stroke,
                radius: _,
                opacity,
            } => {
                put(
                    out,
                    format_args!(
                        "rect {}{}{}{}",
                        area(*at),
                        fill_words(*fill),
                        stroke_words(*stroke),
                        faint(*opacity)
                    ),
                );
            }
            Primitive::Path {
                steps,
                fill,
                stroke,
                opacity,
            } => {
                out.push_str("path");
                for step in &self.steps[steps.start as usize..steps.end as usize] {
                    match step {
                        Step::Move(x, y) => put(out, format_args!(" M{x},{y}")),
                        Step::Line(x, y) => put(out, format_args!(" L{x},{y}")),
                        Step::Curve(.., x, y) => put(out, format_args!(" C{x},{y}")),
                        Step::Close => out.push_str(" Z"),
                    }
                }
                put(
                    out,
                    format_args!(
                        "{}{}{}",
                        fill_words(*fill),
                        stroke_words(*stroke),
                        faint(*opacity)
                    ),
                );
            }
            Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ..
            } => {
                put(
                    out,
                    format_args!("glyph {} {x},{y} {size} {}", glyph.id(), ink.name()),
                );
            }
            Primitive::Hatch {
                area: at, hatch, ..
            } => put(out, format_args!("hatch {hatch:?} {}", area(*at))),
            Primitive::Text(line) => {
                let align = match line.align {
                    Align::Start => "",
                    Align::Middle => " middle",
                    Align::End => " end",
                };
                let (x, y, ink) = (line.x, line.y, line.ink.name());
                put(
                    out,
                    format_args!(
                        "text {x},{y} {}/{} {ink}{align} {:?}",
                        line.size, line.weight, line.text
                    ),
                );
            }
            Primitive::Plate {
                area: at,
                count,
                foot,
                ..
            } => {
                put(
                    out,
                    format_args!(
                        "plate {} {count} foot {} {} {}",
                        area(*at),
                        foot[0],
                        foot[1],
                        foot[2]
                    ),
                );
            }
            Primitive::Strip {
                bottom, columns, ..
            } => {
                put(out, format_args!("strip on {bottom}"));
                for column in &self.columns[columns.start as usize..columns.end as usize] {
                    let [low, mid, top] = column.heights;
                    put(out, format_args!(" {}:{low}+{mid}+{top}", column.x));
                }
            }
            Primitive::Clip(at) => put(out, format_args!("clip {}", area(*at))),
            Primitive::Unclip => out.push_str("unclip"),
        }
    }
}

/// Appends to `out`. Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn area(area: Area) -> String {
    format!("{},{} {}x{}", area.x, area.y, area.w, area.h)
}

fn fill_words(fill: Option<Token>) -> String {
    fill.map_or(String::new(), |token| format!(" {}", token.name()))
}

fn stroke_words(stroke: Option<Stroke>) -> String {
    let Some(stroke) = stroke else {
        return String::new();
    };
    let dash = stroke
        .dash
        .map_or(String::new(), |(on, off)| format!(" dashed {on}-{off}"));
    let width: Px = stroke.width;
    format!(" line {width} {}{dash}", stroke.ink.name())
}

fn faint(opacity: u8) -> String {
    if opacity == 100 {
        String::new()
    } else {
        format!(" at {opacity} %")
    }
}
