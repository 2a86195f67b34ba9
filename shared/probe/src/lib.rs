//! The instrumented list/watch client as a by-value machine.
//!
//! ```text
//!              Input                              ┌─ effects ─► driver: dial, send, close, set timer
//!   driver ───────────► Probe::step(self, …) ─────┼─ events ──► log
//!                            │  └─► Probe         └─ bodies ──► body ring (redacted)
//!                            │
//!    wait ─► dial ─► list page… ─► watch request ─► stream ─► (resume: watch request | relist: list)
//! ```
//!
//! It does what a correct client does (docs/semantics/clients.md#probe) and hides nothing of it: every request,
//! answer, page, document, end and wait is an event, and every byte of a body is in an event or counted as a loss.
//! resourceVersions the watch may resume from (its progress) never go down, where they have an order: those of an
//! aggregated API are only equal or not, and the last one is progress. Redaction happens here, while a body is
//! copied for the first and only time.
//!
//! Pure: no clock, no I/O; the same inputs and seed give the same outputs. Absent on purpose: connections, what
//! happens on them (the driver reports that), and any opinion on why a stream ended (that is diagnosis).

mod backoff;
mod decode;
mod held;
mod journal;
mod json;
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
