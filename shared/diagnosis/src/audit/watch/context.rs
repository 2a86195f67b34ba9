//! The inputs of a step of a watch's audit, and the list of its records.

use watchscope_model::fold::Watch;
use watchscope_model::read::{Page, Seen};
use watchscope_model::{Event, ResourceVersion, Time, WatchName};

use crate::audit::traffic::DeletedObjects;
use crate::versions::ServerVersion;

/// The inputs of a step besides the watch's state, and the list for its records.
pub(crate) struct StepContext<'a> {
    pub(crate) name: &'a WatchName,
    pub(crate) watch: &'a Watch,
    /// The newest Kubernetes version among the servers that may answer.
    pub(crate) server: ServerVersion,
    pub(crate) one_name_says_newest: bool,
    /// Whether three quarters of the server's requests of this minute are spent.
    pub(crate) is_scarce: bool,
    pub(crate) now: Time,
    /// Objects that any watch reported as deleted.
    pub(crate) gone: &'a DeletedObjects,
    pub(crate) out: &'a mut Vec<Event>,
}

impl StepContext<'_> {
    /// Returns whether a list of one object's name shows the state at the requested version `at`.
    pub(super) fn is_one_at(&self, page: &Page, at: &ResourceVersion) -> bool {
        let is_past = |seen: &Seen| !seen.version.is_after(at);
        let may_be = self.one_name_says_newest && page.version.is_after(at);
        page.version == *at || (may_be && page.items.iter().all(is_past))
    }
}
