//! Draws a display list into memory and shows it on a canvas, a band at a time. It knows primitives and colours, not
//! their meaning.

use js_sys::{Uint8ClampedArray, WebAssembly};
use wasm_bindgen::JsCast as _;
use watchscope_timeline::glyph::GLYPH_HALO_PX;
use watchscope_timeline::scene::{Area, FOOT_INKS, Px, STRIP_COLUMN_PX, Step, Stroke};
use watchscope_timeline::{Primitive, Scene, Token};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use super::bitmap::{Bitmap, faint};
use super::canvas::context_of;
use super::palette::Palette;
use super::sprites::Sprites;

/// The px of a band: 512 KiB, a part of a core's own cache. Panning over 2,000 marks took 8.9 ms of script a frame
/// (p50; p95 15.1). With one bitmap of the canvas' size it took 11.4 (26.1), on a busy machine.
const BAND_PIXELS: i32 = 128 << 10;
/// The least number of rows of a band.
const LEAST_BAND_PX: i32 = 16;

/// Draws on one canvas, with one bitmap of a band and sprites up to a limit.
#[derive(Debug)]
pub struct Painter {
    context: CanvasRenderingContext2d,
    /// Device px to a CSS px, in 2^-20.
    scale: i64,
    palette: Palette,
    bitmap: Bitmap,
    sprites: Sprites,
    /// The tokens' colours as pixels.
    colours: Vec<u32>,
    /// The position of the scene's left top corner, in device px.
    origin: (i32, i32),
}

/// A path in device px.
type Points = Vec<(i32, i32)>;

impl Painter {
    /// Returns a painter for `canvas`, with `scale` device px to a CSS px. `None` if the browser gives no 2D context.
    #[must_use]
    pub fn new(canvas: &HtmlCanvasElement, scale: f64, palette: Palette) -> Option<Self> {
        // Opaque: the browser need not mix it with what lies under it.
        let context = context_of(canvas, "alpha", false)?;
        let sprites = Sprites::new(&canvas.owner_document()?, scale, palette)?;
        let mut painter = Self {
            context,
            scale: 0,
            palette,
            bitmap: Bitmap::default(),
            sprites,
            colours: Vec::new(),
            origin: (0, 0),
        };
        painter.set(scale, palette);
        Some(painter)
    }

    /// Sets another resolution or theme; does nothing if neither changes.
    pub fn set(&mut self, scale: f64, palette: Palette) {
        let fixed = (scale * f64::from(1 << 20)) as i64;
        if self.scale == fixed && self.palette == palette {
            return;
        }
        (self.scale, self.palette) = (fixed, palette);
        self.sprites.set(scale, palette);
        self.colours = self.sprites.colours();
    }

    /// Prepares the fonts, whose first use takes long.
    pub fn warm_up(&mut self) {
        self.sprites.warm_up();
    }

    /// Draws scenes on a ground and shows them, each with its left top corner in CSS px.
    ///
    /// It works band by band: a band stays in the processor's cache, and the whole picture needs no memory.
    pub fn paint(&mut self, ground: Token, scenes: &[(&Scene, f64, f64)]) {
        let Some(canvas) = self.context.canvas() else {
            return;
        };
        let (width, height) = (canvas.width() as i32, canvas.height() as i32);
        let band = (BAND_PIXELS / width.max(1)).max(LEAST_BAND_PX);
        let colour = self.colours[ground as usize];
        let placed: Vec<_> = scenes
            .iter()
            .map(|&(scene, x, y)| {
                let corner = [x, y].map(|px| self.length(Px::from_f64(px)));
                (scene, corner, self.spans(scene, corner[1]))
            })
            .collect();
        let mut top = 0;
        while top < height {
            let bottom = (top + band).min(height);
            self.bitmap.reset(width, bottom - top, colour);
            for (scene, [x, y], spans) in &placed {
                self.origin = (*x, y - top);
                for (primitive, &(from, to)) in scene.primitives.iter().zip(spans) {
                    if from < bottom && to > top {
                        self.primitive(scene, primitive);
                    }
                }
                self.bitmap.unclip();
            }
            self.show(top);
            top = bottom;
        }
    }

    /// Returns, for each primitive of a scene, the rows of the canvas between which it is drawn.
    fn spans(&self, scene: &Scene, y: i32) -> Vec<(i32, i32)> {
        let span = |primitive| match scene.span(primitive) {
            Some((from, to)) => (self.length(from) + y - 1, self.length(to) + y + 1),
            None => (i32::MIN, i32::MAX),
        };
        scene.primitives.iter().map(span).collect()
    }

    /// Shows the bitmap from row `top` of the canvas on.
    fn show(&self, top: i32) {
        let pixels = self.bitmap.pixels();
        let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
        // The browser reads the pixels in place. The view must not outlive this call, since memory may move.
        let view = Uint8ClampedArray::new_with_byte_offset_and_length(
            &memory.buffer(),
            pixels.as_ptr() as u32,
            pixels.len() as u32 * 4,
        );
        let (width, _) = self.bitmap.size();
        // Fails only for an image without px.
        if let Ok(image) = ImageData::new_with_js_u8_clamped_array(&view, width as u32) {
            let _ = self.context.put_image_data(&image, 0.0, f64::from(top));
        }
    }

