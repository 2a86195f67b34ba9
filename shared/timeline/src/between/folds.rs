//! The folds up to a moment, and what they say of one watch.

use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{Divergence, Standing};
use watchscope_model::{Layers, Object, State};

/// The folds of all records up to a moment.
#[derive(Clone, Copy, Debug)]
pub struct Folds<'a> {
    /// The state.
    pub state: &'a State,
    /// The inside of a simulated cluster; empty for a real one.
    pub layers: &'a Layers,
}

/// Whether a watch has ever read a whole list, so that an object that it does not hold is one that it lacks.
pub(super) fn has_listed(watch: &Watch) -> bool {
    let is_complete = watch
        .list
        .as_ref()
        .is_some_and(|list| list.complete.is_some());
    is_complete || watch.progress.is_some()
}

/// Returns the confirmed divergence of an object.
pub(super) fn divergence(watch: &Watch, object: &Arc<Object>) -> Option<Divergence> {
    let place = Place(object.clone());
    let mut open = watch.verdicts.values().map(|open| &open.verdict);
    let found = open.find(|verdict| {
        Place(verdict.object.clone()) == place && verdict.state == Standing::Confirmed
    });
    found.map(|verdict| verdict.kind)
}
