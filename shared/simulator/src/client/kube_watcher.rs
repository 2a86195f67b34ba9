//! kube-rs' `watcher`, with a store or a flattened stream behind it (docs/semantics/clients.md#kube-rs).
//!
//! ```text
//!  Empty ─► InitPage* ─► InitListed ─► Watching ─┐      ListWatch
//!  Empty ─► InitialWatch ────────────► Watching ─┤      StreamingList
//!    ▲ 410                  InitListed ◄─────────┘ end, at once
//! ```
//!
//! A clean end is neither an event nor an error, so there is no backoff. A server that answers 200 and closes makes the
//! watcher spin. Any error when a watch opens, HTTP 410 too, leaves the state and the resourceVersion as they are
//! (F13).

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_model::tree::BTreeMap;

use super::belief::{Belief, Held, Key};
use super::go::backoff::Backoff;
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::transport::{Failure, Got, Style, Transport};
use super::wire::{EventType, Frame, Frames, List, Refusal};
use crate::message::RequestId;
use crate::scope::Scope;
use crate::time::Time;

/// The default `timeoutSeconds` of the program's watches: seconds after which the server ends a watch
/// (docs/semantics/servers.md#client-timeout).
const TIMEOUT_S: u32 = 290;
/// Before version 4.0, the time without a byte after which any read is given up (docs/semantics/clients.md#kube-rs).
const READ_TIMEOUT: Duration = Duration::from_secs(295);
/// Since version 4.0, the time after the `timeoutSeconds` of a watch, without an item, after which its stream is given
/// up (docs/semantics/clients.md#kube-rs).
const AFTER_TIMEOUT: Duration = Duration::from_secs(5);

/// A version of kube-rs, as far as its watcher differs (docs/semantics/clients.md#kube-rs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KubeRs {
    /// Major versions up to 2: a resumed streaming list requests initial events again, and the backoff has no jitter. A
    /// read timeout of 295 s ends a silent stream.
    V2,
    /// Major version 3: a resumed streaming list requests no initial events, and the backoff has jitter. A read timeout
    /// of 295 s ends a silent stream.
    V3,
    /// Major version 4: an idle timeout of 295 s on each item ends a silent stream. Opening a watch and reading a list
    /// no longer have a timeout.
    V4,
}

/// How kube-rs' watcher gets its first state (docs/semantics/clients.md#kube-rs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeList {
    /// By a list of the most recent state, in pages of 500 objects (the default).
    MostRecent,
    /// By one list at resourceVersion 0, which returns any state of the server's watch cache, however old.
    Any,
    /// By a streaming list at the literal resourceVersion 0, whose state may be old.
    Streaming,
}

/// A program over kube-rs' `watcher`: the version of kube-rs and the caller's choices. The default is version 4, a list
/// of the most recent state, the default backoff and a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubeWatcher {
    /// The version of kube-rs.
    pub version: KubeRs,
    /// How the watcher gets its first state.
    pub list: KubeList,
    /// Whether the caller added the default backoff. Without a backoff the caller polls again at once after an error.
    pub backoff: bool,
    /// Whether the caller reads `applied_objects`, which never yields a deletion, instead of filling a store. With
    /// `applied_objects` the caller's belief only grows.
    pub flattened: bool,
    /// Whether the watches request bookmarks, as by default. `false`: the caller called `Config::disable_bookmarks`
    /// (docs/semantics/clients.md#kube-rs).
    pub bookmarks: bool,
    /// The `timeoutSeconds` of the program's watches, below 295 (`watcher::Config::timeout`). Since version 4 a stream
    /// without an item for 5 s longer is given up.
    pub timeout_s: u32,
}

impl Default for KubeWatcher {
    fn default() -> KubeWatcher {
        KubeWatcher {
            version: KubeRs::V4,
            list: KubeList::MostRecent,
            backoff: true,
            flattened: false,
            bookmarks: true,
            timeout_s: TIMEOUT_S,
        }
    }
}

#[derive(Debug)]
enum State {
    Empty,
    /// The watcher waits for a page of the list.
    InitPage,
    /// The watcher waits for a streaming list, or reads one.
    InitialWatch,
    InitListed,
    Watching,
}

