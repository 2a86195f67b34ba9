//! Draws the lanes of a view as a scene.
//!
//! Primitives are sorted into layers by meaning, in the paint order of `look::Layer`. The more a viewer must not miss a
//! layer, the later it is painted. Errors, gaps, relists and findings are drawn at any zoom and are never lost by
//! merging.

mod areas;
mod chips;
mod connection;
mod cursors;
mod drawer;
mod evidence;
mod findings;
mod flags;
mod found;
mod groups;
mod label;
mod labels;
mod level_of_detail;
mod look;
mod marked;
mod marks;
mod more;
mod object;
mod off_sides;
mod over_lanes;
mod own_requests;
mod phases;
mod ruler;
mod scenes;
mod seam;
mod sections;
mod strip;
mod version;
mod watch;

pub(crate) use self::cursors::mark_cursors;
pub use self::cursors::{CURSOR_FLAG, cursor_x};
pub use self::drawer::{Cursors, DrawTable, Marked, Picture, Ways};
pub(crate) use self::drawer::{Drawer, EpochView, record};
pub(crate) use self::flags::{FLAG, draw as draw_flags, spread};
pub use self::flags::{FLAGS_ROW, FlagMark, Flagged, flag_at};
pub use self::found::{FoundMark, found_ticks};
pub(crate) use self::label::{Label, Rank};
pub(crate) use self::look::{
    GlyphMark, HAIR, LABEL_INSET, LABEL_SPARE, LEAST, Layer, SPILL, TextLook,
};
pub(crate) use self::ruler::mark_range;
pub use self::ruler::{RULER_HEIGHT, ruler};
pub use self::scenes::{lanes, ruler_of};
pub(crate) use self::sections::section_edges;
pub(crate) use self::version::{Line, Scale};
