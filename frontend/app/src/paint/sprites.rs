//! Sprites of marks that only the browser can draw: glyphs, digits, texts, slanted and bent lines, the tiles of
//! hatches. Each is drawn once on a hidden canvas, read back, and then only copied.

use js_sys::Array;
use wasm_bindgen::JsValue;
use watchscope_model::fnv;
use watchscope_timeline::glyph::{GLYPH_BOX, GLYPH_HALO_PX, Paint};
use watchscope_timeline::scene::{Align, Hatch, Pattern, Px, Step, Stroke, TextLine};
use watchscope_timeline::{Glyph, Token};
use web_sys::{CanvasRenderingContext2d, Document, HtmlCanvasElement, Path2d};

use super::bitmap::Bitmap;
use super::canvas::{context_of, hidden_canvas};
use super::palette::Palette;
use crate::decimal::decimal;

/// The sans face of the page; the same list as in styles.css.
const SANS: &str = "-apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
/// Room around a glyph's box for its halo, in px.
const MARGIN_PX: f64 = 2.0;
/// Width of the outline around a text, in px.
const TEXT_HALO_PX: f64 = 3.0;
/// Size and weight of the count in a plate.
const COUNT_FONT: (u8, u16) = (10, 600);
/// Sizes and weights that most texts of a picture have.
const TEXT_FONTS: [(u8, u16); 2] = [(11, 400), (11, 600)];
/// The most pixels of all sprites: 16 MiB. Above it all sprites are dropped.
const MOST_PIXELS: usize = 4 << 20;

/// A picture of a mark, with the offset of its left top corner from the mark's position.
#[derive(Debug, Default)]
pub(super) struct Sprite {
    pub(super) bitmap: Bitmap,
    pub(super) dx: i32,
    pub(super) dy: i32,
}

/// The sprites, and the canvas that draws them.
#[derive(Debug)]
pub(super) struct Sprites {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    scale: f64,
    palette: Palette,
    inks: Vec<JsValue>,
    /// The key of each sprite, as bytes, and the sprite.
    known: Vec<(Box<[u8]>, Sprite)>,
    /// Hashes of the keys in rising order, with the sprites' places.
    order: Vec<(u64, u32)>,
    pixels: usize,
    /// The place of the last glyph, since equal glyphs come in runs.
    last_glyph: usize,
    digits: [Option<usize>; 10],
    digit_advance: f64,
}

impl Sprites {
    pub(super) fn new(document: &Document, scale: f64, palette: Palette) -> Option<Self> {
        let canvas = hidden_canvas(document, 64, 64)?;
        // A canvas that is read back often is best kept in memory.
        let context = context_of(&canvas, "willReadFrequently", true)?;
        let mut sprites = Self {
            canvas,
            context,
            scale,
            palette,
            inks: Vec::new(),
            known: Vec::new(),
            order: Vec::new(),
            pixels: 0,
            last_glyph: 0,
            digits: [None; 10],
            digit_advance: 0.0,
        };
        sprites.set(scale, palette);
        Some(sprites)
    }

    /// Sets another resolution or theme; all sprites are drawn anew when they are needed.
    pub(super) fn set(&mut self, scale: f64, palette: Palette) {
        (self.scale, self.palette) = (scale, palette);
        let inks = Token::ALL.iter();
        self.inks = inks
            .map(|&token| JsValue::from_str(palette.css(token)))
            .collect();
        self.forget();
        self.context
            .set_font(&self.font(COUNT_FONT.0, COUNT_FONT.1));
        let width = self.context.measure_text("0").map(|text| text.width());
        self.digit_advance = width.unwrap_or(f64::from(COUNT_FONT.0) * scale * 0.6);
    }

    /// Makes the browser look up the fonts of texts, which takes some milliseconds each.
    pub(super) fn warm_up(&mut self) {
        for (size, weight) in TEXT_FONTS {
            self.context.set_font(&self.font(size, weight));
            // Fails only without a context.
            let _ = self.context.fill_text("0", 0.0, 0.0);
        }
    }

