//! Dark, light, or the system's choice; and the system's other settings for drawing.

use super::elements::Elements;
use crate::core::screen::{Screen, Surroundings, ThemeChoice};
use crate::paint::palette::Palette;

/// Media queries to the system.
pub(crate) const LIGHT: &str = "(prefers-color-scheme: light)";
pub(crate) const FORCED: &str = "(forced-colors: active)";
pub(crate) const REDUCED_MOTION: &str = "(prefers-reduced-motion: reduce)";

/// The key under which the browser remembers the theme.
pub(crate) const THEME_KEY: &str = "watchscope-theme";

/// Returns the theme that the person chose last in this browser.
pub(crate) fn remembered(elements: &Elements) -> ThemeChoice {
    let word = elements
        .window
        .local_storage()
        .ok()
        .flatten()
        .and_then(|storage| storage.get_item(THEME_KEY).ok().flatten());
    ThemeChoice::from_word(word.as_deref().unwrap_or_default())
}

/// Returns the system's settings for the look of pages.
pub(crate) fn surroundings(elements: &Elements) -> Surroundings {
    let says = |query: &str| {
        elements
            .window
            .match_media(query)
            .ok()
            .flatten()
            .is_some_and(|list| list.matches())
    };
    Surroundings {
        light: says(LIGHT),
        forced: says(FORCED),
        reduced_motion: says(REDUCED_MOTION),
    }
}

/// Gives the document the theme that the person chose.
pub(super) fn apply(elements: &Elements, theme: ThemeChoice) {
    if let Some(root) = elements.document.document_element() {
        // Only an invalid name of an attribute is refused.
        let _ = match theme {
            ThemeChoice::System => root.remove_attribute("data-theme"),
            choice => root.set_attribute("data-theme", choice.word()),
        };
    }
}

/// Returns the colours of the picture.
pub(crate) fn palette(screen: &Screen) -> Palette {
    Palette {
        theme: screen.theme(),
        forced: screen.surroundings.forced,
    }
}
