//! The log: one writer, a ring of chapters, a ring of bodies, and readers.
//!
//! ```text
//!  probes ──Batch──► bounded queue ──► writer task: Journal ──► LogSink ──seals──► ring ──wakes──► readers
//!                                                                  └─────► bodies       (hub, terminal, API)
//! ```
//!
//! A watch waits while the writer's queue is full. It never waits for a reader, since readers are cursors into the ring.

mod batch;
mod bodies;
mod clock;
mod frames;
mod handle;
mod ids;
mod notes;
mod reader;
mod shared;
mod sink;
mod writer;

pub use watchscope_journal::CompareRequest;

pub use self::batch::Batch;
pub use self::bodies::{BodyLookup, KeptBody};
pub use self::clock::{Clock, SystemClock};
pub use self::frames::{FrameRead, FrameReader};
pub use self::handle::{BODY_BYTES, LogClosed, LogConfig, LogHandle, NoEpoch, RING_BYTES};
pub use self::ids::Ids;
pub use self::reader::{LogReader, Read, Since};
pub(crate) use self::shared::RingProgress;

#[cfg(test)]
mod host_tests;
#[cfg(test)]
pub(crate) mod tests;
