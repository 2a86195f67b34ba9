//! Marks: what is only rectangles and sprites. Few go to the canvas one by one, thousands by way of memory.

use js_sys::{Uint8ClampedArray, Uint32Array};
use watchscope_timeline::glyph::GLYPH_HALO_PX;
use watchscope_timeline::scene::{Area, FOOT_INKS, Px, STRIP_COLUMN_PX};
use watchscope_timeline::{Primitive, Scene, Token};
use web_sys::{CanvasRenderingContext2d, Document, HtmlCanvasElement, ImageData};

use super::sprites::SpriteKey;
use super::{Painter, canvas, context_of};
use crate::bitmap::Bitmap;

/// From so many marks on, memory and one call are cheaper than a call each.
const DENSE_FROM: usize = 1_500;

/// A rectangle or a sprite, in device px from the scene's corner.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// A filled rectangle.
    Fill {
        left: i32,
        top: i32,
        width: i32,
        height: i32,
        ink: Token,
        opacity: u8,
    },
    /// A sprite, by its left top corner.
    Sprite { key: SpriteKey, left: i32, top: i32 },
}

/// Where thousands of marks are put together. Grows to the size of the canvas and stays.
#[derive(Debug, Default)]
pub(super) struct Dense {
    bitmap: Bitmap,
    layer: Option<Layer>,
    colours: Vec<u32>,
}

/// A canvas of the same size, by which memory reaches the picture.
#[derive(Debug)]
struct Layer {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    image: ImageData,
    /// The image's pixels: made once, for making 7 MB anew costs more than all the marks.
    pixels: Uint32Array,
}

