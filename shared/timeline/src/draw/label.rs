//! Words on their way to the scene, and how important they are.

use super::look::{Layer, TextLook};
use crate::scene::Px;

/// What is written, the most important first: what is given up for want of room is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Events that may be lost, and objects that the watch and the truth see differently.
    Lost,
    /// Codes of errors, causes of broken connections, reversals.
    Error,
    /// What a relist found, jumps.
    List,
    /// Why a watch waits, and until when.
    Wait,
    /// Which stream or connection it is, and values of a trace.
    Name,
}

/// Words on their way to the scene.
pub(crate) struct Label {
    pub(crate) rank: Rank,
    pub(crate) layer: Layer,
    /// Longest first: the first that fits is written.
    pub(crate) forms: Vec<String>,
    pub(crate) look: TextLook,
    /// Baseline.
    pub(crate) y: Px,
    /// Where it may stand. By its look it is at the beginning of that, or at its end.
    pub(crate) xs: (Px, Px),
    /// How far from there it may move to keep clear of what stands there.
    pub(crate) reach: Px,
    /// Whether "· " parts it from words it had to move behind.
    pub(crate) joins: bool,
    /// Written if this finds no room.
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
