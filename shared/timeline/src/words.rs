//! The picture in words: for tooltips, the detail panel and assistive technology.
//!
//! A function that gets a lane may panic if the store has no such watch, object or server.

mod check;
mod event;
mod evidence;
mod hit;
mod in_view;
mod lane;
mod phase;
mod presence;
mod record;
mod state;
mod stretch;
mod trouble;
mod why;

pub use self::check::{Check, Checked, check, checked};
pub use self::event::event_words;
pub use self::hit::describe;
pub use self::in_view::{RangeWords, is_loading, problems_in, range_words, snapped};
pub use self::lane::{accessible, lane_words};
pub use self::phase::phase_sentence;
pub use self::presence::{Presence, PresenceBasis, presence, presence_basis};
pub(crate) use self::record::said;
pub use self::record::{Description, describe_record};
pub use self::state::{
    Empty, Problem, ProblemPlace, emptiness, gaps, gaps_from_a_to_b, gaps_in_view, problems,
    records, unknown,
};
pub(crate) use self::stretch::brief;
pub use self::trouble::{TroubleWords, off_side_words, trouble_count, trouble_words};
pub use self::why::why_words;
pub use crate::inside::inside_words;
pub use crate::phrases::severity_ink as severity_token;
