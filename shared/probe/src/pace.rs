//! Decides the next task and when it begins: at once, after a wait, or much later.

use watchscope_model::event::WatchPhase;
use watchscope_model::vocabulary::{Cause, Phase, PhaseReason};
use watchscope_model::{ResourceVersion, Text};

use crate::backoff::below;
use crate::journal::send_get;
use crate::port::{Channel, Effect, Get};
use crate::probe::{Asked, LIST_SILENCE_MS, Probe, State, Task, Turn};
use crate::spec::Freshness;

/// The time in ms after a watch's own timeout at which the probe gives up on its response head. From the same time on
/// the probe gives up on a stream that is suspected dead and that no side watch can check. A proxy may hold the head
/// back until the first event (k/k#75837; docs/semantics/requests.md#late-headers). But the server itself ends a watch
/// at the watch's timeout (docs/semantics/requests.md#parameters). The number has no source.
const WATCH_GRACE_MS: u64 = 30_000;
/// The least time in ms between two loads of credentials, so that many refusals cause one run of an exec plugin. A load
/// that would come earlier is left out. The time is as long as the first delay after a refusal, so a refusal after such
/// a delay causes a load.
const RELOAD_SPACING_MS: u64 = 30_000;
/// The longest Retry-After that the probe obeys, in ms; a longer one counts as this. Jitter of up to half of the
/// Retry-After, plus half a second, comes on top. A kube-apiserver asks for at most 32 s
/// (docs/semantics/requests.md#too-many-requests); a longer wait than this would leave a watch blind for a mistake. The
/// number has no source.
const RETRY_AFTER_CAP_MS: u64 = 600_000;

impl Probe {
    /// Begins a task now, over the present connection or a new one.
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

    /// Waits for `delay_ms`, then begins a task.
    pub(crate) fn wait(
        &mut self,
        delay_ms: u64,
        reason: PhaseReason,
        task: Task,
        why: PhaseReason,
        turn: &mut Turn<'_>,
    ) {
        (self.task, self.why) = (task, why);
        self.rest(Phase::Waiting, reason, delay_ms, None, turn);
    }

    /// Stays in a phase for `delay_ms`, then begins the task.
    fn rest(
        &mut self,
        phase: Phase,
        reason: PhaseReason,
        delay_ms: u64,
        error: Option<String>,
        turn: &mut Turn<'_>,
    ) {
        // The stream that was to follow a list cannot be opened now, so no events come from here on.
        let has_position = self
            .progress
            .as_ref()
            .is_some_and(ResourceVersion::is_position);
        if self.task == Task::Watch && has_position {
            self.open_gap(Cause::Refused);
        }
        turn.emit(WatchPhase {
            watch: self.spec.name.clone(),
            from: self.phase,
            to: phase,
            reason,
            delay_ms: Some(delay_ms),
            error,
        });
        self.phase = Some(phase);
        self.state = State::Waiting {
            until: turn.now.plus_millis(delay_ms),
        };
    }

    /// Waits with the delay after a failure, then tries the same task again.
    pub(crate) fn fail(&mut self, reason: PhaseReason, turn: &mut Turn<'_>) {
        self.fail_saying(reason, None, turn);
    }

    /// Like [`Self::fail`], with a sentence that no request's record has.
    pub(crate) fn fail_saying(
        &mut self,
        reason: PhaseReason,
        error: Option<String>,
        turn: &mut Turn<'_>,
    ) {
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        self.why = PhaseReason::RetryDue;
        self.rest(Phase::Waiting, reason, delay_ms, error, turn);
    }

    /// Waits at least as long as the server asks (up to [`RETRY_AFTER_CAP_MS`]), then begins `task`. The probe never
    /// lists again only because of that (F15).
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

    /// Waits in the phase `refused` for at least 30 s, because only somebody else can change the answer.
    pub(crate) fn refuse(&mut self, reason: PhaseReason, turn: &mut Turn<'_>) {
        self.refuse_saying(reason, None, turn);
    }

