//! Access control: every client may send every request, except where faults deny it (F40, F41).
//!
//! Like a real server, the simulated one checks access only when a request begins, so open watches go on.

use super::answer::{Answer, unsniffed};
use super::context::Context;
use super::reply::Reply;
use super::request::routed;
use super::route::{Route, Target};
use super::server::Apiserver;
use crate::fault::Rights;
use crate::message::{Request, RequestId};
use crate::status::{ApiError, forbidden_request, unauthorized};

/// The reason why a client is denied a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The client's credentials are not valid.
    Unauthorized,
    /// The client's credentials are valid, but the client lacks rights to a resource.
    Forbidden {
        /// The client's name.
        user: String,
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// The rights that the client lacks.
        rights: Rights,
    },
}

impl Apiserver {
    /// Returns the refusal of a request; `None` if the denial does not apply to the request.
    pub(crate) fn denied(
        &self,
        request: &Request,
        denial: &Denial,
        ctx: &Context<'_>,
    ) -> Option<ApiError> {
        let Denial::Forbidden {
            user,
            resource,
            rights,
        } = denial
        else {
            return Some(unauthorized());
        };
        let (Route::Resource(target), query) = routed(request, ctx.kinds) else {
            return None;
        };
        let kind = ctx.kinds.get(target.resource);
        if kind.qualified() != *resource || !rights.cover(&request.method) {
            return None;
        }
        let Target {
            namespace,
            name,
            subresource,
            ..
        } = &target;
        let watch = query.flag("watch").unwrap_or(false);
        let verb = match (request.method.as_str(), name.is_empty()) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", false) => "delete",
            ("DELETE", true) => "deletecollection",
            (_, false) => "get",
            (_, true) if watch => "watch",
            (_, true) => "list",
        };
        // For a list or watch of one name, the check is about that name.
        let selector = match verb {
            "list" | "watch" => query.get("fieldSelector").unwrap_or_default(),
            _ => "",
        };
        let chosen = selector.split(',').find_map(|term| {
            let value = term.strip_prefix("metadata.name=")?;
            Some(value.trim_start_matches('='))
        });
        let name = match chosen {
            Some(chosen) if name.is_empty() => chosen,
            _ => name,
        };
        let what = (name, subresource.as_str());
        Some(forbidden_request(user, verb, kind, namespace, what))
    }

    /// Answers a request with a refusal, without handling it.
    pub(crate) fn deny(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        self.replies.insert(id, Reply::default());
        let mut answer = Answer::refusal(error, ctx.version);
        if error.code == 403 {
            answer = unsniffed(answer);
        }
        self.answer(id, answer, ctx);
    }
}
