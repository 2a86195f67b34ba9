//! A backend for plotters that writes the display list of `timeline`, and measures text as `timeline` does.

use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use watchscope_timeline::format::text_width;
use watchscope_timeline::scene::{Align, Area, Step, Stroke, TextLine};
use watchscope_timeline::{Primitive, Px, Scene, Token};

use crate::pen::{Pattern, Pen, UNITS};

/// Steps of a [`Px`] in a unit of plotters' coordinates; a px has 64 steps.
const STEPS: i32 = 64 / UNITS;

/// A backend of plotters that draws into a scene. The coordinates are eighths of a px.
pub(crate) struct SceneBackend<'a> {
    scene: &'a mut Scene,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl<'a> SceneBackend<'a> {
    pub(crate) fn new(scene: &'a mut Scene) -> Self {
        Self { scene }
    }

    fn path(&mut self, steps: &[Step], fill: Option<Token>, stroke: Option<Stroke>, opacity: u8) {
        let steps = self.scene.path(steps);
        self.scene.primitives.push(Primitive::Path {
            steps,
            fill,
            stroke,
            opacity,
        });
    }
}

fn px(units: i32) -> Px {
    Px(units.saturating_mul(STEPS))
}

fn pen_of(style: &impl BackendStyle) -> Pen {
    Pen::read(style.color().rgb)
}

fn stroke_of(style: &impl BackendStyle) -> Stroke {
    let pen = pen_of(style);
    let dash = match pen.pattern() {
        Pattern::Dash(dash) => dash,
        Pattern::Hatch(_) => None,
    };
    Stroke {
        ink: pen.token,
        width: px(i32::try_from(style.stroke_width()).unwrap_or(UNITS)),
        dash,
    }
}

/// Returns a line through points.
fn through(points: impl IntoIterator<Item = BackendCoord>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (x, y) in points {
        let (x, y) = (px(x), px(y));
        steps.push(if steps.is_empty() {
            Step::Move(x, y)
        } else {
            Step::Line(x, y)
        });
    }
    steps
}

/// Writes what plotters draws. plotters clamps coordinates to its area before it calls these functions.
impl DrawingBackend for SceneBackend<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let units = |px: Px| u32::try_from(px.0 / STEPS).unwrap_or(0);
        (units(self.scene.width), units(self.scene.height))
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let pen = pen_of(style);
        let area = Area::between(px(left), px(right), px(top), px(bottom));
        let primitive = match pen.pattern() {
            Pattern::Hatch(hatch) if fill => Primitive::Hatch {
                area,
                hatch,
                anchor: area.x,
            },
            _ => Primitive::Rect {
                area,
                fill: fill.then_some(pen.token),
                stroke: (!fill).then(|| stroke_of(style)),
                radius: 0,
                opacity: pen.opacity,
            },
        };
        self.scene.primitives.push(primitive);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let steps = through(path);
        self.path(&steps, None, Some(stroke_of(style)), pen_of(style).opacity);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let radius = i32::try_from(radius).unwrap_or(0).saturating_mul(STEPS);
        let (x, y, r) = (px(x), px(y), Px(radius));
        // Distance of the control points of a quarter circle from its ends: 0.5523 of the radius.
        let c = Px(radius * 36_195 / 65_536);
        let steps = [
            Step::Move(x + r, y),
            Step::Curve(x + r, y + c, x + c, y + r, x, y + r),
            Step::Curve(x - c, y + r, x - r, y + c, x - r, y),
            Step::Curve(x - r, y - c, x - c, y - r, x, y - r),
            Step::Curve(x + c, y - r, x + r, y - c, x + r, y),
            Step::Close,
        ];
        let pen = pen_of(style);
        let stroke = (!fill).then(|| stroke_of(style));
        self.path(&steps, fill.then_some(pen.token), stroke, pen.opacity);
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn {
        let mut steps = through(vert);
        steps.push(Step::Close);
        let pen = pen_of(style);
        self.path(&steps, Some(pen.token), None, pen.opacity);
        Ok(())
    }

    fn draw_text<TStyle: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &TStyle,
        (x, y): BackendCoord,
    ) -> Drawn {
        let pen = Pen::read(style.color().rgb);
        let (is_bold, has_halo) = pen.of_text();
        let (size, anchor) = (size_of(style), style.anchor());
        // Places the baseline by the height of capitals, about 0.72 of the size.
        let hundredths = match anchor.v_pos {
            VPos::Top => 80,
            VPos::Center => 36,
            VPos::Bottom => -20,
        };
        self.scene.primitives.push(Primitive::Text(TextLine {
            x: px(x),
            y: px(y) + Px(i32::from(size) * 64 * hundredths / 100),
            text: text.to_owned(),
            size,
            weight: weight_of(is_bold),
            ink: pen.token,
            halo: has_halo.then_some(Token::Ground0),
            align: match anchor.h_pos {
                HPos::Left => Align::Start,
                HPos::Center => Align::Middle,
                HPos::Right => Align::End,
            },
            max_width: None,
        }));
        Ok(())
    }

    fn estimate_text_size<TStyle: BackendTextStyle>(
        &self,
        text: &str,
        style: &TStyle,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let size = size_of(style);
        let (is_bold, _) = Pen::read(style.color().rgb).of_text();
        let width = text_width(text, size, weight_of(is_bold)).0 / STEPS;
        let height = u32::from(size) * UNITS.unsigned_abs();
        Ok((u32::try_from(width).unwrap_or(0), height))
    }
}

fn size_of(style: &impl BackendTextStyle) -> u8 {
    // Sizes are whole px. The cast saturates at 0 and 255.
    style.size() as u8
}

fn weight_of(is_bold: bool) -> u16 {
    if is_bold { 600 } else { 400 }
}
