//! The machine: what it is doing, and what each input makes of that.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use watchscope_model::event::{
    Event, Gap, Loss, RequestAnswered, RequestSent, WatchPhase, WatchStopped,
};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::{Cause, LossPlace, Phase, PhaseReason};
use watchscope_model::{ConnectionId, Object, RequestId, ResourceVersion, Text, Time, WatchName};

use crate::backoff::{Backoff, below};
use crate::decode::Decoder;
use crate::held::{Held, Texts};
use crate::list::{ListRun, Page};
use crate::port::{
    Channel, Context, Effect, Emitted, Failure, FailureKind, Get, Ids, Input, Output, Served,
};
use crate::refusal::Refusal;
use crate::side::Side;
use crate::spec::{Freshness, ProbeConfig, WatchSpec};
use crate::stream::{Opening, OwnEnd, Stream};

/// A list that is silent for this long is given up; the server's own limit on a request is 60 s.
const LIST_SILENCE_MS: u64 = 90_000;
/// The head of a watch may be held back by a proxy until the first event (k/k#75837), but no server keeps a watch
/// much longer than it was asked to.
const WATCH_GRACE_MS: u64 = 30_000;
/// Credentials are not loaded anew more often than this.
const RELOAD_SPACING_MS: u64 = 30_000;
/// The longest wait a server can impose by Retry-After.
const RETRY_AFTER_CAP_MS: u64 = 600_000;

/// The instrumented client of one watch.
///
/// Feed it every input in the order things happened, carry out the effects, append the events to the log. One task
/// owns it; its memory is bounded by what the cluster holds of the resource, one list page and one line.
#[derive(Debug)]
pub struct Probe {
    pub(crate) spec: WatchSpec,
    pub(crate) config: ProbeConfig,
    pub(crate) rng: ChaCha8Rng,
    state: State,
    phase: Option<Phase>,
    /// What to do when it can be done…
    pub(crate) task: Task,
    /// …and why.
    why: PhaseReason,
    link: Option<Link>,
    /// Reads this resource's objects; there once its kind is known.
    pub(crate) decoder: Option<Decoder>,
    pub(crate) progress: Option<ResourceVersion>,
    pub(crate) held: Held,
    pub(crate) texts: Texts,
    pub(crate) list: ListRun,
    pub(crate) streaks: Streaks,
    gap: Option<OpenGap>,
    pub(crate) failures: Backoff,
    refusals: Backoff,
    reloaded_at: Option<Time>,
    pub(crate) side: Side,
    /// When the driver's timer is set to, if it has not fired.
    armed: Option<Time>,
}

/// How often something happened in a row.
#[derive(Debug, Default)]
pub(crate) struct Streaks {
    /// Streams shorter than two seconds.
    pub(crate) short: u32,
    /// Of those, streams without a single document from the same resourceVersion (F10).
    pub(crate) bare: u32,
    /// 410 without a document in between (F14).
    pub(crate) expired: u32,
    /// "Too large resource version" without a list in between.
    pub(crate) too_large: u32,
    /// Watch-list streams that ended before their bookmark (F37).
    pub(crate) unfinished: u32,
    /// 401 without a 200 in between.
    pub(crate) unauthorized: u32,
}

#[derive(Debug)]
enum State {
    /// Not started, or between two states within a step.
    Idle,
    /// Nothing to do before a time.
    Waiting { until: Time },
    /// A connection is being made.
    Dialling,
    /// A request is out.
    Asked(Asked),
    /// Its answer is no, and is being read.
    Refused(Refusal),
    /// Its answer is a page of a list.
    Page(Page),
    /// Its answer is a stream.
    Stream(Stream),
    /// For good.
    Stopped,
}

/// What a probe does by turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Read the next page of a list.
    List,
    /// Open a stream from progress.
    Watch,
    /// Open a stream that begins with the state.
    WatchList,
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) request: RequestId,
    pub(crate) task: Task,
    pub(crate) sent_at: Time,
    /// When an answer, or of a watch even its end, should have come.
    pub(crate) deadline: Time,
}

/// The main connection.
#[derive(Debug)]
struct Link {
    connection: ConnectionId,
    /// The request whose response is not over.
    busy: Option<RequestId>,
    /// Whether it has already carried a request.
    used: bool,
    /// Whether the server said that it closes it after this response.
    last: bool,
}

