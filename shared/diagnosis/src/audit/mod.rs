//! The audit: checks that each watch holds the true state (docs/semantics/checks.md#procedure).
//!
//! ```text
//!   record, and the fold before it ─► observe ─► per-key logs ─┐
//!                         the log's time ─► next ─► Read ──────┼──► driver: asks the server
//!                                           answer ◄─ Reply ◄──┼─── driver
//!                                             └─► take: audits and verdicts (events to append)
//! ```
//!
//! Within one resource all changes have unique, rising revisions, and a correct stream delivers them in order. So the
//! objects of a watch at its progress p are either the truth at p or wrong. The audit only compares objects held at r
//! with objects read at r. A difference is `raised`; if a second read at the same r finds it, it is `confirmed`. If
//! another apiserver keeps the objects, versions have no order. In this case the audit can only say that all objects
//! are equal.
//!
//! The audit has no clock, connection or fold of its own. Each server has at most one read and one second watch under
//! way, so a read that hangs delays only the watches of its server. The driver answers every read. A read proves
//! nothing that it cannot reveal: a read that a watch cache may have served never raises or clears a verdict. Such a
//! read only names objects that are then looked up in etcd one by one.

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
