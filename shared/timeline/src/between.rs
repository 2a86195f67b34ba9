//! The differences between two moments of a log: which objects came, went, changed and parted (now diverge), and which
//! side held each.
//!
//! ```text
//!   fold at A ┐
//!             ├─► differences (pure) ─► between: the last record and its manager ─► words
//!   fold at B ┘
//! ```

mod differences;
mod folds;
mod last;
mod sides;
mod versions;
mod words;

pub use self::differences::{Difference, DifferenceKind, Differences, differences};
pub use self::folds::Folds;
pub use self::last::{Between, ChangedBy, LAST_CHAPTERS, Row, between};
pub use self::sides::{CLIENTS_MOST, Holding, Side};
pub use self::versions::VersionsSeen;
pub use self::words::{HeadPart, head_words, place_words, side_words};
