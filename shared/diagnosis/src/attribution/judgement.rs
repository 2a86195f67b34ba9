//! A judgement: why a stream ended.

use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::Certainty;
use watchscope_model::{Seq, tree};

/// Why a stream ended, how certain this is, and the records that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// A row of the failure catalogue, or that the end was normal, watchscope's own, or unknown.
    pub(crate) why: Attributed,
    pub(crate) certainty: Certainty,
    /// The record of the end, and the other records that the judgement rests on; sorted, each once.
    pub(crate) evidence: Vec<Seq>,
}

impl Judgement {
    /// Returns the judgement with the records of `evidence` added to its evidence.
    pub(crate) fn with(mut self, evidence: impl IntoIterator<Item = Seq>) -> Self {
        self.evidence.extend(evidence);
        tree::sort(&mut self.evidence);
        self.evidence.dedup();
        self
    }
}

/// Returns whether a judgement of this certainty is a suspicion: `true` for suspected and unknown, `false` for definite
/// and likely. A suspicion may be replaced for a longer time (docs/semantics/streams.md#revised).
#[must_use]
pub fn is_suspicion(certainty: Certainty) -> bool {
    matches!(certainty, Certainty::Suspected | Certainty::Unknown)
}