    /// Returns the tokens' colours as pixels. The browser draws them, so that the system's colours get their values
    /// too.
    pub(super) fn colours(&mut self) -> Vec<u32> {
        let count = self.inks.len() as i32;
        self.begin(count, 1);
        for place in 0..count {
            self.fill_with(Token::ALL[place as usize]);
            self.context.fill_rect(f64::from(place), 0.0, 1.0, 1.0);
        }
        let mut colours = self.read(count, 1).pixels().to_vec();
        colours.resize(count as usize, 0);
        colours
    }

    /// Returns the advance of a digit of a count, in device px; all digits have the same.
    pub(super) fn digit_advance(&self) -> f64 {
        self.digit_advance
    }

    /// Returns the sprite of a digit of a count, relative to the middle of its foot.
    pub(super) fn digit(&mut self, digit: usize) -> &Sprite {
        let place = match self.digits[digit] {
            Some(place) => place,
            None => {
                let sprite = self.draw_digit(digit as u8);
                let place = self.keep(&[b'd', digit as u8], sprite);
                self.digits[digit] = Some(place);
                place
            }
        };
        &self.known[place].1
    }

    /// Returns the sprite of a glyph, relative to its centre.
    pub(super) fn glyph(
        &mut self,
        glyph: Glyph,
        size: u8,
        ink: Token,
        ground: Token,
        halo: bool,
    ) -> &Sprite {
        let key = [
            b'g',
            glyph as u8,
            size,
            ink as u8,
            ground as u8,
            u8::from(halo),
        ];
        let is_last = self
            .known
            .get(self.last_glyph)
            .is_some_and(|(last, _)| **last == key);
        if !is_last {
            self.last_glyph = self.find_or_draw(&key, |sprites| {
                sprites.draw_glyph(glyph, size, ink, ground, halo)
            });
        }
        &self.known[self.last_glyph].1
    }

    /// Returns the sprite of a line of text, relative to its x and baseline.
    pub(super) fn text(&mut self, line: &TextLine) -> &Sprite {
        let most = line.max_width.map_or(-1, |px| px.0);
        let halo = line.halo.map_or(u8::MAX, |halo| halo as u8);
        let mut key = vec![
            b't',
            line.size,
            line.ink as u8,
            halo,
            line.align as u8,
            (line.weight / 10) as u8,
        ];
        key.extend(most.to_le_bytes());
        key.extend(line.text.as_bytes());
        let place = self.find_or_draw(&key, |sprites| sprites.draw_text(line));
        &self.known[place].1
    }

    /// Returns the tile of a hatch. It repeats without a seam, since its side is a whole number of device px.
    pub(super) fn hatch(&mut self, hatch: Hatch) -> &Sprite {
        let key = [b'h', hatch as u8];
        let place = self.find_or_draw(&key, |sprites| sprites.draw_hatch(hatch));
        &self.known[place].1
    }