    fn primitive(&mut self, scene: &Scene, primitive: &Primitive) {
        match *primitive {
            Primitive::Rect {
                area,
                fill,
                stroke,
                radius,
                opacity,
            } => self.rect(area, fill, stroke, radius, opacity),
            Primitive::Path {
                ref steps,
                fill,
                stroke,
                opacity,
            } => self.path(
                &scene.steps[steps.start as usize..steps.end as usize],
                fill,
                stroke,
                opacity,
            ),
            Primitive::Glyph {
                glyph,
                x,
                y,
                size,
                ink,
                ground,
                halo,
            } => {
                let (x, y) = (self.x(x), self.y(y));
                let sprite = self.sprites.glyph(glyph, size, ink, ground, halo);
                self.bitmap
                    .blend(&sprite.bitmap, x + sprite.dx, y + sprite.dy);
            }
            Primitive::Hatch {
                area,
                hatch,
                anchor,
            } => {
                let (x0, y0, x1, y1) = self.edges(area);
                let anchor = self.x(anchor);
                let tile = &self.sprites.hatch(hatch).bitmap;
                self.bitmap
                    .tile(tile, (x0, y0), (x1 - x0, y1 - y0), x0 - anchor);
            }
            Primitive::Text(ref line) => {
                let (x, y) = (self.x(line.x), self.y(line.y));
                let sprite = self.sprites.text(line);
                self.bitmap
                    .blend(&sprite.bitmap, x + sprite.dx, y + sprite.dy);
            }
            Primitive::Plate {
                area,
                count,
                ground,
                foot,
            } => self.plate(area, count, ground, foot),
            Primitive::Strip {
                bottom,
                ref columns,
                inks,
                opacity,
            } => {
                let colours = inks.map(|ink| faint(self.colours[ink as usize], opacity));
                let width = self.length(Px::whole(STRIP_COLUMN_PX)).max(1);
                for column in &scene.columns[columns.start as usize..columns.end as usize] {
                    let (x, mut above) = (self.x(column.x), Px::ZERO);
                    for (height, colour) in column.heights.into_iter().zip(colours) {
                        let foot = self.y(bottom - above);
                        above = above + Px::whole(i32::from(height));
                        let top = self.y(bottom - above);
                        self.bitmap.fill(x, top, width, foot - top, colour);
                    }
                }
            }
            Primitive::Clip(area) => {
                let (x0, y0, x1, y1) = self.edges(area);
                self.bitmap.clip((x0, y0), (x1, y1));
            }
            Primitive::Unclip => self.bitmap.unclip(),
        }
    }

    fn fill(&mut self, area: Area, ink: Token, opacity: u8) {
        let (x0, y0, x1, y1) = self.edges(area);
        let colour = faint(self.colours[ink as usize], opacity);
        self.bitmap.fill(x0, y0, x1 - x0, y1 - y0, colour);
    }

    fn rect(
        &mut self,
        area: Area,
        fill: Option<Token>,
        stroke: Option<Stroke>,
        radius: u8,
        opacity: u8,
    ) {
        if radius > 0 {
            return self.path(&round(area, radius), fill, stroke, opacity);
        }
        if let Some(ink) = fill {
            self.fill(area, ink, opacity);
        }
        if let Some(stroke) = stroke {
            let (x0, y0, x1, y1) = self.edges(area);
            let width = self.pen(stroke);
            let half = width / 2;
            // The line lies on the edge, moved inwards by half its width so that it fills whole device px.
            let (left, top) = (x0 + half, y0 + half);
            let (right, bottom) = (x1 - width + half, y1 - width + half);
            let corners = [
                (left, top),
                (right, top),
                (right, bottom),
                (left, bottom),
                (left, top),
                (left + 1, top),
            ];
            self.stroke(&corners, stroke, opacity);
        }
    }

    fn path(&mut self, steps: &[Step], fill: Option<Token>, stroke: Option<Stroke>, opacity: u8) {
        match self.level(steps) {
            Some(lines) => {
                if let Some(ink) = fill {
                    self.fill_under(&lines, faint(self.colours[ink as usize], opacity));
                }
                if let Some(stroke) = stroke {
                    lines
                        .iter()
                        .for_each(|line| self.stroke(line, stroke, opacity));
                }
            }
            None => {
                let origin = self.origin;
                let (picture, x, y) = self.sprites.path(steps, fill, stroke, opacity, origin);
                self.bitmap.blend(picture, x, y);
            }
        }
    }

