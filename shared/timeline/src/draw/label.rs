//! Labels before they are placed, and their ranks.

use super::look::{Layer, TextLook};
use crate::scene::Px;

/// Rank of a label, the most important first. If room is short, the lowest ranks are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Events that may be lost, and objects that the watch and the truth see differently.
    Lost,
    /// Codes of errors, causes of broken connections, reversals.
    Error,
    /// Results of a relist, and jumps of the resourceVersion.
    List,
    /// Why a watch waits, and until when.
    Wait,
    /// Names of streams and connections, and values of a trace.
    Name,
}

/// Words before they are placed in the scene.
pub(crate) struct Label {
    pub(crate) rank: Rank,
    pub(crate) layer: Layer,
    /// Alternative texts, the longest first; the first that fits is written.
    pub(crate) forms: Vec<String>,
    pub(crate) look: TextLook,
    /// Baseline.
    pub(crate) y: Px,
    /// Where it may stand. `look.align` says whether at the beginning or at the end.
    pub(crate) xs: (Px, Px),
    /// How far it may move from there to keep clear of marks and other words.
    pub(crate) reach: Px,
    /// Whether "· " is put before it if it had to move behind other words.
    pub(crate) joins: bool,
    /// Another label, which is placed if this one finds no room.
    pub(crate) or: Option<Box<Label>>,
}

impl Label {
    pub(crate) fn new(
        rank: Rank,
        layer: Layer,
        forms: impl Into<Vec<String>>,
        look: TextLook,
        y: Px,
        xs: (Px, Px),
    ) -> Self {
        Self {
            rank,
            layer,
            forms: forms.into(),
            look,
            y,
            xs,
            reach: Px::ZERO,
            joins: false,
            or: None,
        }
    }

    pub(crate) fn reaching(self, reach: Px) -> Self {
        Self { reach, ..self }
    }
}