/// An HTTP exchange under way.
#[derive(Debug)]
struct Exchange {
    request: RequestId,
    status: u16,
    body: Vec<u8>,
    frames: Frames,
    /// Items of the stream that the caller has not read yet, since it may be in its backoff.
    unread: VecDeque<Item>,
    heard_at: Time,
}

/// An item of the stream of watch events.
#[derive(Debug)]
enum Item {
    Event(Box<Frame>),
    /// An error that does not end the stream.
    Error,
    End,
}

/// The program over kube-rs' watcher.
#[derive(Debug)]
pub(super) struct KubeWatcherProgram {
    how: KubeWatcher,
    transport: Transport,
    state: State,
    exchange: Option<Exchange>,
    /// The continue token of the next page of the list; empty for the first page.
    next_page: String,
    resource_version: String,
    backoff: Backoff,
    /// When the caller polls again after its backoff; `None` if it is in no backoff.
    asleep_until: Option<Time>,
    store: Belief,
    /// Objects that an initial list has collected so far; at the list's end they replace the store's objects.
    collected: BTreeMap<Key, Held>,
    iterations: u64,
    handled: u64,
}

impl KubeWatcherProgram {
    pub(super) fn new(how: KubeWatcher, scope: Scope) -> KubeWatcherProgram {
        let backoff = if how.version >= KubeRs::V3 {
            Backoff::new()
        } else {
            Backoff::without_jitter()
        };
        KubeWatcherProgram {
            how,
            transport: Transport::new(Style::Http1),
            state: State::Empty,
            exchange: None,
            next_page: String::new(),
            resource_version: String::new(),
            backoff,
            asleep_until: None,
            store: Belief::new(scope),
            collected: BTreeMap::new(),
            iterations: 0,
            handled: 0,
        }
    }

    /// Polls the stream as the caller does: the state machine goes on until it waits for something.
    fn poll(&mut self, ctx: &mut Context<'_>) {
        while self.asleep_until.is_none() {
            let is_waiting = match self.state {
                State::Empty => {
                    self.begin(ctx);
                    true
                }
                State::InitPage => {
                    self.exchange.is_some() || {
                        self.ask_page(ctx);
                        true
                    }
                }
                State::InitListed => {
                    self.exchange.is_some() || {
                        self.watch(ctx);
                        true
                    }
                }
                State::InitialWatch | State::Watching => !self.read(ctx),
            };
            if is_waiting {
                return;
            }
        }
    }

    fn begin(&mut self, ctx: &mut Context<'_>) {
        self.collected.clear();
        self.next_page.clear();
        if self.how.list == KubeList::Streaming {
            self.state = State::InitialWatch;
            self.iterations += 1;
            let timeout = self.how.timeout_s.to_string();
            let mut parameters = watch_parameters("0", &timeout, self.how.bookmarks);
            parameters.extend(INITIAL_EVENTS);
            self.send(&parameters, ctx);
        } else {
            self.backoff.reset();
            self.state = State::InitPage;
            self.ask_page(ctx);
        }
    }

    fn ask_page(&mut self, ctx: &mut Context<'_>) {
        self.iterations += 1;
        let next = self.next_page.clone();
        let parameters = match self.how.list {
            KubeList::Any => vec![
                ("resourceVersion", "0"),
                ("resourceVersionMatch", "NotOlderThan"),
            ],
            _ => vec![("limit", "500"), ("continue", next.as_str())],
        };
        self.send(&parameters, ctx);
    }

    fn watch(&mut self, ctx: &mut Context<'_>) {
        self.iterations += 1;
        let version = self.resource_version.clone();
        let timeout = self.how.timeout_s.to_string();
        let mut parameters = watch_parameters(&version, &timeout, self.how.bookmarks);
        if self.how.version == KubeRs::V2 && self.how.list == KubeList::Streaming {
            parameters.extend(INITIAL_EVENTS);
        }
        self.send(&parameters, ctx);
    }

    fn send(&mut self, parameters: &[(&str, &str)], ctx: &mut Context<'_>) {
        let request = self.store.scope.get(parameters);
        self.exchange = Some(Exchange {
            request: self.transport.send(request, ctx),
            status: 0,
            body: Vec::new(),
            frames: Frames::default(),
            unread: VecDeque::new(),
            heard_at: ctx.now,
        });
    }

