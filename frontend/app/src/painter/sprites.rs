//! Glyphs and digits, drawn once and then only copied.

use watchscope_timeline::glyph::{GLYPH_BOX, GLYPH_HALO_PX, Paint};
use watchscope_timeline::{Glyph, Token};
use web_sys::{HtmlCanvasElement, Path2d};

use super::{Painter, canvas, context_of, font, set_fill, set_stroke};
use crate::bitmap::Bitmap;

/// Room around a glyph's box for its halo, in px.
const MARGIN_PX: f64 = 2.0;
/// Size and weight of the count in a plate.
const COUNT_FONT: (u8, u16) = (10, 600);

/// What a sprite shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SpriteKey {
    /// A glyph, centred.
    Glyph {
        glyph: Glyph,
        size: u8,
        ink: Token,
        ground: Token,
        halo: bool,
    },
    /// A digit of a plate's count.
    Digit(u8),
}

/// A picture of a mark, for the canvas and for memory.
#[derive(Debug)]
pub(super) struct Sprite {
    pub(super) canvas: HtmlCanvasElement,
    pub(super) bitmap: Bitmap,
}

impl Painter {
    /// The sprite of a key, drawn if it is new. `None` if the browser has no canvas for it.
    pub(super) fn sprite(&mut self, key: SpriteKey) -> Option<&Sprite> {
        if !self.sprites.contains_key(&key) {
            let canvas = match key {
                SpriteKey::Glyph { .. } => self.draw_glyph(key),
                SpriteKey::Digit(digit) => self.draw_digit(digit),
            }?;
            let (width, height) = (canvas.width(), canvas.height());
            let pixels = context_of(&canvas)?
                .get_image_data(0.0, 0.0, f64::from(width), f64::from(height))
                .ok()?;
            let bitmap = Bitmap::from_rgba(width as usize, &pixels.data());
            self.sprites.insert(key, Sprite { canvas, bitmap });
        }
        self.sprites.get(&key)
    }

    /// How far a digit of a count reaches, in device px. Digits are all as wide.
    pub(super) fn digit_advance(&mut self) -> f64 {
        if self.digit_advance.is_none() {
            self.context
                .set_font(&font(COUNT_FONT.0, COUNT_FONT.1, self.scale));
            self.font = Some(COUNT_FONT);
            let width = self.context.measure_text("0").map(|text| text.width());
            self.digit_advance = Some(width.unwrap_or(f64::from(COUNT_FONT.0) * self.scale * 0.6));
        }
        self.digit_advance.unwrap_or_default()
    }

    /// How far a digit's sprite stands above its baseline, in device px.
    pub(super) fn digit_ascent(&self) -> f64 {
        (f64::from(COUNT_FONT.0) * self.scale).ceil()
    }

    fn draw_digit(&self, digit: u8) -> Option<HtmlCanvasElement> {
        let side = (f64::from(COUNT_FONT.0) * self.scale * 1.3).ceil() as u32;
        let canvas = canvas(&self.document, side, side)?;
        let context = context_of(&canvas)?;
        context.set_font(&font(COUNT_FONT.0, COUNT_FONT.1, self.scale));
        context.set_text_align("center");
        set_fill(&context, &self.inks[Token::Text1 as usize]);
        let text = char::from(b'0' + digit).to_string();
        context
            .fill_text(&text, f64::from(side) / 2.0, self.digit_ascent())
            .ok()?;
        Some(canvas)
    }

    fn draw_glyph(&self, key: SpriteKey) -> Option<HtmlCanvasElement> {
        let SpriteKey::Glyph {
            glyph,
            size,
            ink,
            ground,
            halo,
        } = key
        else {
            return None;
        };
        let side_px = f64::from(size) + 2.0 * MARGIN_PX;
        let side = (side_px * self.scale).ceil();
        let canvas = canvas(&self.document, side as u32, side as u32)?;
        let context = context_of(&canvas)?;
        let unit = f64::from(size) / GLYPH_BOX * self.scale;
        let corner = side / 2.0 - GLYPH_BOX / 2.0 * unit;
        let _ = context.set_transform(unit, 0.0, 0.0, unit, corner, corner);
        let parts = glyph.parts();
        if let Some(first) = parts.first().filter(|_| halo) {
            let own = match first.paint {
                Paint::Stroke(hundredths) => f64::from(hundredths) / 100.0,
                Paint::Fill | Paint::Ground => 0.0,
            };
            let path = Path2d::new_with_path_string(first.path).ok()?;
            set_stroke(&context, &self.inks[ground as usize]);
            context.set_line_join("round");
            context.set_line_width(own + 2.0 * GLYPH_HALO_PX * self.scale / unit);
            context.stroke_with_path(&path);
        }
        context.set_line_join("miter");
        for part in parts {
            let path = Path2d::new_with_path_string(part.path).ok()?;
            match part.paint {
                Paint::Fill => {
                    set_fill(&context, &self.inks[ink as usize]);
                    context.fill_with_path_2d(&path);
                }
                Paint::Ground => {
                    set_fill(&context, &self.inks[ground as usize]);
                    context.fill_with_path_2d(&path);
                }
                Paint::Stroke(hundredths) => {
                    set_stroke(&context, &self.inks[ink as usize]);
                    context.set_line_width(f64::from(hundredths) / 100.0);
                    context.stroke_with_path(&path);
                }
            }
        }
        Some(canvas)
    }
}
