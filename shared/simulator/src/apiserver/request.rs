//! Finds a request's route, and whether and how long the request waits while etcd has no leader.

use std::time::Duration;

use super::context::Context;
use super::options::Query;
use super::patience;
use super::route::Route;
use crate::kinds::Kinds;
use crate::message::Request;
use crate::version::UnsetWatch;

/// The longest time that a write waits for etcd's leader before the server refuses the write
/// (`requestTimeoutUpperBound` of apiserver `endpoints/handlers/rest.go`, 1.36).
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);
/// The longest time that a read waits for etcd's leader before the server refuses the read (`--request-timeout`;
/// docs/semantics/servers.md#request-timeout).
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the route of a request and its parameters.
pub(super) fn routed(request: &Request, kinds: &Kinds) -> (Route, Query) {
    let mut query = Query::parse(&request.query);
    let route = match Route::parse(&request.path, kinds) {
        Route::Watch(target) => Route::Resource(query.as_watch_of(target)),
        route => route,
    };
    (route, query)
}

/// Returns how long a request waits for etcd's leader. Returns `None` for a watch, which waits without a limit.
///
/// We measured which requests wait and which go on at 1.36.3, over three members of etcd after two of them were killed.
pub(super) fn leader_patience(request: &Request) -> Option<Duration> {
    let query = Query::parse(&request.query);
    let most = match request.method.as_str() {
        "GET" if query.flag("watch").unwrap_or(false) => return None,
        "GET" => READ_TIMEOUT,
        _ => WRITE_TIMEOUT,
    };
    let clients = patience::patience(&query).ok().flatten();
    Some(clients.map_or(most, |patience| most.min(patience)))
}

/// Returns whether a request waits for etcd's leader: a write, a read that only etcd can answer, or a watch that first
/// needs etcd's revision. On servers since 1.19 a watch that etcd serves does not wait: it opens at once, and gets an
/// error in its stream.
pub(super) fn needs_leader(request: &Request, ctx: &Context<'_>) -> bool {
    let (Route::Resource(target), query) = routed(request, ctx.kinds) else {
        return false;
    };
    if request.method != "GET" {
        return true;
    }
    let text = |name: &str| query.get(name).unwrap_or("");
    let revision = text("resourceVersion");
    let cached = ctx.kinds.get(target.resource).cached;
    let from_etcd = !ctx.version.has_snapshots();
    if query.flag("watch").unwrap_or(false) {
        if cached {
            return revision.is_empty() && ctx.version.unset_watch() == UnsetWatch::WatchList;
        }
        return !ctx.version.requires_leader() && matches!(revision, "" | "0");
    }
    if !cached {
        return true;
    }
    if !text("continue").is_empty() {
        return from_etcd;
    }
    if revision.is_empty() {
        return true;
    }
    let is_exact = match text("resourceVersionMatch") {
        "" => revision != "0" && !matches!(text("limit"), "" | "0"),
        matching => matching == "Exact",
    };
    target.name.is_empty() && is_exact && from_etcd
}
