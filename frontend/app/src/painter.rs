//! Draws a display list on a canvas. Knows primitives and colours, not what they mean.
//!
//! Everything is drawn in device px with the identity transform, so that edges lie on whole device px. Glyphs are
//! drawn once per size and colours into sprites, hatches once into patterns; both are dropped when the theme or the
//! resolution changes. Colours are cached strings, set only when they differ from the last one.

use std::collections::BTreeMap;

use js_sys::Array;
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_timeline::glyph::{GLYPH_BOX, GLYPH_HALO_PX, Paint};
use watchscope_timeline::scene::{
    Align, Area, FOOT_INKS, Hatch, Pattern, Px, STRIP_COLUMN_PX, Step, Stroke, TextLine,
};
use watchscope_timeline::{Glyph, Primitive, Scene, Theme, Token};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, Document, HtmlCanvasElement, Path2d};

/// The sans face of the page; the same list as in styles.css.
const SANS: &str = "-apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";

/// Room around a glyph's box for its halo, in px.
const SPRITE_MARGIN_PX: f64 = 2.0;

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
            | Token::Expired
            | Token::OnFill => "Canvas",
            Token::Divergence | Token::Error | Token::Lost | Token::Select | Token::Focus => {
                "Highlight"
            }
            Token::Line1 | Token::Line2 | Token::NotLoaded => "GrayText",
            _ => "CanvasText",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SpriteKey {
    glyph: Glyph,
    size: u8,
    ink: Token,
    ground: Token,
    halo: bool,
}

/// Draws on one canvas. Caches at most one sprite per glyph, size and pair of colours, and one pattern per hatch.
#[derive(Debug)]
pub struct Painter {
    document: Document,
    context: CanvasRenderingContext2d,
    scale: f64,
    palette: Palette,
    inks: Vec<JsValue>,
    sprites: BTreeMap<SpriteKey, HtmlCanvasElement>,
    hatches: BTreeMap<Hatch, CanvasPattern>,
    fill: Option<Token>,
    font: Option<(u8, u16)>,
    alpha: u8,
}

