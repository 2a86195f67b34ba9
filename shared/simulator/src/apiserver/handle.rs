//! Takes requests and alarms, and decides which part of the apiserver answers them.

use std::time::Duration;

use bytes::Bytes;

use super::alarm::Alarm;
use super::answer::{Answer, Outcome, allotted_time_is_over, nothing_here};
use super::context::Context;
use super::negotiate::{self, representation};
use super::options::Query;
use super::reply::Reply;
use super::request::{leader_patience, needs_leader, routed};
use super::route::{self, Route, Target};
use super::server::Apiserver;
use super::{discovery, patience, throttle, write};
use crate::message::{Request, RequestId};
use crate::status::{self, ApiError};

/// The least `timeout` with which a request can be answered in time. A request with a shorter timeout above zero gets
/// 504 at once, unless it is a watch. The reason for the limit is that the simulator answers most reads in no time. The
/// number has no source.
const LEAST_TIME: Duration = Duration::from_micros(100);

impl Apiserver {
    /// Takes in a request. The server keeps the reply under `id` until the reply is sent.
    pub(crate) fn handle(&mut self, id: RequestId, request: Request, ctx: &mut Context<'_>) {
        self.replies.insert(id, Reply::default());
        if !ctx.etcd.has_leader(ctx.server) && needs_leader(&request, ctx) {
            // etcd would keep it waiting, so the apiserver does.
            if let Some(patience) = leader_patience(&request) {
                ctx.alarms.push((ctx.now + patience, Alarm::NoLeader(id)));
            }
            self.parked.insert(id, request);
            return;
        }
        let outcome = self.answer_to(id, &request, false, ctx);
        match outcome {
            Ok(Outcome::Committed(answer)) => {
                self.answer(id, answer, ctx);
                let (least, most) = ctx.commit_latency;
                let at = ctx.now + ctx.random.span(least, most);
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.hold();
                }
                ctx.alarms.push((at, Alarm::Committed(id)));
            }
            outcome => self.finish(id, outcome, ctx),
        }
    }

    /// Answers a request at once, with reads from etcd, for callers inside the world. Watches are refused.
    pub(crate) fn call(
        &mut self,
        id: RequestId,
        request: &Request,
        ctx: &mut Context<'_>,
    ) -> (u16, Vec<(String, String)>, Bytes) {
        let outcome = if ctx.etcd.is_leaderless() {
            Err(status::etcd_timed_out())
        } else {
            self.answer_to(id, request, true, ctx)
        };
        let answer = match outcome {
            Ok(Outcome::Now(answer) | Outcome::Committed(answer)) => answer,
            Ok(Outcome::Open) => {
                let error = status::bad_request("a watch needs a connection");
                Answer::refusal(&error, ctx.version)
            }
            Err(error) => Answer::refusal(&error, ctx.version),
        };
        (
            answer.status,
            answer.headers,
            Bytes::from(answer.body.concat()),
        )
    }

    /// Forgets a reply that was sent, or whose client is gone.
    pub(crate) fn drop_reply(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        self.waiting.remove(&id);
        self.parked.remove(&id);
        self.leaderless.remove(&id);
        let Some(mut reply) = self.replies.remove(&id) else {
            return;
        };
        if let Some(watch) = reply.end_watch() {
            self.unregister(id, watch.watcher.resource(), watch.source, ctx);
        }
    }

    pub(crate) fn alarm(&mut self, alarm: Alarm, ctx: &mut Context<'_>) {
        match alarm {
            Alarm::Committed(id) => {
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.release();
                    self.soil(id);
                }
            }
            Alarm::WaitedEnough(id) => self.waited_enough(id, ctx),
            Alarm::AskProgress(resource) => self.ask_progress(resource, ctx),
            Alarm::Bookmark(id) => self.bookmark(id, ctx),
            Alarm::Deadline(id) => self.end_watch(id, ctx),
            Alarm::GoOn(id) => self.soil(id),
            Alarm::DispatchTimeout(resource, block) => self.dispatch_timeout(resource, block, ctx),
            Alarm::ResumeDispatch(resource) => self.resume_dispatch(resource, ctx),
            Alarm::Cacher(resource, attempt, step) => {
                self.cacher_step(resource, attempt, step, ctx);
            }
            Alarm::NoLeader(id) => match self.parked.remove(&id) {
                Some(request) if request.method == "GET" => {
                    self.finish(id, Ok(Outcome::Now(allotted_time_is_over())), ctx);
                }
                Some(_) => self.finish(id, Err(status::timed_out()), ctx),
                None => self.give_up_leader(id, ctx),
            },
            Alarm::OutOfTime(id) => {
                if self.waiting.remove(&id).is_some() {
                    self.finish(id, Ok(Outcome::Now(allotted_time_is_over())), ctx);
                }
            }
        }
    }

    /// Continues the requests and watches that waited for etcd's leader.
    pub(crate) fn unpark(&mut self, ctx: &mut Context<'_>) {
        for (id, request) in std::mem::take(&mut self.parked) {
            self.handle(id, request, ctx);
        }
        if ctx.etcd.has_leader(ctx.server) {
            self.begin_leaderless_watches(ctx);
        }
    }

    /// Answers or refuses a request, and notes the request if the simulator does not model it.
    fn answer_to(
        &mut self,
        id: RequestId,
        request: &Request,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let outcome = self.modelled_answer_to(id, request, direct, ctx);
        if let Err(error) = &outcome
            && error.code == status::NOT_MODELLED
        {
            self.unmodelled.note(request, &error.message);
        }
        outcome
    }

    fn modelled_answer_to(
        &mut self,
        id: RequestId,
        request: &Request,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let (route, query) = routed(request, ctx.kinds);
        if !direct {
            if let Some(answer) = self.refusal_of_stopping(request, &query) {
                return Ok(Outcome::Now(answer));
            }
            if let Some(answer) = throttle::throttled(&route, &query, ctx) {
                return Ok(Outcome::Now(answer));
            }
            // Long-running requests have a timeout of another kind.
            if !query.flag("watch").unwrap_or(false) {
                match patience::patience(&query)? {
                    Some(patience) if patience < LEAST_TIME => {
                        return Ok(Outcome::Now(allotted_time_is_over()));
                    }
                    Some(patience) => {
                        ctx.alarms.push((ctx.now + patience, Alarm::OutOfTime(id)));
                    }
                    None => {}
                }
            }
        }
        match route {
            Route::Resource(target) => self.resource(id, request, &query, target, direct, ctx),
            Route::NotModelled(what) => Err(status::not_modelled(&what)),
            Route::UnknownResource => Err(status::unknown_resource()),
            Route::Health if query.get("verbose").is_some() => {
                Err(status::not_modelled("checks of its health one by one"))
            }
            // A group is known even if one of its versions is not.
            Route::GroupVersion(group, version)
                if discovery::resources(ctx.kinds, &group, &version).is_none()
                    && route::is_group(&group) =>
            {
                Err(status::unknown_resource())
            }
            other => {
                let reads = matches!(request.method.as_str(), "GET" | "HEAD");
                if matches!(
                    other,
                    Route::Core | Route::Groups | Route::Group(_) | Route::GroupVersion(..)
                ) {
                    negotiate::json_answer(request)?;
                }
                match other {
                    Route::GroupVersion(..) | Route::Version if !reads => {
                        Err(status::method_not_allowed())
                    }
                    // The handler of a group ignores the method.
                    Route::Group(_) => Ok(Outcome::Now(about(&other, request, ctx))),
                    _ if reads => Ok(Outcome::Now(about(&other, request, ctx))),
                    _ => Ok(Outcome::Now(nothing_here())),
                }
            }
        }
    }

    fn resource(
        &mut self,
        id: RequestId,
        request: &Request,
        query: &Query,
        target: Target,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let collection = target.name.is_empty();
        let watch = query.flag("watch").unwrap_or(false);
        let kind = ctx.kinds.get(target.resource);
        let form = representation(request, query, kind, collection, watch)?;
        if watch && collection && request.header_value("upgrade").is_some() {
            return Err(status::not_modelled("watches over WebSocket"));
        }
        let in_scope = !target.namespace.is_empty() || !ctx.kinds.get(target.resource).namespaced;
        match request.method.as_str() {
            "POST" if target.subresource == "binding" => write::bind(request, query, &target, ctx),
            _ if target.subresource == "binding" => Err(status::method_not_allowed()),
            "GET" if collection && watch => {
                if direct {
                    return Ok(Outcome::Open);
                }
                self.open_watch(id, query, &target, form, ctx)
            }
            "GET" if collection => self.list(id, query, target, form, direct, ctx),
            "GET" => self.get(id, query, target, form, direct, ctx),
            "POST" if collection && in_scope => write::create(request, query, &target, form, ctx),
            "PUT" if !collection => write::replace(request, query, &target, form, ctx),
            "PATCH" if !collection => write::patch(request, query, &target, form, ctx),
            "DELETE" if !collection && target.subresource.is_empty() => {
                write::delete(request, query, &target, form, ctx)
            }
            "DELETE" if collection && ctx.kinds.get(target.resource).kind != "Namespace" => {
                write::delete_collection(request, query, &target, ctx)
            }
            _ => Err(status::method_not_allowed()),
        }
    }
}

/// Returns the answer about the apiserver itself; 404 if the apiserver is configured without such answers.
fn about(route: &Route, request: &Request, ctx: &Context<'_>) -> Answer {
    let answers = ctx.answers;
    let answer = answers.about_itself(route, request, ctx.kinds, ctx.version);
    answer.unwrap_or_else(nothing_here)
}