    /// Returns the picture of a path and its left top corner on the canvas; `origin` is the scene's.
    pub(super) fn path(
        &mut self,
        steps: &[Step],
        fill: Option<Token>,
        stroke: Option<Stroke>,
        opacity: u8,
        origin: (i32, i32),
    ) -> (&Bitmap, i32, i32) {
        let width = stroke.map_or(0.0, |stroke| self.width(stroke));
        let shift = width % 2.0 / 2.0;
        let at = |px: Px| (px.to_f64() * self.scale).round() + shift;
        let free = |px: Px| px.to_f64() * self.scale + shift;
        // The path's beginning, on whole px, so that equal paths share a sprite wherever they stand.
        let (x0, y0) = match steps.first() {
            Some(Step::Move(x, y)) => (at(*x).floor(), at(*y).floor()),
            _ => (0.0, 0.0),
        };
        let [mut left, mut top, mut right, mut bottom] = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
        let mut put = |x: f64, y: f64| {
            (left, top) = (left.min(x), top.min(y));
            (right, bottom) = (right.max(x), bottom.max(y));
            (x, y)
        };
        // The numbers of each step, relative to the beginning.
        let points: Vec<[f64; 6]> = steps
            .iter()
            .map(|step| match *step {
                Step::Move(x, y) | Step::Line(x, y) => {
                    let (x, y) = put(at(x) - x0, at(y) - y0);
                    [x, y, 0.0, 0.0, 0.0, 0.0]
                }
                Step::Curve(a, b, c, d, x, y) => {
                    let (a, b) = put(free(a) - x0, free(b) - y0);
                    let (c, d) = put(free(c) - x0, free(d) - y0);
                    let (x, y) = put(at(x) - x0, at(y) - y0);
                    [a, b, c, d, x, y]
                }
                Step::Close => [0.0; 6],
            })
            .collect();
        let ink = |ink: Option<Token>| ink.map_or(u8::MAX, |ink| ink as u8);
        let (on, off) = stroke.and_then(|stroke| stroke.dash).unwrap_or((0, 0));
        let pen = ink(stroke.map(|stroke| stroke.ink));
        let mut key = vec![b'p', ink(fill), pen, width as u8, on, off, opacity];
        for (step, numbers) in steps.iter().zip(&points) {
            key.push(match step {
                Step::Move(..) => b'm',
                Step::Line(..) => b'l',
                Step::Curve(..) => b'c',
                Step::Close => b'z',
            });
            for number in numbers {
                key.extend(((number * 64.0) as i32).to_le_bytes());
            }
        }
        let place = self.find_or_draw(&key, |sprites| {
            // Mitres reach beyond the points.
            let (dx, dy) = (
                (left - 2.0 * width).floor() - 1.0,
                (top - 2.0 * width).floor() - 1.0,
            );
            let size = (
                (right + 2.0 * width - dx).ceil() as i32 + 1,
                (bottom + 2.0 * width - dy).ceil() as i32 + 1,
            );
            sprites.begin(size.0, size.1);
            let context = &sprites.context;
            context.set_global_alpha(f64::from(opacity) / 100.0);
            context.begin_path();
            for (step, &[a, b, c, d, x, y]) in steps.iter().zip(&points) {
                match step {
                    Step::Move(..) => context.move_to(a - dx, b - dy),
                    Step::Line(..) => context.line_to(a - dx, b - dy),
                    Step::Curve(..) => {
                        context.bezier_curve_to(a - dx, b - dy, c - dx, d - dy, x - dx, y - dy)
                    }
                    Step::Close => context.close_path(),
                }
            }
            if let Some(ink) = fill {
                sprites.fill_with(ink);
                context.fill();
            }
            if let Some(stroke) = stroke {
                sprites.stroke_with(stroke.ink, width);
                let dashes = Array::new();
                if stroke.dash.is_some() {
                    for length in [on, off] {
                        dashes.push(&JsValue::from_f64(f64::from(length) * sprites.scale));
                    }
                }
                // Only negative lengths are refused.
                let _ = context.set_line_dash(&dashes);
                context.stroke();
                let _ = context.set_line_dash(&Array::new());
            }
            sprites.take(size.0, size.1, dx as i32, dy as i32)
        });
        let sprite = &self.known[place].1;
        let (x, y) = (x0 as i32 + origin.0, y0 as i32 + origin.1);
        (&sprite.bitmap, x + sprite.dx, y + sprite.dy)
    }

    /// Returns the place of the sprite with this key; draws it if there is none.
    fn find_or_draw(&mut self, key: &[u8], draw: impl FnOnce(&mut Self) -> Sprite) -> usize {
        match self.find(key) {
            Some(place) => place,
            None => {
                let sprite = draw(self);
                self.keep(key, sprite)
            }
        }
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let hash = fnv::after(fnv::EMPTY, key);
        let from = self.order.partition_point(|&(other, _)| other < hash);
        let same = self.order[from..]
            .iter()
            .take_while(|&&(other, _)| other == hash);
        same.map(|&(_, place)| place as usize)
            .find(|&place| *self.known[place].0 == *key)
    }

