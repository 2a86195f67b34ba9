//! Hit boxes: areas of the picture that answer to the pointer, and what each area stands for.

use super::hatch::Hatch;
use super::px::{Area, Px};
use crate::glyph::Glyph;
use crate::id::{LaneId, RecordId};
use crate::tokens::Token;

/// The thing that an area of the picture stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One record.
    Record(RecordId),
    /// Several changes of a lane, merged because they are too near each other to be drawn apart.
    Merged {
        /// The first of the merged changes by seq.
        first: RecordId,
        /// The last of the merged changes by seq, in the same epoch.
        last: RecordId,
        /// The number of merged changes, the first and the last included; at least 2.
        count: u32,
    },
    /// Several occurrences of findings that share one chip, each named by the record that raised it, the oldest first.
    /// There are at least two occurrences; all occurrences that reach into the view may be among them.
    Findings(Vec<RecordId>),
    /// A stretch, named by the record that it began with. This record need not be loaded.
    Stretch(StretchKind, RecordId),
    /// A lane, at a point where nothing else is drawn.
    Lane,
}

/// The kinds of stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StretchKind {
    /// A phase of a watch.
    Phase,
    /// A stream, from its opening to its end.
    Stream,
    /// A gap.
    Gap,
    /// A connection.
    Connection,
    /// An object's life.
    Life,
    /// A divergence of an object.
    Divergence,
    /// An occurrence of a finding.
    Finding,
}

/// An area that answers to the pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The area. It covers most of the sign, as far as the scene shows the sign.
    pub area: Area,
    /// The lane in which the area lies.
    pub lane: LaneId,
    /// What the area stands for.
    pub target: Target,
    /// The sign that is drawn in the area; `None` for an area without a sign, for a plate, or for a sign without a
    /// known point.
    pub drawn: Option<Drawn>,
}

/// A sign at a [`Hit`], and a point of the sign that has the sign's colour unless something is painted over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The sign.
    pub sign: Sign,
    /// The sign's colour.
    pub ink: Token,
    /// x of a point that has the sign's colour, from the left edge of the scene.
    pub x: Px,
    /// y of a point that has the sign's colour, from the top of the scene.
    pub y: Px,
}

/// A sign that a legend explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A glyph, or a shape that the legend explains by that glyph.
    Glyph(Glyph),
    /// A hatched stretch.
    Hatch(Hatch),
}
