//! Writes a scene as SVG text: the same display list as the live canvas, in the colours of a theme.

use std::fmt::Write;

use crate::format::text_width;
use crate::glyph::{GLYPH_BOX, GLYPH_HALO_PX, Paint};
use crate::scene::{
    Align, Area, FOOT_INKS, Pattern, Primitive, Px, STRIP_COLUMN_PX, Scene, Step, Stroke, TextLine,
};
use crate::tokens::{Theme, Token};

/// The font families of the page, the preferred one first: those of the usual systems, then the viewer's system font,
/// then any sans-serif font. The first font that a viewer's system has is used. The list is that of `--sans` in
/// assets/styles.css.
const SANS: &str =
    "-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',Arial,system-ui,sans-serif";

/// Least room in px between a text's calculated width and its greatest allowed width for which the text keeps its
/// natural width in any font. A text with less room is fixed to its calculated width, or to its greatest allowed width
/// if that is less. The number has no source.
const SPARE: Px = Px::whole(3);

/// Returns a scene as a whole SVG document, as large as the scene in px. The document has no style sheet, so it shows
/// under any content security policy. Texts are escaped, and control characters in them become U+FFFD. The scene must
/// end each clip that it begins: otherwise the document is not well-formed.
#[must_use]
pub fn svg(scene: &Scene, theme: Theme) -> String {
    let size = (scene.width.to_f64(), scene.height.to_f64());
    document(scene, theme, size)
}

/// Returns the document of [`svg`], but `width_px` wide, with its height in proportion, rounded up to whole px. The
/// scene's width must not be 0: otherwise the height is infinite or not a number, and nothing shows.
#[must_use]
pub fn svg_of_width(scene: &Scene, theme: Theme, width_px: u32) -> String {
    let width = f64::from(width_px);
    let height = (scene.height.to_f64() * width / scene.width.to_f64()).ceil();
    document(scene, theme, (width, height))
}

fn document(scene: &Scene, theme: Theme, (width, height): (f64, f64)) -> String {
    let mut out = Writer {
        theme,
        out: String::new(),
        defs: String::new(),
        ids: 0,
        clipped: false,
    };
    let mut primitives = scene.primitives.iter().peekable();
    while let Some(primitive) = primitives.next() {
        if let &Primitive::Rect { mut area, .. } = primitive {
            while let Some(wider) = primitives
                .peek()
                .and_then(|next| joined(primitive, area, next))
            {
                area = wider;
                primitives.next();
            }
            out.rect(primitive, area);
        } else {
            out.primitive(scene, primitive);
        }
    }
    let (w, h) = (scene.width, scene.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{SANS}\"><defs>{}</defs>{}</svg>",
        out.defs, out.out
    )
}

struct Writer {
    theme: Theme,
    out: String,
    defs: String,
    ids: u32,
    clipped: bool,
}

/// Appends to the text; writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = write!($out, $($arg)*); }};
}

