//! Sizes and theme of the screen: the person's choice and the browser's reports.

use watchscope_timeline::Theme;

/// The person's choice of a theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The system's theme.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl ThemeChoice {
    /// Returns the word by which the browser's storage and links name the choice.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    /// Returns the choice of a word; `System` for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "dark" => Self::Dark,
            "light" => Self::Light,
            _ => Self::System,
        }
    }
}

/// The system's preferences for pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether it prefers light pages.
    pub light: bool,
    /// Whether forced colours are on: the system then limits the page to its own few colours.
    pub forced: bool,
    /// Whether nothing should move by itself.
    pub reduced_motion: bool,
}

/// Size and resolution of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width in CSS px.
    pub width_px: f64,
    /// Height in CSS px.
    pub height_px: f64,
    /// Device px per CSS px.
    pub scale: f64,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            width_px: 0.0,
            height_px: 0.0,
            scale: 1.0,
        }
    }
}

impl Size {
    /// Whether the canvas is at least 1 px wide and 1 px high.
    #[must_use]
    pub fn has_area(self) -> bool {
        self.width_px >= 1.0 && self.height_px >= 1.0
    }
}

/// Width and height of the browser's window in CSS px.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Its width.
    pub width_px: f64,
    /// Its height.
    pub height_px: f64,
}

/// The surface of the picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// The canvas.
    pub size: Size,
    /// The window around it.
    pub window: Window,
    /// The size of the window, and the greatest height of the lanes at that size.
    pub(super) rows_room: (Window, f64),
    /// The person's choice of a theme.
    pub theme: ThemeChoice,
    /// The system's preferences.
    pub surroundings: Surroundings,
}

impl Screen {
    /// Returns the theme to draw in.
    #[must_use]
    pub fn theme(&self) -> Theme {
        match self.theme {
            ThemeChoice::Light => Theme::Light,
            ThemeChoice::Dark => Theme::Dark,
            ThemeChoice::System if self.surroundings.light => Theme::Light,
            ThemeChoice::System => Theme::Dark,
        }
    }
}
