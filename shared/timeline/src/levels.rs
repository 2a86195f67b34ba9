//! The layers of a simulated cluster over time: which layers there are, the level of each, and how writes propagate
//! through the layers.

mod layer;
mod level;
mod propagation;
mod trace;

pub(crate) use self::layer::{Layer, LayerNames, number_of};
pub(crate) use self::level::{Level, LevelPoint, Tone, Waiting, namespace_of, selects};
pub(crate) use self::propagation::{End, Follower, Propagation};
pub(crate) use self::trace::{LayerTrace, WriteMark};
