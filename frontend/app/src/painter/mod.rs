//! Draws a display list on a canvas. Knows primitives and colours, not what they mean.
//!
//! ```text
//!   primitives ─┬─► rectangles, glyphs, plates, strips ─► marks ─┬─► few: calls to the canvas
//!               │                                                └─► thousands: pixels in memory, one call
//!               └─► outlines, paths, hatches, texts, clips ─► calls to the canvas
//! ```
//! Everything is drawn in device px with the identity transform, so that edges lie on whole device px. Glyphs are
//! drawn once per size and colours into sprites, hatches once into patterns; both are dropped when the theme or the
//! resolution changes. Colours are cached strings, set only when they differ from the last one.

mod hatches;
mod marks;
mod sprites;

use std::collections::BTreeMap;

use js_sys::{Array, Object, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_timeline::scene::{Align, Area, Hatch, Px, Step, Stroke, TextLine};
use watchscope_timeline::{Primitive, Scene, Theme, Token};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, Document, HtmlCanvasElement};

use self::marks::{Dense, Mark};
use self::sprites::{Sprite, SpriteKey};
use crate::decimal::decimal;

/// The sans face of the page; the same list as in styles.css.
const SANS: &str = "-apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";

/// Where colours come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Dark or light.
    pub theme: Theme,
    /// The person chose the system's few colours (`forced-colors: active`).
    pub forced: bool,
}

impl Palette {
    /// A token's colour as CSS.
    #[must_use]
    pub fn css(self, token: Token) -> &'static str {
        if !self.forced {
            return token.value(self.theme);
        }
        match token {
            Token::Ground0
            | Token::Ground1
            | Token::Ground2
            | Token::Ground3
            | Token::Ground4
            | Token::StreamFill
            | Token::LostGround
            | Token::DivergenceGround
            | Token::GhostFill
            | Token::SelectGround
            | Token::Line1
            | Token::Expired
            | Token::OnFill => "Canvas",
            Token::Divergence | Token::Error | Token::Lost | Token::Select | Token::Focus => {
                "Highlight"
            }
            Token::Line2 | Token::NotLoaded => "GrayText",
            _ => "CanvasText",
        }
    }
}

/// Draws on one canvas. Caches at most one sprite per glyph, size and pair of colours, and one pattern per hatch.
#[derive(Debug)]
pub struct Painter {
    document: Document,
    context: CanvasRenderingContext2d,
    scale: f64,
    palette: Palette,
    inks: Vec<JsValue>,
    sprites: BTreeMap<SpriteKey, Sprite>,
    hatches: BTreeMap<Hatch, CanvasPattern>,
    fill: Option<Token>,
    font: Option<(u8, u16)>,
    alpha: u8,
    digit_advance: Option<f64>,
    marks: Vec<Mark>,
    dense: Dense,
}

impl Painter {
    /// A painter for `canvas`, `scale` device px to a CSS px. `None` if the browser gives no 2D context.
    #[must_use]
    pub fn new(canvas: &HtmlCanvasElement, scale: f64, palette: Palette) -> Option<Self> {
        // Opaque: the browser need not mix it with what lies under it.
        let options = Object::new();
        Reflect::set(&options, &JsValue::from_str("alpha"), &JsValue::FALSE).ok()?;
        let context = canvas
            .get_context_with_context_options("2d", &options)
            .ok()??
            .dyn_into()
            .ok()?;
        let document = canvas.owner_document()?;
        let mut painter = Self {
            document,
            context,
            scale,
            palette,
            inks: Vec::new(),
            sprites: BTreeMap::new(),
            hatches: BTreeMap::new(),
            fill: None,
            font: None,
            alpha: 100,
            digit_advance: None,
            marks: Vec::new(),
            dense: Dense::default(),
        };
        painter.set(scale, palette);
        Some(painter)
    }

    /// Another resolution or theme.
    pub fn set(&mut self, scale: f64, palette: Palette) {
        if self.scale == scale && self.palette == palette && !self.inks.is_empty() {
            return;
        }
        self.scale = scale;
        self.palette = palette;
        self.inks = Token::ALL
            .iter()
            .map(|&token| JsValue::from_str(palette.css(token)))
            .collect();
        self.sprites.clear();
        self.hatches.clear();
        self.digit_advance = None;
        self.dense = Dense::default();
    }

    /// Fills the whole canvas, in CSS px, with a ground.
    pub fn clear(&mut self, width_px: f64, height_px: f64, ground: Token) {
        self.context.set_global_alpha(1.0);
        set_fill(&self.context, &self.inks[ground as usize]);
        let (width, height) = (width_px * self.scale, height_px * self.scale);
        self.context
            .fill_rect(0.0, 0.0, width.ceil(), height.ceil());
    }

