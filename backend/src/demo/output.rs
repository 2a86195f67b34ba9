//! The outputs of a demo cluster beside its API.

use watchscope_scenarios::{Line, WorldRecord};

/// One output of a demo cluster beside its API.
#[derive(Clone, Debug)]
pub enum DemoOutput {
    /// A line of the narrator.
    Line(Line),
    /// Events of its client programs and of its inside, in order.
    Records(Vec<WorldRecord>),
}
