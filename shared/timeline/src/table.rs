//! The picture as tables: typed rows, their cells, their order, and the same as CSV.
//!
//! ```text
//!   store, rows of the picture, time range ─► gather ─► TableRow ─┬─► filter, order ─► places
//!                                                                 └─► cells ─► a panel, CSV
//! ```

mod cells;
mod column;
mod csv;
mod filter;
mod gather;
mod kind;
mod order;
mod row;
mod said;
mod versions;

pub use self::cells::cells;
pub use self::column::{Column, Tab, columns};
pub use self::csv::{inert, line};
pub use self::filter::{Choice, Filter};
pub use self::gather::{InView, ROWS_MOST, findings, in_view};
pub use self::kind::Kind;
pub use self::order::{Order, sort};
pub use self::row::TableRow;
pub use self::said::{Said, said_of};
pub use self::versions::versions;