/// A stretch without a stream.
#[derive(Debug)]
struct OpenGap {
    from: Option<ResourceVersion>,
    reason: Cause,
}

/// A wait, and what is said of it.
struct Rest {
    phase: Phase,
    reason: PhaseReason,
    delay_ms: u64,
    error: Option<String>,
}

/// One step's surroundings.
pub(crate) struct Turn<'a> {
    pub(crate) now: Time,
    pub(crate) ids: &'a mut dyn Ids,
    pub(crate) out: &'a mut Output,
}

impl Turn<'_> {
    pub(crate) fn emit(&mut self, event: impl Into<Event>) {
        self.out.events.push(Emitted {
            event: event.into(),
            body: None,
        });
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }
}

impl Probe {
    /// A probe that waits for [`Input::Start`]. The seed decides its jitter.
    #[must_use]
    pub fn new(spec: WatchSpec, config: ProbeConfig, seed: u64) -> Self {
        let task = if config.watch_list {
            Task::WatchList
        } else {
            Task::List
        };
        let mut probe = Self {
            list: ListRun::new(config.page_size),
            spec,
            config,
            rng: ChaCha8Rng::seed_from_u64(seed),
            state: State::Idle,
            phase: None,
            task,
            why: PhaseReason::Started,
            link: None,
            decoder: None,
            progress: None,
            held: Held::default(),
            texts: Texts::default(),
            streaks: Streaks::default(),
            gap: None,
            failures: Backoff::for_failures(),
            refusals: Backoff::for_refusals(),
            reloaded_at: None,
            side: Side::default(),
            armed: None,
        };
        probe.prepare_decoder();
        probe
    }

    /// Takes an input; appends what it leads to.
    #[must_use]
    pub fn step(
        mut self,
        input: Input<'_>,
        context: &mut Context<'_>,
        output: &mut Output,
    ) -> Self {
        let mut turn = Turn {
            now: context.now,
            ids: &mut *context.ids,
            out: output,
        };
        self.take(input, &mut turn);
        self.judge_silence(&mut turn);
        self.arm(&mut turn);
        self
    }

    /// The watch's name.
    #[must_use]
    pub fn watch(&self) -> &WatchName {
        &self.spec.name
    }

    /// The highest resourceVersion the watch may resume from.
    #[must_use]
    pub fn progress(&self) -> Option<&ResourceVersion> {
        self.progress.as_ref()
    }

    /// Every object the watch holds, with its version, in no order that means anything.
    pub fn held(&self) -> impl Iterator<Item = (&Arc<Object>, &ResourceVersion)> {
        self.held.iter()
    }

