//! The pure half of the timeline (no clock, file or browser): records become a store, a store becomes lanes, lanes in a
//! view become a scene.
//!
//! ```text
//!   head snapshot, segments, chapters ─► Store ─► Lanes (rows) ─┬─► Scene (display list, hit boxes) ─► a painter
//!                                                  View (time) ─┘      └─► words, legend, picture
//! ```
//!
//! Two modules are only for simulated clusters: `levels` beside the store, and `inside` above lanes and drawing. The
//! second part of the page adds these modules, with the drawing of records, through the table [`records::RECORDS`].
//!
//! This crate decides all meaning, and is tested on the host; the painter only paints. Layout uses f64 with `+ - * /
//! sqrt` alone, and is rounded to 1/64 px at the end. So host and wasm32 give the same bytes.

pub mod between;
pub mod draw;
pub mod evidence;
pub mod findings;
pub mod format;
pub mod glyph;
pub mod health;
pub mod id;
pub mod inside;
pub mod lanes;
pub(crate) mod levels;
pub mod overview;
pub(crate) mod phrases;
pub mod picture;
mod record_run;
pub mod records;
pub mod scene;
pub(crate) mod sorted;
pub mod store;
pub mod svg;
pub mod table;
pub mod tokens;
pub mod troubles;
pub mod view;
pub mod why;
pub mod words;

pub use draw::Picture;
pub use glyph::Glyph;
pub use id::{LaneId, LayerId, ObjectId, RecordId, ServerId, WatchId};
pub use lanes::{Lanes, Row, Rows};
pub use overview::Overview;
pub use scene::{Primitive, Px, Scene};
pub use store::Store;
pub use tokens::{Theme, Token};
pub use troubles::Troubles;
pub use view::View;