impl Writer {
    fn ink(&self, token: Token) -> &'static str {
        token.value(self.theme)
    }

    /// Writes a rectangle of the size `area`, which may join several rectangles that begin with `rect`.
    fn rect(&mut self, rect: &Primitive, area: Area) {
        let &Primitive::Rect {
            fill,
            stroke,
            radius,
            opacity,
            ..
        } = rect
        else {
            return;
        };
        let fill = fill.map_or("none", |token| self.ink(token));
        put!(
            self.out,
            "<rect {} fill=\"{fill}\"{}",
            box_of(area),
            self.stroke(stroke)
        );
        if radius > 0 {
            put!(self.out, " rx=\"{radius}\"");
        }
        put!(self.out, "{}/>", faint(opacity));
    }

    fn primitive(&mut self, scene: &Scene, primitive: &Primitive) {
        match primitive {
            &Primitive::Rect { area, .. } => self.rect(primitive, area),
            Primitive::Path {
                steps,
                fill,
                stroke,
                opacity,
            } => {
                let fill = fill.map_or("none", |token| self.ink(token));
                let path = path_of(&scene.steps[steps.start as usize..steps.end as usize]);
                put!(
                    self.out,
                    "<path d=\"{path}\" fill=\"{fill}\"{}{}/>",
                    self.stroke(*stroke),
                    faint(*opacity)
                );
            }
            Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ground,
                halo,
            } => {
                let scale = f64::from(*size) / GLYPH_BOX;
                let (left, top) = (
                    x.to_f64() - f64::from(*size) / 2.0,
                    y.to_f64() - f64::from(*size) / 2.0,
                );
                put!(
                    self.out,
                    "<g transform=\"translate({left:.2} {top:.2}) scale({scale:.4})\">"
                );
                let (ink, ground) = (self.ink(*ink), self.ink(*ground));
                if let Some(part) = glyph
                    .parts()
                    .first()
                    .filter(|part| *halo && !matches!(part.paint, Paint::Stroke(_)))
                {
                    let width = 2.0 * GLYPH_HALO_PX / scale;
                    put!(
                        self.out,
                        "<path d=\"{}\" fill=\"{ground}\" stroke=\"{ground}\" stroke-width=\"{width:.2}\"/>",
                        part.path
                    );
                }
                for part in glyph.parts() {
                    match part.paint {
                        Paint::Fill => put!(self.out, "<path d=\"{}\" fill=\"{ink}\"/>", part.path),
                        Paint::Ground => {
                            put!(self.out, "<path d=\"{}\" fill=\"{ground}\"/>", part.path)
                        }
                        Paint::Stroke(width) => put!(
                            self.out,
                            "<path d=\"{}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"{}\"/>",
                            part.path,
                            f64::from(width) / 100.0
                        ),
                    }
                }
                self.out.push_str("</g>");
            }
            Primitive::Hatch {
                area,
                hatch,
                anchor,
            } => {
                let style = hatch.style(self.theme);
                let (pitch, width, ink) = (style.pitch, style.width, self.ink(style.ink));
                self.ids += 1;
                let turn = match style.pattern {
                    Pattern::Rising | Pattern::Cross => 45,
                    Pattern::Falling => -45,
                    Pattern::Level | Pattern::Dots => 0,
                };
                let lines = match style.pattern {
                    Pattern::Rising | Pattern::Falling => {
                        format!("<rect width=\"{width}\" height=\"{pitch}\"/>")
                    }
                    Pattern::Cross => {
                        format!(
                            "<rect width=\"{width}\" height=\"{pitch}\"/><rect width=\"{pitch}\" height=\"{width}\"/>"
                        )
                    }
                    Pattern::Level => {
                        format!("<rect y=\"1\" width=\"{pitch}\" height=\"{width}\"/>")
                    }
                    Pattern::Dots => {
                        format!("<rect x=\"1\" y=\"1\" width=\"{width}\" height=\"{width}\"/>")
                    }
                };
                put!(
                    self.defs,
                    "<pattern id=\"h{}\" width=\"{pitch}\" height=\"{pitch}\" patternUnits=\"userSpaceOnUse\" \
                     patternTransform=\"translate({anchor} {}) rotate({turn})\" fill=\"{ink}\">{lines}</pattern>",
                    self.ids,
                    area.y
                );
                put!(
                    self.out,
                    "<rect {} fill=\"url(#h{})\"{}/>",
                    box_of(*area),
                    self.ids,
                    faint(style.opacity)
                );
            }
            Primitive::Text(line) => self.text(line),
            Primitive::Plate {
                area,
                count,
                ground,
                foot,
            } => {
                put!(
                    self.out,
                    "<rect {} fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\" rx=\"1\"/>",
                    box_of(*area),
                    self.ink(Token::Ground4),
                    self.ink(*ground)
                );
                let (x, y) = (area.x + area.w.half(), area.y + area.h.half() + Px(166));
                put!(
                    self.out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"10\" font-weight=\"600\" text-anchor=\"middle\" fill=\"{}\">{count}</text>",
                    self.ink(Token::Text1)
                );
                let mut left = area.x;
                for (&width, ink) in foot.iter().zip(FOOT_INKS) {
                    let part = Area {
                        x: left,
                        y: area.bottom() - Px::whole(2),
                        w: width,
                        h: Px::whole(2),
                    };
                    if width > Px::ZERO {
                        put!(
                            self.out,
                            "<rect {} fill=\"{}\"/>",
                            box_of(part),
                            self.ink(ink)
                        );
                    }
                    left = left + width;
                }
            }
            Primitive::Strip {
                bottom,
                columns,
                inks,
                opacity,
            } => {
                for (level, &ink) in inks.iter().enumerate() {
                    let mut path = String::new();
                    for column in &scene.columns[columns.start as usize..columns.end as usize] {
                        let below: i32 = column.heights[..level]
                            .iter()
                            .map(|&height| i32::from(height))
                            .sum();
                        let height = i32::from(column.heights[level]);
                        if height > 0 {
                            let y = *bottom - Px::whole(below);
                            put!(
                                path,
                                "M{} {y}v-{height}h{STRIP_COLUMN_PX}v{height}z",
                                column.x
                            );
                        }
                    }
                    put!(
                        self.out,
                        "<path d=\"{path}\" fill=\"{}\"{}/>",
                        self.ink(ink),
                        faint(*opacity)
                    );
                }
            }
            Primitive::Clip(area) => {
                self.ids += 1;
                put!(
                    self.defs,
                    "<clipPath id=\"c{}\"><rect {}/></clipPath>",
                    self.ids,
                    box_of(*area)
                );
                put!(self.out, "<g clip-path=\"url(#c{})\">", self.ids);
                self.clipped = true;
            }
            Primitive::Unclip => {
                if std::mem::take(&mut self.clipped) {
                    self.out.push_str("</g>");
                }
            }
        }
    }

    fn stroke(&self, stroke: Option<Stroke>) -> String {
        let Some(stroke) = stroke else {
            return String::new();
        };
        let dash = stroke.dash.map_or(String::new(), |(on, off)| {
            format!(" stroke-dasharray=\"{on} {off}\"")
        });
        format!(
            " stroke=\"{}\" stroke-width=\"{}\"{dash}",
            self.ink(stroke.ink),
            stroke.width
        )
    }

    fn text(&mut self, line: &TextLine) {
        put!(
            self.out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"",
            line.x,
            line.y,
            line.size,
            self.ink(line.ink)
        );
        if line.weight != 400 {
            put!(self.out, " font-weight=\"{}\"", line.weight);
        }
        self.out.push_str(match line.align {
            Align::Start => "",
            Align::Middle => " text-anchor=\"middle\"",
            Align::End => " text-anchor=\"end\"",
        });
        let reckoned = text_width(&line.text, line.size, line.weight);
        // SVG cannot squeeze only text that a face makes too wide. A text without spare room gets its calculated width
        // in every face.
        let tight = line.max_width.filter(|&most| most < reckoned + SPARE);
        if let Some(width) = tight.map(|most| most.min(reckoned)) {
            put!(
                self.out,
                " textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\""
            );
        }
        if let Some(halo) = line.halo {
            put!(
                self.out,
                " stroke=\"{}\" stroke-width=\"3\" paint-order=\"stroke\" stroke-linejoin=\"round\"",
                self.ink(halo)
            );
        }
        self.out.push('>');
        escape(&line.text, &mut self.out);
        self.out.push_str("</text>");
    }
}