impl Painter {
    /// A painter for `canvas`, `scale` device px to a CSS px. `None` if the browser gives no 2D context.
    #[must_use]
    pub fn new(canvas: &HtmlCanvasElement, scale: f64, palette: Palette) -> Option<Self> {
        let context = context_of(canvas)?;
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
            self.primitive(scene, primitive, origin);
        }
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
            &Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ground,
                halo,
            } => {
                self.alpha(100);
                let key = SpriteKey {
                    glyph,
                    size,
                    ink,
                    ground,
                    halo,
                };
                self.glyph(key, x, y);
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
            Primitive::Plate {
                area,
                count,
                ground,
                foot,
            } => {
                self.alpha(100);
                self.plate(*area, *count, *ground, *foot);
            }
            Primitive::Strip {
                bottom,
                columns,
                inks,
                opacity,
            } => {
                self.alpha(*opacity);
                let columns = &scene.columns[columns.start as usize..columns.end as usize];
                let (bottom, wide) = (self.at(*bottom), self.whole(Px::whole(STRIP_COLUMN_PX)));
                // By colour, whole px: four times as many rectangles a frame as in the order of the columns.
                for (level, &ink) in inks.iter().enumerate() {
                    self.ink(ink);
                    for column in columns {
                        let height = f64::from(column.heights[level]);
                        if height > 0.0 {
                            let below: u32 =
                                column.heights[..level].iter().map(|&h| u32::from(h)).sum();
                            let top = bottom - ((f64::from(below) + height) * self.scale).round();
                            let foot = bottom - (f64::from(below) * self.scale).round();
                            self.context
                                .fill_rect(self.at(column.x), top, wide, foot - top);
                        }
                    }
                }
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

    fn glyph(&mut self, key: SpriteKey, x: Px, y: Px) {
        if !self.sprites.contains_key(&key) {
            let Some(sprite) = self.sprite(key) else {
                return;
            };
            self.sprites.insert(key, sprite);
        }
        let sprite = &self.sprites[&key];
        let half = f64::from(sprite.width()) / 2.0;
        // A sprite has whole px on both sides of its centre or a px in its middle; either way it lands on whole px.
        let (left, top) = (
            (x.to_f64() * self.scale - half).round(),
            (y.to_f64() * self.scale - half).round(),
        );
        let _ = self
            .context
            .draw_image_with_html_canvas_element(sprite, left, top);
    }

    fn sprite(&self, key: SpriteKey) -> Option<HtmlCanvasElement> {
        let side_px = f64::from(key.size) + 2.0 * SPRITE_MARGIN_PX;
        let side = (side_px * self.scale).ceil();
        let canvas = canvas(&self.document, side as u32, side as u32)?;
        let context = context_of(&canvas)?;
        let unit = f64::from(key.size) / GLYPH_BOX * self.scale;
        let corner = side / 2.0 - GLYPH_BOX / 2.0 * unit;
        let _ = context.set_transform(unit, 0.0, 0.0, unit, corner, corner);
        let parts = key.glyph.parts();
        if let Some(first) = parts.first().filter(|_| key.halo) {
            let own = match first.paint {
                Paint::Stroke(hundredths) => f64::from(hundredths) / 100.0,
                Paint::Fill | Paint::Ground => 0.0,
            };
            let path = Path2d::new_with_path_string(first.path).ok()?;
            set_stroke(&context, &self.inks[key.ground as usize]);
            context.set_line_join("round");
            context.set_line_width(own + 2.0 * GLYPH_HALO_PX * self.scale / unit);
            context.stroke_with_path(&path);
        }
        context.set_line_join("miter");
        for part in parts {
            let path = Path2d::new_with_path_string(part.path).ok()?;
            match part.paint {
                Paint::Fill => {
                    set_fill(&context, &self.inks[key.ink as usize]);
                    context.fill_with_path_2d(&path);
                }
                Paint::Ground => {
                    set_fill(&context, &self.inks[key.ground as usize]);
                    context.fill_with_path_2d(&path);
                }
                Paint::Stroke(hundredths) => {
                    set_stroke(&context, &self.inks[key.ink as usize]);
                    context.set_line_width(f64::from(hundredths) / 100.0);
                    context.stroke_with_path(&path);
                }
            }
        }
        Some(canvas)
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

    /// A tile that repeats without a seam: its side is a whole number of device px, next to the pitch.
    fn pattern(&self, hatch: Hatch) -> Option<CanvasPattern> {
        let style = hatch.style(self.palette.theme);
        let slanted = matches!(
            style.pattern,
            Pattern::Rising | Pattern::Falling | Pattern::Cross
        );
        let pitch = style.pitch.to_f64() * self.scale;
        let side = if slanted {
            pitch * std::f64::consts::SQRT_2
        } else {
            pitch
        }
        .round()
        .max(2.0);
        let width = style.width.to_f64() * self.scale;
        let tile = canvas(&self.document, side as u32, side as u32)?;
        let context = context_of(&tile)?;
        let ink = &self.inks[style.ink as usize];
        set_fill(&context, ink);
        set_stroke(&context, ink);
        context.set_line_width(width);
        context.begin_path();
        // Three of each, so that the corners of the tile get what the neighbours' lines bring.
        for shift in [-side, 0.0, side] {
            if matches!(style.pattern, Pattern::Rising | Pattern::Cross) {
                context.move_to(shift - side, side * 2.0);
                context.line_to(shift + side * 2.0, -side);
            }
            if matches!(style.pattern, Pattern::Falling | Pattern::Cross) {
                context.move_to(shift - side, -side);
                context.line_to(shift + side * 2.0, side * 2.0);
            }
        }
        context.stroke();
        match style.pattern {
            Pattern::Level => {
                context.fill_rect(0.0, self.scale.round(), side, width.round().max(1.0))
            }
            Pattern::Dots => {
                let dot = width.round().max(1.0);
                context.fill_rect(self.scale.round(), self.scale.round(), dot, dot);
            }
            Pattern::Rising | Pattern::Falling | Pattern::Cross => {}
        }
        self.context
            .create_pattern_with_html_canvas_element(&tile, "repeat")
            .ok()
            .flatten()
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

    fn plate(&mut self, area: Area, count: u32, ground: Token, foot: [Px; 3]) {
        let (x0, y0, x1, y1) = self.edges(area);
        let halo = (GLYPH_HALO_PX * self.scale).round();
        self.ink(ground);
        self.context
            .fill_rect(x0 - halo, y0, x1 - x0 + 2.0 * halo, y1 - y0);
        self.ink(Token::Ground4);
        self.context.fill_rect(x0, y0, x1 - x0, y1 - y0);
        let (mut left, foot_height) = (area.x, self.whole(Px::whole(2)));
        for (width, ink) in foot.into_iter().zip(FOOT_INKS) {
            if width > Px::ZERO {
                self.ink(ink);
                let (from, to) = (self.at(left), self.at(left + width));
                self.context
                    .fill_rect(from, y1 - foot_height, to - from, foot_height);
                left = left + width;
            }
        }
        self.font(10, 600);
        self.context.set_text_align("center");
        self.ink(Token::Text1);
        let baseline = y1 - (3.5 * self.scale).round();
        let _ = self
            .context
            .fill_text(&count.to_string(), (x0 + x1) / 2.0, baseline);
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
            let px = f64::from(size) * self.scale;
            self.context.set_font(&format!("{weight} {px}px {SANS}"));
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
