//! A client that keeps everything it is told, and holds it against etcd's history afterwards.
//!
//! It is the oracle of etcd's robustness tests, asked of apiservers. A stream has to tell exactly what history holds
//! behind its start, one after the other, as far as it got: so it is ordered, unique, reliable and resumable, whichever
//! server it comes from. A bookmark has to stand behind all it covers and before all it does not. A list has to be what
//! was there at its version, and if it asked for the present no older than the question.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use watchscope_simulator::{
    Arrival, Change, ChangeKind, ConnectionId, Flow, Object, Request, RequestId, Time, World,
};

/// Where the audited objects are.
const TARGET: &str = "/api/v1/namespaces/default/configmaps";
const RESOURCE: &str = "configmaps";

/// How a client gets its first state, and the next after a 410.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The present.
    Consistent,
    /// Anything, `resourceVersion=0`.
    Any,
    /// At least what it knew, then the present.
    AtLeast,
    /// The present, two objects at a time.
    Paged,
    /// Initial events of a watch, where the server has them.
    Initial,
}

/// Name to uid and version.
type State = BTreeMap<String, (String, u64)>;

/// Something a stream said.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Event(&'static str, String, String, u64),
    Bookmark(u64),
}

#[derive(Debug)]
struct Stream {
    /// The version it was to begin behind.
    start: u64,
    told: Vec<Told>,
}

#[derive(Debug)]
struct List {
    /// The least version it may have.
    least: u64,
    /// etcd's revision when it came.
    most: u64,
    revision: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    List,
    Watch,
    /// A watch whose initial events are not over.
    Initial,
}

/// The client.
#[derive(Debug)]
pub(crate) struct Auditor {
    listing: Listing,
    /// Only objects with the label `side` of this value, or all.
    side: Option<&'static str>,
    connection: Option<ConnectionId>,
    request: Option<(RequestId, Asked)>,
    status: u16,
    unread: Vec<u8>,
    /// When it last heard something on its request.
    heard_at: Time,
    retry_at: Option<Time>,
    /// The version it may resume from; 0 if it has to list.
    progress: u64,
    /// What it asks the next list for.
    least: u64,
    /// Whether its last attempt at a list in its own way was refused, so that the next asks for the present.
    plainly: bool,
    /// What a list or initial events under way have brought.
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

    /// When it does something by itself.
    pub(crate) fn wake_at(&self) -> Time {
        /// Longer than bookmarks are apart.
        const SILENCE: Duration = Duration::from_secs(100);
        self.retry_at.unwrap_or(self.heard_at + SILENCE)
    }

    /// Asks again, or gives up a connection on which nothing comes.
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
                told: Vec::new(),
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

    /// Something came over its connection.
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

    /// It has to list again.
    fn start_over(&mut self) {
        self.least = self.least.max(self.progress);
        self.progress = 0;
        self.page.clear();
    }

    fn refused(&mut self, world: &World) {
        match self.status {
            // Too old, too new, or not understood by this version: in the plainest way.
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
                        told: Vec::new(),
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
            Some("BOOKMARK") => return self.say(Told::Bookmark(at), at),
            Some("ADDED") => "ADDED",
            Some("MODIFIED") => "MODIFIED",
            Some("DELETED") => "DELETED",
            _ => return self.wrong.push(format!("a frame of no kind: {frame}")),
        };
        if initial {
            // Live events before the end of the initial ones are part of that state.
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
        self.say(Told::Event(kind, name(object), uid, at), at);
    }

    fn say(&mut self, told: Told, at: u64) {
        self.progress = at;
        if let Some(stream) = self.streams.last_mut() {
            stream.told.push(told);
        }
    }

    /// What of all it was told was not so.
    pub(crate) fn against_history(&self, world: &World) -> Vec<String> {
        let mut history = world.truth().history_of(RESOURCE);
        history.retain(|change| change.object.namespace() == "default");
        let mut wrong = self.wrong.clone();
        let expected: Vec<(u64, Told)> = history
            .iter()
            .filter_map(|change| Some((change.revision, self.as_told(change)?)))
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
                let told = &list.state;
                wrong.push(format!(
                    "a list at {at} of {told:?}, where there was {state:?}"
                ));
            }
        }
        wrong
    }

    /// How what it holds differs from what is there now.
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

    /// What a change is to a watch with this selector (docs/semantics/servers.md#type-translation).
    fn as_told(&self, change: &Change) -> Option<Told> {
        let matches = change.kind != ChangeKind::Deleted && self.selects(&change.object);
        let matched = change.previous.as_ref().is_some_and(|o| self.selects(o));
        let kind = match (matches, matched) {
            (true, false) => "ADDED",
            (true, true) => "MODIFIED",
            (false, true) => "DELETED",
            (false, false) => return None,
        };
        let (name, uid) = (change.object.name(), change.object.uid());
        Some(Told::Event(
            kind,
            name.to_owned(),
            uid.to_owned(),
            change.revision,
        ))
    }
}

/// Walks a stream along what it should have told.
fn follow(stream: &Stream, expected: &[(u64, Told)]) -> Result<(), String> {
    let start = stream.start;
    let mut past = start;
    let mut ahead = expected.iter().filter(|(at, _)| *at > start).peekable();
    for told in &stream.told {
        match told {
            Told::Bookmark(at) => {
                if *at < past {
                    return Err(format!("from {start}: bookmark {at} behind {past}"));
                }
                if let Some((untold, _)) = ahead.peek().filter(|(untold, _)| untold <= at) {
                    return Err(format!("from {start}: bookmark {at} without {untold}"));
                }
                past = *at;
            }
            Told::Event(.., at) => {
                let next = ahead.next();
                if next.is_none_or(|(_, next)| next != told) {
                    return Err(format!("from {start}: {told:?} instead of {next:?}"));
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
