//! What lies under the pointer: an area of the picture, and what it stands for.

use super::hatch::Hatch;
use super::px::{Area, Px};
use crate::glyph::Glyph;
use crate::id::{LaneId, RecordId};
use crate::tokens::Token;

/// What a place in the picture stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One record.
    Record(RecordId),
    /// Several changes too near to be told apart.
    Merged {
        /// The first.
        first: RecordId,
        /// The last.
        last: RecordId,
        /// How many.
        count: u32,
    },
    /// Something that lasts, told by the record it began with.
    Stretch(StretchKind, RecordId),
    /// A lane, where nothing else is.
    Lane,
}

/// What lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StretchKind {
    /// What a watch does.
    Phase,
    /// An open stream.
    Stream,
    /// A gap.
    Gap,
    /// A connection.
    Connection,
    /// An object's life.
    Life,
    /// A divergence of an object.
    Divergence,
    /// A finding.
    Finding,
}

/// A place that answers to the pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where; covers what is drawn.
    pub area: Area,
    /// The lane.
    pub lane: LaneId,
    /// What it stands for.
    pub target: Target,
    /// What is drawn there, if it is more than a plain area.
    pub drawn: Option<Drawn>,
}

/// What is drawn at a [`Hit`], and a point that has its ink unless something is painted over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// What.
    pub sign: Sign,
    /// Its colour.
    pub ink: Token,
    /// The point.
    pub x: Px,
    /// The point.
    pub y: Px,
}

/// What stands for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A glyph, or what a legend explains by it.
    Glyph(Glyph),
    /// A hatched stretch.
    Hatch(Hatch),
}
