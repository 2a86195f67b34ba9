//! Commands of viewers: their content, and how many may wait.

use tokio::sync::oneshot;
use watchscope_model::{Seq, Text};

/// The most commands of all viewers that wait to be carried out. One more is answered with "busy".
pub(super) const QUEUED_COMMANDS: usize = 16;
/// The most commands of one viewer that wait for their answer. One more is answered with "busy".
pub(super) const OPEN_COMMANDS: usize = 4;

/// A command of a viewer, for the owner of the probes.
#[derive(Debug)]
pub struct CommandRequest {
    /// The verb: `use-context`, or `audit` (its argument names a watch and, in a second line, an object of it).
    pub verb: Text,
    /// The argument.
    pub argument: String,
    /// Takes the answer. Ok means done, with the last record that the command made, if it made one; Err is a sentence that
    /// says why not. If it is dropped, the command counts as not carried out.
    pub reply: oneshot::Sender<Result<Option<Seq>, String>>,
}
