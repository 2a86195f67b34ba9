//! A client that keeps everything that it gets, and compares it with etcd's history afterwards.
//!
//! It is the oracle of etcd's robustness tests, applied to apiservers. A stream must deliver exactly the history above
//! its start, in order, as far as it came. So it is ordered, unique, reliable and resumable, whichever server it comes
//! from. A bookmark must follow all events that it covers and precede all others. A list must be the state at its
//! version. If it requested the newest state, it must be no older than the request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use watchscope_simulator::{
    Arrival, Change, ChangeKind, ConnectionId, Flow, Object, Request, RequestId, Time, World,
};

/// The path of the audited objects.
const TARGET: &str = "/api/v1/namespaces/default/configmaps";
const RESOURCE: &str = "configmaps";

/// How a client gets its first state, and the next one after a 410.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// By a list of the newest state.
    Consistent,
    /// By a list of any state, at `resourceVersion=0`.
    Any,
    /// By a list of at least the known version; if that fails, of the newest.
    AtLeast,
    /// By a list of the newest state, two objects a page.
    Paged,
    /// By the initial events of a watch, where the server supports them.
    Initial,
}

/// Names of objects, with uid and version.
type State = BTreeMap<String, (String, u64)>;

/// An event or bookmark of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Delivered {
    Event(&'static str, String, String, u64),
    Bookmark(u64),
}

#[derive(Debug)]
struct Stream {
    /// The version after which it must begin.
    start: u64,
    delivered: Vec<Delivered>,
}

#[derive(Debug)]
struct List {
    /// The least version that it may have.
    least: u64,
    /// etcd's revision when the list arrived.
    most: u64,
    revision: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    List,
    Watch,
    /// A watch whose initial events are not complete.
    Initial,
}

/// The auditing client.
#[derive(Debug)]
pub(crate) struct Auditor {
    listing: Listing,
    /// The value of the label `side` that it selects; `None`: all objects.
    side: Option<&'static str>,
    connection: Option<ConnectionId>,
    request: Option<(RequestId, Asked)>,
    status: u16,
    unread: Vec<u8>,
    /// When something last came for its request.
    heard_at: Time,
    retry_at: Option<Time>,
    /// The version that it may resume from; 0 if it must list.
    progress: u64,
    /// The least version that the next list may have.
    least: u64,
    /// Whether its last list in its own way was refused, so that the next one requests the newest state.
    plainly: bool,
    /// The list, or the initial events, that are under way.
    list: Option<List>,
    page: String,
    held: State,
    lists: Vec<List>,
    streams: Vec<Stream>,
    wrong: Vec<String>,
}

impl Auditor {
    pub(crate) fn new(listing: Listing, side: Option<&'static str>) -> Auditor {
        Auditor {
            listing,
            side,
            connection: None,
            request: None,
            status: 0,
            unread: Vec::new(),
            heard_at: Time::ZERO,
            retry_at: Some(Time::ZERO),
            progress: 0,
            least: 0,
            plainly: false,
            list: None,
            page: String::new(),
            held: State::new(),
            lists: Vec::new(),
            streams: Vec::new(),
            wrong: Vec::new(),
        }
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }

    /// When it acts by itself next.
    pub(crate) fn wake_at(&self) -> Time {
        /// Longer than the time between two bookmarks.
        const SILENCE: Duration = Duration::from_secs(100);
        self.retry_at.unwrap_or(self.heard_at + SILENCE)
    }

    /// Requests again, or gives up a connection on which nothing comes.
    pub(crate) fn wake(&mut self, world: &mut World) {
        if self.retry_at.take().is_none()
            && let Some(connection) = self.connection.take()
        {
            world.close(connection);
        }
        self.ask(world);
    }

    fn ask(&mut self, world: &mut World) {
        self.unread.clear();
        self.status = 0;
        self.retry_at = None;
        self.heard_at = world.now();
        let (query, asked) = self.query(world.truth().revision());
        let side = self.side.map_or(String::new(), |side| {
            format!("&labelSelector=side%3D{side}")
        });
        let connection = *self
            .connection
            .get_or_insert_with(|| world.connect(Flow::Immediate));
        let target = format!("{TARGET}?{query}{side}");
        self.request = Some((world.send(connection, Request::get(&target)), asked));
    }

