//! An apiserver that shuts down: which requests it refuses, what is left when its process ends, and how the next
//! process starts.

use watchscope_model::tree::BTreeMap;

use super::answer::{Answer, plain_text, unsniffed};
use super::context::Context;
use super::options::Query;
use super::reply::Reply;
use super::server::{Apiserver, Life};
use super::throttle::shutting_down;
use super::upstream::Upstream;
use crate::json::encode;
use crate::kinds::ResourceId;
use crate::message::{Request, RequestId};
use crate::status;

impl Apiserver {
    /// Returns the refusal of a new request while the server shuts down; `None` if the server still serves the request.
    pub(super) fn refusal_of_stopping(&self, request: &Request, query: &Query) -> Option<Answer> {
        if self.life == Life::Serving {
            return None;
        }
        if request.path.starts_with("/readyz") {
            return Some(not_ready());
        }
        let Life::Refusing {
            sends_retry_after,
            watches,
        } = self.life
        else {
            return None;
        };
        let is_watch = query.flag("watch").unwrap_or(false);
        if is_exempt(request) || (is_watch && !watches) {
            return None;
        }
        Some(if sends_retry_after {
            shutting_down()
        } else {
            unavailable()
        })
    }

    /// Returns whether the answer to a request closes the request's connection.
    pub(crate) fn tears_down(&self, request: &Request) -> bool {
        let refuses = matches!(
            self.life,
            Life::Refusing {
                sends_retry_after: true,
                ..
            }
        );
        refuses && !is_exempt(request)
    }

    /// Returns whether the server is answering any request that is not a watch.
    pub(crate) fn is_answering(&self) -> bool {
        !self.replies.values().all(Reply::is_watch)
    }

    /// Ends the server's process: everything in its memory is gone.
    pub(crate) fn exit(&mut self, ctx: &mut Context<'_>) {
        self.life = Life::Gone;
        let replies: Vec<RequestId> = self.replies.keys().copied().collect();
        for id in replies {
            self.drop_reply(id, ctx);
        }
        let cached: Vec<ResourceId> = self.cachers.keys().copied().collect();
        for resource in cached {
            self.drop_cacher(resource, ctx);
        }
        self.upstream = Upstream::default();
        self.direct = BTreeMap::new();
        self.progress_asked.clear();
        self.dirty.clear();
    }

    /// Starts a new process of the server, with empty caches.
    pub(crate) fn start(&mut self, ctx: &mut Context<'_>) {
        self.life = Life::Serving;
        self.started_at = ctx.now;
        let served: Vec<ResourceId> = ctx.kinds.served().map(|(id, _)| id).collect();
        for resource in served {
            self.serve(resource, false, ctx);
        }
    }
}

/// Returns whether a server serves a request until its process ends (`isRequestExemptFromRetryAfter`): health probes,
/// metrics, the server's own requests.
fn is_exempt(request: &Request) -> bool {
    let probes = ["/readyz", "/livez", "/healthz", "/metrics"];
    let agent = request.header_value("user-agent").unwrap_or("");
    probes.iter().any(|path| request.path.starts_with(path)) || agent.starts_with("kube-apiserver/")
}

/// Returns the answer of `/readyz` from a server that shuts down. A real server lists all its checks; the simulated one
/// lists fewer.
fn not_ready() -> Answer {
    plain_text(
        500,
        b"[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n",
    )
}

/// Returns the 503 of a server that only finishes its open requests (`WithWaitGroup`).
fn unavailable() -> Answer {
    let mut body = encode(&status::shutting_down().status()).to_vec();
    // The server prints it with another newline after the encoder's.
    body.push(b'\n');
    let mut answer = unsniffed(Answer::bytes(503, "application/json", body.into()));
    answer.headers.extend([
        ("retry-after".to_owned(), "1".to_owned()),
        ("connection".to_owned(), "close".to_owned()),
    ]);
    answer
}