    /// Draws a scene over whatever the canvas holds, its top left corner at (`x_px`, `y_px`).
    pub fn paint(&mut self, scene: &Scene, x_px: f64, y_px: f64) {
        // A canvas forgets its state when its size changes.
        (self.fill, self.font, self.alpha) = (None, None, 100);
        self.context.set_global_alpha(1.0);
        self.context.set_text_baseline("alphabetic");
        let origin = ((x_px * self.scale).round(), (y_px * self.scale).round());
        self.origin(origin);
        for primitive in &scene.primitives {
            if !self.collect_marks(scene, primitive) {
                self.flush_marks(origin);
                self.primitive(scene, primitive, origin);
            }
        }
        self.flush_marks(origin);
        self.origin((0.0, 0.0));
    }

    fn primitive(&mut self, scene: &Scene, primitive: &Primitive, origin: (f64, f64)) {
        match primitive {
            Primitive::Rect {
                area,
                fill,
                stroke,
                radius,
                opacity,
            } => {
                self.alpha(*opacity);
                self.rect(*area, *fill, *stroke, *radius);
            }
            Primitive::Path {
                steps,
                fill,
                stroke,
                opacity,
            } => {
                self.alpha(*opacity);
                self.path(
                    &scene.steps[steps.start as usize..steps.end as usize],
                    *fill,
                    *stroke,
                );
            }
            Primitive::Hatch {
                area,
                hatch,
                anchor,
            } => self.hatch(*area, *hatch, *anchor, origin),
            Primitive::Text(line) => {
                self.alpha(100);
                self.text(line);
            }
            Primitive::Clip(area) => {
                self.context.save();
                self.context.begin_path();
                let (x0, y0, x1, y1) = self.edges(*area);
                self.context.rect(x0, y0, x1 - x0, y1 - y0);
                self.context.clip();
            }
            Primitive::Unclip => {
                self.context.restore();
                (self.fill, self.font, self.alpha) = (None, None, u8::MAX);
            }
            // Taken by `marks`.
            Primitive::Glyph { .. } | Primitive::Plate { .. } | Primitive::Strip { .. } => {}
        }
    }

    fn rect(&mut self, area: Area, fill: Option<Token>, stroke: Option<Stroke>, radius: u8) {
        let (x0, y0, x1, y1) = self.edges(area);
        if let Some(ink) = fill {
            self.ink(ink);
            if radius == 0 {
                self.context.fill_rect(x0, y0, x1 - x0, y1 - y0);
            } else {
                self.round(x0, y0, x1, y1, radius);
                self.context.fill();
            }
        }
        if let Some(stroke) = stroke {
            let half = self.pen(stroke) / 2.0;
            // On the edge, moved inwards by half so that the line fills whole device px.
            let (x0, y0, x1, y1) = (x0 + half, y0 + half, x1 - half, y1 - half);
            if radius == 0 {
                self.context.stroke_rect(x0, y0, x1 - x0, y1 - y0);
            } else {
                self.round(x0, y0, x1, y1, radius);
                self.context.stroke();
            }
        }
    }

    fn round(&self, x0: f64, y0: f64, x1: f64, y1: f64, radius: u8) {
        let radius = (f64::from(radius) * self.scale)
            .min((x1 - x0) / 2.0)
            .min((y1 - y0) / 2.0)
            .max(0.0);
        let path = &self.context;
        path.begin_path();
        path.move_to(x0 + radius, y0);
        // `arcTo` fails on a negative radius only.
        let _ = path.arc_to(x1, y0, x1, y1, radius);
        let _ = path.arc_to(x1, y1, x0, y1, radius);
        let _ = path.arc_to(x0, y1, x0, y0, radius);
        let _ = path.arc_to(x0, y0, x1, y0, radius);
        path.close_path();
    }

    fn path(&mut self, steps: &[Step], fill: Option<Token>, stroke: Option<Stroke>) {
        let shift = stroke.map_or(0.0, |stroke| self.pen(stroke) % 2.0 / 2.0);
        let at = |px: Px| (px.to_f64() * self.scale).round() + shift;
        let free = |px: Px| px.to_f64() * self.scale + shift;
        self.context.begin_path();
        for step in steps {
            match *step {
                Step::Move(x, y) => self.context.move_to(at(x), at(y)),
                Step::Line(x, y) => self.context.line_to(at(x), at(y)),
                Step::Curve(a, b, c, d, x, y) => {
                    self.context
                        .bezier_curve_to(free(a), free(b), free(c), free(d), at(x), at(y))
                }
                Step::Close => self.context.close_path(),
            }
        }
        if let Some(ink) = fill {
            self.ink(ink);
            self.context.fill();
        }
        if stroke.is_some() {
            self.context.stroke();
        }
    }

