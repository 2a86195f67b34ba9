//! Acts of a lesson's script that the person can move along the time axis, and what there is to find by moving them.

use std::time::Duration;

/// An act of the script that the person can move.
#[derive(Clone, Debug)]
pub struct Movable {
    /// The act's name in links: a word in lower case. No two acts of a lesson have the same name.
    pub name: &'static str,
    /// The act in words, such as `DELETE report`.
    pub words: &'static str,
    /// The name of the object that the act deletes.
    pub object: &'static str,
    /// The act's time in the script. No other act of the script has this time.
    pub written: Duration,
    /// The act's present time.
    pub at: Duration,
    /// The earliest and the latest time of the act. Between them the script makes no other write, so the act's revision
    /// of etcd stays as written.
    pub bounds: (Duration, Duration),
    /// The times to which a drag snaps.
    pub snaps: Vec<Duration>,
    /// Without breaks, no client hears of the act for the first time from this time on, wherever the act was moved.
    pub settled: Duration,
    /// What there is to find by moving the act, in the order of the list on the page. The list may be empty.
    pub finds: Vec<Find>,
}

/// Something to find by moving an act.
#[derive(Clone, Debug)]
pub struct Find {
    /// What is to be found, as a phrase that begins with a capital.
    pub words: &'static str,
    /// The clients that hear the act.
    pub hear: &'static [&'static str],
    /// The clients that do not hear the act.
    pub miss: &'static [&'static str],
    /// The one time of the act that counts; `None` if any does.
    pub only_at: Option<Duration>,
}

impl Movable {
    /// Returns the time, or the nearest bound of a time outside the bounds.
    #[must_use]
    pub fn within(&self, at: Duration) -> Duration {
        at.clamp(self.bounds.0, self.bounds.1)
    }

    /// Returns the indices in [`Self::finds`] that a run shows. `heard` has the clients that heard the act, once all that
    /// can hear it did.
    pub fn found<'a>(&'a self, heard: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
        let is_found = |find: &Find| {
            find.hear.iter().all(|client| heard.contains(client))
                && !find.miss.iter().any(|client| heard.contains(client))
                && find.only_at.is_none_or(|at| at == self.at)
        };
        let finds = self.finds.iter().enumerate();
        finds
            .filter(move |(_, find)| is_found(find))
            .map(|(place, _)| place)
    }
}
