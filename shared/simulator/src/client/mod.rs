//! Client programs: small by-value state machines that run inside a world and reach it as any client does.
//!
//! ```text
//!  world ── Start, Arrival, Wake ──► Machine ── connect, send, cancel, close ──► network
//!                                       └─ wake_at, phase, counts, beliefs ──► client records
//! ```
//!
//! A machine has no clock and no knowledge of the cluster. A machine parses the bytes of its responses itself, keeps
//! its beliefs, and says when it must be woken. A machine's errors are deliberate: they are the errors of the real
//! program that the machine is named after.

pub(crate) mod belief;
mod channel;
mod comparer;
mod go;
mod informer;
mod kube_watcher;
mod last_seen;
mod machine;
mod many_watches;
mod poller;
mod program;
mod pvc_loop;
pub(crate) mod record;
mod reflector;
mod retry_watcher;
mod scheduler;
mod spin;
mod transport;
mod watch_deployment;
pub(crate) mod wire;

pub use belief::{Belief, Comparison, Held, Key};
pub use channel::{ChannelEnd, LogLine, WireEnd};
pub use go::{ClientGo, UnknownVersion};
pub use informer::Controller;
pub use kube_watcher::{KubeList, KubeRs, KubeWatcher};
pub(crate) use machine::{Context, Input, Machine, Port, earlier};
pub use program::{ClientId, Program};
pub use record::{ClientEvent, ClientPhase, ClientRecord, ClientReport};
pub use watch_deployment::{Edit, WatchDeployment};