    fn hatch(&mut self, area: Area, hatch: Hatch, anchor: Px, origin: (f64, f64)) {
        if !self.hatches.contains_key(&hatch) {
            let Some(pattern) = self.pattern(hatch) else {
                return;
            };
            self.hatches.insert(hatch, pattern);
        }
        let (x0, y0, x1, y1) = self.edges(area);
        let anchor = self.at(anchor);
        self.alpha(hatch.style(self.palette.theme).opacity);
        self.origin((origin.0 + anchor, origin.1 + y0));
        self.context
            .set_fill_style_canvas_pattern(&self.hatches[&hatch]);
        self.fill = None;
        self.context.fill_rect(x0 - anchor, 0.0, x1 - x0, y1 - y0);
        self.origin(origin);
    }

    fn text(&mut self, line: &TextLine) {
        self.font(line.size, line.weight);
        self.context.set_text_align(match line.align {
            Align::Start => "left",
            Align::Middle => "center",
            Align::End => "right",
        });
        let (x, y) = (self.at(line.x), self.at(line.y));
        let most = line.max_width.map(|px| px.to_f64() * self.scale);
        if let Some(halo) = line.halo {
            set_stroke(&self.context, &self.inks[halo as usize]);
            self.context.set_line_width(3.0 * self.scale);
            self.context.set_line_join("round");
            // Text fails to draw only without a context.
            let _ = match most {
                Some(most) => self
                    .context
                    .stroke_text_with_max_width(&line.text, x, y, most),
                None => self.context.stroke_text(&line.text, x, y),
            };
            self.context.set_line_join("miter");
        }
        self.ink(line.ink);
        let _ = match most {
            Some(most) => self
                .context
                .fill_text_with_max_width(&line.text, x, y, most),
            None => self.context.fill_text(&line.text, x, y),
        };
    }

    fn ink(&mut self, ink: Token) {
        if self.fill != Some(ink) {
            set_fill(&self.context, &self.inks[ink as usize]);
            self.fill = Some(ink);
        }
    }

    fn alpha(&mut self, percent: u8) {
        if self.alpha != percent {
            self.context.set_global_alpha(f64::from(percent) / 100.0);
            self.alpha = percent;
        }
    }

    fn font(&mut self, size: u8, weight: u16) {
        if self.font != Some((size, weight)) {
            self.context.set_font(&font(size, weight, self.scale));
            self.font = Some((size, weight));
        }
    }

    /// Sets the line's style; returns its width in device px.
    fn pen(&self, stroke: Stroke) -> f64 {
        let width = (stroke.width.to_f64() * self.scale).round().max(1.0);
        set_stroke(&self.context, &self.inks[stroke.ink as usize]);
        self.context.set_line_width(width);
        let dashes = Array::new();
        if let Some((on, off)) = stroke.dash {
            for length in [on, off] {
                dashes.push(&JsValue::from_f64(f64::from(length) * self.scale));
            }
        }
        // Only negative lengths are refused.
        let _ = self.context.set_line_dash(&dashes);
        width
    }

    fn origin(&self, (x, y): (f64, f64)) {
        let _ = self.context.set_transform(1.0, 0.0, 0.0, 1.0, x, y);
    }

    /// A coordinate in device px, on a whole one.
    fn at(&self, px: Px) -> f64 {
        (px.to_f64() * self.scale).round()
    }

    /// A length in device px, at least one.
    fn whole(&self, px: Px) -> f64 {
        self.at(px).max(1.0)
    }

    fn edges(&self, area: Area) -> (f64, f64, f64, f64) {
        let (x0, y0) = (self.at(area.x), self.at(area.y));
        let (x1, y1) = (self.at(area.right()), self.at(area.bottom()));
        (x0, y0, x1.max(x0 + 1.0), y1.max(y0 + 1.0))
    }
}

fn font(size: u8, weight: u16, scale: f64) -> String {
    let px = decimal(f64::from(size) * scale, 2);
    format!("{weight} {px}px {SANS}")
}

/// A canvas of so many device px that is not in the document.
#[must_use]
pub fn canvas(document: &Document, width: u32, height: u32) -> Option<HtmlCanvasElement> {
    let canvas: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
    canvas.set_width(width);
    canvas.set_height(height);
    Some(canvas)
}

fn context_of(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok()??.dyn_into().ok()
}

#[expect(
    deprecated,
    reason = "the only setter that takes a cached string, without copying it from wasm each time"
)]
fn set_fill(context: &CanvasRenderingContext2d, ink: &JsValue) {
    context.set_fill_style(ink);
}

#[expect(deprecated, reason = "as set_fill")]
fn set_stroke(context: &CanvasRenderingContext2d, ink: &JsValue) {
    context.set_stroke_style(ink);
}
