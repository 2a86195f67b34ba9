//! Labels that are not placed yet, and the ranks of labels.

use super::look::{Layer, TextLook};
use crate::scene::Px;

/// Rank of a label, the most important first. If room is short, the lowest ranks are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Events that may be lost, and objects with a divergence between watch and etcd.
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

/// Words that are not placed in the scene yet.
pub(crate) struct Label {
    pub(crate) rank: Rank,
    pub(crate) layer: Layer,
    /// Alternative texts, the longest first; the first that fits is written.
    pub(crate) forms: Vec<String>,
    pub(crate) look: TextLook,
    /// The baseline of the words.
    pub(crate) y: Px,
    /// The stretch in which the label may stand. `look.align` says whether at its beginning or its end.
    pub(crate) xs: (Px, Px),
    /// How far the label may move from that beginning or end, in order to keep clear of marks and other words.
    pub(crate) reach: Px,
    /// Whether "· " is put before the label if it had to move behind other words.
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