    fn take(&mut self, request: RequestId, got: Got<'_>, ctx: &mut Context<'_>) {
        let is_stream = matches!(
            self.state,
            State::InitialWatch | State::InitListed | State::Watching
        );
        let Some(exchange) = self.exchange.as_mut().filter(|e| e.request == request) else {
            return;
        };
        exchange.heard_at = ctx.now;
        match got {
            Got::Head { status, .. } => {
                exchange.status = status;
                if is_stream && status == 200 && matches!(self.state, State::InitListed) {
                    self.state = State::Watching;
                }
            }
            Got::Body(bytes) if is_stream && exchange.status == 200 => {
                match exchange.frames.take(bytes) {
                    Ok(frames) => {
                        let items = frames.into_iter().map(|frame| Item::Event(Box::new(frame)));
                        exchange.unread.extend(items);
                    }
                    Err(_) => exchange.unread.push_back(Item::Error),
                }
            }
            Got::Body(bytes) => exchange.body.extend_from_slice(bytes),
            Got::End if is_stream && exchange.status == 200 => {
                exchange.unread.push_back(Item::End);
            }
            Got::End => self.answered(ctx),
            // kube-rs takes a chunked body that just stops for its end, with a warning in the log.
            Got::Failed(Failure::Eof | Failure::GoAway) if is_stream && exchange.status == 200 => {
                exchange.unread.push_back(Item::End);
            }
            Got::Failed(_) if is_stream && exchange.status == 200 => {
                exchange.unread.extend([Item::Error, Item::End]);
            }
            Got::Failed(_) => self.refused(ctx),
        }
    }

    /// Handles a whole answer to a list or to a refused watch.
    fn answered(&mut self, ctx: &mut Context<'_>) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        let list = match exchange.status {
            200 => List::parse(&exchange.body).ok(),
            _ => None,
        };
        let (State::InitPage, Some(list)) = (&self.state, list) else {
            return self.refused(ctx);
        };
        self.backoff.reset();
        for item in list.items.unwrap_or_default() {
            self.init_apply(item.key(), item.held());
        }
        self.next_page = list.metadata.continue_token;
        if self.next_page.is_empty() {
            self.resource_version = list.metadata.resource_version;
            self.init_done();
            self.state = State::InitListed;
        }
    }

    /// Handles a list or watch that could not begin.
    fn refused(&mut self, ctx: &mut Context<'_>) {
        self.exchange = None;
        if !matches!(self.state, State::InitListed) {
            self.state = State::Empty;
        }
        self.error(ctx);
    }

    /// Returns an `Err` to the caller of kube-rs. The caller polls again after its backoff, or at once if it added
    /// none.
    fn error(&mut self, ctx: &mut Context<'_>) {
        let wait = if self.how.backoff {
            self.backoff.step(ctx.now, ctx.random)
        } else {
            Duration::ZERO
        };
        self.asleep_until = Some(ctx.now + wait);
    }

    /// Reads the next item of the stream. Returns whether the stream had an item to read.
    fn read(&mut self, ctx: &mut Context<'_>) -> bool {
        let item = self.exchange.as_mut().and_then(|e| e.unread.pop_front());
        match item {
            None => return false,
            Some(Item::Event(frame)) => self.event(*frame, ctx),
            Some(Item::Error) => self.error(ctx),
            Some(Item::End) => self.ended(ctx),
        }
        true
    }

    /// Ends the stream, because it is over or silent.
    fn ended(&mut self, ctx: &mut Context<'_>) {
        if let Some(exchange) = self.exchange.take() {
            self.transport.cancel(exchange.request, ctx);
        }
        self.state = match self.state {
            State::Watching => State::InitListed,
            _ => State::Empty,
        };
    }

    fn event(&mut self, frame: Frame, ctx: &mut Context<'_>) {
        let object = frame.object;
        let is_initial = matches!(self.state, State::InitialWatch);
        let version = object.metadata.resource_version.clone();
        match frame.event {
            EventType::Error => {
                if Refusal::of_event(object).code == 410 {
                    self.ended(ctx);
                    self.state = State::Empty;
                }
                self.error(ctx);
            }
            EventType::Other => self.error(ctx),
            EventType::Bookmark if is_initial => {
                if object.ends_initial_events() {
                    self.resource_version = version;
                    self.init_done();
                    self.state = State::Watching;
                    self.backoff.reset();
                }
            }
            EventType::Bookmark => self.know_until(version),
            EventType::Added | EventType::Modified if is_initial => {
                self.backoff.reset();
                self.init_apply(object.key(), object.held());
            }
            // kube-rs calls this impossible, and only logs it.
            EventType::Deleted if is_initial => {}
            _ if version.is_empty() => {
                self.ended(ctx);
                self.state = State::Empty;
                self.error(ctx);
            }
            EventType::Deleted => {
                self.backoff.reset();
                self.handled += 1;
                if !self.how.flattened {
                    self.store.drop(&object.key());
                }
                self.know_until(version);
            }
            EventType::Added | EventType::Modified => {
                self.backoff.reset();
                self.handled += 1;
                self.store.hold(object.key(), object.held());
                self.know_until(version);
            }
        }
    }

    fn init_apply(&mut self, key: Key, held: Held) {
        self.handled += 1;
        if self.how.flattened {
            self.store.hold(key, held);
        } else {
            self.collected.insert(key, held);
        }
    }

    fn init_done(&mut self) {
        if !self.how.flattened {
            self.store.replace(std::mem::take(&mut self.collected));
        }
        self.store.know_until(&self.resource_version);
    }

    fn know_until(&mut self, version: String) {
        self.store.know_until(&version);
        self.resource_version = version;
    }

    /// Returns when silence ends the exchange: silence of a stream's items, and up to version 3 silence of any read.
    /// `None` without an exchange that silence ends.
    fn idle_at(&self) -> Option<Time> {
        let exchange = self.exchange.as_ref()?;
        let is_stream = exchange.status == 200 && !matches!(self.state, State::InitPage);
        if self.how.version < KubeRs::V4 {
            return Some(exchange.heard_at + READ_TIMEOUT);
        }
        let timeout = Duration::from_secs(self.how.timeout_s.into());
        is_stream.then(|| exchange.heard_at + timeout + AFTER_TIMEOUT)
    }
}

