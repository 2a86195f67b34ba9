//! The interface through which an extract hides names.

use std::fmt::Debug;

use watchscope_model::rewrite::Rewrite as _;
use watchscope_model::{Entry, Layers, LogId, State};

use crate::hider::Hider;
use crate::part::Parts;

/// An interface that hides names in an extract: in its log's name, its openings and its records. If no part is hidden,
/// or bodies alone, the methods change nothing. Bodies are left out elsewhere.
///
/// This is a trait, so that a program that only makes extracts without hiding has no code for hiding. A browser would
/// have to download that code.
pub trait Hide: Debug {
    /// Returns the parts that are hidden.
    fn parts(&self) -> Parts;

    /// Hides names in the name of a log.
    fn log(&mut self, log: &mut LogId);

    /// Hides names in the folds at the opening of a chapter: the fold of the records, and the fold of the inside
    /// records.
    fn opening(&mut self, state: &mut State, layers: &mut Layers);

    /// Hides names in a record. The record's seq and time stay.
    fn entry(&mut self, entry: &mut Entry);

    /// Returns a copy that hides the same parts with the same pseudonyms.
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
