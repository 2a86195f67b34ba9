//! Hatches as patterns that repeat.

use watchscope_timeline::scene::{Hatch, Pattern};
use web_sys::CanvasPattern;

use super::{Painter, canvas, context_of, set_fill, set_stroke};

impl Painter {
    /// A tile that repeats without a seam: its side is a whole number of device px, next to the pitch.
    pub(super) fn pattern(&self, hatch: Hatch) -> Option<CanvasPattern> {
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
}