    fn query(&mut self, now: u64) -> (String, Asked) {
        if self.progress != 0 {
            self.streams.push(Stream {
                start: self.progress,
                delivered: Vec::new(),
            });
            let from = self.progress;
            let query = format!(
                "watch=1&resourceVersion={from}&timeoutSeconds=240&allowWatchBookmarks=true"
            );
            return (query, Asked::Watch);
        }
        if !self.page.is_empty() {
            return (format!("limit=2&continue={}", self.page), Asked::List);
        }
        let listing = if self.plainly {
            Listing::Consistent
        } else {
            self.listing
        };
        let (least, query, asked) = match listing {
            Listing::Consistent => (now, String::new(), Asked::List),
            Listing::Any => (0, "resourceVersion=0".to_owned(), Asked::List),
            Listing::AtLeast if self.least == 0 => (now, String::new(), Asked::List),
            Listing::AtLeast => {
                let query = format!("resourceVersion={}", self.least);
                (self.least, query, Asked::List)
            }
            Listing::Paged => (now, "limit=2".to_owned(), Asked::List),
            Listing::Initial => {
                let query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=240\
                             &resourceVersionMatch=NotOlderThan";
                (now, query.to_owned(), Asked::Initial)
            }
        };
        self.list = Some(List {
            least,
            most: 0,
            revision: 0,
            state: State::new(),
        });
        (query, asked)
    }

    /// Takes a delivery.
    pub(crate) fn receive(&mut self, arrival: &Arrival, world: &mut World) {
        let ours = self.request.map(|(request, _)| request);
        if arrival.request().is_some() && arrival.request() != ours {
            return;
        }
        self.heard_at = world.now();
        match arrival {
            Arrival::Connected | Arrival::GoAway => {}
            Arrival::Refused | Arrival::Closed(_) => {
                self.connection = None;
                self.again(world, 700);
            }
            Arrival::Reset { .. } => self.again(world, 300),
            Arrival::Head { head, .. } => self.status = head.status,
            Arrival::Chunk { bytes, .. } => {
                self.unread.extend_from_slice(bytes);
                if self.status == 200 && self.request.is_some_and(|(_, asked)| asked != Asked::List)
                {
                    self.read_frames(world);
                }
            }
            Arrival::End { .. } if self.status == 200 => match self.request {
                Some((_, Asked::List)) => self.read_list(world),
                _ => self.again(world, 300),
            },
            Arrival::End { .. } => self.refused(world),
        }
    }

    fn again(&mut self, world: &World, ms: u64) {
        self.request = None;
        self.retry_at = Some(world.now() + Duration::from_millis(ms));
    }

    /// Starts over with a list.
    fn start_over(&mut self) {
        self.least = self.least.max(self.progress);
        self.progress = 0;
        self.page.clear();
    }

    fn refused(&mut self, world: &World) {
        match self.status {
            // Too old, too new, or not supported by this version: it lists the newest state.
            410 | 504 | 400 | 422 => {
                self.plainly = true;
                self.start_over();
            }
            401 | 403 | 429 | 500 | 503 => {}
            other => self.wrong.push(format!("an answer of {other}")),
        }
        self.again(world, 1000);
    }

    fn read_list(&mut self, world: &mut World) {
        let body: Value = match serde_json::from_slice(&self.unread) {
            Ok(body) => body,
            Err(error) => return self.wrong.push(format!("a list that is none: {error}")),
        };
        let Some(list) = &mut self.list else {
            return self.wrong.push("a list nobody asked for".to_owned());
        };
        let revision = version(&body);
        if !self.page.is_empty() && list.revision != revision {
            let (first, later) = (list.revision, revision);
            self.wrong
                .push(format!("pages of one list at {first} and {later}"));
        }
        list.revision = revision;
        for object in body["items"].as_array().into_iter().flatten() {
            list.state.insert(name(object), held(object));
        }
        self.page = body["metadata"]["continue"]
            .as_str()
            .unwrap_or("")
            .to_owned();
        if self.page.is_empty() {
            self.listed(revision, world);
        }
        self.ask(world);
    }

    fn listed(&mut self, revision: u64, world: &World) {
        if let Some(mut list) = self.list.take() {
            list.revision = revision;
            list.most = world.truth().revision();
            self.held.clone_from(&list.state);
            self.lists.push(list);
        }
        self.plainly = false;
        self.progress = revision;
    }

