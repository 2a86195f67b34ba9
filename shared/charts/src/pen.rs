//! Colours and line patterns, and how they pass through plotters: as a colour whose three parts are indexes of our
//! tables.
//!
//! plotters knows colours as values. Our tokens get values only when a theme is painted. A line also has dashes, and an
//! area a hatch. So red is the number of the token, green the number of the dash or hatch, and blue the opacity in
//! percent.

use plotters::style::{RGBColor, ShapeStyle};
use watchscope_timeline::Token;
use watchscope_timeline::scene::Hatch;

/// The number of units of plotters' coordinates in a px. A unit is an eighth of a px, because plotters places all it
/// draws at whole units. The number divides the 64 steps of a [`Px`](watchscope_timeline::Px), and has no other source.
pub(crate) const UNITS: i32 = 8;

/// Dashes of lines, by the pattern number of a [`Pen`]; the first is solid. The two lengths of each are those of a dash
/// and of a space, in px. A pattern number of 4 or more stands for one of [`HATCHES`]. The lengths have no source.
const DASHES: [Option<(u8, u8)>; 4] = [None, Some((5, 3)), Some((2, 2)), Some((8, 3))];
/// Hatches of areas. The pattern number of the first is the number of [`DASHES`]. [`Pen::hatch`] takes any other hatch
/// as the first one. A pattern number behind the last one is read as [`Hatch::Lost`].
const HATCHES: [Hatch; 3] = [Hatch::Resumed, Hatch::Lost, Hatch::Stale];

/// An ink with its opacity in percent, and with its dash or hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pen {
    pub(crate) token: Token,
    pub(crate) pattern: u8,
    pub(crate) opacity: u8,
}

/// The dash or hatch of a pen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Dash(Option<(u8, u8)>),
    Hatch(Hatch),
}

impl Pen {
    /// Returns a pen of full opacity without a dash.
    pub(crate) const fn of(token: Token) -> Self {
        Self {
            token,
            pattern: 0,
            opacity: 100,
        }
    }

    /// Returns the same pen with the dash of this number in [`DASHES`].
    pub(crate) const fn dashed(self, pattern: u8) -> Self {
        Self { pattern, ..self }
    }

    /// Returns the same pen with this opacity, in percent.
    pub(crate) const fn faint(self, opacity: u8) -> Self {
        Self { opacity, ..self }
    }

    /// Returns a pen that hatches an area.
    pub(crate) fn hatch(hatch: Hatch) -> Self {
        let place = HATCHES.iter().position(|known| *known == hatch);
        let pattern = DASHES.len() + place.unwrap_or(0);
        Self::of(Token::Lost).dashed(pattern as u8)
    }

    /// Returns the pen of a text, with bold letters and a halo if the flags say so.
    pub(crate) const fn text(token: Token, is_bold: bool, has_halo: bool) -> Self {
        Self::of(token).dashed(is_bold as u8 + 2 * has_halo as u8)
    }

    pub(crate) fn colour(self) -> RGBColor {
        RGBColor(self.token as u8, self.pattern, self.opacity)
    }

    /// Returns the style of an area in plotters' terms.
    pub(crate) fn area(self) -> ShapeStyle {
        ShapeStyle::from(self.colour()).filled()
    }

    /// Returns the style of a line in plotters' terms, `eighths` eighths of a px wide.
    pub(crate) fn line(self, eighths: u32) -> ShapeStyle {
        ShapeStyle::from(self.colour()).stroke_width(eighths)
    }

    /// Returns the pen that a colour of plotters stands for. An unknown token becomes that of text; an unknown hatch
    /// becomes that of lost gaps.
    pub(crate) fn read((red, green, blue): (u8, u8, u8)) -> Self {
        let token = Token::ALL.get(usize::from(red)).copied();
        Self {
            token: token.unwrap_or(Token::Text1),
            pattern: green,
            opacity: blue,
        }
    }

    pub(crate) fn pattern(self) -> Pattern {
        let pattern = usize::from(self.pattern);
        match DASHES.get(pattern) {
            Some(dash) => Pattern::Dash(*dash),
            None => Pattern::Hatch(
                HATCHES
                    .get(pattern - DASHES.len())
                    .copied()
                    .unwrap_or(Hatch::Lost),
            ),
        }
    }

    /// Returns whether a text is bold, and whether it has a halo.
    pub(crate) fn of_text(self) -> (bool, bool) {
        (self.pattern & 1 != 0, self.pattern & 2 != 0)
    }
}

/// Returns pen and width of a line by its index, from 0; the width is in eighths of a px. Lines differ in width, in
/// dash and in colour. All lines from the fourth on look alike, except "others".
pub(crate) fn line_of(place: usize, is_others: bool) -> (Pen, u32) {
    let (strong, weak) = (Pen::of(Token::Text1), Pen::of(Token::Stream));
    match place {
        _ if is_others => (Pen::of(Token::Text3).dashed(2), 9),
        0 => (strong, 16),
        1 => (strong.dashed(1), 12),
        2 => (weak, 10),
        _ => (weak.dashed(1), 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pen_passes_through_plotters_unchanged() {
        let through = |pen: Pen| {
            let RGBColor(red, green, blue) = pen.colour();
            Pen::read((red, green, blue))
        };
        for &token in Token::ALL {
            let pen = Pen::of(token).dashed(3).faint(40);
            assert_eq!(through(pen), pen);
        }
        for hatch in HATCHES {
            assert_eq!(through(Pen::hatch(hatch)).pattern(), Pattern::Hatch(hatch));
        }
        assert_eq!(
            Pen::read((255, 255, 0)).pattern(),
            Pattern::Hatch(Hatch::Lost)
        );
    }
}