    /// Whether [`Input::Stop`] was taken.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped)
    }

    fn take(&mut self, input: Input<'_>, turn: &mut Turn<'_>) {
        if self.is_stopped() {
            // A connection that was on its way when the watch was stopped.
            if let Input::Connected {
                channel,
                connection,
            } = input
            {
                turn.effect(Effect::Close {
                    channel,
                    connection: Some(connection),
                });
            }
            return;
        }
        match input {
            Input::Start => self.on_start(turn),
            Input::Connected {
                channel: Channel::Main,
                connection,
            } => self.on_connected(connection, turn),
            Input::ConnectFailed {
                channel: Channel::Main,
                failure,
            } => self.on_connect_failed(failure, turn),
            Input::Connected {
                channel: Channel::Side,
                connection,
            } => self.side_connected(connection, turn),
            Input::ConnectFailed {
                channel: Channel::Side,
                ..
            } => self.side_over(turn),
            Input::Head {
                request,
                status,
                headers,
            } => self.on_head(request, status, headers, turn),
            Input::RequestFailed { request, failure } => {
                self.on_request_failed(request, failure, turn);
            }
            Input::Body { request, bytes } => self.on_body(request, bytes, turn),
            Input::BodyEnd { request, cause } => self.on_body_end(request, cause, turn),
            Input::Closed { connection, cause } => self.on_closed(connection, cause, turn),
            Input::Timer => {
                self.armed = None;
                self.on_timer(turn);
            }
            Input::Discovered(served) => self.on_discovered(served, turn),
            Input::CredentialsFailed { sentence } => self.on_credentials_failed(sentence, turn),
            Input::Stop => self.on_stop(turn),
        }
    }

    fn prepare_decoder(&mut self) {
        self.decoder = self.spec.served.as_ref().map(|served| {
            Decoder::new(
                &self.spec.group,
                &served.kind,
                self.config.redact_configmaps,
            )
        });
    }

    // ---- inputs ----

    fn on_start(&mut self, turn: &mut Turn<'_>) {
        if !matches!(self.state, State::Idle) {
            return;
        }
        turn.emit(self.spec.started());
        self.begin(self.task, PhaseReason::Started, turn);
    }

    fn on_connected(&mut self, connection: ConnectionId, turn: &mut Turn<'_>) {
        if !matches!(self.state, State::Dialling) {
            turn.effect(Effect::Close {
                channel: Channel::Main,
                connection: Some(connection),
            });
            return;
        }
        self.link = Some(Link {
            connection,
            busy: None,
            used: false,
            last: false,
        });
        if self.task == Task::List && self.why == PhaseReason::Started {
            self.why = PhaseReason::FirstList;
        }
        self.send(turn);
    }

    fn on_connect_failed(&mut self, failure: Failure, turn: &mut Turn<'_>) {
        if !matches!(self.state, State::Dialling) {
            return;
        }
        if failure.kind == FailureKind::Tls {
            self.reload_credentials(turn);
        }
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        self.why = PhaseReason::RetryDue;
        self.rest(
            Rest {
                phase: Phase::Waiting,
                reason: reason_of(failure.kind),
                delay_ms,
                error: Some(failure.sentence),
            },
            turn,
        );
    }

    fn on_head(&mut self, request: RequestId, status: u16, headers: Headers, turn: &mut Turn<'_>) {
        if self.side_head(request, status, &headers, turn) {
            return;
        }
        let State::Asked(asked) = &self.state else {
            return;
        };
        if asked.request != request {
            return;
        }
        let asked = *asked;
        if let Some(link) = &mut self.link {
            link.last = headers
                .get("connection")
                .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        }
        if status != 200 {
            self.state = State::Refused(Refusal::new(asked, status, headers, turn.now));
            return;
        }
        turn.emit(RequestAnswered {
            watch: self.spec.name.clone(),
            request,
            status: Some(status),
            headers: worth_keeping(headers),
            retry_after_ms: None,
            error: None,
        });
        self.streaks.unauthorized = 0;
        self.refusals.reset();
        self.state = match asked.task {
            Task::List => State::Page(Page::new(request, turn.now)),
            Task::Watch | Task::WatchList => State::Stream(self.open_stream(asked, turn)),
        };
    }

    fn on_request_failed(&mut self, request: RequestId, failure: Failure, turn: &mut Turn<'_>) {
        if self.side.is(request) {
            self.side_failed(failure.sentence, turn);
            return;
        }
        let State::Asked(asked) = &self.state else {
            return;
        };
        if asked.request != request {
            return;
        }
        let was_used = self.link.as_ref().is_some_and(|link| link.used);
        self.answered_by_failure(request, failure.sentence, turn);
        self.close(turn);
        if was_used && failure.kind == FailureKind::Broken {
            // The server had closed a connection kept from the request before; that says nothing about this one.
            self.begin(self.task, self.why, turn);
        } else {
            self.fail(reason_of(failure.kind), turn);
        }
    }

    fn on_body(&mut self, request: RequestId, bytes: &[u8], turn: &mut Turn<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Page(mut page) if page.request == request => {
                if page.push(bytes, self.config.page_limit, turn.now) {
                    self.state = State::Page(page);
                } else {
                    self.page_too_long(page, turn);
                }
            }
            State::Stream(mut stream) if stream.facts.request == request => {
                let end = self.read_stream(&mut stream, bytes, turn);
                match end {
                    None => self.state = State::Stream(stream),
                    Some(end) => self.end_stream(stream, end, turn),
                }
            }
            State::Refused(mut refusal) if refusal.asked.request == request => {
                refusal.push(bytes);
                self.state = State::Refused(refusal);
            }
            other => {
                self.state = other;
                self.side_body(request, bytes, turn);
            }
        }
    }

    fn on_body_end(&mut self, request: RequestId, cause: Cause, turn: &mut Turn<'_>) {
        if self.side.is(request) {
            self.side_over(turn);
            return;
        }
        let Some(link) = &mut self.link else {
            return;
        };
        if link.busy != Some(request) {
            return;
        }
        link.busy = None;
        link.used = true;
        if cause != Cause::End || link.last {
            self.close(turn);
        }
        self.response_over(cause, turn);
    }

    fn on_closed(&mut self, connection: ConnectionId, cause: Cause, turn: &mut Turn<'_>) {
        if self.side.is_on(connection) {
            self.side.forget_connection();
            self.side_over(turn);
            return;
        }
        if self
            .link
            .as_ref()
            .is_none_or(|link| link.connection != connection)
        {
            return;
        }
        let was_used = self.link.take().is_some_and(|link| link.used);
        if let State::Asked(asked) = &self.state {
            let request = asked.request;
            let sentence = format!("the connection was closed ({cause}) before an answer");
            self.answered_by_failure(request, sentence, turn);
            if was_used {
                self.begin(self.task, self.why, turn);
            } else {
                self.fail(PhaseReason::Broken, turn);
            }
        } else {
            self.response_over(cause, turn);
        }
    }

    /// A response body is over, for whatever reason.
    fn response_over(&mut self, cause: Cause, turn: &mut Turn<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Page(page) => self.page_over(page, cause, turn),
            State::Stream(stream) => self.stream_over(stream, cause, turn),
            State::Refused(refusal) => self.refused(refusal, turn),
            other => self.state = other,
        }
    }

    fn on_timer(&mut self, turn: &mut Turn<'_>) {
        self.side_timer(turn);
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Waiting { until } if until <= turn.now => {
                self.begin(self.task, self.why, turn);
            }
            State::Asked(asked) if asked.deadline <= turn.now => {
                let waited_s = turn.now.millis_since(asked.sent_at) / 1_000;
                self.answered_by_failure(
                    asked.request,
                    format!("no answer within {waited_s} s"),
                    turn,
                );
                self.close(turn);
                self.fail(PhaseReason::Timeout, turn);
            }
            State::Page(page) if page.heard_at.plus_millis(LIST_SILENCE_MS) <= turn.now => {
                self.close(turn);
                self.page_lost(&page, "no more of the page came within 90 s", turn);
                self.fail(PhaseReason::Timeout, turn);
            }
            State::Refused(refusal) if refusal.deadline <= turn.now => {
                self.close(turn);
                self.refused(refusal, turn);
            }
            State::Stream(mut stream) => match self.stream_timer(&mut stream, turn) {
                None => self.state = State::Stream(stream),
                Some(end) => self.end_stream(stream, end, turn),
            },
            other => self.state = other,
        }
    }

    /// Ends a stream that a side watch has just proved dead.
    fn judge_silence(&mut self, turn: &mut Turn<'_>) {
        if !self.side.take_proof() {
            return;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Stream(stream) => self.end_stream(stream, OwnEnd::Dead, turn),
            other => self.state = other,
        }
    }

    fn on_discovered(&mut self, served: Option<Served>, turn: &mut Turn<'_>) {
        if !matches!(self.state, State::Waiting { .. }) || self.phase != Some(Phase::Refused) {
            // Nobody waits for it any more.
            return;
        }
        match served {
            Some(served) => {
                let was_known = self.spec.served.is_some();
                self.spec.served = Some(served);
                self.prepare_decoder();
                if was_known {
                    // Discovery and the resource's own path may disagree for a moment (F17, F18).
                    self.fail(PhaseReason::NotFound, turn);
                } else {
                    self.begin(self.task, PhaseReason::Started, turn);
                }
            }
            None => self.refuse(PhaseReason::NotDiscovered, turn),
        }
    }

    fn on_credentials_failed(&mut self, sentence: String, turn: &mut Turn<'_>) {
        if !matches!(self.state, State::Waiting { .. } | State::Dialling) {
            return;
        }
        if matches!(self.state, State::Dialling) {
            turn.effect(Effect::Close {
                channel: Channel::Main,
                connection: None,
            });
        }
        let delay_ms = self.refusals.next_ms(turn.now, &mut self.rng);
        self.why = PhaseReason::RetryDue;
        self.rest(
            Rest {
                phase: Phase::Refused,
                reason: PhaseReason::Credentials,
                delay_ms,
                error: Some(sentence),
            },
            turn,
        );
    }

    fn on_stop(&mut self, turn: &mut Turn<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Stream(stream) => self.stream_ended(&stream, Cause::Cancelled, turn),
            State::Page(page) => self.page_lost(&page, "the watch was stopped", turn),
            State::Refused(refusal) => self.answered_by_refusal(&refusal, turn),
            State::Asked(asked) => {
                self.answered_by_failure(asked.request, "the watch was stopped".into(), turn);
            }
            State::Dialling => turn.effect(Effect::Close {
                channel: Channel::Main,
                connection: None,
            }),
            _ => {}
        }
        self.close(turn);
        self.side_cancel(turn);
        self.set_phase(Phase::Stopped, PhaseReason::StopRequested, turn);
        turn.emit(WatchStopped {
            watch: self.spec.name.clone(),
            reason: PhaseReason::StopRequested,
        });
        self.state = State::Stopped;
    }

    // ---- what to do next ----

    /// Does a task now, over the connection at hand or a new one.
    pub(crate) fn begin(&mut self, task: Task, why: PhaseReason, turn: &mut Turn<'_>) {
        (self.task, self.why) = (task, why);
        if self.decoder.is_none() {
            turn.effect(Effect::Discover);
            self.refuse(PhaseReason::NotDiscovered, turn);
            return;
        }
        if self.link.as_ref().is_some_and(|link| link.busy.is_some()) {
            self.close(turn);
        }
        if self.link.is_some() {
            self.send(turn);
        } else {
            self.set_phase(Phase::Connecting, why, turn);
            turn.effect(Effect::Connect {
                channel: Channel::Main,
            });
            self.state = State::Dialling;
        }
    }

    /// Waits, then does a task.
    pub(crate) fn wait(
        &mut self,
        delay_ms: u64,
        reason: PhaseReason,
        task: Task,
        why: PhaseReason,
        turn: &mut Turn<'_>,
    ) {
        (self.task, self.why) = (task, why);
        self.rest(
            Rest {
                phase: Phase::Waiting,
                reason,
                delay_ms,
                error: None,
            },
            turn,
        );
    }

    /// Does nothing for a while; then the task.
    fn rest(&mut self, rest: Rest, turn: &mut Turn<'_>) {
        turn.emit(WatchPhase {
            watch: self.spec.name.clone(),
            from: self.phase,
            to: rest.phase,
            reason: rest.reason,
            delay_ms: Some(rest.delay_ms),
            error: rest.error,
        });
        self.phase = Some(rest.phase);
        self.state = State::Waiting {
            until: turn.now.plus_millis(rest.delay_ms),
        };
    }

    /// Waits as after a failure, then tries the same again.
    pub(crate) fn fail(&mut self, reason: PhaseReason, turn: &mut Turn<'_>) {
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        self.wait(delay_ms, reason, self.task, PhaseReason::RetryDue, turn);
    }

    /// Waits at least as long as the server asks, then tries the same again. Never a relist (F15).
    pub(crate) fn fail_politely(
        &mut self,
        reason: PhaseReason,
        retry_after_ms: Option<u64>,
        task: Task,
        turn: &mut Turn<'_>,
    ) {
        let own_ms = self.failures.next_ms(turn.now, &mut self.rng);
        let asked_ms = retry_after_ms.map_or(0, |asked_ms| {
            let asked_ms = asked_ms.min(RETRY_AFTER_CAP_MS);
            asked_ms + below(asked_ms / 2 + 500, &mut self.rng)
        });
        self.wait(
            own_ms.max(asked_ms),
            reason,
            task,
            PhaseReason::RetryDue,
            turn,
        );
    }

    /// Waits long: only somebody else can change the answer.
    pub(crate) fn refuse(&mut self, reason: PhaseReason, turn: &mut Turn<'_>) {
        let delay_ms = self.refusals.next_ms(turn.now, &mut self.rng);
        self.why = PhaseReason::RetryDue;
        self.rest(
            Rest {
                phase: Phase::Refused,
                reason,
                delay_ms,
                error: None,
            },
            turn,
        );
    }

    /// 401: once at once with fresh credentials, then slowly (F40).
    pub(crate) fn unauthorized(&mut self, turn: &mut Turn<'_>) {
        self.streaks.unauthorized += 1;
        // A connection may carry the old credentials (client certificates do).
        self.close(turn);
        self.reload_credentials(turn);
        if self.streaks.unauthorized == 1 {
            self.fail(PhaseReason::Unauthorized, turn);
        } else {
            self.refuse(PhaseReason::Unauthorized, turn);
        }
    }

    fn reload_credentials(&mut self, turn: &mut Turn<'_>) {
        let recently = self
            .reloaded_at
            .is_some_and(|at| turn.now.millis_since(at) < RELOAD_SPACING_MS);
        if !recently {
            self.reloaded_at = Some(turn.now);
            turn.effect(Effect::ReloadCredentials);
        }
    }

    /// The history from progress is gone: list at progress first, so that no older state is taken; if that leads to
    /// the same answer, list the most recent (F11, F14).
    pub(crate) fn expired(&mut self, turn: &mut Turn<'_>) {
        self.streaks.expired += 1;
        let at_progress = self.streaks.expired == 1 && self.progress.is_some();
        self.relist(at_progress, PhaseReason::Expired, turn);
    }

    /// Waits as after a failure, then lists from the first page.
    pub(crate) fn relist(&mut self, at_progress: bool, reason: PhaseReason, turn: &mut Turn<'_>) {
        self.list.restart(at_progress);
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        let task = self.list_task();
        self.wait(delay_ms, reason, task, reason, turn);
    }

    /// How to learn the whole state.
    pub(crate) fn list_task(&self) -> Task {
        if self.config.watch_list {
            Task::WatchList
        } else {
            Task::List
        }
    }

    /// This server does not do watch-list, or not to the end: lists from now on.
    pub(crate) fn fall_back_to_list(&mut self) {
        self.config.watch_list = false;
        self.streaks.unfinished = 0;
    }

    fn send(&mut self, turn: &mut Turn<'_>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let request = turn.ids.request();
        let connection = link.connection;
        link.busy = Some(request);
        let timeout_s = {
            let range = &self.config.watch_timeout_s;
            let span = u64::from(range.end().saturating_sub(*range.start())) + 1;
            range.start() + below(span, &mut self.rng) as u32
        };
        let get = self.request_for(self.task, timeout_s);
        let patience_ms = match self.task {
            Task::List => LIST_SILENCE_MS,
            Task::Watch | Task::WatchList => u64::from(timeout_s) * 1_000 + WATCH_GRACE_MS,
        };
        let phase = match self.task {
            Task::List => Phase::Listing,
            Task::Watch | Task::WatchList => Phase::Connecting,
        };
        self.set_phase(phase, self.why, turn);
        let verb = match self.task {
            Task::List => "list",
            Task::Watch | Task::WatchList => "watch",
        };
        send_get(&self.spec.name, verb, request, connection, get, turn);
        self.state = State::Asked(Asked {
            request,
            task: self.task,
            sent_at: turn.now,
            deadline: turn.now.plus_millis(patience_ms),
        });
    }

    fn request_for(&self, task: Task, timeout_s: u32) -> Get {
        let version = self.api_version();
        let freshness = match &self.progress {
            Some(progress) if self.list.at_progress => Freshness::NotOlderThan(progress),
            _ => Freshness::MostRecent,
        };
        match task {
            Task::List => self.spec.list(
                &self.config,
                &version,
                self.list.limit,
                freshness,
                self.list.token.as_deref(),
            ),
            Task::Watch => {
                self.spec
                    .watch(&self.config, &version, self.progress.as_ref(), timeout_s)
            }
            Task::WatchList => self
                .spec
                .watch_list(&self.config, &version, freshness, timeout_s),
        }
    }

    pub(crate) fn api_version(&self) -> Text {
        self.spec
            .served
            .as_ref()
            .map_or_else(|| "v1".into(), |served| served.version.clone())
    }

    /// Closes the main connection, if there is one.
    pub(crate) fn close(&mut self, turn: &mut Turn<'_>) {
        if let Some(link) = self.link.take() {
            turn.effect(Effect::Close {
                channel: Channel::Main,
                connection: Some(link.connection),
            });
        }
    }

    /// Sets the driver's timer if something is due before it. A timer that fires early only arms the next.
    fn arm(&mut self, turn: &mut Turn<'_>) {
        let own = match &self.state {
            State::Idle | State::Dialling | State::Stopped => None,
            State::Waiting { until } => Some(*until),
            State::Asked(asked) => Some(asked.deadline),
            State::Refused(refusal) => Some(refusal.deadline),
            State::Page(page) => Some(page.heard_at.plus_millis(LIST_SILENCE_MS)),
            State::Stream(stream) => Some(self.stream_deadline(&stream.facts)),
        };
        let Some(due) = own.into_iter().chain(self.side.deadline()).min() else {
            return;
        };
        if self.armed.is_none_or(|armed| due < armed) {
            self.armed = Some(due);
            turn.effect(Effect::SetTimer(due));
        }
    }

    // ---- events ----

    /// Goes into a phase, unless it is in it.
    pub(crate) fn set_phase(&mut self, to: Phase, reason: PhaseReason, turn: &mut Turn<'_>) {
        if self.phase == Some(to) {
            return;
        }
        turn.emit(WatchPhase {
            watch: self.spec.name.clone(),
            from: self.phase,
            to,
            reason,
            delay_ms: None,
            error: None,
        });
        self.phase = Some(to);
    }

    fn answered_by_failure(&mut self, request: RequestId, sentence: String, turn: &mut Turn<'_>) {
        turn.emit(RequestAnswered {
            watch: self.spec.name.clone(),
            request,
            status: None,
            headers: Headers::default(),
            retry_after_ms: None,
            error: Some(sentence),
        });
    }

    /// Bytes that could not become events.
    pub(crate) fn lose(
        &self,
        place: LossPlace,
        bytes: u64,
        reason: impl Into<String>,
        turn: &mut Turn<'_>,
    ) {
        turn.emit(Loss {
            place,
            count: 1,
            from_seq: None,
            to_seq: None,
            watch: Some(self.spec.name.clone()),
            bytes: Some(bytes),
            reason: Some(reason.into()),
        });
    }

    /// Begins a gap, unless one is open.
    pub(crate) fn open_gap(&mut self, reason: Cause) {
        self.gap.get_or_insert_with(|| OpenGap {
            from: self.progress.clone(),
            reason,
        });
    }

    pub(crate) fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Closes the gap, if one is open.
    pub(crate) fn close_gap(&mut self, resumed: bool, turn: &mut Turn<'_>) {
        if let Some(gap) = self.gap.take() {
            turn.emit(Gap {
                watch: self.spec.name.clone(),
                since: watchscope_model::Seq(0),
                from: gap.from,
                to: self.progress.clone(),
                reason: gap.reason,
                resumed,
                lost: resumed.then_some(0),
            });
        }
    }

    /// Moves progress up to `version`; never down. What cannot be compared replaces it.
    pub(crate) fn advance(&mut self, version: &ResourceVersion) {
        let goes_down = self
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_after(version));
        if !goes_down && self.progress.as_ref() != Some(version) {
            self.progress = Some(version.clone());
            self.streaks.bare = 0;
        }
    }

    pub(crate) fn opening_of(&self, task: Task) -> Opening {
        match task {
            Task::WatchList => Opening::WatchList,
            _ if self.progress.is_none() => Opening::AnyState,
            _ => Opening::Resume,
        }
    }
}

