//! Lanes: the rows of the picture, their order and height, and the tree beside them.
//!
//! A watch in which nothing happened is one strip. [`Arrangement`] is the state of the lanes: which watches are open,
//! and which objects have rows. What the viewer opened or closed takes precedence. Watches are ordered by name.

mod arrange;
mod builder;
mod filter;
mod in_view;
mod objects;
mod row;
mod tree;

pub use self::arrange::Arrangement;
pub(crate) use self::arrange::OBJECTS_MOST;
pub(crate) use self::builder::RowBuilder;
pub(crate) use self::in_view::divergence_glyph;
pub use self::row::{Density, Row, RowKind, Rows};
pub use self::tree::{Lanes, RowTable};
