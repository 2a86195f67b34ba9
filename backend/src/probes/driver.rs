//! The task of one watch: it carries out the probe's effects and reports events back to it.
//!
//! ```text
//!   transport ──facts, bytes──► driver ──inputs──► Probe::step ──events, bodies──► log
//!       ▲                          │  ◄──effects──┘
//!       └──────dial, send, close───┘
//! ```
//!
//! The driver owns connections and the clock, and decides nothing. It logs the opening and the end of its own connections;
//! `connections` logs those of shared ones. The probe emits everything else about the watch.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};
use watchscope_model::event::{ConnectionClosed, Event, Loss};
use watchscope_model::options::ListOptions;
use watchscope_model::vocabulary::{Cause, FrameLoss, LossPlace};
use watchscope_model::{ConnectionId, RequestId, StreamId, Time};
use watchscope_probe::{
    Channel, Context, Effect, Emitted, Ending, Failure, FailureKind, Get, Input, Output, Probe,
    Served,
};

use super::unread::Unread;
use crate::cluster::{Catalog, Discovery, Session};
use crate::log::{Batch, Ids, LogHandle};
use crate::stop::stopped;
use crate::transport::{
    Body, BodyEnd, Connection, DialError, Framing, ProxyFailure, Response, SendError,
};
use crate::upstream::connections::{Connections, Dialled, NoConnection, opened};
use crate::upstream::message::{cause_of, headers_of, request_of};

/// The timeout for the head of a list's answer. A kube-apiserver cuts its own answers off after 60 s.
const LIST_HEADER_LIMIT: Duration = Duration::from_secs(75);

/// How much longer than its requested timeout a watch may take to answer. Some proxies and aggregated servers hold the head
/// back until the first event (kubernetes#75837). The probe gives the request up earlier.
const WATCH_HEADER_GRACE: Duration = Duration::from_secs(60);

/// The bytes that one iteration reads before the log and the timers are served.
const ITERATION_BYTES: usize = 256 << 10;

/// The age up to which a discovery answer is reused for a watch that asks for one.
const DISCOVERY_MAX_AGE: Duration = Duration::from_secs(10);

/// The task of one watch. It holds at most two connections or shares (the second for a side watch), one piece of a body, and
/// the probe's state.
pub(super) struct Driver {
    probe: Option<Probe>,
    output: Output,
    log: LogHandle,
    connections: Arc<Connections>,
    discovery: Arc<Discovery>,
    resource: (String, String),
    main: Wire,
    side: Wire,
    /// Bodies that ended with a shared connection. Its end is logged after they are dropped, and their own ends are logged
    /// before that.
    spent: Vec<Body>,
    timer: Pin<Box<Sleep>>,
    is_timer_set: bool,
    asking: Option<BoxFuture<'static, Option<Arc<Catalog>>>>,
    /// Changes when the cluster has gone back to an older history.
    restored: watch::Receiver<u64>,
    unread: Unread,
    session: Option<Arc<Session>>,
    reload: bool,
}

/// Adapts the log's ids to the probe.
struct FreshIds<'a>(&'a Ids);

impl watchscope_probe::Ids for FreshIds<'_> {
    fn request(&mut self) -> RequestId {
        self.0.request()
    }

    fn stream(&mut self) -> StreamId {
        self.0.stream()
    }
}

