//! What an extract asks of whoever hides.

use std::fmt::Debug;

use watchscope_model::rewrite::Rewrite as _;
use watchscope_model::{Entry, Layers, LogId, State};

use crate::hider::Hider;
use crate::part::Parts;

/// Hides in what an extract is made of.
///
/// A trait, so that a program which only makes extracts with nothing hidden has none of the code: a browser fetches it.
pub trait Hide: Debug {
    /// What is hidden.
    fn parts(&self) -> Parts;

    /// Hides in the name of the log.
    fn log(&mut self, log: &mut LogId);

    /// Hides in the folds with which a chapter opens.
    fn opening(&mut self, state: &mut State, layers: &mut Layers);

    /// Hides in a record.
    fn entry(&mut self, entry: &mut Entry);

    /// Another one that hides the same.
    fn again(&self) -> Box<dyn Hide>;
}

impl Hide for Hider {
    fn parts(&self) -> Parts {
        Self::parts(self)
    }

    fn log(&mut self, log: &mut LogId) {
        log.rewrite(self);
    }

    fn opening(&mut self, state: &mut State, layers: &mut Layers) {
        state.rewrite(self);
        layers.rewrite(self);
    }

    fn entry(&mut self, entry: &mut Entry) {
        match entry {
            Entry::Record(record) => record.event.rewrite(self),
            Entry::Inside(record) => record.inside.rewrite(self),
        }
    }

    fn again(&self) -> Box<dyn Hide> {
        Box::new(self.clone())
    }
}
