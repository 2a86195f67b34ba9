//! The folds of all records up to a moment, and what these folds say of one watch.

use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{Divergence, Standing};
use watchscope_model::{Layers, Object, State};

/// The folds of all records up to a moment.
#[derive(Clone, Copy, Debug)]
pub struct Folds<'a> {
    /// The fold of the log's records.
    pub state: &'a State,
    /// The fold of a simulated cluster's inside records; empty for a real cluster.
    pub layers: &'a Layers,
}

/// Whether a watch has ever read a whole list, so that it is known not to hold any other object.
pub(super) fn has_listed(watch: &Watch) -> bool {
    let is_complete = watch
        .list
        .as_ref()
        .is_some_and(|list| list.complete.is_some());
    is_complete || watch.progress.is_some()
}

/// Returns the kind of the open, confirmed verdict on an object; `None` if there is none.
pub(super) fn divergence(watch: &Watch, object: &Arc<Object>) -> Option<Divergence> {
    let place = Place(object.clone());
    let mut open = watch.verdicts.values().map(|open| &open.verdict);
    let found = open.find(|verdict| {
        Place(verdict.object.clone()) == place && verdict.state == Standing::Confirmed
    });
    found.map(|verdict| verdict.kind)
}
