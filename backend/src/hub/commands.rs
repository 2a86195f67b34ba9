//! Commands of viewers: what one carries, and how many may wait.

use tokio::sync::oneshot;
use watchscope_model::{Seq, Text};

/// Commands of all viewers that wait to be carried out; the answer to one more is "busy".
pub(super) const QUEUED_COMMANDS: usize = 16;
/// Commands of one viewer that wait for their answer; the answer to one more is "busy".
pub(super) const OPEN_COMMANDS: usize = 4;

/// A command of a viewer, for the owner of the probes.
#[derive(Debug)]
pub struct CommandRequest {
    /// What to do: `use-context`, or `audit` (a watch, and in a second line an object of it).
    pub verb: Text,
    /// To what.
    pub argument: String,
    /// Takes the answer: done, with the last record that came of it if any did; or a sentence that says why not.
    /// Dropped unanswered, the command counts as not done.
    pub reply: oneshot::Sender<Result<Option<Seq>, String>>,
}
