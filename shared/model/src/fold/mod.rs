//! The fold: everything that is open after a record, with the record that opened it.
//!
//! One function, [`State::apply`], folds for the hub, diagnosis, the timeline and tests. A snapshot is an encoded
//! `State`. Folding a snapshot and the records after it gives the same result as folding from the start, at every cut.

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