    fn keep(&mut self, key: &[u8], sprite: Sprite) -> usize {
        let (width, height) = sprite.bitmap.size();
        self.pixels += (width * height) as usize;
        if self.pixels > MOST_PIXELS {
            self.forget();
            self.pixels = (width * height) as usize;
        }
        let (hash, place) = (fnv::after(fnv::EMPTY, key), self.known.len());
        let at = self.order.partition_point(|&(other, _)| other < hash);
        self.order.insert(at, (hash, place as u32));
        self.known.push((key.into(), sprite));
        place
    }

    fn forget(&mut self) {
        self.known.clear();
        self.order.clear();
        self.digits = [None; 10];
        self.pixels = 0;
    }

    fn draw_digit(&mut self, digit: u8) -> Sprite {
        let side = (f64::from(COUNT_FONT.0) * self.scale * 1.3).ceil() as i32;
        self.begin(side, side);
        self.context
            .set_font(&self.font(COUNT_FONT.0, COUNT_FONT.1));
        self.fill_with(Token::Text1);
        let left = (f64::from(side) - self.digit_advance) / 2.0;
        let ascent = (f64::from(COUNT_FONT.0) * self.scale).ceil();
        let text = char::from(b'0' + digit).to_string();
        // Text fails to draw only without a context.
        let _ = self.context.fill_text(&text, left, ascent);
        self.take(side, side, -(side / 2), -(ascent as i32))
    }

    fn draw_text(&mut self, line: &TextLine) -> Sprite {
        let font = self.font(line.size, line.weight);
        self.context.set_font(&font);
        let measured = self.context.measure_text(&line.text);
        let most = line
            .max_width
            .map_or(f64::MAX, |px| px.to_f64() * self.scale);
        let width = measured.map_or(0.0, |text| text.width()).min(most);
        let size = f64::from(line.size) * self.scale;
        let pad = (TEXT_HALO_PX * self.scale).ceil();
        let (ascent, descent) = ((size * 1.1).ceil() + pad, (size * 0.4).ceil() + pad);
        let (w, h) = ((width.ceil() + 2.0 * pad) as i32, (ascent + descent) as i32);
        self.begin(w, h);
        // A canvas that was enlarged has lost its font.
        self.context.set_font(&font);
        if let Some(halo) = line.halo {
            self.stroke_with(halo, TEXT_HALO_PX * self.scale);
            self.context.set_line_join("round");
            let _ = self
                .context
                .stroke_text_with_max_width(&line.text, pad, ascent, width + 1.0);
            self.context.set_line_join("miter");
        }
        self.fill_with(line.ink);
        let _ = self
            .context
            .fill_text_with_max_width(&line.text, pad, ascent, width + 1.0);
        let before = match line.align {
            Align::Start => 0.0,
            Align::Middle => width / 2.0,
            Align::End => width,
        };
        self.take(w, h, -((before + pad).round() as i32), -(ascent as i32))
    }

