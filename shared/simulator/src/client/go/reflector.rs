//! client-go's reflector in its versions: the reflector lists, watches, and keeps a store up to date
//! (docs/semantics/clients.md#reflector).

use std::sync::Arc;
use std::time::Duration;

use watchscope_model::tree::BTreeMap;

use super::super::belief::Key;
use super::super::machine::{Context, earlier};
use super::super::record::ClientPhase;
use super::super::wire::{Document, EventType, Frame, List, Refusal};
use super::ClientGo;
use super::backoff::Backoff;
use super::rest::{Answer, CallId, GoError, Rest};
use super::version::OpenDelay;
use crate::random::Random;
use crate::scope::Scope;
use crate::time::Time;

/// The `limit` of a list's page, in objects (docs/semantics/clients.md#reflector-list).
const PAGE_SIZE: &str = "500";
/// The least age at which the end of a stream without an event is no error (docs/semantics/clients.md#reflector-end).
/// After an earlier end the reflector waits, and then begins a round anew with a list or watch-list. If it was reading
/// initial events, it lists at once.
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// An operation of the reflector on its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreOp {
    Added(Arc<Document>),
    Updated(Arc<Document>),
    Deleted(Arc<Document>),
    /// Replace all objects, at the list's resourceVersion.
    Replaced(Vec<Arc<Document>>, String),
    Bookmark(String),
    /// Give the handlers all objects of the store again.
    Resync,
}

#[derive(Debug)]
enum State {
    /// The reflector is not started.
    New,
    Waiting {
        until: Time,
        then: Then,
    },
    Listing(Listing),
    Streaming(Streaming),
}

/// What the reflector does after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The reflector starts ListAndWatch from its beginning.
    Round,
    /// The reflector opens the watch-list again.
    WatchList,
    /// The reflector opens the watch again.
    Watch,
}

#[derive(Debug)]
struct Listing {
    call: CallId,
    /// The resourceVersion that the request of the list's first page names.
    asked: String,
    /// Whether the reflector requests the list in pages.
    limited: bool,
    continued: bool,
    items: Vec<Arc<Document>>,
    /// The resourceVersion that the answer with the list's first page has.
    resource_version: String,
    /// Whether this list requests the newest state, because the resourceVersion requested first was gone.
    is_second: bool,
}

#[derive(Debug)]
struct Streaming {
    call: CallId,
    is_open: bool,
    began: Time,
    events: u64,
    besides_added: bool,
    /// Whether the reflector takes over the resourceVersion of every event (`true`), or only from the first event that
    /// is not a synthetic ADDED.
    takes_versions: bool,
    /// The objects that a watch-list has collected so far; `None` without a watch-list.
    initial: Option<BTreeMap<Key, Arc<Document>>>,
}

/// The reflector's state.
#[derive(Debug)]
pub(crate) struct Reflector {
    version: ClientGo,
    scope: Scope,
    last: String,
    /// Whether the server said that the resourceVersion `last` is gone, or not reached yet.
    is_last_unavailable: bool,
    /// Whether the first list came in pages, which shows that no watch cache served it.
    is_paginated: bool,
    rounds: Backoff,
    opens: Backoff,
    resync: Option<Duration>,
    resync_at: Option<Time>,
    state: State,
    iterations: u64,
}

impl Reflector {
    pub(crate) fn new(version: ClientGo, scope: Scope, resync: Option<Duration>) -> Reflector {
        Reflector {
            version,
            scope,
            last: String::new(),
            is_last_unavailable: false,
            is_paginated: false,
            rounds: Backoff::new(),
            opens: Backoff::new(),
            resync,
            resync_at: None,
            state: State::New,
            iterations: 0,
        }
    }

    /// Returns the last resourceVersion that the reflector saw, even if this is lower than an earlier one.
    pub(crate) fn last(&self) -> &str {
        &self.last
    }

    /// Returns whether a call is the reflector's present one, which has no final answer yet.
    pub(crate) fn has_call(&self, call: CallId) -> bool {
        match &self.state {
            State::Listing(listing) => listing.call == call,
            State::Streaming(stream) => stream.call == call,
            State::New | State::Waiting { .. } => false,
        }
    }

    /// Returns the number of lists and watches that the reflector started.
    pub(crate) fn iterations(&self) -> u64 {
        self.iterations
    }

