//! Moments of a run that a passage of a lesson names, and the search for these moments in the log.

use watchscope_model::belief::Belief;
use watchscope_model::event::ClientReport;
use watchscope_model::options::read_get;
use watchscope_model::vocabulary::{ChangeType, ClientPhase, Origin};
use watchscope_model::{Entry, Event, Inside};

/// A moment of a run that a passage of a lesson names: one entry of the log. Its words are in the passage's texts.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The kind of the moment.
    pub sought: Sought,
    /// The number of moments of the same kind earlier in the run; 0 for the first.
    pub after: usize,
}

impl Moment {
    /// Returns the first moment of a kind.
    pub(super) fn first(sought: Sought) -> Self {
        Self::after(0, sought)
    }

    /// Returns the moment that comes after `after` earlier moments of its kind.
    pub(super) fn after(after: usize, sought: Sought) -> Self {
        Self { sought, after }
    }
}

/// A kind of moment. An object is identified by its name alone, without namespace and resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// The object with this name was created, modified or deleted in etcd, as the change type says.
    Write(ChangeType, &'static str),
    /// A watch cache took the object with this name in or changed it (`true`), or dropped it (`false`).
    Cached(&'static str, bool),
    /// watchscope's own watch completed its list.
    Listed,
    /// watchscope's own watch recorded a change of this type and origin, of the object with this name.
    Change(ChangeType, Origin, &'static str),
    /// A stream of watchscope's own watch opened.
    Opened,
    /// A stream of watchscope's own watch ended.
    Ended,
    /// watchscope's own watch received an ERROR event.
    Error,
    /// The client program with the first name sent a request that contains the second text.
    Asked(&'static str, &'static str),
    /// The client program with the first name entered the phase that the second word names.
    Phase(&'static str, &'static str),
    /// The client program with the first name began to hold the object with the second name (`true`), or ceased to hold
    /// it (`false`). Only objects with a namespace count, and only the at most 64 objects of a belief that its report
    /// names.
    Belief(&'static str, &'static str, bool),
    /// The client program with this name asked for a watch from exactly the first resourceVersion. The newest write of
    /// the run then had at least the second number as its revision.
    Resumed(&'static str, u64, u64),
    /// The client program with this name had watched, and asked for a list anew. The newest write of the run then had
    /// at most this number as its revision.
    Relisted(&'static str, u64),
    /// The client program with this name asked for a watch from a resourceVersion, and the newest write of the run had a
    /// higher revision, at most this number: the server has something that the client missed.
    CaughtUp(&'static str, u64),
    /// The client program with this name reported for the first time that it knows everything up to at least this
    /// revision.
    Knows(&'static str, u64),
    /// The client program with this name reported that it knows everything up to at least the first revision. The
    /// newest write of the run then had at most the second number as its revision.
    KnowsWhile(&'static str, u64, u64),
    /// The client program with this name asked for a watch from a lower resourceVersion than one up to which it had
    /// reported to know everything.
    WentBack(&'static str),
    /// The client program with this name asked for a watch from a resourceVersion that was lower than the newest write's
    /// revision by at least the first number. That revision was at least the second number.
    Behind(&'static str, u64, u64),
    /// The client program with the first name began to hold the object with the second name at a version above this
    /// number. Only the at most 64 objects of a belief that its report names count.
    HoldsNewer(&'static str, &'static str, u64),
    /// The client program with the first name ceased to hold the object with the second name, and not by a list: since
    /// its last list it has reported, while it watched, what it holds. Only objects with a namespace count, and only the
    /// at most 64 objects of a belief that its report names.
    DroppedByEvent(&'static str, &'static str),
}

/// The search for the moments of one kind. The caller passes it every entry of a run, in order.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    sought: Sought,
    /// Whether the client program's last report, or last request, already met the condition of the kind.
    was: bool,
    /// Whether the client program has asked for a list and did not report since, while it watched, what it holds.
    lists: bool,
    /// The highest revision of a write so far.
    revision: u64,
    /// The highest revision up to which the client program reported to know everything.
    known: u64,
}

impl Finder {
    pub(super) fn new(sought: Sought) -> Self {
        // A program without a report believes in nothing, so its first report cannot show that it ceased to believe.
        let was = matches!(sought, Sought::Belief(.., false));
        Self {
            sought,
            was,
            lists: false,
            revision: 0,
            known: 0,
        }
    }

    /// Returns whether an entry of the log is a moment of the sought kind.
    pub(super) fn takes(&mut self, entry: &Entry) -> bool {
        match entry {
            Entry::Inside(record) => self.is_inside(&record.inside),
            Entry::Record(record) => self.is_event(&record.event),
        }
    }

    fn is_inside(&mut self, inside: &Inside) -> bool {
        if let Inside::InsideWrite(write) = inside {
            self.revision = self.revision.max(write.revision);
        }
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
            (Sought::Resumed(client, from, etcd), Event::ClientRequest(sent))
                if &*sent.client == client =>
            {
                watched_from(&sent.request) == Some(from) && self.revision >= etcd
            }
            (Sought::Relisted(client, most), Event::ClientRequest(sent))
                if &*sent.client == client =>
            {
                let Some((_, options)) = read_get(&sent.request) else {
                    return false;
                };
                let lists = !options.watch || options.initial_events;
                let has_watched = self.was;
                self.was |= options.watch;
                has_watched && lists && self.revision <= most
            }
            (Sought::CaughtUp(client, most), Event::ClientRequest(sent))
                if &*sent.client == client =>
            {
                let is_behind = |version| version < self.revision;
                watched_from(&sent.request).is_some_and(is_behind) && self.revision <= most
            }
            (Sought::Knows(client, revision), Event::ClientReport(report))
                if &*report.client == client =>
            {
                let is = known_by(report).is_some_and(|known| known >= revision);
                let was = self.was;
                self.was |= is;
                is && !was
            }
            (Sought::KnowsWhile(client, revision, most), Event::ClientReport(report))
                if &*report.client == client =>
            {
                known_by(report).is_some_and(|known| known >= revision) && self.revision <= most
            }
            (Sought::WentBack(client), Event::ClientReport(report))
                if &*report.client == client =>
            {
                self.known = self.known.max(known_by(report).unwrap_or(0));
                false
            }
            (Sought::WentBack(client), Event::ClientRequest(sent)) if &*sent.client == client => {
                watched_from(&sent.request).is_some_and(|version| version < self.known)
            }
            (Sought::Behind(client, by, least), Event::ClientRequest(sent))
                if &*sent.client == client =>
            {
                let is_behind = |version: u64| version.saturating_add(by) <= self.revision;
                watched_from(&sent.request).is_some_and(is_behind) && self.revision >= least
            }
            (Sought::HoldsNewer(client, name, version), Event::ClientReport(report))
                if &*report.client == client =>
            {
                let Some(belief) = &report.belief else {
                    return false;
                };
                let beliefs = Belief::read(belief);
                let mut held = beliefs.iter().flat_map(|belief| &belief.held);
                let is = held.any(|held| {
                    &*held.object.name == name && held.revision().is_some_and(|at| at > version)
                });
                let was = std::mem::replace(&mut self.was, is);
                is && !was
            }
            (Sought::DroppedByEvent(client, _), Event::ClientRequest(sent))
                if &*sent.client == client =>
            {
                let asked = read_get(&sent.request);
                self.lists |=
                    asked.is_some_and(|(_, options)| !options.watch || options.initial_events);
                false
            }
            (Sought::DroppedByEvent(client, name), Event::ClientReport(report))
                if &*report.client == client =>
            {
                let Some(belief) = &report.belief else {
                    return false;
                };
                let holds = names(belief, name);
                let held = std::mem::replace(&mut self.was, holds);
                let is_by_event = held && !holds && !self.lists;
                // A list reaches the client's store only after the next watch is asked for.
                self.lists &= ClientPhase::of(&report.phase) != ClientPhase::Watching;
                is_by_event
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
                let is = names(belief, name) == holds;
                let was = std::mem::replace(&mut self.was, is);
                is && !was
            }
            _ => false,
        }
    }
}

/// Whether a belief in JSON names an object with a namespace.
fn names(belief: &str, name: &str) -> bool {
    belief.contains(&format!("/{name}\""))
}

/// Returns the revision up to which a client program reports to know everything; `None` if it reports none.
fn known_by(report: &ClientReport) -> Option<u64> {
    let beliefs = report.belief.as_deref().map(Belief::read);
    let known = beliefs.iter().flatten();
    known.filter_map(|belief| belief.revision).min()
}

/// Returns the resourceVersion from which a request watches; `None` if it is no watch, or names no number.
fn watched_from(request: &str) -> Option<u64> {
    let (_, options) = read_get(request)?;
    let version = options.version.filter(|_| options.watch)?;
    version.parse().ok()
}

/// Returns the names of a moment's lane and of the lane that contains this lane, as the page knows them.
#[must_use]
pub(super) fn lanes(sought: Sought, entry: &Entry) -> (String, Option<String>) {
    match (sought, entry) {
        (Sought::Write(..), _) => ("etcd".to_owned(), None),
        (
            Sought::Asked(client, _)
            | Sought::Phase(client, _)
            | Sought::Belief(client, ..)
            | Sought::Resumed(client, ..)
            | Sought::Relisted(client, _)
            | Sought::CaughtUp(client, _)
            | Sought::Knows(client, _)
            | Sought::KnowsWhile(client, ..)
            | Sought::WentBack(client)
            | Sought::Behind(client, ..)
            | Sought::HoldsNewer(client, ..)
            | Sought::DroppedByEvent(client, _),
            _,
        ) => (format!("client {client}"), None),
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
