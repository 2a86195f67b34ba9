//! Questions about a watch, as the fold knows it.

use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::Phase;
use watchscope_model::{State, WatchName};

/// Returns whether a watch is reading its state, by a list or by initial events.
pub(super) fn is_listing(state: &State, watch: &WatchName) -> bool {
    let phase = state
        .watches
        .get(watch)
        .and_then(|watch| watch.phase.as_ref());
    phase.is_some_and(|phase| phase.phase == Phase::Listing)
}

/// Returns whether an aggregated apiserver serves a watch, instead of kube-apiserver.
pub(super) fn is_aggregated(state: &State, watch: &WatchName) -> bool {
    let watch = state.watches.get(watch);
    watch.is_some_and(|watch| watch.aggregated == Some(true))
}

/// Returns whether a watch selects only some objects.
pub(super) fn has_selector(watch: &Watch) -> bool {
    watch.label_selector.is_some() || watch.field_selector.is_some()
}
