//! The machine: its state, and its reaction to each input.

use std::sync::Arc;

use watchscope_model::chance::Chance;
use watchscope_model::event::{Event, RequestAnswered, WatchStopped};
use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::vocabulary::{Cause, FrameLoss, Phase, PhaseReason};
use watchscope_model::{ConnectionId, Object, RequestId, ResourceVersion, Text, Time, WatchName};

use crate::backoff::Backoff;
use crate::decode::Decoder;
use crate::held::{Held, Recent};
use crate::journal::worth_keeping;
use crate::list::{ListRun, Page};
use crate::port::{
    Channel, Context, Effect, Emitted, Ending, Failure, FailureKind, Ids, Input, Output, Served,
};
use crate::refusal::Refusal;
use crate::selector::Selector;
use crate::side::Side;
use crate::spec::{ProbeConfig, WatchSpec};
use crate::stream::{OwnEnd, Stream};

/// The time in ms without a byte after which the page of a list is given up, counted from its request or its last
/// bytes. The probe then waits, and requests the page again over a new connection. The server's own limit on a request
/// is 60 s (docs/semantics/servers.md#request-timeout). The additional 30 s have no source.
pub(crate) const LIST_SILENCE_MS: u64 = 90_000;

/// The instrumented client of one watch.
///
/// Give it every input in the order of events, carry out its effects, and append its events to the log. One task owns
/// the probe. The cluster's objects of the resource bound its memory. In addition it holds one page of a list, or as
/// many bytes of deferred initial events, two lines, and 64 KiB of a refusal. [`ProbeConfig`] bounds pages and lines.
/// It also keeps at most 64 recurring texts, each of at most 512 characters, and 64 controllers.
#[derive(Debug)]
pub struct Probe {
    pub(crate) spec: WatchSpec,
    pub(crate) config: ProbeConfig,
    pub(crate) rng: Chance,
    pub(crate) state: State,
    pub(crate) phase: Option<Phase>,
    /// The task that the probe does next.
    pub(crate) task: Task,
    /// The reason for the next task.
    pub(crate) why: PhaseReason,
    pub(crate) link: Option<Link>,
    /// The decoder of this resource's objects; absent until their kind is known.
    pub(crate) decoder: Option<Decoder>,
    /// The watch's selectors; absent if it selects everything.
    pub(crate) selector: Option<Selector>,
    pub(crate) progress: Option<ResourceVersion>,
    pub(crate) held: Held,
    pub(crate) texts: Recent<Text>,
    pub(crate) owners: Recent<Owner>,
    pub(crate) list: ListRun,
    pub(crate) streaks: Streaks,
    pub(crate) gap: Option<OpenGap>,
    pub(crate) failures: Backoff,
    pub(crate) expirations: Backoff,
    pub(crate) refusals: Backoff,
    pub(crate) reloaded_at: Option<Time>,
    /// Whether a list showed that etcd was restored, so that the watch begins anew next.
    pub(crate) is_restored: bool,
    pub(crate) side: Side,
    /// The time of the driver's timer, unless it has fired.
    armed: Option<Time>,
}

/// Counts of consecutive events.
#[derive(Debug, Default)]
pub(crate) struct Streaks {
    /// Consecutive streams shorter than 2 s.
    pub(crate) short: u32,
    /// Consecutive short streams without a document, from the same resourceVersion (F10).
    pub(crate) bare: u32,
    /// Consecutive answers 410 without a document between them (F14).
    pub(crate) expired: u32,
    /// Consecutive watch-list streams that ended before their end bookmark (F37).
    pub(crate) unfinished: u32,
    /// Consecutive answers 401 and 403 without a 200 between them.
    pub(crate) denied: u32,
}

#[derive(Debug)]
pub(crate) enum State {
    /// The machine is not started, or between two states within a step.
    Idle,
    /// The machine waits until a time.
    Waiting { until: Time },
    /// A connection is being dialled.
    Dialling,
    /// A request was sent, and no response head came yet.
    Asked(Asked),
    /// The answer is a refusal, and its body is being read.
    Refused(Refusal),
    /// The answer is a page of a list.
    Page(Page),
    /// The answer is a stream.
    Stream(Stream),
    /// The watch was stopped; no other state follows.
    Stopped,
}