/// The parameters of a watch with initial events (docs/semantics/lists-and-watches.md#watch-list).
const INITIAL_EVENTS: [(&str, &str); 2] = [
    ("sendInitialEvents", "true"),
    ("resourceVersionMatch", "NotOlderThan"),
];

/// Returns the parameters of a watch from a resourceVersion; parameters with an empty value are not sent.
fn watch_parameters<'a>(
    version: &'a str,
    timeout: &'a str,
    bookmarks: bool,
) -> Vec<(&'a str, &'a str)> {
    vec![
        ("watch", "true"),
        ("timeoutSeconds", timeout),
        ("allowWatchBookmarks", if bookmarks { "true" } else { "" }),
        ("resourceVersion", version),
    ]
}

impl Machine for KubeWatcherProgram {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        for (request, got) in self.transport.take(input, ctx) {
            self.take(request, got, ctx);
        }
        if self.asleep_until.is_some_and(|until| until <= ctx.now) {
            self.asleep_until = None;
        }
        if self.idle_at().is_some_and(|at| at <= ctx.now) {
            let is_stream = self.exchange.as_ref().is_some_and(|e| e.status == 200);
            if is_stream && !matches!(self.state, State::InitPage) {
                self.ended(ctx);
            } else if let Some(exchange) = self.exchange.take() {
                self.transport.cancel(exchange.request, ctx);
                self.refused(ctx);
            }
        }
        self.poll(ctx);
    }

    fn wake_at(&self) -> Option<Time> {
        let own = earlier(self.asleep_until, self.idle_at());
        earlier(own, self.transport.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        if self.asleep_until.is_some() {
            return ClientPhase::Backoff;
        }
        let is_open = self.exchange.as_ref().is_some_and(|e| e.status == 200);
        match self.state {
            State::Empty | State::InitPage => ClientPhase::Listing,
            State::InitialWatch if is_open => ClientPhase::Syncing,
            State::InitialWatch | State::InitListed => ClientPhase::Connecting,
            State::Watching => ClientPhase::Watching,
        }
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.iterations
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.store]
    }
}