/// The state of one of the probe's channels.
enum Wire {
    Closed,
    Dialling(BoxFuture<'static, Dialled>),
    Idle(ConnectionId, Connection),
    Sending(Exchange, BoxFuture<'static, Result<Response, SendError>>),
    Reading(Exchange, Body, Framing),
}

/// A request on a connection.
#[derive(Clone, Copy)]
struct Exchange {
    connection: ConnectionId,
    request: RequestId,
    is_watch: bool,
    /// Whether other requests may use the connection.
    is_shared: bool,
}

/// The result of waiting on a channel.
enum Happening {
    Dialled(Dialled),
    Answered(Box<Result<Response, SendError>>),
    Piece(Bytes),
    Ended(Result<(), BodyEnd>),
    IdleEnded(BodyEnd),
}

impl Driver {
    /// Makes the task of a probe that has not been started. `resource` is (group, plural), for discovery.
    pub(super) fn new(
        probe: Probe,
        resource: (String, String),
        log: LogHandle,
        connections: Arc<Connections>,
        discovery: Arc<Discovery>,
    ) -> Self {
        Self {
            probe: Some(probe),
            restored: log.restored(),
            output: Output::default(),
            log,
            connections,
            discovery,
            resource,
            main: Wire::Closed,
            side: Wire::Closed,
            spent: Vec::new(),
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            is_timer_set: false,
            asking: None,
            unread: Unread::default(),
            session: None,
            reload: false,
        }
    }

    /// Watches until `stop` (all watches end) or `withdrawn` (this one is no longer wanted) turns true. Then the probe logs
    /// the end of the watch.
    pub(super) async fn run(
        mut self,
        mut stop: watch::Receiver<bool>,
        mut withdrawn: watch::Receiver<bool>,
    ) {
        self.step(Input::Start);
        self.settle().await;
        loop {
            let turn = tokio::select! {
                () = stopped(&mut stop) => ControlFlow::Break(()),
                () = stopped(&mut withdrawn) => ControlFlow::Break(()),
                Ok(()) = self.restored.changed() => {
                    self.begin_anew().await;
                    continue;
                }
                happening = self.main.next() => ControlFlow::Continue(Some((Channel::Main, happening))),
                happening = self.side.next() => ControlFlow::Continue(Some((Channel::Side, happening))),
                () = &mut self.timer, if self.is_timer_set => {
                    self.is_timer_set = false;
                    ControlFlow::Continue(None)
                }
                catalog = async { self.asking.as_mut().expect("asked only while it is set").await },
                    if self.asking.is_some() => {
                    self.asking = None;
                    self.discovered(catalog);
                    self.settle().await;
                    continue;
                }
            };
            let busy_since = Instant::now();
            match turn {
                ControlFlow::Break(()) => break,
                ControlFlow::Continue(None) => self.step(Input::Timer),
                ControlFlow::Continue(Some((channel, happening))) => {
                    self.take(channel, happening).await
                }
            }
            self.settle().await;
            self.unread.since(busy_since);
        }
        self.step(Input::Stop);
        self.settle().await;
    }

    /// Starts the watch again because the cluster holds an older state than it has seen (F33). The watch drops its objects
    /// and its progress and lists again.
    async fn begin_anew(&mut self) {
        self.step(Input::Stop);
        self.settle().await;
        self.probe = self.probe.take().map(Probe::anew);
        self.step(Input::Start);
        self.settle().await;
    }

    fn step(&mut self, input: Input<'_>) {
        let probe = self
            .probe
            .as_mut()
            .expect("only `begin_anew` takes the probe, and gives one back");
        let mut ids = FreshIds(self.log.ids());
        let mut context = Context {
            now: self.log.now(),
            ids: &mut ids,
        };
        probe.step_in_place(input, &mut context, &mut self.output);
    }

    fn emit(&mut self, event: impl Into<Event>) {
        self.output.events.push(Emitted {
            event: event.into(),
            body: None,
        });
    }

    /// Appends the events to the log, then carries out the effects, until there are no more of either.
    async fn settle(&mut self) {
        loop {
            if !self.output.events.is_empty() {
                let batch = self.take_batch();
                // If the log is closed, the process is ending and stops the watch too.
                let _ = self.log.append(batch).await;
            }
            self.spent.clear();
            let effects = std::mem::take(&mut self.output.effects);
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out(effect).await;
            }
        }
    }

    fn take_batch(&mut self) -> Batch {
        let bodies = std::mem::take(&mut self.output.bodies);
        // The next batch of bodies is about as large. Growing step by step would copy them several times.
        self.output.bodies.reserve(bodies.len());
        let events = self
            .output
            .events
            .drain(..)
            .map(|Emitted { event, body }| (event, body))
            .collect();
        Batch {
            events,
            bodies: Bytes::from(bodies.into_boxed_slice()),
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Connect {
                channel: Channel::Side,
            } if let Err(until) = self.may_look() => self.step(Input::SideLater(until)),
            Effect::Connect { channel } => {
                let (connections, used) = (Arc::clone(&self.connections), self.session.clone());
                let reload = std::mem::take(&mut self.reload);
                *self.wire(channel) = Wire::Dialling(match channel {
                    Channel::Main => connections.get(used, reload).boxed(),
                    Channel::Side => connections.apart(used, reload).boxed(),
                });
            }
            Effect::Send {
                connection,
                request,
                get,
            } => self.send(connection, request, get).await,
            Effect::Close {
                channel,
                connection: _,
            } => self.close(channel),
            Effect::SetTimer(at) => {
                let wait = at.micros_since(self.log.now()).max(0);
                let wait = Duration::from_micros(u64::try_from(wait).unwrap_or(0));
                self.timer.as_mut().reset(Instant::now() + wait);
                self.is_timer_set = true;
            }
            Effect::ReloadCredentials => self.reload = true,
            Effect::Discover => {
                let discovery = Arc::clone(&self.discovery);
                self.asking =
                    Some(async move { discovery.refresh(DISCOVERY_MAX_AGE).await.ok() }.boxed());
            }
        }
    }

    /// Whether this watch may open a side watch now; else the time at which it may try again.
    fn may_look(&self) -> Result<(), Time> {
        match (self.main.connection(), &self.probe) {
            (Some((connection, true)), Some(probe)) => {
                self.connections.look(connection, probe.watch())
            }
            _ => Ok(()),
        }
    }

    async fn send(&mut self, connection: ConnectionId, request: RequestId, get: Get) {
        let channel = match (&self.main, &self.side) {
            (Wire::Idle(id, _), _) if *id == connection => Channel::Main,
            (_, Wire::Idle(id, _)) if *id == connection => Channel::Side,
            // The connection ended in the meantime, and the probe knows that or is about to learn it.
            _ => return,
        };
        let Wire::Idle(_, idle) = std::mem::replace(self.wire(channel), Wire::Closed) else {
            return;
        };
        let is_watch = get.query.starts_with("watch=");
        let limit = header_limit(&get.query);
        let is_shared = idle.is_shared();
        let target = format!("{}?{}", get.path, get.query);
        match request_of(target, get.accept, self.session.as_deref()).await {
            Ok(message) => {
                let sending = idle.send(message, limit).boxed();
                let exchange = Exchange {
                    connection,
                    request,
                    is_watch,
                    is_shared,
                };
                *self.wire(channel) = Wire::Sending(exchange, sending);
            }
            Err(sentence) => {
                drop(idle);
                self.closed(connection, Cause::Cancelled, is_shared);
                self.step(Input::CredentialsFailed { sentence });
            }
        }
    }

    fn close(&mut self, channel: Channel) {
        let wire = std::mem::replace(self.wire(channel), Wire::Closed);
        if let Some((connection, is_shared)) = wire.connection() {
            drop(wire);
            if !is_shared {
                self.emit(ConnectionClosed::unasked(connection, Cause::Cancelled));
            }
        }
    }

    /// Reports to the probe that a connection ended by itself, or that the watch's share of it cannot be used any more.
    fn closed(&mut self, connection: ConnectionId, cause: Cause, is_shared: bool) {
        if !is_shared {
            self.emit(ConnectionClosed::unasked(connection, cause));
        }
        self.step(Input::Closed { connection, cause });
    }

    async fn take(&mut self, channel: Channel, happening: Happening) {
        match happening {
            Happening::Dialled(dialled) => self.dialled(channel, dialled),
            Happening::Answered(answer) => self.answered(channel, *answer),
            Happening::Piece(first) => self.read(channel, first).await,
            Happening::Ended(end) => self.body_ended(channel, end).await,
            Happening::IdleEnded(end) => {
                if let Some((connection, is_shared)) =
                    std::mem::replace(self.wire(channel), Wire::Closed).connection()
                {
                    self.closed(connection, cause_of(&end), is_shared);
                }
            }
        }
    }

    fn dialled(&mut self, channel: Channel, dialled: Dialled) {
        *self.wire(channel) = Wire::Closed;
        match dialled {
            Dialled::Connected(session, id, connection) => {
                self.session = Some(session);
                if !connection.is_shared() {
                    self.emit(opened(id, connection.facts(), None));
                }
                *self.wire(channel) = Wire::Idle(id, *connection);
                self.step(Input::Connected {
                    channel,
                    connection: id,
                });
            }
            Dialled::Not(NoConnection::Failed(session, error)) => {
                self.reload |= error.may_be_cured_by_new_credentials();
                self.session = Some(session);
                let failure = Failure {
                    kind: dial_kind(&error),
                    sentence: error.to_string(),
                };
                self.step(Input::ConnectFailed { channel, failure });
            }
            Dialled::Not(NoConnection::NoCredentials(sentence)) => {
                self.step(Input::CredentialsFailed { sentence })
            }
        }
    }

    fn answered(&mut self, channel: Channel, answer: Result<Response, SendError>) {
        let Wire::Sending(exchange, _) = std::mem::replace(self.wire(channel), Wire::Closed) else {
            return;
        };
        let Exchange {
            connection,
            request,
            is_shared,
            ..
        } = exchange;
        match answer {
            Ok(response) => {
                let (status, headers) = (response.status.as_u16(), headers_of(&response.headers));
                let http2_stream = response.stream;
                if channel == Channel::Main {
                    self.unread = Unread::default();
                }
                *self.wire(channel) = Wire::Reading(exchange, response.body, response.framing);
                self.step(Input::Head {
                    request,
                    status,
                    headers,
                    http2_stream,
                });
            }
            Err(error) => {
                let (kind, cause) = send_kind(&error);
                let failure = Failure {
                    kind,
                    sentence: error.to_string(),
                };
                self.step(Input::RequestFailed { request, failure });
                self.closed(connection, cause, is_shared);
            }
        }
    }

    /// Reads what has arrived, up to [`ITERATION_BYTES`], before anything else is done.
    async fn read(&mut self, channel: Channel, first: Bytes) {
        let mut taken = 0;
        let mut piece = first;
        loop {
            let Wire::Reading(Exchange { request, .. }, ..) = self.wire(channel) else {
                return;
            };
            let request = *request;
            taken += piece.len();
            self.step(Input::Body {
                request,
                bytes: &piece,
            });
            if taken >= ITERATION_BYTES || !self.output.effects.is_empty() {
                return;
            }
            let Wire::Reading(_, body, _) = self.wire(channel) else {
                return;
            };
            // The transport reads into the same buffer again once no piece of it is held. A new buffer costs page faults.
            drop(piece);
            match body.chunk().now_or_never() {
                None => return,
                Some(Ok(Some(next))) => piece = next,
                Some(Ok(None)) => return self.body_ended(channel, Ok(())).await,
                Some(Err(end)) => return self.body_ended(channel, Err(end)).await,
            }
        }
    }

    async fn body_ended(&mut self, channel: Channel, end: Result<(), BodyEnd>) {
        let Wire::Reading(exchange, mut body, framing) =
            std::mem::replace(self.wire(channel), Wire::Closed)
        else {
            return;
        };
        let Exchange {
            connection,
            request,
            is_watch,
            is_shared,
        } = exchange;
        if let Err(end) = end {
            let cause = cause_of(&end);
            let reset_code = match &end {
                BodyEnd::Reset { code } => Some(*code),
                _ => None,
            };
            body.settled().await;
            self.spent.extend(is_shared.then_some(body));
            let end = self.ending(cause, reset_code);
            self.step(Input::BodyEnd { request, end });
            self.closed(connection, cause, is_shared);
            return;
        }
        // If a stream ends by closing its connection, a lost connection looks the same, so it has no orderly end. (For a
        // list this is safe: its JSON shows whether it is complete.)
        let cause = if is_watch && framing == Framing::UntilClose {
            Cause::Eof
        } else {
            Cause::End
        };
        let end = self.ending(cause, None);
        let broken = match body.into_connection().await {
            Ok(kept) if !is_watch || self.may_ask_again() => {
                *self.wire(channel) = Wire::Idle(connection, kept);
                self.step(Input::BodyEnd { request, end });
                return;
            }
            Ok(_) => None,
            Err(broken) => Some(broken),
        };
        self.step(Input::Closing { connection });
        self.step(Input::BodyEnd { request, end });
        if let Some(BodyEnd::Malformed { detail }) = &broken {
            self.emit(Loss {
                place: LossPlace::Frame,
                count: 1,
                from_seq: None,
                to_seq: None,
                watch: self.probe.as_ref().map(|probe| probe.watch().clone()),
                bytes: None,
                reason: Some(format!("what followed a response is not HTTP: {detail}")),
                what: Some(FrameLoss::Malformed),
            });
        }
        if !is_shared {
            let cause = broken.as_ref().map_or(Cause::Cancelled, cause_of);
            self.emit(ConnectionClosed::unasked(connection, cause));
        }
    }

    /// Whether the next request may still use the credentials that opened its connection.
    fn may_ask_again(&self) -> bool {
        let session = self.session.as_deref();
        session.is_none_or(|session| self.connections.may_ask_again(session))
    }

    fn ending(&self, cause: Cause, reset_code: Option<u32>) -> Ending {
        let unread = self.unread.of_late();
        Ending {
            cause,
            reset_code,
            unread_ms: unread.and_then(|unread| u64::try_from(unread.as_millis()).ok()),
        }
    }

    fn discovered(&mut self, catalog: Option<Arc<Catalog>>) {
        // Without an answer there is nothing new, and the probe's own timer asks again.
        let Some(catalog) = catalog else { return };
        let (group, plural) = &self.resource;
        let found = catalog
            .watchable()
            .find(|resource| resource.group == *group && resource.plural == *plural)
            .map(|resource| Served {
                version: resource.version.as_str().into(),
                kind: resource.kind.as_str().into(),
                is_aggregated: resource.is_aggregated,
            });
        self.step(Input::Discovered(found));
    }

    fn wire(&mut self, channel: Channel) -> &mut Wire {
        match channel {
            Channel::Main => &mut self.main,
            Channel::Side => &mut self.side,
        }
    }
}

impl Wire {
    /// Waits for the channel's next event. Cancel safe.
    async fn next(&mut self) -> Happening {
        match self {
            Self::Closed => std::future::pending().await,
            Self::Dialling(dialling) => Happening::Dialled(dialling.await),
            Self::Idle(_, connection) => Happening::IdleEnded(connection.ended().await),
            Self::Sending(_, sending) => Happening::Answered(Box::new(sending.await)),
            Self::Reading(_, body, _) => match body.chunk().await {
                Ok(Some(piece)) => Happening::Piece(piece),
                Ok(None) => Happening::Ended(Ok(())),
                Err(end) => Happening::Ended(Err(end)),
            },
        }
    }

