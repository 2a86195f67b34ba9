//! The watches of one cluster: which are wanted, and one task for each.
//!
//! ```text
//!   words ──plan──► watches ──► Driver (one task each) ──► log
//!                      ▲
//!      discovery, /version ── manager: asks again for what was not known at the start
//! ```

mod driver;
mod manager;
mod plan;
mod settings;
mod unread;

pub use watchscope_diagnosis::audit::{AT_ONCE as AUDIT_LOOKS, Level as AuditLevel};

pub use self::manager::StartError;
pub(crate) use self::manager::WatchManager;
pub use self::plan::{DEFAULT_RESOURCES, Plan, Planned, Wishes};
pub use self::settings::Settings;
