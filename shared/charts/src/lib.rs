//! Charts of plain series, which plotters draws into the display list of `timeline`.
//!
//! ```text
//!   Chart (words, series) ─┬─► plot: plotters' mesh and elements over our axes ─► SceneBackend ─┬─► Scene ─► SVG
//!   Frame (time, seams) ───┘   sheet: title, unit, notes, legend ───────────────────────────────┘
//! ```
//!
//! The crate knows times and numbers, but no log. All arithmetic is in integers. The crate does not use plotters'
//! fonts, ticks, log axes and number formats, which on wasm32 need the document or functions that differ from the
//! host's. So host and wasm32 produce the same bytes.

#![forbid(unsafe_code)]

mod axis;
mod backend;
mod data;
mod logarithm;
mod pen;
mod plot;
mod sheet;
mod text;
pub mod ticks;

pub use self::data::{
    Bar, Callout, Chart, Columns, DotSeries, Dots, Fill, Frame, Grid, Line, Lines, Merge, Plot,
    Scale, Shape, Span, Stack,
};
pub use self::sheet::{CHART_WIDTH, ChartError, draw};
pub use self::text::shortened;