    /// Returns the channel's connection, and whether it is shared.
    fn connection(&self) -> Option<(ConnectionId, bool)> {
        match self {
            Self::Closed | Self::Dialling(_) => None,
            Self::Idle(id, connection) => Some((*id, connection.is_shared())),
            Self::Sending(exchange, _) | Self::Reading(exchange, ..) => {
                Some((exchange.connection, exchange.is_shared))
            }
        }
    }
}

/// Returns the timeout for the head of the answer to a request.
fn header_limit(query: &str) -> Duration {
    match ListOptions::parse(query).timeout_s {
        Some(asked_s) => Duration::from_secs(asked_s) + WATCH_HEADER_GRACE,
        None => LIST_HEADER_LIMIT,
    }
}

fn dial_kind(error: &DialError) -> FailureKind {
    match error {
        DialError::Tls { .. } => FailureKind::Tls,
        DialError::Timeout { .. } => FailureKind::Timeout,
        DialError::Proxy {
            failure: ProxyFailure::Closed | ProxyFailure::Io(_),
            ..
        } => FailureKind::Broken,
        DialError::Resolve { .. }
        | DialError::Refused { .. }
        | DialError::Unreachable { .. }
        | DialError::Proxy { .. } => FailureKind::Unreachable,
    }
}

fn send_kind(error: &SendError) -> (FailureKind, Cause) {
    match error {
        SendError::HeaderTimeout { .. } => (FailureKind::Timeout, Cause::Cancelled),
        SendError::Ended(end) => (FailureKind::Broken, cause_of(end)),
        SendError::Stale => (FailureKind::Broken, Cause::Eof),
        SendError::BadHead { .. } | SendError::BadRequest { .. } => {
            (FailureKind::Broken, Cause::Decode)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_a_watchs_head_is_longer_than_its_own_and_the_probes() {
        let day = header_limit("watch=true&allowWatchBookmarks=true&timeoutSeconds=86400");
        assert_eq!(day, Duration::from_secs(86_460));
        assert_eq!(header_limit("limit=500"), LIST_HEADER_LIMIT);
    }
}
