//! The audit of one watch.
//!
//! [`state`] is the audit's state, and [`task`] is one read. [`round`] decides what is read next. [`answers`] hands the
//! result of a read to the file that judges it: [`exact`] and [`newest`] lists, single [`objects`], a [`witness`],
//! reads for [`others`], an etcd that was [`restored`], streams that are [`behind`], and [`exits`] from a selector.
//! [`verdicts`] and [`publish`] write the records.

mod answers;
mod behind;
mod context;
mod exact;
mod exits;
mod newest;
mod objects;
mod others;
mod publish;
mod questions;
mod reply;
mod restored;
mod round;
mod samples;
mod state;
mod sweep;
mod sweeping;
mod task;
mod verdicts;
mod witness;

pub(super) use self::context::StepContext;
pub use self::questions::MOST_LISTED;
pub(super) use self::questions::{is_below, is_unordered, may_hide};
pub use self::state::AT_ONCE;
pub(super) use self::state::WatchAudit;
pub(super) use self::task::Task;
pub(super) use self::verdicts::overtaken;
