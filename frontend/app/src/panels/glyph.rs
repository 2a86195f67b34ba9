//! Glyphs and hatches outside the canvas.

use leptos::prelude::*;
use watchscope_timeline::glyph::Paint;
use watchscope_timeline::scene::{Hatch, Pattern};
use watchscope_timeline::{Glyph, Theme, Token};

use crate::decimal::decimal;

/// Shows a glyph as SVG, with the paths of the canvas.
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

/// Shows a hatch as SVG: its lines in its colour.
#[component]
pub(super) fn HatchPicture(hatch: Hatch) -> impl IntoView {
    // Lines and colour are the same in both themes.
    let style = hatch.style(Theme::Dark);
    let (rising, falling) = (
        "M-4 12L8 0M2 12L14 0M8 12L20 0M14 12L26 0",
        "M-4 0L8 12M2 0L14 12M8 0L20 12M14 0L26 12",
    );
    let lines = match style.pattern {
        Pattern::Rising => rising.to_owned(),
        Pattern::Falling => falling.to_owned(),
        Pattern::Cross => format!("{rising}{falling}"),
        Pattern::Level => "M0 2H22M0 6H22M0 10H22".to_owned(),
        Pattern::Dots => {
            "M1 2h1.5m4 0h1.5m4 0h1.5m4 0h1.5M1 8h1.5m4 0h1.5m4 0h1.5m4 0h1.5".to_owned()
        }
    };
    view! {
        <svg viewBox="0 0 22 12" class="flag" width="22" height="12" aria-hidden="true">
            <path d=lines fill="none" stroke=format!("var(--{})", style.ink.name()) stroke-width="1.25"/>
        </svg>
    }
}