/// Returns the area of two rectangles joined, if painting it looks the same as painting one after the other. So a row
/// of ticks becomes one bar.
fn joined(first: &Primitive, so_far: Area, next: &Primitive) -> Option<Area> {
    let plain = |primitive: &Primitive| match *primitive {
        Primitive::Rect {
            area,
            fill,
            stroke: None,
            radius: 0,
            opacity: 100,
        } => Some((area, fill)),
        _ => None,
    };
    let ((_, fill), (area, next_fill)) = (plain(first)?, plain(next)?);
    let end = so_far.x + so_far.w;
    let is_beside = so_far.x <= area.x && area.x <= end;
    let is_joined = fill == next_fill && (so_far.y, so_far.h) == (area.y, area.h) && is_beside;
    is_joined.then(|| Area {
        w: end.max(area.x + area.w) - so_far.x,
        ..so_far
    })
}

fn box_of(area: Area) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        area.x, area.y, area.w, area.h
    )
}

fn faint(opacity: u8) -> String {
    if opacity == 100 {
        String::new()
    } else {
        format!(" opacity=\"{}\"", f64::from(opacity) / 100.0)
    }
}

fn path_of(steps: &[Step]) -> String {
    let mut path = String::new();
    let mut at = None;
    for step in steps {
        match *step {
            Step::Move(x, y) => put!(path, "M{x} {y}"),
            Step::Line(x, y) => match at {
                Some((_, level)) if level == y => put!(path, "H{x}"),
                Some((column, _)) if column == x => put!(path, "V{y}"),
                _ => put!(path, "L{x} {y}"),
            },
            Step::Curve(a, b, c, d, x, y) => put!(path, "C{a} {b} {c} {d} {x} {y}"),
            Step::Close => path.push('Z'),
        }
        at = match *step {
            Step::Move(x, y) | Step::Line(x, y) | Step::Curve(.., x, y) => Some((x, y)),
            Step::Close => None,
        };
    }
    path
}