pub(crate) fn send_get(
    watch: &WatchName,
    verb: &str,
    request: RequestId,
    connection: ConnectionId,
    get: Get,
    turn: &mut Turn<'_>,
) {
    turn.emit(RequestSent {
        watch: watch.clone(),
        request,
        connection,
        verb: verb.into(),
        path: get.path.clone(),
        query: Some(get.query.clone()),
    });
    turn.effect(Effect::Send {
        connection,
        request,
        get,
    });
}

fn reason_of(kind: FailureKind) -> PhaseReason {
    match kind {
        FailureKind::Unreachable => PhaseReason::Unreachable,
        FailureKind::Tls => PhaseReason::TlsFailed,
        FailureKind::Timeout => PhaseReason::Timeout,
        FailureKind::Broken => PhaseReason::Broken,
    }
}

/// Headers an event keeps.
const KEPT_HEADERS: [&str; 7] = [
    "audit-id",
    "connection",
    "content-type",
    "retry-after",
    "warning",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// The headers that matter, each cut at 512 characters.
pub(crate) fn worth_keeping(headers: Headers) -> Headers {
    Headers(
        headers
            .0
            .into_iter()
            .filter(|(name, _)| KEPT_HEADERS.contains(&&**name))
            .take(16)
            .map(|(name, value)| {
                let cut = value.char_indices().nth(512).map(|(at, _)| at);
                (name, cut.map_or(value.clone(), |at| value[..at].into()))
            })
            .collect(),
    )
}
