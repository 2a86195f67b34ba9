//! Lanes: the rows of the picture, their order and height, and the tree beside them.
//!
//! A watch in which nothing happened is one strip. [`Arrangement`] is the state of the lanes: which watches are open,
//! and which objects have rows. A watch that the viewer opened or closed stays so. Watches are ordered by name, unless
//! the viewer sorts them otherwise.
//!
//! ```text
//!   log ─► trouble ─┐
//!   Setup ──────────┼─► order ─┐
//!   choices ────────┴─► kept ──┴─► arrange ─► Arrangement ─► sections ─► builder ─► Rows
//! ```

mod arrange;
mod builder;
mod choice;
mod filter;
mod in_view;
mod kept;
mod objects;
mod order;
mod owners;
mod row;
mod sections;
mod setup;
mod tree;
mod trouble;
mod wishes;

pub use self::arrange::Arrangement;
pub(crate) use self::builder::RowBuilder;
pub(crate) use self::in_view::divergence_glyph;
pub(crate) use self::kept::OBJECTS_MOST;
pub use self::owners::{OwnerStep, Owners, owners_of};
pub use self::row::{Density, Row, RowKind, Rows, SectionBegin};
pub use self::setup::{Folding, Grouping, HIDDEN_MOST, PINS_MOST, Setup, Sorting};
pub use self::tree::{Lanes, LayerRows, RowTable};
pub use self::wishes::Deed;
