//! Hit boxes: areas of the picture that answer to the pointer, and what each stands for.

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
    /// Several changes of a lane too near each other to be drawn apart.
    Merged {
        /// The first by seq.
        first: RecordId,
        /// The last, in the same epoch.
        last: RecordId,
        /// How many there are, the first and the last included; at least 2.
        count: u32,
    },
    /// Several occurrences of findings whose chips are one, by the records that raised them, the oldest first. There
    /// are at least two; the view bounds them.
    Findings(Vec<RecordId>),
    /// A stretch, named by the record that it began with, which need not be loaded.
    Stretch(StretchKind, RecordId),
    /// A lane, where nothing else is drawn.
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
    /// The area; it covers the sign as far as the scene shows it.
    pub area: Area,
    /// Its lane.
    pub lane: LaneId,
    /// What it stands for.
    pub target: Target,
    /// The sign that is drawn there; `None` for a plain area, a plate, or a sign without a known point.
    pub drawn: Option<Drawn>,
}

/// A sign at a [`Hit`], and a point of it that has its ink unless something is painted over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The sign.
    pub sign: Sign,
    /// Its colour.
    pub ink: Token,
    /// x of the point, from the left edge of the scene.
    pub x: Px,
    /// y of the point, from the top of the scene.
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
