//! The colours of tokens: those of a theme, or the system's few.

use watchscope_timeline::{Theme, Token};

/// The source of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Dark or light.
    pub theme: Theme,
    /// Whether the person chose the system's few colours (`forced-colors: active`).
    pub forced: bool,
}

impl Palette {
    /// Returns a token's colour as CSS.
    #[must_use]
    pub fn css(self, token: Token) -> &'static str {
        if !self.forced {
            return token.value(self.theme);
        }
        match token {
            Token::Ground0
            | Token::Ground1
            | Token::Ground2
            | Token::Ground3
            | Token::Ground4
            | Token::StreamFill
            | Token::LostGround
            | Token::DivergenceGround
            | Token::GhostFill
            | Token::SelectGround
            | Token::Line1
            | Token::Expired
            | Token::OnFill => "Canvas",
            Token::Divergence | Token::Error | Token::Lost | Token::Select | Token::Focus => {
                "Highlight"
            }
            // Lines of the panels have the colour of text too, since that of disabled text is a dark red in some
            // systems.
            Token::NotLoaded => "GrayText",
            _ => "CanvasText",
        }
    }
}
