//! A sealer with its own fold, into which the tests of this crate push events.

use watchscope_model::{Event, Seq, State, Time};

use super::Sealer;
use crate::segment::{HeadSnapshot, NextChapter, Sealed};

/// Stamps, folds and seals events, as the log's writer does with a journal.
pub(crate) struct FoldingSealer {
    state: State,
    sealer: Sealer,
}

impl FoldingSealer {
    pub(crate) fn new(log: &str, epoch: &str, at: Time) -> (Self, NextChapter) {
        let (sealer, first) = Sealer::new(log.into(), epoch.into(), at);
        let state = State {
            at,
            ..State::default()
        };
        (Self { state, sealer }, first)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn push(&mut self, event: Event, at: Time) -> (Seq, Option<Sealed>) {
        let record = self.state.stamp(event, at);
        self.state.apply(&record);
        (record.seq, self.sealer.take(&record, &self.state))
    }

    pub(crate) fn seal_at(&self) -> Option<Time> {
        self.sealer.seal_at()
    }

    pub(crate) fn seal(&mut self, now: Time) -> Option<Sealed> {
        self.sealer.seal(now, &self.state)
    }

    pub(crate) fn snapshot(&mut self, now: Time) -> (Option<Sealed>, HeadSnapshot) {
        self.sealer.snapshot(now, &self.state)
    }
}
