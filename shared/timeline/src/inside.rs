//! What only simulated clusters have: rows for the layers that describe themselves, how those rows are drawn, the ways of
//! writes through them, their words, and what each side believes.
//!
//! `lanes` and `draw` name nothing of it: [`RECORDS`](crate::records::RECORDS) adds its rows and its drawing to those of
//! watches.

mod added;
pub mod beliefs;
mod clients;
mod etcd;
mod ghosts;
mod layers;
mod rows;
mod strokes;
mod travel;
mod words;

pub(crate) use self::added::{layer_row, layer_rows, travels};
pub use self::words::inside_words;
pub(crate) use self::words::{fields as inside_fields, layer_words};
