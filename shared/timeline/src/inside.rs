//! The inside of simulated clusters, which real clusters do not show. The module has rows for the layers that describe
//! themselves, their drawing and words, the propagation of writes, and what each layer holds.
//!
//! `lanes` and `draw` name nothing of `inside`. [`RECORDS`](crate::records::RECORDS) adds the rows of layers and their
//! drawing to those of watches.

mod added;
pub mod beliefs;
mod clients;
mod etcd;
mod ghosts;
mod layers;
mod progress;
mod rows;
pub mod stretches;
mod strokes;
mod travel;
mod words;

pub(crate) use self::added::{layer_row, layer_rows, travels};
pub use self::words::inside_words;
pub(crate) use self::words::{fields as inside_fields, layer_words};