    /// Returns the lines of a path that has only level and upright ones; `None` for any other path. Such a path may
    /// close only as its last step, as a step line on a level floor does.
    fn level(&self, steps: &[Step]) -> Option<Vec<Points>> {
        let mut lines: Vec<Points> = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            match *step {
                Step::Move(x, y) => {
                    let mut line = Vec::with_capacity(steps.len() - place);
                    line.push((self.x(x), self.y(y)));
                    lines.push(line);
                }
                Step::Line(x, y) => {
                    let (line, to) = (lines.last_mut()?, (self.x(x), self.y(y)));
                    let from = *line.last()?;
                    if from.0 != to.0 && from.1 != to.1 {
                        return None;
                    }
                    line.push(to);
                }
                Step::Close if place + 1 == steps.len() => {}
                Step::Close | Step::Curve(..) => return None,
            }
        }
        Some(lines)
    }

    /// Fills the area between each step line and the level of its end.
    fn fill_under(&mut self, lines: &[Points], colour: u32) {
        for line in lines {
            let Some(&(_, floor)) = line.last() else {
                return;
            };
            for pair in line.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                if y0 == y1 && y0 < floor {
                    self.bitmap
                        .fill(x0.min(x1), y0, (x1 - x0).abs(), floor - y0, colour);
                }
            }
        }
    }

    fn stroke(&mut self, points: &[(i32, i32)], stroke: Stroke, opacity: u8) {
        let width = self.pen(stroke);
        let dash = stroke.dash.map_or((0, 0), |(on, off)| {
            let length = |px: u8| self.length(Px::whole(i32::from(px))).max(1);
            (length(on), length(off))
        });
        let colour = faint(self.colours[stroke.ink as usize], opacity);
        self.bitmap.stroke(points, width, dash, colour);
    }

    fn plate(&mut self, area: Area, count: u32, ground: Token, foot: [Px; 3]) {
        let w = Px::from_f64(GLYPH_HALO_PX);
        for x in [area.x - w, area.right()] {
            self.fill(Area { x, w, ..area }, ground, 100);
        }
        self.fill(area, Token::Ground4, 100);
        let height = Px::whole(2);
        let mut x = area.x;
        for (w, ink) in foot.into_iter().zip(FOOT_INKS) {
            if w > Px::ZERO {
                let y = area.bottom() - height;
                self.fill(Area { x, y, w, h: height }, ink, 100);
                x = x + w;
            }
        }
        let mut digits = [0; 10];
        let (mut rest, mut used) = (count, 0);
        while used == 0 || rest > 0 {
            digits[used] = (rest % 10) as usize;
            (rest, used) = (rest / 10, used + 1);
        }
        let baseline = self.y(area.bottom()) - self.length(Px(224));
        let advance = self.sprites.digit_advance();
        let middle = self.x(area.x + area.w.half());
        for (place, &digit) in digits[..used].iter().rev().enumerate() {
            // Positions are in halves of a digit, counted from the middle.
            let halves = 2 * place as i32 + 1 - used as i32;
            let sprite = self.sprites.digit(digit);
            let x = middle + (advance * f64::from(halves) / 2.0).floor() as i32;
            self.bitmap
                .blend(&sprite.bitmap, x + sprite.dx, baseline + sprite.dy);
        }
    }

    /// Returns a line's width in device px, at least 1.
    fn pen(&self, stroke: Stroke) -> i32 {
        self.length(stroke.width).max(1)
    }

    /// Returns a length in whole device px.
    fn length(&self, px: Px) -> i32 {
        ((i64::from(px.0) * self.scale + (1 << 25)) >> 26) as i32
    }

    /// Returns an x of the scene in device px of the canvas.
    fn x(&self, px: Px) -> i32 {
        self.length(px) + self.origin.0
    }

    /// Returns a y of the scene in device px of the canvas.
    fn y(&self, px: Px) -> i32 {
        self.length(px) + self.origin.1
    }

    fn edges(&self, area: Area) -> (i32, i32, i32, i32) {
        let (x0, y0) = (self.x(area.x), self.y(area.y));
        let (x1, y1) = (self.x(area.right()), self.y(area.bottom()));
        (x0, y0, x1.max(x0 + 1), y1.max(y0 + 1))
    }
}

/// Returns a rectangle with round corners as a path.
fn round(area: Area, radius: u8) -> Vec<Step> {
    /// The distance of a quarter circle's control points from the corner, in 64ths of the radius: 1 - (4/3)(√2 - 1).
    const FROM_CORNER: i32 = 29;
    let radius = i32::from(radius).min(area.w.0.min(area.h.0) / 128);
    let (arc, near) = (Px::whole(radius), Px(radius * FROM_CORNER));
    let (x0, y0, x1, y1) = (area.x, area.y, area.right(), area.bottom());
    vec![
        Step::Move(x0 + arc, y0),
        Step::Line(x1 - arc, y0),
        Step::Curve(x1 - near, y0, x1, y0 + near, x1, y0 + arc),
        Step::Line(x1, y1 - arc),
        Step::Curve(x1, y1 - near, x1 - near, y1, x1 - arc, y1),
        Step::Line(x0 + arc, y1),
        Step::Curve(x0 + near, y1, x0, y1 - near, x0, y1 - arc),
        Step::Line(x0, y0 + arc),
        Step::Curve(x0, y0 + near, x0 + near, y0, x0 + arc, y0),
        Step::Close,
    ]
}
