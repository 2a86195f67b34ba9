//! Metrics: what `/metrics` says, in numbers an operator can alert on.
//!
//! ```text
//!  records ─► log's writer ─► Tally (counters) ─┐
//!                  fold ─► standing (gauges) ───┼─► Exposition ─► text, at most once a second ─► web::health
//!  ring, viewers, listeners: their own counts ──┘
//! ```
//! The truth about the protocol is in the records: what is counted of watches is counted from them, where the writer has
//! each with the fold before it. What no record tells (viewers, the ring, refused requests) is asked of its owner.
//!
//! No label has a value that a stranger can choose: they are the log's name, resources that are watched (at most
//! [`tally::MAX_RESOURCES`], the rest together as `other`), and words of closed lists. Never an object's name, a namespace, a
//! selector, a header or anything of an object's content.

mod exposition;
pub(crate) mod families;
mod histogram;
mod standing;
mod tally;
mod words;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

pub(crate) use self::exposition::Exposition;
use self::families as f;
pub(crate) use self::histogram::Histogram;
pub(crate) use self::standing::standing;
pub(crate) use self::tally::Tally;
use crate::hub::ViewerTotals;
use crate::log::LogHandle;
use crate::web::health::Form;
use crate::web::{Refusal, Refusals, Traffic};

/// A text serves all who ask within this time: however many do, the log's writer is asked once.
const FRESH: Duration = Duration::from_secs(1);

/// Whoever has numbers to tell.
pub(crate) struct Metrics {
    log: LogHandle,
    viewers: Arc<ViewerTotals>,
    traffic: Arc<Traffic>,
    refusals: Arc<Refusals>,
    last: Mutex<Option<Texts>>,
}

/// One exposition in both forms, shared by all connections that are sent it.
#[derive(Clone)]
struct Texts {
    at: Instant,
    plain: Bytes,
    open_metrics: Bytes,
}

impl Metrics {
    pub(crate) fn new(
        log: LogHandle,
        viewers: Arc<ViewerTotals>,
        traffic: Arc<Traffic>,
        refusals: Arc<Refusals>,
    ) -> Self {
        Self {
            log,
            viewers,
            traffic,
            refusals,
            last: Mutex::new(None),
        }
    }

    /// The text in the form asked for: at most a second old, or the last one once the log is closed.
    pub(crate) async fn text(&self, form: Form) -> Bytes {
        // Held while the writer is asked: who comes meanwhile waits for the same answer.
        let mut last = self.last.lock().await;
        let texts = match &*last {
            Some(texts) if texts.at.elapsed() < FRESH => texts.clone(),
            stale => match (self.log.measure().await, stale) {
                (None, Some(texts)) => texts.clone(),
                (measured, _) => {
                    let texts = self.texts(measured.unwrap_or_default());
                    last.insert(texts).clone()
                }
            },
        };
        match form {
            Form::Plain => texts.plain,
            Form::OpenMetrics => texts.open_metrics,
        }
    }

    fn texts(&self, mut exposition: Exposition) -> Texts {
        self.log.expose(&mut exposition);
        self.viewers.expose(&mut exposition);
        expose_web(&self.traffic, &self.refusals, &mut exposition);
        exposition.add(&f::BUILD_INFO, [env!("CARGO_PKG_VERSION").into()], 1_u64);
        let open_metrics = exposition.open_metrics();
        Texts {
            at: Instant::now(),
            plain: exposition::plain(&open_metrics).into(),
            open_metrics: open_metrics.into(),
        }
    }
}

fn expose_web(traffic: &Traffic, refusals: &Refusals, out: &mut Exposition) {
    out.add(&f::WEB_CONNECTIONS, [], traffic.accepted());
    out.add(&f::WEB_ADMITTED, [], traffic.admitted());
    out.add(&f::WEB_EVICTED, [], traffic.evicted());
    for refusal in Refusal::ALL {
        let reason = refusal.reason().into();
        out.add(&f::WEB_REFUSED, [reason], refusals.count(refusal));
    }
}

#[cfg(test)]
mod tests;
