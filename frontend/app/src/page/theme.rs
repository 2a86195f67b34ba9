//! Dark, light, or as the system; and what else the system says of how to draw.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::Theme;

use super::engine::{Engine, Handle};
use super::panels::ThemeChoice;
use crate::painter::Palette;

const LIGHT: &str = "(prefers-color-scheme: light)";
const FORCED: &str = "(forced-colors: active)";
const REDUCED_MOTION: &str = "(prefers-reduced-motion: reduce)";

/// The theme the person chose last in this browser.
pub(super) fn remembered() -> ThemeChoice {
    let word = window()
        .local_storage()
        .ok()
        .flatten()
        .and_then(|storage| storage.get_item("watchscope-theme").ok().flatten());
    ThemeChoice::from_word(word.as_deref().unwrap_or_default())
}

/// Follows what the system says, now and whenever it changes.
pub(super) fn watch(handle: Handle) {
    let changed = Closure::<dyn FnMut()>::new(move || {
        handle.with(Engine::apply_theme);
    });
    let changed = changed.into_js_value();
    for query in [LIGHT, FORCED, REDUCED_MOTION] {
        if let Ok(Some(list)) = window().match_media(query) {
            list.set_onchange(Some(changed.unchecked_ref()));
        }
    }
    handle.with(Engine::apply_theme);
}

impl Engine {
    /// Takes the person's choice and the system's word.
    pub(super) fn apply_theme(&mut self) {
        let says = |query: &str| {
            self.window
                .match_media(query)
                .ok()
                .flatten()
                .is_some_and(|list| list.matches())
        };
        let light = match self.theme {
            ThemeChoice::Light => true,
            ThemeChoice::Dark => false,
            ThemeChoice::System => says(LIGHT),
        };
        self.palette = Palette {
            theme: if light { Theme::Light } else { Theme::Dark },
            forced: says(FORCED),
        };
        self.reduced_motion = says(REDUCED_MOTION);
        if let Some(root) = self.document.document_element() {
            let _ = match self.theme {
                ThemeChoice::System => root.remove_attribute("data-theme"),
                choice => root.set_attribute("data-theme", choice.word()),
            };
        }
        self.redraw();
    }
}