    /// Like [`Self::refuse`], with a sentence that no request's record has.
    pub(crate) fn refuse_saying(
        &mut self,
        reason: PhaseReason,
        error: Option<String>,
        turn: &mut Turn<'_>,
    ) {
        let delay_ms = self.refusals.next_ms(turn.now, &mut self.rng);
        self.why = PhaseReason::RetryDue;
        self.rest(Phase::Refused, reason, delay_ms, error, turn);
    }

    /// Handles a 401: tries once more soon with fresh credentials, and after a second 401 slowly (F40).
    pub(crate) fn unauthorized(&mut self, turn: &mut Turn<'_>) {
        // A connection may carry the old credentials, as with client certificates.
        self.close(turn);
        self.reload_credentials(turn);
        self.denied(PhaseReason::Unauthorized, true, turn);
    }

    /// Handles a 403: if access was allowed before, tries once more soon, and after a second 403 slowly (F41). A server
    /// that has just started may not have read its roles yet.
    pub(crate) fn forbidden(&mut self, turn: &mut Turn<'_>) {
        self.denied(PhaseReason::Forbidden, self.progress.is_some(), turn);
    }

    fn denied(&mut self, reason: PhaseReason, is_news: bool, turn: &mut Turn<'_>) {
        self.streaks.denied += 1;
        if is_news && self.streaks.denied == 1 {
            self.fail(reason, turn);
        } else {
            self.refuse(reason, turn);
        }
    }

    pub(crate) fn reload_credentials(&mut self, turn: &mut Turn<'_>) {
        let recently = self
            .reloaded_at
            .is_some_and(|at| turn.now.millis_since(at) < RELOAD_SPACING_MS);
        if !recently {
            self.reloaded_at = Some(turn.now);
            turn.effect(Effect::ReloadCredentials);
        }
    }

    /// Handles an expired history: lists not older than progress first, so that the watch takes no older state. If the
    /// history expires again, it lists the most recent state (F11, F14).
    pub(crate) fn expired(&mut self, turn: &mut Turn<'_>) {
        self.streaks.expired += 1;
        let at_progress = self.streaks.expired == 1 && self.progress.is_some();
        let delay_ms = self.expirations.next_ms(turn.now, &mut self.rng);
        self.relist_after(delay_ms, at_progress, PhaseReason::Expired, turn);
    }

    /// Waits with the delay after a failure, then lists from the first page.
    pub(crate) fn relist(&mut self, at_progress: bool, reason: PhaseReason, turn: &mut Turn<'_>) {
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        self.relist_after(delay_ms, at_progress, reason, turn);
    }

    fn relist_after(
        &mut self,
        delay_ms: u64,
        at_progress: bool,
        reason: PhaseReason,
        turn: &mut Turn<'_>,
    ) {
        self.list.restart(at_progress);
        let task = self.list_task();
        self.wait(delay_ms, reason, task, reason, turn);
    }

    /// Returns the task after a stream: to open a stream from progress. Without progress it is to read the whole state,
    /// because no stream reports objects deleted meanwhile (F19).
    pub(crate) fn next_task(&mut self) -> (Task, PhaseReason) {
        if self.progress.is_some() {
            return (Task::Watch, PhaseReason::Resume);
        }
        self.list.restart(false);
        (self.list_task(), PhaseReason::FirstList)
    }

    /// Returns the task that reads the whole state.
    pub(crate) fn list_task(&self) -> Task {
        if self.config.watch_list {
            Task::WatchList
        } else {
            Task::List
        }
    }

    /// Uses lists from now on, because this server does not support watch-list, or does not complete its initial
    /// events.
    pub(crate) fn fall_back_to_list(&mut self) {
        self.config.watch_list = false;
        self.streaks.unfinished = 0;
    }

    /// Sends the task's request over the present connection.
    pub(crate) fn send(&mut self, turn: &mut Turn<'_>) {
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
}
