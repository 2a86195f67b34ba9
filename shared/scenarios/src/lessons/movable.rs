//! Acts of a lesson's script that the person can move along the time axis, and what there is to find by moving them.

use std::time::Duration;

use watchscope_model::vocabulary::ChangeType;

/// An act of the script that the person can move.
#[derive(Clone, Debug)]
pub struct Movable {
    /// The act's name in links, and the key of its texts: a word in lower case. No two acts of a lesson have the same name.
    pub name: &'static str,
    /// The key of the lane on which the act happens, as the page knows it.
    pub lane: &'static str,
    /// The news that the clients can learn, and that the act's time decides about.
    pub news: News,
    /// The act's time in the script. No other act of the script has this time.
    pub written: Duration,
    /// The act's present time.
    pub at: Duration,
    /// The earliest and the latest time of the act. The act is no write, or passes no other write, so each revision of
    /// etcd stays as written.
    pub bounds: (Duration, Duration),
    /// The times to which a drag snaps.
    pub snaps: Vec<Duration>,
    /// Without breaks, no client learns the news for the first time from this time on, wherever the act was moved.
    pub settled: Duration,
    /// What there is to find by moving the act, in the order of the list on the page. The list may be empty.
    pub finds: Vec<Find>,
}

/// A change of an object that clients can learn of. In a lesson's script the object changes so only once.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// How the object changes: it is created or deleted.
    pub change: ChangeType,
    /// The object's name.
    pub object: &'static str,
}

/// How a client learns of a change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// By one event of a watch.
    ByEvent,
    /// By an event of a watch, and by such an event again; the number counts all of them and is at least 2.
    Again(u32),
    /// From a list: it has an object that the client did not hold, or lacks one that it held.
    FromList,
    /// Not at all.
    Never,
}

/// Something to find by moving an act.
#[derive(Clone, Debug)]
pub struct Find {
    /// The key of the find's words. No two finds of an act have the same key.
    pub key: &'static str,
    /// How clients learn the news; other clients do not count.
    pub learn: &'static [(&'static str, Learned)],
    /// The one time of the act that counts; `None` if any does.
    pub only_at: Option<Duration>,
}

impl Find {
    /// Returns something to find wherever the act is.
    pub(super) const fn of(key: &'static str, learn: &'static [(&'static str, Learned)]) -> Self {
        Self {
            key,
            learn,
            only_at: None,
        }
    }
}

impl Movable {
    /// Returns the time, or the nearest bound of a time outside the bounds.
    #[must_use]
    pub fn within(&self, at: Duration) -> Duration {
        at.clamp(self.bounds.0, self.bounds.1)
    }

    /// Whether the news concerns a client: it is in what there is to find. Without anything to find, each client is.
    #[must_use]
    pub fn concerns(&self, client: &str) -> bool {
        let mut clients = self.finds.iter().flat_map(|find| find.learn);
        self.finds.is_empty() || clients.any(|(known, _)| *known == client)
    }

    /// Returns the indices in [`Self::finds`] that a run shows. `learned` returns how a client learned the news, once
    /// all clients that can learn it did.
    pub fn found<'a>(
        &'a self,
        learned: impl Fn(&str) -> Learned + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let is_found = move |find: &Find| {
            let mut clients = find.learn.iter();
            clients.all(|(client, how)| learned(client) == *how)
                && find.only_at.is_none_or(|at| at == self.at)
        };
        let finds = self.finds.iter().enumerate();
        finds
            .filter(move |(_, find)| is_found(find))
            .map(|(place, _)| place)
    }
}
