//! Dark, light, or as the system; and what else the system says of how to draw.

use watchscope_timeline::Theme;
use web_sys::Window;

use super::engine::Engine;
use crate::painter::Palette;

/// What the system is asked.
pub(super) const LIGHT: &str = "(prefers-color-scheme: light)";
pub(super) const FORCED: &str = "(forced-colors: active)";
pub(super) const REDUCED_MOTION: &str = "(prefers-reduced-motion: reduce)";

/// Under this key the browser remembers the theme.
pub(super) const THEME_KEY: &str = "watchscope-theme";

/// Which theme the person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ThemeChoice {
    /// As the system.
    #[default]
    System,
    Dark,
    Light,
}

impl ThemeChoice {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "dark" => Self::Dark,
            "light" => Self::Light,
            _ => Self::System,
        }
    }
}

/// The theme the person chose last in this browser.
pub(super) fn remembered(window: &Window) -> ThemeChoice {
    let word = window
        .local_storage()
        .ok()
        .flatten()
        .and_then(|storage| storage.get_item(THEME_KEY).ok().flatten());
    ThemeChoice::from_word(word.as_deref().unwrap_or_default())
}

impl Engine {
    /// Takes the person's choice and the system's word.
    pub(super) fn apply_theme(&mut self) {
        let says = |query: &str| {
            self.stage
                .window
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
        // A canvas goes on with the values that the system's colours had when it first drew with them.
        self.painter = None;
        self.reduced_motion = says(REDUCED_MOTION);
        if let Some(root) = self.stage.document.document_element() {
            let _ = match self.theme {
                ThemeChoice::System => root.remove_attribute("data-theme"),
                choice => root.set_attribute("data-theme", choice.word()),
            };
        }
        self.redraw();
    }
}