impl Painter {
    /// Takes a primitive apart into marks; `false` if it is none.
    pub(super) fn collect_marks(&mut self, scene: &Scene, primitive: &Primitive) -> bool {
        match *primitive {
            Primitive::Rect {
                area,
                fill: Some(ink),
                stroke: None,
                radius: 0,
                opacity,
            } => self.mark_area(area, ink, opacity),
            Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ground,
                halo,
            } => {
                let key = SpriteKey::Glyph {
                    glyph,
                    size,
                    ink,
                    ground,
                    halo,
                };
                if let Some(sprite) = self.sprite(key) {
                    // A sprite has as many px on both sides of its centre; it lands on whole px.
                    let half = f64::from(sprite.canvas.width()) / 2.0;
                    let left = (x.to_f64() * self.scale - half).round() as i32;
                    let top = (y.to_f64() * self.scale - half).round() as i32;
                    self.marks.push(Mark::Sprite { key, left, top });
                }
            }
            Primitive::Plate {
                area,
                count,
                ground,
                foot,
            } => self.mark_plate(area, count, ground, foot),
            Primitive::Strip {
                bottom,
                ref columns,
                inks,
                opacity,
            } => {
                let columns = &scene.columns[columns.start as usize..columns.end as usize];
                let (bottom, width) = (self.at(bottom), self.whole(Px::whole(STRIP_COLUMN_PX)));
                for (level, &ink) in inks.iter().enumerate() {
                    for column in columns.iter().filter(|column| column.heights[level] > 0) {
                        let below: i32 = column.heights[..level]
                            .iter()
                            .map(|&height| i32::from(height))
                            .sum();
                        let above = below + i32::from(column.heights[level]);
                        let foot = bottom - (f64::from(below) * self.scale).round();
                        let top = bottom - (f64::from(above) * self.scale).round();
                        self.marks.push(Mark::Fill {
                            left: self.at(column.x) as i32,
                            top: top as i32,
                            width: width as i32,
                            height: (foot - top) as i32,
                            ink,
                            opacity,
                        });
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// Draws the marks collected so far.
    pub(super) fn flush_marks(&mut self, origin: (f64, f64)) {
        let marks = std::mem::take(&mut self.marks);
        if marks.len() < DENSE_FROM || self.draw_dense(&marks, origin).is_none() {
            self.draw_few(&marks);
        }
        self.marks = marks;
        self.marks.clear();
    }

    fn mark_area(&mut self, area: Area, ink: Token, opacity: u8) {
        let (x0, y0, x1, y1) = self.edges(area);
        self.marks.push(Mark::Fill {
            left: x0 as i32,
            top: y0 as i32,
            width: (x1 - x0) as i32,
            height: (y1 - y0) as i32,
            ink,
            opacity,
        });
    }

    fn mark_plate(&mut self, area: Area, count: u32, ground: Token, foot: [Px; 3]) {
        let halo = Px::from_f64(GLYPH_HALO_PX);
        let around = Area {
            x: area.x - halo,
            w: area.w + halo + halo,
            ..area
        };
        self.mark_area(around, ground, 100);
        self.mark_area(area, Token::Ground4, 100);
        let height = Px::whole(2);
        let mut x = area.x;
        for (w, ink) in foot.into_iter().zip(FOOT_INKS) {
            if w > Px::ZERO {
                let y = area.bottom() - height;
                self.mark_area(Area { x, y, w, h: height }, ink, 100);
                x = x + w;
            }
        }
        let baseline = self.at(area.bottom()) - (3.5 * self.scale).round();
        let top = (baseline - self.digit_ascent()) as i32;
        let advance = self.digit_advance();
        let digits = count.to_string();
        let middle = (area.x + area.w.half()).to_f64() * self.scale;
        let mut centre = middle - advance * (digits.len() - 1) as f64 / 2.0;
        for digit in digits.bytes() {
            let key = SpriteKey::Digit(digit - b'0');
            if let Some(sprite) = self.sprite(key) {
                let left = (centre - f64::from(sprite.canvas.width()) / 2.0).round() as i32;
                self.marks.push(Mark::Sprite { key, left, top });
            }
            centre += advance;
        }
    }

    fn draw_few(&mut self, marks: &[Mark]) {
        for mark in marks {
            match *mark {
                Mark::Fill {
                    left,
                    top,
                    width,
                    height,
                    ink,
                    opacity,
                } => {
                    self.alpha(opacity);
                    self.ink(ink);
                    self.context.fill_rect(
                        f64::from(left),
                        f64::from(top),
                        f64::from(width),
                        f64::from(height),
                    );
                }
                Mark::Sprite { key, left, top } => {
                    self.alpha(100);
                    if let Some(sprite) = self.sprites.get(&key) {
                        // Fails only on an image without px.
                        let _ = self.context.draw_image_with_html_canvas_element(
                            &sprite.canvas,
                            f64::from(left),
                            f64::from(top),
                        );
                    }
                }
            }
        }
    }

    fn draw_dense(&mut self, marks: &[Mark], origin: (f64, f64)) -> Option<()> {
        let target = self.context.canvas()?;
        let (width, height) = (target.width(), target.height());
        if self.dense.colours.is_empty() {
            self.dense.colours = (0..self.inks.len()).map(|ink| self.pixel(ink)).collect();
        }
        let dense = &mut self.dense;
        dense.bitmap.reset(width as usize, height as usize);
        let (dx, dy) = (origin.0 as i32, origin.1 as i32);
        for mark in marks {
            match *mark {
                Mark::Fill {
                    left,
                    top,
                    width,
                    height,
                    ink,
                    opacity,
                } => {
                    let colour = with_opacity(dense.colours[ink as usize], opacity);
                    dense
                        .bitmap
                        .fill(left + dx, top + dy, width, height, colour);
                }
                Mark::Sprite { key, left, top } => {
                    if let Some(sprite) = self.sprites.get(&key) {
                        dense.bitmap.blend(&sprite.bitmap, left + dx, top + dy);
                    }
                }
            }
        }
        let fits = |layer: &Layer| (layer.canvas.width(), layer.canvas.height()) == (width, height);
        if !dense.layer.as_ref().is_some_and(fits) {
            dense.layer = Some(Layer::new(&self.document, width, height)?);
        }
        let layer = dense.layer.as_ref()?;
        layer.pixels.copy_from(dense.bitmap.pixels());
        layer.context.put_image_data(&layer.image, 0.0, 0.0).ok()?;
        self.context.set_global_alpha(1.0);
        self.alpha = 100;
        self.context
            .draw_image_with_html_canvas_element(&layer.canvas, -origin.0, -origin.1)
            .ok()
    }

    /// A colour as a pixel: the browser draws it, so that the system's colours have their values too.
    fn pixel(&self, ink: usize) -> u32 {
        let drawn = || {
            let canvas = canvas(&self.document, 1, 1)?;
            let context = context_of(&canvas)?;
            super::set_fill(&context, &self.inks[ink]);
            context.fill_rect(0.0, 0.0, 1.0, 1.0);
            let data = context.get_image_data(0.0, 0.0, 1.0, 1.0).ok()?.data();
            Some(u32::from_le_bytes([data[0], data[1], data[2], data[3]]))
        };
        drawn().unwrap_or(0)
    }
}

impl Layer {
    fn new(document: &Document, width: u32, height: u32) -> Option<Self> {
        let canvas = canvas(document, width, height)?;
        let context = context_of(&canvas)?;
        let bytes = Uint8ClampedArray::new_with_length(width * height * 4);
        let image = ImageData::new_with_js_u8_clamped_array(&bytes, width).ok()?;
        Some(Self {
            canvas,
            context,
            image,
            pixels: Uint32Array::new(&bytes.buffer()),
        })
    }
}

fn with_opacity(colour: u32, percent: u8) -> u32 {
    let alpha = u32::from(percent) * 255 / 100;
    (colour & 0x00FF_FFFF) | alpha << 24
}
