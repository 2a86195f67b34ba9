//! A scene as SVG: the same display list as the live canvas, as text, with the colours of a theme.

use std::fmt::Write;

use crate::glyph::{GLYPH_BOX, GLYPH_HALO_PX, Paint};
use crate::scene::{
    Align, Area, FOOT_INKS, Pattern, Primitive, Px, STRIP_COLUMN_PX, Scene, Step, Stroke, TextLine,
};
use crate::tokens::{Theme, Token};

/// The faces of the page.
const SANS: &str =
    "-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',Arial,system-ui,sans-serif";

/// Writes a scene as a whole SVG document.
#[must_use]
pub fn svg(scene: &Scene, theme: Theme) -> String {
    let mut out = Writer {
        theme,
        out: String::new(),
        defs: String::new(),
        ids: 0,
        clipped: false,
    };
    for primitive in &scene.primitives {
        out.primitive(scene, primitive);
    }
    let (w, h) = (scene.width, scene.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{SANS}\" style=\"font-variant-numeric:tabular-nums;background:{}\"><defs>{}</defs>{}</svg>",
        Token::Ground0.value(theme),
        out.defs,
        out.out
    )
}

struct Writer {
    theme: Theme,
    out: String,
    defs: String,
    ids: u32,
    clipped: bool,
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = write!($out, $($arg)*); }};
}

impl Writer {
    fn ink(&self, token: Token) -> &'static str {
        token.value(self.theme)
    }

    fn primitive(&mut self, scene: &Scene, primitive: &Primitive) {
        match primitive {
            Primitive::Rect {
                area,
                fill,
                stroke,
                radius,
                opacity,
            } => {
                let fill = fill.map_or("none", |token| self.ink(token));
                put!(
                    self.out,
                    "<rect {} fill=\"{fill}\"{}",
                    box_of(*area),
                    self.stroke(*stroke)
                );
                if *radius > 0 {
                    put!(self.out, " rx=\"{radius}\"");
                }
                put!(self.out, "{}/>", faint(*opacity));
            }
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
        let anchor = match line.align {
            Align::Start => "start",
            Align::Middle => "middle",
            Align::End => "end",
        };
        put!(
            self.out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"",
            line.x,
            line.y,
            line.size,
            line.weight,
            self.ink(line.ink)
        );
        if let Some(width) = line.max_width.filter(|&width| is_wider(line, width)) {
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

/// Whether a text is reckoned wider than it may be.
fn is_wider(line: &TextLine, width: Px) -> bool {
    crate::format::text_width(&line.text, line.size, line.weight) > width
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
    for step in steps {
        match step {
            Step::Move(x, y) => put!(path, "M{x} {y}"),
            Step::Line(x, y) => put!(path, "L{x} {y}"),
            Step::Curve(a, b, c, d, x, y) => put!(path, "C{a} {b} {c} {d} {x} {y}"),
            Step::Close => path.push('Z'),
        }
    }
    path
}

/// Text of the cluster is hostile; control characters are no XML at all.
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
}
