//! The search of a log: what a query is, what of a record matches it, and which chapters need not be read.
//!
//! ```text
//!   text ─► Query ─► ChapterSearch ◄─ frames of a chapter        Index ─► chapters without a hit are passed over
//!                        └─► hits, the newest first                 ▲
//!                        └─► what the chapter's records name ───────┘
//! ```
//!
//! The caller reads frames, counts bytes and looks at a clock. So the caller can cut the work of a search into slices
//! of one or several frames. Pages, recordings in a worker and the server search with the same code.

mod answer;
mod chapter;
mod held;
mod hit;
mod index;
mod matching;
mod named;
mod query;
mod text;
mod versions;

pub use self::answer::{BodiesSince, End, Ended, HITS_MOST, KeptFrom, NotRead, Searched};
pub use self::chapter::{ChapterHits, ChapterSearch};
pub use self::held::{HeldHits, MAX_HELD, held};
pub use self::hit::{Hit, Matched, What};
pub use self::index::{Index, IndexedChapter, MAX_INDEX_BYTES, Wanted};
pub use self::matching::lane_of;
pub use self::named::Named;
pub use self::query::{MAX_QUERY_BYTES, Query, QueryError};
