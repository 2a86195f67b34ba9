//! The audit: whether what a watch holds is so (docs/semantics/checks.md#procedure).
//!
//! ```text
//!   record, and the fold before it ─► observe ─► per-key logs ─┐
//!                         the log's time ─► next ─► Read ──────┼──► driver: asks the server
//!                                           answer ◄─ Reply ◄──┼─── driver
//!                                             └─► take: audits and verdicts (events to append)
//! ```
//!
//! Within one resource all changes have unique, rising revisions, and a correct stream delivers them in order. So what a
//! watch holds at its progress p is either the truth at p or wrong. The audit only compares what was held at r with what
//! was read at r. A difference is `raised`; found a second time at the same r, it is `confirmed`. Where another apiserver
//! keeps the objects, versions have no order. There the audit can only say that all is equal.
//!
//! There is no clock, connection or fold inside. One read at a time is under way at each server, so a read that hangs
//! delays the watches of its server alone. The driver answers every read. Nothing is concluded from a read that cannot
//! reveal it: what may have been served from a watch cache never raises or clears a verdict. It only names objects that
//! are then looked up in etcd one by one.

mod auditor;
mod budget;
mod compare;
mod history;
mod level;
mod read;
mod reads;
mod reasons;
mod traffic;
mod watch;

pub use self::auditor::Auditor;
pub use self::budget::{PER_MINUTE, PER_WATCH};
pub use self::compare::MAX_DIFFERENCES;
pub use self::history::{KEPT_US, MAX_STEPS};
pub use self::level::{FULL_WATCH, Level, SMALL_WATCH};
pub use self::read::{Read, Reply};
pub use self::reads::PAGE;
pub use self::watch::{AT_ONCE, MOST_LISTED};
