//! Moments of a run that a passage speaks of, and how they are found among what was told.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Entry, Event, Inside};

/// A moment that a passage speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// What happened, in a few words.
    pub words: &'static str,
    /// How it is found: the first of its kind, or the one after so many.
    pub sought: Sought,
    /// How many of its kind come before it.
    pub after: usize,
}

impl Moment {
    /// The first of its kind.
    pub(super) fn first(words: &'static str, sought: Sought) -> Self {
        Self::after(0, words, sought)
    }

    /// The one after `after` others of its kind.
    pub(super) fn after(after: usize, words: &'static str, sought: Sought) -> Self {
        Self {
            words,
            sought,
            after,
        }
    }
}

/// A kind of moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// An object was written in etcd.
    Write(ChangeType, &'static str),
    /// The watch cache took an object in, or dropped it.
    Cached(&'static str, bool),
    /// watchscope's own watch has its list whole.
    Listed,
    /// A change came over watchscope's own watch.
    Change(ChangeType, Origin, &'static str),
    /// A stream of watchscope's own watch opened.
    Opened,
    /// A stream of watchscope's own watch ended.
    Ended,
    /// watchscope's own watch got an ERROR event.
    Error,
    /// A client program asked for something with this in it.
    Asked(&'static str, &'static str),
    /// A client program came to be in a phase.
    Phase(&'static str, &'static str),
    /// A client program came to believe in an object, or no longer to.
    Belief(&'static str, &'static str, bool),
}

/// What finds the moments of one kind: it sees every entry of a run, in order.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    sought: Sought,
    /// Whether the last report was so already.
    was: bool,
}

impl Finder {
    pub(super) fn new(sought: Sought) -> Self {
        // What a program does not believe before it has said anything is nothing it came to disbelieve.
        let was = matches!(sought, Sought::Belief(.., false));
        Self { sought, was }
    }

    /// Whether this is a moment of the kind.
    pub(super) fn takes(&mut self, entry: &Entry) -> bool {
        match entry {
            Entry::Inside(record) => self.is_inside(&record.inside),
            Entry::Record(record) => self.is_event(&record.event),
        }
    }

    fn is_inside(&self, inside: &Inside) -> bool {
        match (self.sought, inside) {
            (Sought::Write(change, name), Inside::InsideWrite(write)) => {
                write.change == change && &*write.object.name == name
            }
            (Sought::Cached(name, is_held), Inside::InsideHeld(held)) => {
                held.revision.is_some() == is_held && &*held.object.name == name
            }
            _ => false,
        }
    }

    fn is_event(&mut self, event: &Event) -> bool {
        match (self.sought, event) {
            (Sought::Listed, Event::ListComplete(_))
            | (Sought::Opened, Event::StreamOpened(_))
            | (Sought::Ended, Event::StreamEnded(_))
            | (Sought::Error, Event::StreamError(_)) => true,
            (Sought::Change(kind, origin, name), Event::Change(change)) => {
                change.change == kind && change.origin == origin && &*change.object.name == name
            }
            (Sought::Asked(client, part), Event::ClientRequest(sent)) => {
                &*sent.client == client && sent.request.contains(part)
            }
            (Sought::Phase(client, phase), Event::ClientReport(report))
                if &*report.client == client =>
            {
                let was = std::mem::replace(&mut self.was, &*report.phase == phase);
                self.was && !was
            }
            (Sought::Belief(client, name, holds), Event::ClientReport(report))
                if &*report.client == client =>
            {
                let Some(belief) = &report.belief else {
                    return false;
                };
                let is = belief.contains(&format!("/{name}\"")) == holds;
                let was = std::mem::replace(&mut self.was, is);
                is && !was
            }
            _ => false,
        }
    }
}

/// The names of the lane a moment lies in and of the one that holds that lane, as the page knows them.
#[must_use]
pub(super) fn lanes(sought: Sought, entry: &Entry) -> (String, Option<String>) {
    match (sought, entry) {
        (Sought::Write(..), _) => ("etcd".to_owned(), None),
        (Sought::Asked(client, _) | Sought::Phase(client, _) | Sought::Belief(client, ..), _) => {
            (format!("client {client}"), None)
        }
        (_, Entry::Inside(record)) => match &record.inside {
            Inside::InsideHeld(held) => {
                let server = format!("apiserver {}", held.server);
                (format!("{server} {}", held.resource), Some(server))
            }
            _ => (String::new(), None),
        },
        (_, Entry::Record(record)) => {
            let watch = record.event.watch();
            let watch = watch.map_or_else(String::new, ToString::to_string);
            match &record.event {
                Event::Change(change) => {
                    let object = &change.object;
                    let namespace = object.namespace.as_deref().unwrap_or("-");
                    (format!("{watch} {namespace}/{}", object.name), Some(watch))
                }
                _ => (watch, None),
            }
        }
    }
}