    fn read_frames(&mut self, world: &World) {
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(frame) => self.read_frame(&frame, world),
                Err(error) => self.wrong.push(format!("a frame that is none: {error}")),
            }
        }
    }

    fn read_frame(&mut self, frame: &Value, world: &World) {
        let object = &frame["object"];
        let at = version(object);
        let initial = self
            .request
            .is_some_and(|(_, asked)| asked == Asked::Initial);
        let kind = match frame["type"].as_str() {
            Some("ADDED") if initial => {
                if let Some(list) = &mut self.list {
                    list.state.insert(name(object), held(object));
                }
                return;
            }
            Some("BOOKMARK") if initial => {
                if object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" {
                    self.listed(at, world);
                    self.streams.push(Stream {
                        start: at,
                        delivered: Vec::new(),
                    });
                    self.request = self.request.map(|(request, _)| (request, Asked::Watch));
                }
                return;
            }
            Some("ERROR") => {
                self.plainly |= initial;
                match object["code"].as_u64() {
                    Some(410 | 500 | 504) => self.start_over(),
                    _ => self.wrong.push(format!("an error: {object}")),
                }
                return;
            }
            Some("BOOKMARK") => return self.deliver(Delivered::Bookmark(at), at),
            Some("ADDED") => "ADDED",
            Some("MODIFIED") => "MODIFIED",
            Some("DELETED") => "DELETED",
            _ => return self.wrong.push(format!("a frame of no kind: {frame}")),
        };
        if initial {
            // Live events before the end of the initial ones belong to the initial state.
            if let Some(list) = &mut self.list {
                match kind {
                    "DELETED" => list.state.remove(&name(object)),
                    _ => list.state.insert(name(object), held(object)),
                };
            }
            return;
        }
        let (uid, _) = held(object);
        if kind == "DELETED" {
            self.held.remove(&name(object));
        } else {
            self.held.insert(name(object), held(object));
        }
        self.deliver(Delivered::Event(kind, name(object), uid, at), at);
    }

    fn deliver(&mut self, delivered: Delivered, at: u64) {
        self.progress = at;
        if let Some(stream) = self.streams.last_mut() {
            stream.delivered.push(delivered);
        }
    }

    /// Everything delivered that contradicts etcd's history.
    pub(crate) fn against_history(&self, world: &World) -> Vec<String> {
        let mut history = world.truth().history_of(RESOURCE);
        history.retain(|change| change.object.namespace() == "default");
        let mut wrong = self.wrong.clone();
        let expected: Vec<(u64, Delivered)> = history
            .iter()
            .filter_map(|change| Some((change.revision, self.as_delivered(change)?)))
            .collect();
        for stream in &self.streams {
            if let Err(error) = follow(stream, &expected) {
                wrong.push(error);
            }
        }
        for list in &self.lists {
            let (least, at, most) = (list.least, list.revision, list.most);
            if !(least..=most).contains(&at) {
                wrong.push(format!("a list at {at}, asked for {least} to {most}"));
            }
            let mut state = State::new();
            for change in history.iter().take_while(|change| change.revision <= at) {
                let object = &change.object;
                if change.kind == ChangeKind::Deleted || !self.selects(object) {
                    state.remove(object.name());
                } else {
                    let held = (object.uid().to_owned(), object.revision());
                    state.insert(object.name().to_owned(), held);
                }
            }
            if state != list.state {
                let delivered = &list.state;
                wrong.push(format!(
                    "a list at {at} of {delivered:?}, where there was {state:?}"
                ));
            }
        }
        wrong
    }

    /// How its objects differ from those in the cluster now; `None` if they do not.
    pub(crate) fn against_truth(&self, world: &World) -> Option<String> {
        let objects = world.truth().objects(RESOURCE, "default");
        let truth: State = objects
            .iter()
            .filter(|object| self.selects(object))
            .map(|o| (o.name().to_owned(), (o.uid().to_owned(), o.revision())))
            .collect();
        let (at, held) = (self.progress, &self.held);
        (truth != *held).then(|| format!("holds {held:?} at {at}, where there is {truth:?}"))
    }

    fn selects(&self, object: &Arc<Object>) -> bool {
        self.side
            .is_none_or(|side| object.value()["metadata"]["labels"]["side"] == side)
    }

    /// A change as a watch with this selector delivers it (docs/semantics/servers.md#type-translation).
    fn as_delivered(&self, change: &Change) -> Option<Delivered> {
        let matches = change.kind != ChangeKind::Deleted && self.selects(&change.object);
        let matched = change.previous.as_ref().is_some_and(|o| self.selects(o));
        let kind = match (matches, matched) {
            (true, false) => "ADDED",
            (true, true) => "MODIFIED",
            (false, true) => "DELETED",
            (false, false) => return None,
        };
        let (name, uid) = (change.object.name(), change.object.uid());
        Some(Delivered::Event(
            kind,
            name.to_owned(),
            uid.to_owned(),
            change.revision,
        ))
    }
}

/// Compares a stream with the events that it should have delivered.
fn follow(stream: &Stream, expected: &[(u64, Delivered)]) -> Result<(), String> {
    let start = stream.start;
    let mut past = start;
    let mut ahead = expected.iter().filter(|(at, _)| *at > start).peekable();
    for delivered in &stream.delivered {
        match delivered {
            Delivered::Bookmark(at) => {
                if *at < past {
                    return Err(format!("from {start}: bookmark {at} behind {past}"));
                }
                if let Some((missing, _)) = ahead.peek().filter(|(missing, _)| missing <= at) {
                    return Err(format!("from {start}: bookmark {at} without {missing}"));
                }
                past = *at;
            }
            Delivered::Event(.., at) => {
                let next = ahead.next();
                if next.is_none_or(|(_, next)| next != delivered) {
                    return Err(format!("from {start}: {delivered:?} instead of {next:?}"));
                }
                past = *at;
            }
        }
    }
    Ok(())
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or("").to_owned()
}

fn held(object: &Value) -> (String, u64) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or("");
    (uid.to_owned(), version(object))
}
