//! A glyph outside the canvas.

use leptos::prelude::*;
use watchscope_timeline::glyph::Paint;
use watchscope_timeline::{Glyph, Token};

use crate::decimal::decimal;

/// A glyph as SVG: the same paths as on the canvas.
#[component]
pub(super) fn GlyphPicture(glyph: Glyph, ink: Token, size: u8) -> impl IntoView {
    let ink = format!("var(--{})", ink.name());
    view! {
        <svg viewBox="0 0 12 12" class="flag" width=size.to_string() height=size.to_string() aria-hidden="true">
            {glyph.parts().iter().map(|part| {
                let (fill, stroke, width) = match part.paint {
                    Paint::Fill => (ink.clone(), "none".to_owned(), String::new()),
                    Paint::Ground => ("none".to_owned(), "none".to_owned(), String::new()),
                    Paint::Stroke(hundredths) => {
                        ("none".to_owned(), ink.clone(), decimal(f64::from(hundredths) / 100.0, 2))
                    }
                };
                view! { <path d=part.path fill=fill stroke=stroke stroke-width=width/> }
            }).collect_view()}
        </svg>
    }
}