    fn draw_glyph(
        &mut self,
        glyph: Glyph,
        size: u8,
        ink: Token,
        ground: Token,
        halo: bool,
    ) -> Sprite {
        let side = ((f64::from(size) + 2.0 * MARGIN_PX) * self.scale).ceil();
        self.begin(side as i32, side as i32);
        let unit = f64::from(size) / GLYPH_BOX * self.scale;
        let corner = side / 2.0 - GLYPH_BOX / 2.0 * unit;
        let context = &self.context;
        let _ = context.set_transform(unit, 0.0, 0.0, unit, corner, corner);
        let parts = glyph.parts();
        let path = |path: &str| Path2d::new_with_path_string(path).ok();
        if let Some(first) = parts.first().filter(|_| halo)
            && let Some(path) = path(first.path)
        {
            let own = match first.paint {
                Paint::Stroke(hundredths) => f64::from(hundredths) / 100.0,
                Paint::Fill | Paint::Ground => 0.0,
            };
            self.stroke_with(ground, own + 2.0 * GLYPH_HALO_PX * self.scale / unit);
            context.set_line_join("round");
            context.stroke_with_path(&path);
            context.set_line_join("miter");
        }
        for part in parts {
            let Some(path) = path(part.path) else {
                continue;
            };
            match part.paint {
                Paint::Fill | Paint::Ground => {
                    let is_ink = part.paint == Paint::Fill;
                    self.fill_with(if is_ink { ink } else { ground });
                    context.fill_with_path_2d(&path);
                }
                Paint::Stroke(hundredths) => {
                    self.stroke_with(ink, f64::from(hundredths) / 100.0);
                    context.stroke_with_path(&path);
                }
            }
        }
        let half = (side / 2.0).round() as i32;
        self.take(side as i32, side as i32, -half, -half)
    }

    fn draw_hatch(&mut self, hatch: Hatch) -> Sprite {
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
        };
        let side = side.round().max(2.0);
        let width = style.width.to_f64() * self.scale;
        self.begin(side as i32, side as i32);
        self.fill_with(style.ink);
        self.stroke_with(style.ink, width);
        let context = &self.context;
        context.begin_path();
        // Three lines of each, so that the tile's corners get the neighbours' lines.
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
        let (at, dot) = (self.scale.round(), width.round().max(1.0));
        match style.pattern {
            Pattern::Level => context.fill_rect(0.0, at, side, dot),
            Pattern::Dots => context.fill_rect(at, at, dot, dot),
            Pattern::Rising | Pattern::Falling | Pattern::Cross => {}
        }
        let mut bitmap = self.read(side as i32, side as i32);
        bitmap.faint(style.opacity);
        Sprite {
            bitmap,
            dx: 0,
            dy: 0,
        }
    }

    /// Clears this much of the canvas and resets its transform and opacity.
    fn begin(&self, width: i32, height: i32) {
        let (has_width, has_height) = (self.canvas.width(), self.canvas.height());
        if has_width < width as u32 || has_height < height as u32 {
            self.canvas.set_width(has_width.max(width as u32));
            self.canvas.set_height(has_height.max(height as u32));
        }
        let _ = self.context.reset_transform();
        self.context.set_global_alpha(1.0);
        self.context
            .clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
    }

    /// Returns the drawn picture without its empty edges. (`dx`, `dy`) is the offset of the canvas' corner from the
    /// mark's position.
    fn take(&self, width: i32, height: i32, dx: i32, dy: i32) -> Sprite {
        let (bitmap, (left, top)) = self.read(width, height).trimmed();
        Sprite {
            bitmap,
            dx: dx + left,
            dy: dy + top,
        }
    }

    fn read(&self, width: i32, height: i32) -> Bitmap {
        let pixels = self
            .context
            .get_image_data(0.0, 0.0, f64::from(width), f64::from(height));
        // Fails only for an image without px.
        pixels.map_or_else(
            |_| Bitmap::default(),
            |pixels| Bitmap::from_rgba(width, &pixels.data()),
        )
    }

    /// Returns a line's width in whole device px.
    fn width(&self, stroke: Stroke) -> f64 {
        (stroke.width.to_f64() * self.scale).round().max(1.0)
    }

    fn font(&self, size: u8, weight: u16) -> String {
        let px = decimal(f64::from(size) * self.scale, 2);
        format!("{weight} {px}px {SANS}")
    }

    #[expect(
        deprecated,
        reason = "the only setter that takes a cached string, without copying it from wasm each time"
    )]
    fn fill_with(&self, ink: Token) {
        self.context.set_fill_style(&self.inks[ink as usize]);
    }

    #[expect(deprecated, reason = "as fill_with")]
    fn stroke_with(&self, ink: Token, width: f64) {
        self.context.set_stroke_style(&self.inks[ink as usize]);
        self.context.set_line_width(width);
    }
}
