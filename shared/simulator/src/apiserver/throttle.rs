//! The parts of an apiserver that answer 429, switched on as faults (docs/semantics/requests.md#too-many-requests,
//! F15).

use super::answer::{Answer, plain_text};
use super::context::Context;
use super::options::Query;
use super::route::Route;
use crate::fault::{Fault, Throttle};
use crate::status;

/// Returns the 429 of a throttle that is on and concerns this request; `None` without such a throttle.
pub(super) fn throttled(route: &Route, query: &Query, ctx: &Context<'_>) -> Option<Answer> {
    if ctx.faults.is_empty() {
        return None;
    }
    let (kind, collection) = match route {
        Route::Resource(target) => (Some(ctx.kinds.get(target.resource)), target.name.is_empty()),
        _ => (None, false),
    };
    let watch = query.flag("watch").unwrap_or(false);
    let (throttle, retry_after_secs) = ctx.faults.iter().find_map(|fault| {
        let Fault::TooManyRequests {
            resource,
            throttle,
            retry_after_secs,
        } = fault
        else {
            return None;
        };
        let meant = match (resource, kind) {
            (None, _) => true,
            (Some(wanted), Some(kind)) => &kind.qualified() == wanted,
            (Some(_), None) => false,
        };
        let emits = match throttle {
            Throttle::MaxInFlight => !watch,
            Throttle::PriorityAndFairness | Throttle::Shutdown => true,
            Throttle::CacheNotReady => {
                ctx.version.refuses_while_initializing()
                    && collection
                    && kind.is_some_and(|k| k.cached)
            }
            // This emitter answers only a list that has waited for its cache.
            Throttle::StaleCache => false,
        };
        (meant && emits).then_some((*throttle, *retry_after_secs))
    })?;
    let text = |body: &'static str, secs: u32| {
        let mut answer = plain_text(429, body.as_bytes());
        answer
            .headers
            .push(("retry-after".to_owned(), secs.to_string()));
        answer
    };
    Some(match throttle {
        Throttle::MaxInFlight => text("Too many requests, please try again later.\n", 1),
        Throttle::PriorityAndFairness => text(
            "Too many requests, please try again later.\n",
            retry_after_secs,
        ),
        Throttle::CacheNotReady | Throttle::StaleCache => {
            Answer::refusal(&status::initializing(retry_after_secs), ctx.version)
        }
        Throttle::Shutdown => shutting_down(),
    })
}

/// Returns the 429 of a server that shuts down (`WithRetryAfter`).
pub(super) fn shutting_down() -> Answer {
    let mut answer = plain_text(
        429,
        b"The apiserver is shutting down, please try again later.\n",
    );
    answer.is_early = true;
    answer.headers.extend([
        ("retry-after".to_owned(), "5".to_owned()),
        ("connection".to_owned(), "close".to_owned()),
    ]);
    answer
}