/// The tasks of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Read the next page of a list.
    List,
    /// Open a stream from progress.
    Watch,
    /// Open a stream that begins with the whole state (watch-list).
    WatchList,
}

/// An unanswered request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) request: RequestId,
    pub(crate) task: Task,
    pub(crate) sent_at: Time,
    /// When the answer is overdue; for a watch, also when the stream's end is overdue.
    pub(crate) deadline: Time,
}

/// The main connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: ConnectionId,
    /// The request on the connection whose response has not ended.
    pub(crate) busy: Option<RequestId>,
    /// Whether the connection has carried a request before.
    pub(crate) used: bool,
    /// Whether the server announced to close the connection after the present response.
    pub(crate) last: bool,
}

/// A stretch without a stream, which began with a stream's end, or when the stream after a list could not be opened.
#[derive(Debug)]
pub(crate) struct OpenGap {
    pub(crate) from: Option<ResourceVersion>,
    pub(crate) reason: Cause,
}

/// The surroundings of one step.
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
    /// Returns a probe that waits for [`Input::Start`]. The seed determines the probe's jitter: the same seed, inputs
    /// and contexts give the same outputs.
    #[must_use]
    pub fn new(spec: WatchSpec, config: ProbeConfig, seed: u64) -> Self {
        let task = if config.watch_list {
            Task::WatchList
        } else {
            Task::List
        };
        let mut probe = Self {
            list: ListRun::new(config.page_size),
            selector: Selector::of(&spec),
            spec,
            config,
            rng: Chance::new(seed),
            state: State::Idle,
            phase: None,
            task,
            why: PhaseReason::Started,
            link: None,
            decoder: None,
            progress: None,
            held: Held::default(),
            texts: Recent::default(),
            owners: Recent::default(),
            streaks: Streaks::default(),
            gap: None,
            failures: Backoff::for_failures(),
            expirations: Backoff::for_expirations(),
            refusals: Backoff::for_refusals(),
            reloaded_at: None,
            is_restored: false,
            side: Side::default(),
            armed: None,
        };
        probe.prepare_decoder();
        probe
    }

    /// Returns a new probe for the same watch, without any state, which waits for [`Input::Start`]. The new probe's
    /// seed is drawn from this probe's. The new probe keeps what discovery reported, and whether the server supports
    /// watch-list. Call this after [`Input::Stop`], because it closes no connection.
    #[must_use]
    pub fn anew(mut self) -> Self {
        let seed = self.rng.next_u64();
        Self::new(self.spec, self.config, seed)
    }

    /// Processes an input at `context.now`; appends the results to `output` and returns the machine.
    #[must_use]
    pub fn step(
        mut self,
        input: Input<'_>,
        context: &mut Context<'_>,
        output: &mut Output,
    ) -> Self {
        self.step_in_place(input, context, output);
        self
    }

    /// Like [`Probe::step`], but changes the probe in place. [`Probe::step`] moves the probe, which has 1.5 kB, and a
    /// busy stream makes a step for each event.
    pub fn step_in_place(
        &mut self,
        input: Input<'_>,
        context: &mut Context<'_>,
        output: &mut Output,
    ) {
        let mut turn = Turn {
            now: context.now,
            ids: &mut *context.ids,
            out: output,
        };
        self.take(input, &mut turn);
        self.judge_silence(&mut turn);
        self.arm(&mut turn);
    }

    /// Returns the watch's name in the log.
    #[must_use]
    pub fn watch(&self) -> &WatchName {
        &self.spec.name
    }

    /// Returns the resourceVersion that the watch may resume from: the highest so far, or the last one if versions have
    /// no order (docs/semantics/clients.md#probe-progress). `None` before the first version, and again after the watch
    /// began anew.
    #[must_use]
    pub fn progress(&self) -> Option<&ResourceVersion> {
        self.progress.as_ref()
    }

    /// Returns all objects that the watch holds, each once, in no particular order. Each object has the highest version
    /// that the watch took over since the object was last added, or the last version if versions have no order. The
    /// watch holds no objects before the first item of a list or initial event, and again after it began anew.
    pub fn held(&self) -> impl Iterator<Item = (&Arc<Object>, &ResourceVersion)> {
        self.held.iter()
    }

    /// Returns whether [`Input::Stop`] stopped the watch; a stopped watch never starts again.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped)
    }

    fn take(&mut self, input: Input<'_>, turn: &mut Turn<'_>) {
        if self.is_stopped() {
            // This connection was being dialled when the watch was stopped.
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
            Input::SideLater(until) => self.side_later(until),
            Input::Head {
                request,
                status,
                headers,
                http2_stream,
            } => self.on_head(request, status, headers, http2_stream, turn),
            Input::RequestFailed { request, failure } => {
                self.on_request_failed(request, failure, turn);
            }
            Input::Body { request, bytes } => self.on_body(request, bytes, turn),
            Input::BodyEnd { request, end } => self.on_body_end(request, end, turn),
            Input::Closing { connection } => {
                if let Some(link) = &mut self.link
                    && link.connection == connection
                {
                    link.last = true;
                }
            }
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
        self.fail_saying(reason_of(failure.kind), Some(failure.sentence), turn);
    }

    fn on_head(
        &mut self,
        request: RequestId,
        status: u16,
        headers: Headers,
        http2_stream: Option<u32>,
        turn: &mut Turn<'_>,
    ) {
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
            error_text: None,
        });
        self.streaks.denied = 0;
        self.refusals.reset();
        self.state = match asked.task {
            Task::List => State::Page(Page::new(request, turn.now)),
            Task::Watch | Task::WatchList => {
                State::Stream(self.open_stream(asked, http2_stream, turn))
            }
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
            // The server had already closed this connection, which was kept from the request before. That says nothing
            // about this request.
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

    fn on_body_end(&mut self, request: RequestId, end: Ending, turn: &mut Turn<'_>) {
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
        if end.cause != Cause::End || link.last {
            self.close(turn);
        }
        self.response_over(end, turn);
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
            self.response_over(cause.into(), turn);
        }
    }

    /// Handles the end of a response body, whatever its cause.
    fn response_over(&mut self, end: Ending, turn: &mut Turn<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Page(page) => self.page_over(page, end.cause, turn),
            State::Stream(stream) => self.stream_over(stream, end, turn),
            State::Refused(refusal) => self.refused(refusal, turn),
            State::Asked(asked) => {
                let sentence = format!("the response ended ({}) before its head", end.cause);
                self.answered_by_failure(asked.request, sentence, turn);
                self.fail(PhaseReason::Broken, turn);
            }
            other => self.state = other,
        }
    }

    fn on_timer(&mut self, turn: &mut Turn<'_>) {
        self.side_timer(turn);
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Waiting { until } if until <= turn.now && self.is_restored => {
                self.begin_anew(turn);
            }
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
                let reason = "no more of the page came within 90 s";
                self.page_lost(&page, FrameLoss::CutShort, reason, turn);
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

    /// Ends a stream that a side watch has proved dead.
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
            // The answer is not needed any more.
            return;
        }
        match served {
            Some(served) => {
                let was_known = self.spec.served.is_some();
                self.spec.served = Some(served);
                self.prepare_decoder();
                if was_known {
                    // Discovery and the resource's own path may disagree for a short time (F17, F18).
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
        self.refuse_saying(PhaseReason::Credentials, Some(sentence), turn);
    }

    fn on_stop(&mut self, turn: &mut Turn<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Stream(stream) => self.stream_ended(&stream, Cause::Cancelled.into(), turn),
            State::Page(page) => {
                self.page_lost(&page, FrameLoss::CutShort, "the watch was stopped", turn);
            }
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

    /// Sets the driver's timer if the next deadline is before the time that it is set to. A timer that fires too early
    /// only leads to the next timer.
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
}

fn reason_of(kind: FailureKind) -> PhaseReason {
    match kind {
        FailureKind::Unreachable => PhaseReason::Unreachable,
        FailureKind::Tls => PhaseReason::TlsFailed,
        FailureKind::Timeout => PhaseReason::Timeout,
        FailureKind::Broken => PhaseReason::Broken,
    }
}
