//! Questions about a watch, as the fold knows it.

use watchscope_model::ResourceVersion;
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::Phase;

use crate::audit::budget::PER_WATCH;
use crate::audit::reads::{PAGE, exact_lists_are_etcds};
use crate::versions::ServerVersion;

/// Most objects of a watch whose list is read with all its pages. These are ten pages, half of a watch's requests of a
/// minute ([`PER_WATCH`]), so that lookups have the other half. Of a larger watch only the first page of the newest
/// list is read, and its objects are looked up one by one. A list of over 100 pages would take 5 min or more, and etcd
/// may compact its version before it is complete (docs/semantics/servers.md#compaction). `watchscope audit` sweeps
/// watches of at most 5,000 objects, too.
pub const MOST_LISTED: usize = PAGE * PER_WATCH / 2;

pub(super) fn is_streaming(watch: &Watch) -> bool {
    let phase = watch.phase.as_ref().map(|phase| phase.phase);
    watch.stream.is_some() && phase.is_none_or(|phase| phase == Phase::Streaming)
}

/// Returns the watch's progress, if it is a position in etcd's history; `None` for versions without an order.
pub(super) fn position(watch: &Watch) -> Option<&ResourceVersion> {
    let progress = watch.progress.as_ref();
    progress.filter(|progress| progress.is_position() && !is_unordered(watch))
}

/// Returns whether an aggregated apiserver serves the objects of the watch. Of its resourceVersions only equality is
/// known. A list at one of these versions need not be the state that the watch had at it.
pub(crate) fn is_unordered(watch: &Watch) -> bool {
    let progress = watch.progress.as_ref();
    progress.is_some_and(|progress| !progress.is_ordered())
}

/// Returns whether a version is known to be below the watch's progress.
pub(crate) fn is_below(watch: &Watch, version: &ResourceVersion) -> bool {
    position(watch).is_some_and(|progress| progress.is_after(version))
}

pub(super) fn is_long(watch: &Watch) -> bool {
    watch.objects.len() > MOST_LISTED
}

/// Returns whether lists may hide a wrong object, so that objects have to be looked up one by one.
pub(crate) fn may_hide(watch: &Watch, server: ServerVersion) -> bool {
    is_long(watch) || !exact_lists_are_etcds(server)
}

/// Returns whether the open stream has delivered nothing, not even a bookmark.
pub(super) fn says_nothing(watch: &Watch) -> bool {
    watch.stream.as_ref().is_some_and(|stream| {
        stream.bookmark.is_none() && stream.resource_version == watch.progress
    })
}