    pub(crate) fn phase(&self) -> ClientPhase {
        match &self.state {
            State::New | State::Waiting { .. } => ClientPhase::Backoff,
            State::Listing(_) => ClientPhase::Listing,
            State::Streaming(stream) if !stream.is_open => ClientPhase::Connecting,
            State::Streaming(stream) if stream.initial.is_some() => ClientPhase::Syncing,
            State::Streaming(_) => ClientPhase::Watching,
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Time> {
        let wait = match &self.state {
            State::Waiting { until, .. } => Some(*until),
            _ => None,
        };
        earlier(wait, self.resync_at)
    }

    /// Starts the reflector's first round of ListAndWatch.
    pub(crate) fn start(&mut self, rest: &mut Rest, ctx: &mut Context<'_>) {
        self.round(rest, ctx);
    }

    /// Runs the resync, list or watch that is due.
    pub(crate) fn wake(&mut self, rest: &mut Rest, ctx: &mut Context<'_>, ops: &mut Vec<StoreOp>) {
        if self.resync_at.is_some_and(|at| at <= ctx.now) {
            self.arm_resync(ctx.now);
            ops.push(StoreOp::Resync);
        }
        if let State::Waiting { until, then } = self.state
            && until <= ctx.now
        {
            match then {
                Then::Round => self.round(rest, ctx),
                Then::WatchList => self.open(true, rest, ctx),
                Then::Watch => self.open(false, rest, ctx),
            }
        }
    }

    /// Takes the answer to the reflector's present call. Does nothing if `call` is any other call.
    pub(crate) fn take(
        &mut self,
        call: CallId,
        answer: Answer,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
        ops: &mut Vec<StoreOp>,
    ) {
        match std::mem::replace(&mut self.state, State::New) {
            State::Listing(listing) if listing.call == call => match answer {
                Answer::Listed(list) => self.listed(listing, list, rest, ctx, ops),
                Answer::Failed(error) => self.not_listed(listing, &error, rest, ctx),
                other => {
                    debug_assert!(false, "a list is not answered by {other:?}");
                    self.end_round(ctx.now, ctx.random);
                }
            },
            State::Streaming(stream) if stream.call == call => {
                self.streamed(stream, answer, rest, ctx, ops);
            }
            state => self.state = state,
        }
    }

    /// Starts a round of the reflector: `ListAndWatch`.
    fn round(&mut self, rest: &mut Rest, ctx: &mut Context<'_>) {
        self.resync_at = None;
        if self.version.streams_lists() {
            self.open(true, rest, ctx);
        } else {
            self.list(rest, ctx);
        }
    }

    fn end_round(&mut self, now: Time, random: &mut Random) {
        let delay = if self.version.backs_off() {
            self.rounds.step(now, random)
        } else {
            Duration::from_secs(1)
        };
        self.state = State::Waiting {
            until: now + delay,
            then: Then::Round,
        };
    }

    /// Returns the resourceVersion that a list requests: the last known one, or unset if that one is unavailable.
    /// Returns `0` if none is known, and always in client-go before 1.18.
    fn relist_version(&self) -> String {
        match self.last.as_str() {
            _ if !self.version.relists_from_last() => "0".to_owned(),
            _ if self.is_last_unavailable => String::new(),
            "" => "0".to_owned(),
            last => last.to_owned(),
        }
    }

    fn list(&mut self, rest: &mut Rest, ctx: &mut Context<'_>) {
        let asked = self.relist_version();
        let names_a_version = !matches!(asked.as_str(), "" | "0");
        // The watch cache serves a list at some version or newer only if the list has no limit.
        let limited = self.version.pages()
            && (self.is_paginated || !names_a_version || !self.version.relists_from_last());
        self.ask(asked, limited, false, rest, ctx);
    }

    fn ask(
        &mut self,
        asked: String,
        limited: bool,
        is_second: bool,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
    ) {
        self.iterations += 1;
        let limit = if limited { PAGE_SIZE } else { "" };
        let request = self
            .scope
            .get(&[("limit", limit), ("resourceVersion", &asked)]);
        self.state = State::Listing(Listing {
            call: rest.list(request, ctx),
            asked,
            limited,
            continued: false,
            items: Vec::new(),
            resource_version: String::new(),
            is_second,
        });
    }

    fn listed(
        &mut self,
        mut listing: Listing,
        list: List,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
        ops: &mut Vec<StoreOp>,
    ) {
        let items = list.items.unwrap_or_default().into_iter();
        listing.items.extend(items.map(Arc::new));
        if listing.resource_version.is_empty() {
            listing.resource_version = list.metadata.resource_version;
        }
        let next = list.metadata.continue_token;
        if !next.is_empty() {
            let request = self.scope.get(&[("continue", &next), ("limit", PAGE_SIZE)]);
            listing.call = rest.list(request, ctx);
            listing.continued = true;
            self.state = State::Listing(listing);
            return;
        }
        if listing.continued && listing.asked == "0" && self.version.relists_from_last() {
            self.is_paginated = true;
        }
        self.replace(listing.items, listing.resource_version, ctx.now, ops);
        self.open(false, rest, ctx);
    }

    fn not_listed(
        &mut self,
        mut listing: Listing,
        error: &GoError,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
    ) {
        let expired = matches!(error, GoError::Status(refusal) if refusal.is_expired());
        if listing.continued && expired && listing.limited {
            // The pager's fallback: the whole list at once.
            let request = self.scope.get(&[("resourceVersion", &listing.asked)]);
            listing.call = rest.list(request, ctx);
            listing.limited = false;
            listing.continued = false;
            listing.items.clear();
            listing.resource_version.clear();
            self.state = State::Listing(listing);
        } else if self.is_unavailable(error) && !listing.is_second {
            self.is_last_unavailable = true;
            let asked = self.relist_version();
            self.ask(asked, listing.limited, true, rest, ctx);
        } else {
            self.end_round(ctx.now, ctx.random);
        }
    }

    /// Returns whether an error says that the requested resourceVersion is gone, or not reached yet.
    fn is_unavailable(&self, error: &GoError) -> bool {
        match error {
            GoError::Status(refusal) => {
                (self.version.relists_from_last() && refusal.is_expired())
                    || (self.version.knows_too_large() && refusal.is_too_large())
            }
            _ => false,
        }
    }

    fn replace(
        &mut self,
        items: Vec<Arc<Document>>,
        resource_version: String,
        now: Time,
        ops: &mut Vec<StoreOp>,
    ) {
        self.is_last_unavailable = false;
        self.last.clone_from(&resource_version);
        ops.push(StoreOp::Replaced(items, resource_version));
        self.arm_resync(now);
    }

    fn arm_resync(&mut self, now: Time) {
        self.resync_at = self.resync.map(|every| now + every);
    }

    /// Opens a watch-list (`is_list`), or a watch from the last resourceVersion.
    fn open(&mut self, is_list: bool, rest: &mut Rest, ctx: &mut Context<'_>) {
        self.iterations += 1;
        let secs = ctx.random.between(300, 599);
        let (seconds, timeout) = (secs.to_string(), format!("{}m{}s", secs / 60, secs % 60));
        let from = if is_list && self.is_last_unavailable {
            ""
        } else {
            &self.last
        };
        let mut parameters = vec![
            ("resourceVersion", from),
            ("timeout", &timeout),
            ("timeoutSeconds", &seconds),
            ("watch", "true"),
        ];
        if self.version.asks_for_bookmarks() {
            parameters.push(("allowWatchBookmarks", "true"));
        }
        if is_list {
            parameters.push(("resourceVersionMatch", "NotOlderThan"));
            parameters.push(("sendInitialEvents", "true"));
        }
        let is_guarded =
            self.version.guards_synthetic_events() && matches!(from, "" | "0") && !is_list;
        let call = rest.watch(self.scope.get(&parameters), ctx);
        self.state = State::Streaming(Streaming {
            call,
            is_open: false,
            began: ctx.now,
            events: 0,
            besides_added: false,
            takes_versions: !is_guarded,
            initial: is_list.then(BTreeMap::new),
        });
    }

    fn streamed(
        &mut self,
        mut stream: Streaming,
        answer: Answer,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
        ops: &mut Vec<StoreOp>,
    ) {
        match answer {
            Answer::Opened => {
                stream.is_open = true;
                self.state = State::Streaming(stream);
            }
            Answer::Failed(error) => self.not_opened(stream.initial.is_some(), &error, rest, ctx),
            Answer::Events(frames) => {
                for frame in frames {
                    if frame.event == EventType::Error {
                        rest.stop(stream.call, ctx);
                        let refusal = Refusal::of_event(frame.object);
                        return self.error_event(stream.initial.is_some(), refusal, rest, ctx);
                    }
                    self.event(&mut stream, frame, ctx.now, ops);
                }
                self.state = State::Streaming(stream);
            }
            Answer::Closed(_) => {
                let is_short = ctx.now.since(stream.began) < SHORT_WATCH && stream.events == 0;
                match (stream.initial.is_some(), is_short) {
                    // Any error of a watch-list that cannot be retried makes the reflector list.
                    (true, true) => self.list(rest, ctx),
                    (true, false) => self.open(true, rest, ctx),
                    (false, true) => self.end_round(ctx.now, ctx.random),
                    (false, false) => self.open(false, rest, ctx),
                }
            }
            Answer::Listed(_) | Answer::Written => {
                debug_assert!(false, "a watch is not answered so");
            }
        }
    }

    fn not_opened(
        &mut self,
        is_list: bool,
        error: &GoError,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
    ) {
        let waits = match error {
            GoError::ConnectionRefused => self.version.waits_out_refusals(),
            GoError::Status(refusal) => {
                self.version.waits_out_429() && refusal.is_too_many_requests()
            }
            GoError::Other => false,
        };
        if waits {
            self.wait_to_open(is_list, ctx);
        } else if is_list && self.is_unavailable(error) {
            self.is_last_unavailable = true;
            self.open(true, rest, ctx);
        } else if is_list {
            self.list(rest, ctx);
        } else {
            self.end_round(ctx.now, ctx.random);
        }
    }

    /// Handles an ERROR event: a 429 leads to a delay, any other code ends the round.
    fn error_event(
        &mut self,
        is_list: bool,
        refusal: Refusal,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
    ) {
        if is_list {
            self.not_opened(true, &GoError::Status(refusal), rest, ctx);
        } else if self.version.waits_out_429() && refusal.is_too_many_requests() {
            self.wait_to_open(false, ctx);
        } else {
            self.end_round(ctx.now, ctx.random);
        }
    }

    fn wait_to_open(&mut self, is_list: bool, ctx: &mut Context<'_>) {
        let delay = match self.version.open_delay() {
            OpenDelay::Second => Duration::from_secs(1),
            OpenDelay::Own => self.opens.step(ctx.now, ctx.random),
            OpenDelay::Shared => self.rounds.step(ctx.now, ctx.random),
        };
        self.state = State::Waiting {
            until: ctx.now + delay,
            then: if is_list {
                Then::WatchList
            } else {
                Then::Watch
            },
        };
    }

    fn event(&mut self, stream: &mut Streaming, frame: Frame, now: Time, ops: &mut Vec<StoreOp>) {
        let Frame { event, object } = frame;
        if object.kind != self.scope.kind || event == EventType::Other {
            // The reflector logs it, and neither stores it nor takes its version (F39).
            return;
        }
        let ends_initial_events = event == EventType::Bookmark && object.ends_initial_events();
        let version = object.metadata.resource_version.clone();
        stream.besides_added |= event != EventType::Added;
        stream.events += 1;
        let object = Arc::new(object);
        let Some(initial) = &mut stream.initial else {
            ops.push(match event {
                EventType::Added => StoreOp::Added(object),
                EventType::Modified => StoreOp::Updated(object),
                EventType::Deleted => StoreOp::Deleted(object),
                _ => StoreOp::Bookmark(version.clone()),
            });
            if stream.takes_versions || stream.besides_added {
                self.last = version;
            }
            return;
        };
        match event {
            EventType::Added | EventType::Modified => {
                initial.insert(object.key(), object);
            }
            EventType::Deleted => {
                initial.remove(&object.key());
            }
            _ => {}
        }
        if ends_initial_events {
            let items = std::mem::take(initial).into_values().collect();
            stream.initial = None;
            stream.takes_versions = true;
            stream.began = now;
            stream.events = 0;
            self.replace(items, version, now, ops);
        }
    }
}
