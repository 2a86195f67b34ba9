//! The inside of simulated clusters, which real clusters do not show. It has rows for the layers that describe
//! themselves, their drawing and words, the propagation of writes, and the beliefs of each layer.
//!
//! `lanes` and `draw` name nothing of it. [`RECORDS`](crate::records::RECORDS) adds its rows and its drawing to those
//! of watches.

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
