//! Sizes and colours of the screen: what the person chose, and what the browser says.

use watchscope_timeline::Theme;

/// Which theme the person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// As the system.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl ThemeChoice {
    /// Its word, in which the browser keeps it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    /// The choice of a word; the system's for any other.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "dark" => Self::Dark,
            "light" => Self::Light,
            _ => Self::System,
        }
    }
}

/// How the system wants pages to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// It prefers light pages.
    pub light: bool,
    /// The person chose the system's few colours.
    pub forced: bool,
    /// Nothing should move by itself.
    pub reduced_motion: bool,
}

/// Size and resolution of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width in CSS px.
    pub width_px: f64,
    /// Height in CSS px.
    pub height_px: f64,
    /// Device px to a CSS px.
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
    /// Whether there is anything to draw on.
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

/// What the picture is drawn on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// The canvas.
    pub size: Size,
    /// The window around it.
    pub window: Window,
    /// The window's size, and the greatest height of the lanes since it has that size.
    pub(super) rows_room: (Window, f64),
    /// What the person chose.
    pub theme: ThemeChoice,
    /// What the system says.
    pub surroundings: Surroundings,
}

impl Screen {
    /// The theme to draw in.
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
