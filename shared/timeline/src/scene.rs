//! The display list: plain primitives in paint order, and the areas that answer to the pointer.
//!
//! A painter walks [`Scene::primitives`] from first to last and draws each; a painter decides nothing. The same list is
//! drawn on the live canvas and into a saved picture. Coordinates are CSS px in steps of 1/64, y down, from the scene's
//! top left corner. The canvas rounds all edges of rectangles to whole device px; an SVG does not.

mod dump;
mod hatch;
mod hit;
mod list;
mod primitive;
mod px;

pub use self::hatch::{Hatch, HatchStyle, Pattern};
pub use self::hit::{Drawn, Hit, Sign, StretchKind, Target};
pub use self::list::{Legend, Scene};
pub use self::primitive::{
    Align, Column, FOOT_INKS, Primitive, STRIP_COLUMN_PX, Step, Stroke, TextLine,
};
pub use self::px::{Area, Px};
