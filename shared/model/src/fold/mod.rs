//! The fold: all that is open after some record, with the record since which it is.
//!
//! One function, [`State::apply`], used by the hub, diagnosis, the timeline and tests. A snapshot is a `State`
//! encoded; the fold of a snapshot and the records after it equals the fold from the start, at every cut.

mod apply;
mod moment;
mod naming;
mod objects;
mod state;
mod totals;
mod versions;

pub use self::moment::Moment;
pub(crate) use self::naming::StateLine;
pub use self::objects::{Held, Objects};
pub use self::state::{
    Cluster, Connection, Counts, List, OpenFinding, OpenGap, OpenPhase, OpenRequest, OpenStream,
    OpenVerdict, State, Watch,
};
pub use self::totals::{ENDS_KEPT, EndReason, Totals};
pub use self::versions::{STEPS_KEPT, VersionStep};
