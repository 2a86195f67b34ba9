//! Colours by meaning: the names that scenes use, and their values in the two themes.

macro_rules! tokens {
    ($($(#[$doc:meta])* $name:ident = $css:literal, $dark:literal, $light:literal;)*) => {
        /// A colour by its meaning. Scenes contain only these names; a [`Theme`] gives them values. Each variant's doc
        /// names its main uses in the picture; charts use some tokens for other things.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Token {
            $($(#[$doc])* $name,)*
        }

        impl Token {
            /// All tokens; the index of a token in this list is `token as usize`.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the token's CSS custom property, without the two dashes: `bg0`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $css,)* }
            }

            /// Returns the token's colour in a theme, as `#RRGGBB`.
            #[must_use]
            pub const fn value(self, theme: Theme) -> &'static str {
                match theme {
                    Theme::Dark => match self { $(Self::$name => $dark,)* },
                    Theme::Light => match self { $(Self::$name => $light,)* },
                }
            }
        }
    };
}

/// The theme, which sets the values of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark theme: petrol black with ivory text.
    #[default]
    Dark,
    /// Light theme: the white of chart paper, with dark ink.
    Light,
}

tokens! {
    /// Ground of the lanes.
    Ground0 = "bg0", "#0B1113", "#FCFBF7";
    /// Ground of the lane tree, of the minimap, and of the lanes right of now.
    Ground1 = "bg1", "#0F1719", "#F7F5EE";
    /// Ground of header, ruler, panels and status bar.
    Ground2 = "bg2", "#141D20", "#F0EDE4";
    /// Ground of popovers and of pressed controls.
    Ground3 = "bg3", "#1C272B", "#E6E2D6";
    /// Ground of count plates and of the current step; never under text of colour text3.
    Ground4 = "bg4", "#26343A", "#D9D4C5";
    /// Lines between lanes, and the grid.
    Line1 = "line1", "#19242A", "#ECE8DC";
    /// Lines between groups and around controls.
    Line2 = "line2", "#27353B", "#D6D1C2";
    /// Borders that must be seen.
    Line3 = "line3", "#61747B", "#7E8078";
    /// Text of values and names.
    Text1 = "text1", "#ECE9E0", "#17211F";
    /// Text of labels and prose.
    Text2 = "text2", "#B4BCBA", "#46524F";
    /// Text of units, counts and headings.
    Text3 = "text3", "#87938F", "#5A6561";
    /// ADDED; also the Following dot.
    Added = "added", "#62DDB0", "#0B7D64";
    /// MODIFIED, also of status only.
    Modified = "modified", "#4E9BEF", "#1A7FD4";
    /// DELETED, inferred delete.
    Deleted = "deleted", "#F5BC5C", "#B27206";
    /// ERROR, abnormal end, refused, reversal; severity error.
    Error = "error", "#FF6246", "#B42300";
    /// Ghost, missing, stale, list older, and an audit read that differs; severity divergence. Nothing else in the
    /// picture has this colour.
    Divergence = "div", "#FF9BDD", "#B10E84";
    /// ResourceVersion jump.
    Jump = "jump", "#F2EE8A", "#7E6F00";
    /// Severity warning; records that watchscope lost.
    Warning = "warn", "#F2EE8A", "#7E6F00";
    /// BOOKMARK, and an audit read that agrees with the watch.
    Bookmark = "bookmark", "#82908F", "#76817F";
    /// Brackets of lists, and the rule of a relist.
    List = "list", "#ECE9E0", "#17211F";
    /// Lines of a watch: the plateau of an open stream, and the low lines of other phases.
    Stream = "stream", "#86A9B3", "#4C7480";
    /// Severity note.
    Note = "note", "#86A9B3", "#4C7480";
    /// Fill under the plateau of a stream and under the resourceVersion trace.
    StreamFill = "streamfill", "#16262C", "#E1EBEC";
    /// ResourceVersion trace.
    Version = "rv", "#B4BCBA", "#46524F";
    /// Bar of an object's life.
    Life = "life", "#5F7279", "#868C84";
    /// Hatch of a gap that was resumed, or whose outcome is not known.
    Resumed = "resumed", "#8D8459", "#8F8448";
    /// Hatch and edges of a gap in which events may be lost.
    Lost = "lost", "#FF6246", "#B42300";
    /// Ground under a lost gap.
    LostGround = "errbg", "#1F1210", "#FCEFE9";
    /// Ground of a row with a divergence.
    DivergenceGround = "divbg", "#21141F", "#FBEFF5";
    /// Fill of a ghost's life.
    GhostFill = "ghostfill", "#45203B", "#F6CFE5";
    /// Dots where nothing is loaded yet.
    NotLoaded = "notloaded", "#3A4A50", "#CFCBBE";
    /// Records that are no longer kept, or that the page dropped.
    Expired = "expired", "#06090A", "#E9E6DC";
    /// Frame of the selected row.
    Select = "select", "#ECE9E0", "#17211F";
    /// Ground of the selected row.
    SelectGround = "selectbg", "#1B272B", "#ECE9DF";
    /// Keyboard focus ring.
    Focus = "focus", "#9AD0FF", "#0B5FD0";
    /// Text on divergence or error chips.
    OnFill = "onfill", "#0B1113", "#FFFFFF";
}

impl Theme {
    /// Returns the theme's values as CSS declarations, `--bg0:#0B1113;…`, for `:root` and `[data-theme]`. The
    /// declarations stand in the order of [`Token::ALL`]; `color-scheme` is last.
    #[must_use]
    pub fn css(self) -> String {
        let mut css = String::new();
        for token in Token::ALL {
            css.push_str("--");
            css.push_str(token.name());
            css.push(':');
            css.push_str(token.value(self));
            css.push(';');
        }
        css.push_str(match self {
            Self::Dark => "color-scheme:dark",
            Self::Light => "color-scheme:light",
        });
        css
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the WCAG relative luminance of `#RRGGBB`.
    #[expect(
        clippy::disallowed_methods,
        reason = "only a test computes contrast, on the host"
    )]
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: Token, b: Token, theme: Theme) -> f64 {
        let (a, b) = (luminance(a.value(theme)), luminance(b.value(theme)));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn words_and_marks_stand_out_from_the_lanes_in_both_themes() {
        for theme in [Theme::Dark, Theme::Light] {
            for token in [Token::Text1, Token::Text2, Token::Error, Token::Divergence] {
                assert!(
                    contrast(token, Token::Ground0, theme) > 4.5,
                    "{token:?} {theme:?}"
                );
            }
            for token in [
                Token::Added,
                Token::Modified,
                Token::Deleted,
                Token::Bookmark,
                Token::Stream,
            ] {
                assert!(
                    contrast(token, Token::Ground0, theme) > 3.0,
                    "{token:?} {theme:?}"
                );
            }
        }
    }

    #[test]
    fn tokens_are_found_by_their_number() {
        for (place, &token) in Token::ALL.iter().enumerate() {
            assert_eq!(token as usize, place);
        }
    }
}
