//! Hatches: the meaning of each, and how each looks.

use super::px::Px;
use crate::tokens::{Theme, Token};

/// The hatch of an area, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Hatch {
    /// A gap after which the watch was resumed.
    Resumed,
    /// A gap that is open, whose end is unknown, or in which the watch was stopped or started again.
    Open,
    /// A gap in which events may be lost, up to 200 px wide. In a legend it stands for all three hatches of lost gaps.
    Lost,
    /// A gap in which events may be lost, over 200 px wide.
    LostWide,
    /// A gap in which events may be lost, in a collapsed watch, whatever its width.
    LostStrip,
    /// Records that watchscope itself lost or cannot read: the stretch without them, or a mark at the record that
    /// counts them.
    Own,
    /// Records that are not loaded yet, or a first list of an epoch while the end of the epoch before is not loaded.
    /// Also the time after now while the page is not connected.
    NotLoaded,
    /// A confirmed divergence that is neither a ghost nor missing: stale, list older, or of an unknown kind.
    Stale,
}

/// The lines of a hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Lines that rise to the right at 45° (`/`).
    Rising,
    /// Lines that fall to the right at 45° (`\`).
    Falling,
    /// Lines of both directions, rising and falling.
    Cross,
    /// Horizontal lines.
    Level,
    /// Square dots.
    Dots,
}

/// The look of a hatch. Distances and widths of lines are in CSS px at every resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HatchStyle {
    /// The lines of the hatch.
    pub pattern: Pattern,
    /// The colour of the lines or dots.
    pub ink: Token,
    /// Distance of the lines in px, measured across them; for dots, the distance of rows and of columns.
    pub pitch: Px,
    /// Width of the lines in px; for dots, the side of a dot.
    pub width: Px,
    /// Opacity in percent: 100 is opaque.
    pub opacity: u8,
}

impl Hatch {
    /// Returns how the hatch is drawn in a theme.
    #[must_use]
    pub const fn style(self, theme: Theme) -> HatchStyle {
        let (pattern, ink, pitch, width, dark, light) = match self {
            Self::Resumed => (Pattern::Rising, Token::Resumed, 6, 80, 80, 80),
            Self::Open => (Pattern::Rising, Token::Resumed, 12, 80, 80, 80),
            Self::Lost => (Pattern::Cross, Token::Lost, 7, 80, 26, 34),
            Self::LostWide => (Pattern::Cross, Token::Lost, 7, 80, 15, 15),
            Self::LostStrip => (Pattern::Cross, Token::Lost, 7, 80, 50, 50),
            Self::Own => (Pattern::Level, Token::Warning, 4, 64, 70, 70),
            Self::NotLoaded => (Pattern::Dots, Token::NotLoaded, 6, 96, 100, 100),
            Self::Stale => (Pattern::Falling, Token::Divergence, 6, 96, 55, 55),
        };
        let opacity = match theme {
            Theme::Dark => dark,
            Theme::Light => light,
        };
        HatchStyle {
            pattern,
            ink,
            pitch: Px::whole(pitch),
            width: Px(width),
            opacity,
        }
    }

    /// Returns a short name for tests, of lower-case letters and hyphens. Hatches of one meaning share one name.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Open => "open",
            Self::Lost | Self::LostWide | Self::LostStrip => "lost",
            Self::Own => "own",
            Self::NotLoaded => "not-loaded",
            Self::Stale => "stale",
        }
    }

    /// Returns the hatch's words in a legend. Hatches of one meaning share their words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Resumed => "gap, resumed",
            Self::Open => "gap, not closed",
            Self::Lost | Self::LostWide | Self::LostStrip => "gap, events may be lost",
            Self::Own => "lost by watchscope",
            Self::NotLoaded => "not loaded yet",
            Self::Stale => "stale",
        }
    }
}
