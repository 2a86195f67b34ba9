//! client-go's `rest.Request`: a list, a watch or a write, with the retries at the lowest layer.
//!
//! The REST layer retries a request that is answered 429 or 5xx with Retry-After, or cut before its answer, up to ten
//! times. A watch that is cut at its last attempt counts as an empty watch. The client-side rate limiter is not
//! modelled.

use std::time::Duration;

use watchscope_model::tree::BTreeMap;

use super::super::machine::{Context, Input, earlier};
use super::super::transport::{Failure, Got, Transport};
use super::super::wire::{Document, EventType, Frame, List, Refusal};
use super::ClientGo;
use super::stream::{RawEnd, StreamWatcher};
use crate::message::{Request, RequestId};
use crate::time::Time;

/// The most retries of a request (docs/semantics/clients.md#rest-layer). After the last retry the program gets the
/// failure. If the last attempt of a watch was reset or just ended, the program gets an empty watch. So it does after a
/// timeout in versions that hide timeouts ([`ClientGo::swallows_timeouts`]).
const RETRIES_MOST: u32 = 10;
/// The wait before a retry after a cut, as if the server had sent `Retry-After: 1`
/// (docs/semantics/clients.md#rest-layer; `rest/with_retry.go`).
const RETRY_AFTER_CUT: Duration = Duration::from_secs(1);

/// The id of a call: a list, watch or write, through all its retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallId(u64);

/// An answer of a call to the program that made the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The server did the write.
    Written,
    /// A whole list, or one page of a list.
    Listed(List),
    /// `Watch` returned a result channel.
    Opened,
    /// Events in the result channel.
    Events(Vec<Frame>),
    /// The result channel is closed. The program does not learn how the body really ended.
    Closed(RawEnd),
    /// The call returned an error.
    Failed(GoError),
}

/// An error, as Go programs distinguish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GoError {
    /// The connection was refused: `ECONNREFUSED`.
    ConnectionRefused,
    /// The server refused the request.
    Status(Refusal),
    /// Any other error.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    List,
    Watch,
    Write,
}

#[derive(Debug)]
struct Call {
    request: Request,
    verb: Verb,
    retries: u32,
    under_way: Option<RequestId>,
    retry_at: Option<Time>,
    status: u16,
    retry_after_secs: Option<u64>,
    body: Vec<u8>,
    stream: Option<StreamWatcher>,
}

/// The REST client of one program.
#[derive(Debug)]
pub(crate) struct Rest {
    version: ClientGo,
    transport: Transport,
    calls: BTreeMap<CallId, Call>,
    last: u64,
}

impl Rest {
    pub(crate) fn new(version: ClientGo) -> Rest {
        Rest {
            version,
            transport: Transport::new(version.style()),
            calls: BTreeMap::new(),
            last: 0,
        }
    }

    pub(crate) fn list(&mut self, request: Request, ctx: &mut Context<'_>) -> CallId {
        self.begin(request, Verb::List, ctx)
    }

    pub(crate) fn watch(&mut self, request: Request, ctx: &mut Context<'_>) -> CallId {
        self.begin(request, Verb::Watch, ctx)
    }

    pub(crate) fn write(&mut self, request: Request, ctx: &mut Context<'_>) -> CallId {
        self.begin(request, Verb::Write, ctx)
    }

    /// Gives a call up; it returns no further answers.
    pub(crate) fn stop(&mut self, call: CallId, ctx: &mut Context<'_>) {
        let under_way = self.calls.remove(&call).and_then(|call| call.under_way);
        if let Some(request) = under_way {
            self.transport.cancel(request, ctx);
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Time> {
        let retries = self.calls.values().filter_map(|call| call.retry_at).min();
        earlier(self.transport.wake_at(), retries)
    }

    /// Takes an input. Returns the answers for each call that the input concerns.
    pub(crate) fn take(
        &mut self,
        input: Input<'_>,
        ctx: &mut Context<'_>,
    ) -> Vec<(CallId, Answer)> {
        let mut answers = Vec::new();
        for (request, got) in self.transport.take(input, ctx) {
            let mut calls = self.calls.iter();
            if let Some((&id, _)) = calls.find(|(_, call)| call.under_way == Some(request)) {
                self.progress(id, got, ctx, &mut answers);
            }
        }
        let is_due = |call: &Call| call.retry_at.is_some_and(|at| at <= ctx.now);
        let due: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| is_due(call))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.attempt(id, ctx);
        }
        answers
    }

    fn begin(&mut self, request: Request, verb: Verb, ctx: &mut Context<'_>) -> CallId {
        self.last += 1;
        let id = CallId(self.last);
        let call = Call {
            request,
            verb,
            retries: 0,
            under_way: None,
            retry_at: None,
            status: 0,
            retry_after_secs: None,
            body: Vec::new(),
            stream: None,
        };
        self.calls.insert(id, call);
        self.attempt(id, ctx);
        id
    }