/// Appends a text, escaped for XML: text of the cluster is hostile, and control characters are not allowed in XML.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::TextLine;

    #[test]
    fn text_of_the_cluster_stays_text() {
        let line = TextLine {
            x: Px::ZERO,
            y: Px::ZERO,
            text: "<script>\u{0}&\"".into(),
            size: 11,
            weight: 400,
            ink: Token::Text1,
            halo: None,
            align: Align::Start,
            max_width: None,
        };
        let scene = Scene {
            primitives: vec![Primitive::Text(line)],
            ..Scene::default()
        };
        let text = svg(&scene, Theme::Light);
        assert!(text.contains("&lt;script&gt;\u{fffd}&amp;&quot;") && !text.contains("<script"));
    }

    #[test]
    fn ticks_side_by_side_are_one_bar_and_nothing_else_is() {
        let tick = |x: i32, ink| Primitive::Rect {
            area: Area {
                x: Px::whole(x),
                y: Px::ZERO,
                w: Px::whole(2),
                h: Px::whole(4),
            },
            fill: Some(ink),
            stroke: None,
            radius: 0,
            opacity: 100,
        };
        let (one, other) = (Token::Added, Token::Deleted);
        let scene = Scene {
            primitives: vec![
                tick(0, one),
                tick(1, one),
                tick(3, one),
                tick(6, one),
                tick(8, other),
                tick(7, other),
            ],
            ..Scene::default()
        };
        let text = svg(&scene, Theme::Light);
        let rects: Vec<&str> = text.split("<rect ").skip(1).collect();
        let spans: Vec<&str> = rects
            .iter()
            .map(|rect| &rect[..rect.find(" y").unwrap()])
            .collect();
        assert_eq!(spans, ["x=\"0\"", "x=\"6\"", "x=\"8\"", "x=\"7\""]);
        assert!(rects[0].contains("width=\"5\""), "{}", rects[0]);
    }

    #[test]
    fn a_path_writes_only_changed_coordinates() {
        let px = Px::whole;
        let steps = [
            Step::Move(px(1), px(2)),
            Step::Line(px(5), px(2)),
            Step::Line(px(5), px(9)),
            Step::Line(px(6), px(8)),
            Step::Close,
            Step::Line(px(6), px(3)),
        ];
        assert_eq!(path_of(&steps), "M1 2H5V9L6 8ZL6 3");
    }
}
