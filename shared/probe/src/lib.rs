//! The instrumented list/watch client, as a machine that is passed by value.
//!
//! ```text
//!              Input                              ┌─ effects ─► driver: dial, send, close, set timer
//!   driver ───────────► Probe::step(self, …) ─────┼─ events ──► log
//!                            │  └─► Probe         └─ bodies ──► body ring (redacted)
//!                            │
//!    wait ─► dial ─► list page… ─► watch request ─► stream ─► (resume: watch request | relist: list)
//! ```
//!
//! The probe acts as a correct client (docs/semantics/clients.md#probe) and records everything: every request, answer,
//! page, document, end and wait is an event. Every byte of a body belongs to an event or is counted as a loss.
//!
//! The progress of the watch is the resourceVersion that it may resume from. Progress never goes down where versions
//! have an order. Versions of an aggregated API are only equal or not, and the last version is progress. Redaction
//! happens here, while a body is copied for the first and only time.
//!
//! The crate is pure: no clock, no I/O; the same inputs and seed give the same outputs. The crate has no connections;
//! the driver reports what happens on connections. The probe does not judge why a stream ended; diagnosis does.

mod backoff;
mod decode;
mod held;
mod journal;
mod lines;
mod list;
mod pace;
mod port;
mod probe;
mod read;
mod redact;
mod refusal;
mod selector;
mod side;
mod spec;
mod stream;
mod stream_end;

pub use port::{
    Channel, Context, Effect, Emitted, Ending, Failure, FailureKind, Get, Ids, Input, Output,
    Served,
};
pub use probe::Probe;
pub use read::{
    asked_to_wait_ms, headers_worth_keeping, read_current, read_object, read_page, read_watch,
};
pub use redact::REDACTION_VERSION;
pub use spec::{ProbeConfig, WatchSpec};