    fn attempt(&mut self, id: CallId, ctx: &mut Context<'_>) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.retry_at = None;
            call.status = 0;
            call.retry_after_secs = None;
            call.body.clear();
            call.under_way = Some(self.transport.send(call.request.clone(), ctx));
        }
    }

    fn progress(
        &mut self,
        id: CallId,
        got: Got<'_>,
        ctx: &mut Context<'_>,
        answers: &mut Vec<(CallId, Answer)>,
    ) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        match got {
            Got::Head { status, headers } => {
                call.status = status;
                let retry_after = headers.iter().find(|(name, _)| name == "retry-after");
                call.retry_after_secs = retry_after.and_then(|(_, secs)| secs.parse().ok());
                if call.verb == Verb::Watch && status == 200 {
                    call.stream = Some(StreamWatcher::default());
                    answers.push((id, Answer::Opened));
                }
            }
            Got::Body(bytes) => match &mut call.stream {
                None => call.body.extend_from_slice(bytes),
                Some(stream) => match stream.take(bytes) {
                    Ok(frames) if frames.is_empty() => {}
                    Ok(frames) => answers.push((id, Answer::Events(frames))),
                    Err(raw) => {
                        if let Some(request) = call.under_way {
                            self.transport.cancel(request, ctx);
                        }
                        self.close(id, raw, ctx, answers);
                    }
                },
            },
            Got::End if call.stream.is_some() => self.close(id, RawEnd::End, ctx, answers),
            Got::End => self.answered(id, ctx.now, answers),
            Got::Failed(failure) if call.stream.is_some() => {
                self.close(id, RawEnd::Failed(failure), ctx, answers);
            }
            Got::Failed(failure) => self.cut(id, failure, ctx.now, answers),
        }
    }

    /// Handles a whole HTTP answer, as of a list, a write or a refusal.
    fn answered(&mut self, id: CallId, now: Time, answers: &mut Vec<(CallId, Answer)>) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if matches!((call.verb, call.status), (Verb::Write, 200..300)) {
            self.calls.remove(&id);
            answers.push((id, Answer::Written));
            return;
        }
        if call.status == 200 {
            let answer = match List::parse(&call.body) {
                Ok(list) => Answer::Listed(list),
                Err(_) => Answer::Failed(GoError::Other),
            };
            self.calls.remove(&id);
            answers.push((id, answer));
            return;
        }
        let retries = call.verb != Verb::Watch || self.version.retries_watches();
        if let (429 | 500.., Some(secs)) = (call.status, call.retry_after_secs)
            && retries
            && retry(call, now + Duration::from_secs(secs))
        {
            return;
        }
        let refusal = Refusal::of_answer(call.status, &call.body);
        self.calls.remove(&id);
        answers.push((id, Answer::Failed(GoError::Status(refusal))));
    }

    /// Handles a connection that ended before a stream began or before the answer was whole.
    fn cut(
        &mut self,
        id: CallId,
        failure: Failure,
        now: Time,
        answers: &mut Vec<(CallId, Answer)>,
    ) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let version = self.version;
        let may_be_empty = matches!(failure, Failure::Reset | Failure::Eof | Failure::GoAway)
            || (failure == Failure::Timeout && version.swallows_timeouts());
        let retries = match call.verb {
            Verb::Watch => may_be_empty && version.retries_watches(),
            // A list is not tried again here if its head had come already.
            Verb::List => {
                call.status == 0
                    && (failure == Failure::Reset
                        || (matches!(failure, Failure::Eof | Failure::GoAway)
                            && version.retries_lists_on_eof()))
            }
            // The server may have done the write.
            Verb::Write => false,
        };
        if retries && retry(call, now + RETRY_AFTER_CUT) {
            return;
        }
        let is_watch = call.verb == Verb::Watch;
        self.calls.remove(&id);
        if is_watch && may_be_empty {
            answers.push((id, Answer::Opened));
            answers.push((id, Answer::Closed(RawEnd::Failed(failure))));
        } else {
            let error = match failure {
                Failure::Refused => GoError::ConnectionRefused,
                _ => GoError::Other,
            };
            answers.push((id, Answer::Failed(error)));
        }
    }

    /// Closes the result channel of a watch.
    fn close(
        &mut self,
        id: CallId,
        raw: RawEnd,
        ctx: &mut Context<'_>,
        answers: &mut Vec<(CallId, Answer)>,
    ) {
        let stream = self.calls.remove(&id).and_then(|call| call.stream);
        let stream = stream.unwrap_or_default();
        ctx.port
            .channel_closed(stream.channel_end(raw, self.version));
        if let Some(status) = StreamWatcher::end(raw, self.version) {
            answers.push((id, Answer::Events(vec![error(status)])));
        }
        answers.push((id, Answer::Closed(raw)));
    }
}

/// Schedules a retry of a call. Returns whether the call had a retry left.
fn retry(call: &mut Call, at: Time) -> bool {
    call.retries += 1;
    if call.retries > RETRIES_MOST {
        return false;
    }
    call.under_way = None;
    call.retry_at = Some(at);
    true
}

fn error(status: Document) -> Frame {
    Frame {
        event: EventType::Error,
        object: status,
    }
}
