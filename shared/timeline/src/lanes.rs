//! Lanes: which rows the picture has, in which order, how high, and what stands in the tree beside them.
//!
//! A watch in which nothing happened is one strip. Which watches are open, and which objects have rows, is the state of
//! the lanes ([`Arrangement`]); what a person opened or closed comes before it. Watches are ordered by name.

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
