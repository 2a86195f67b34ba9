//! How things look, and how that passes through plotters: as a colour whose three parts are places in our tables.
//!
//! plotters knows colours as values. Ours have their values only when a theme is painted, and a line has dashes and an area
//! a hatch beside its ink. So red is the number of the token, green that of dash or hatch, blue the opacity in percent.

use plotters::style::{RGBColor, ShapeStyle};
use watchscope_timeline::Token;
use watchscope_timeline::scene::Hatch;

/// Units of plotters' coordinates in a px: its pixels are whole.
pub(crate) const UNITS: i32 = 8;

/// Dashes of lines, by number; the first is a solid line.
const DASHES: [Option<(u8, u8)>; 4] = [None, Some((5, 3)), Some((2, 2)), Some((8, 3))];
/// Hatches of areas follow the dashes in the table.
const HATCHES: [Hatch; 3] = [Hatch::Resumed, Hatch::Lost, Hatch::Stale];

/// An ink, with its dash or hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pen {
    pub(crate) token: Token,
    pub(crate) way: u8,
    pub(crate) opacity: u8,
}

/// What the second part of a pen says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Dash(Option<(u8, u8)>),
    Hatch(Hatch),
}

impl Pen {
    /// A full ink.
    pub(crate) const fn of(token: Token) -> Self {
        Self {
            token,
            way: 0,
            opacity: 100,
        }
    }

    /// The same with dashes of a number.
    pub(crate) const fn dashed(self, way: u8) -> Self {
        Self { way, ..self }
    }

    /// The same, so faint in percent.
    pub(crate) const fn faint(self, opacity: u8) -> Self {
        Self { opacity, ..self }
    }

    /// A hatch.
    pub(crate) fn hatch(hatch: Hatch) -> Self {
        let place = HATCHES.iter().position(|known| *known == hatch);
        let way = DASHES.len() + place.unwrap_or(0);
        Self::of(Token::Lost).dashed(way as u8)
    }

    /// A bold text, or one with a halo.
    pub(crate) const fn text(token: Token, is_bold: bool, has_halo: bool) -> Self {
        Self::of(token).dashed(is_bold as u8 + 2 * has_halo as u8)
    }

    pub(crate) fn colour(self) -> RGBColor {
        RGBColor(self.token as u8, self.way, self.opacity)
    }

    /// As an area.
    pub(crate) fn area(self) -> ShapeStyle {
        ShapeStyle::from(self.colour()).filled()
    }

    /// As a line whose width is in eighths of a px.
    pub(crate) fn line(self, eighths: u32) -> ShapeStyle {
        ShapeStyle::from(self.colour()).stroke_width(eighths)
    }

    /// What a colour of plotters stands for.
    pub(crate) fn read((red, green, blue): (u8, u8, u8)) -> Self {
        let token = Token::ALL.get(usize::from(red)).copied();
        Self {
            token: token.unwrap_or(Token::Text1),
            way: green,
            opacity: blue,
        }
    }

    pub(crate) fn way(self) -> Way {
        let way = usize::from(self.way);
        match DASHES.get(way) {
            Some(dash) => Way::Dash(*dash),
            None => Way::Hatch(
                HATCHES
                    .get(way - DASHES.len())
                    .copied()
                    .unwrap_or(Hatch::Lost),
            ),
        }
    }

    /// Whether a text is bold, and whether it has a halo.
    pub(crate) fn of_text(self) -> (bool, bool) {
        (self.way & 1 != 0, self.way & 2 != 0)
    }
}

/// The line of a series by its place: width first, then dash, then ink.
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
    fn a_pen_passes_through_plotters_as_it_is() {
        let through = |pen: Pen| {
            let RGBColor(red, green, blue) = pen.colour();
            Pen::read((red, green, blue))
        };
        for &token in Token::ALL {
            let pen = Pen::of(token).dashed(3).faint(40);
            assert_eq!(through(pen), pen);
        }
        for hatch in HATCHES {
            assert_eq!(through(Pen::hatch(hatch)).way(), Way::Hatch(hatch));
        }
        assert_eq!(Pen::read((255, 255, 0)).way(), Way::Hatch(Hatch::Lost));
    }
}
