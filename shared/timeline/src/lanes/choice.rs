//! What the viewer opened and closed, by watch.

use watchscope_model::WatchName;
use watchscope_model::map::Map;

/// The viewer's choice for a watch. The choice stays, whatever happens in the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Closed: the watch is one strip.
    Closed,
    /// Open with at most [`OBJECTS_MOST`](super::kept::OBJECTS_MOST) objects.
    Open,
    /// Open with all objects.
    Whole,
}

impl Choice {
    /// Returns the character that a page stores for the choice.
    pub(super) fn sign(self) -> char {
        match self {
            Self::Closed => '-',
            Self::Open => '+',
            Self::Whole => '*',
        }
    }

    /// Returns the choice of a stored character; `None` for any other character.
    pub(super) fn of_sign(sign: char) -> Option<Self> {
        let all = [Self::Closed, Self::Open, Self::Whole];
        all.into_iter().find(|choice| choice.sign() == sign)
    }
}

/// The viewer's choices by the watch's name, because names outlive the store.
pub(super) type Choices = Map<WatchName, Choice>;
