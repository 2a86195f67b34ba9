//! How far a resourceVersion went between two moments.

use std::cmp::Ordering;

use watchscope_model::fold::Watch;
use watchscope_model::{State, WatchName};

use crate::format::number;

/// The resourceVersions that a watch had seen last at two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionsSeen {
    /// The watch.
    pub watch: WatchName,
    /// The resourceVersion at the earlier moment.
    pub from: u64,
    /// The resourceVersion at the later moment. It is lower than [`Self::from`] after a jump back.
    pub to: u64,
}

impl VersionsSeen {
    /// Returns the watch and how far its resourceVersion went: `shop/pods: resourceVersion 519
    /// to 604, +85`, or `shop/pods: resourceVersion 604`.
    #[must_use]
    pub fn words(&self) -> String {
        let (watch, from, to) = (&self.watch, number(self.from), number(self.to));
        let step = number(self.from.abs_diff(self.to));
        match self.from.cmp(&self.to) {
            Ordering::Less => format!("{watch}: resourceVersion {from} to {to}, +{step}"),
            Ordering::Equal => format!("{watch}: resourceVersion {to}"),
            Ordering::Greater => format!("{watch}: resourceVersion {from} to {to}, \u{2212}{step}"),
        }
    }
}

/// Returns the watch whose resourceVersion went farthest, up or down; of several the first by name. Two watches may
/// read different counters, so the versions are those of one watch. `None` if no watch had seen a version that is a
/// number at both moments.
pub(super) fn versions_seen(a: &State, b: &State) -> Option<VersionsSeen> {
    let seen = |watch: &Watch| watch.seen.as_ref()?.number();
    let mut farthest: Option<VersionsSeen> = None;
    for (name, watch) in b.watches.iter() {
        let both = a.watches.get(name).and_then(seen).zip(seen(watch));
        let Some((from, to)) = both else { continue };
        let is_farther = |known: &VersionsSeen| known.from.abs_diff(known.to) < from.abs_diff(to);
        if farthest.as_ref().is_none_or(is_farther) {
            let watch = name.clone();
            farthest = Some(VersionsSeen { watch, from, to });
        }
    }
    farthest
}
