//! Items of lists that could not be read. An unreadable item is unknown, so an object of the watch that is found wrong
//! after that list may be such an item. An unreadable document of a stream ends the stream, and the watch lists again.

use watchscope_model::event::{ListComplete, Loss, RequestSent};
use watchscope_model::options::ListOptions;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Certainty, FrameLoss};
use watchscope_model::{State, WatchName};

/// The lists of a watch that have unreadable items.
#[derive(Clone, Copy, Debug, Default)]
struct Lists {
    /// Whether the list that is being read has unreadable items.
    this: bool,
    /// Whether the last complete list had unreadable items.
    last: bool,
}

/// For each watch, whether its lists have unreadable items.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread(BTreeMap<WatchName, Lists>);

impl Unread {
    /// Returns what is known from a fold. A fold does not say which list a loss belongs to, so any loss counts.
    pub(super) fn since(state: &State) -> Self {
        let (this, last) = (false, true);
        let watches = state.watches.iter();
        let have_lost = watches.filter(|(_, watch)| watch.lost > 0);
        Self(
            have_lost
                .map(|(name, _)| (name.clone(), Lists { this, last }))
                .collect(),
        )
    }

    pub(super) fn lost(&mut self, event: &Loss) {
        if let Some(watch) = &event.watch
            && event.what == Some(FrameLoss::Item)
        {
            self.0.entry(watch.clone()).or_default().this = true;
        }
    }

    /// Notes a request of a watch. A list begins with the request, unless the request asks for a further page.
    pub(super) fn asked(&mut self, event: &RequestSent, options: &ListOptions<'_>) {
        let goes_on = options.continues.is_some();
        if let Some(lists) = self.0.get_mut(&event.watch).filter(|_| !goes_on) {
            lists.this = false;
        }
    }

    pub(super) fn listed(&mut self, event: &ListComplete, before: &State) {
        let watch = before.watches.get(&event.watch);
        let progress = watch.and_then(|watch| watch.progress.as_ref());
        if let Some(lists) = self.0.get_mut(&event.watch) {
            let this = std::mem::take(&mut lists.this);
            // A list below progress changes nothing.
            if progress.is_none_or(|progress| !progress.is_after(&event.resource_version)) {
                lists.last = this;
            }
        }
    }

    pub(super) fn forget(&mut self, watch: &WatchName) {
        self.0.remove(watch);
    }

    /// Returns how certain a difference in a watch is, given items that could not be read, and an addition to its
    /// sentence.
    pub(super) fn unless_why(
        &self,
        watch: &WatchName,
        sure: Certainty,
    ) -> (Certainty, &'static str) {
        if self.0.get(watch).is_some_and(|lists| lists.last) {
            let why = " An item of its last list could not be read; that may be the cause.";
            (Certainty::Suspected, why)
        } else {
            (sure, "")
        }
    }
}
