//! A scrape: collects the numbers of log, hub and web at one moment, and renders them as `/metrics`.
//!
//! The log's writer measures what it counted and what stands as one of its inputs, so that all numbers of watches in one
//! scrape are of one moment, behind the same record.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, watch};
use tokio::time::{Duration, Instant};

use crate::history::HistoryState;
use crate::hub::ViewerTotals;
use crate::log::LogHandle;
use crate::metrics::{Exposition, families as f, plain};
use crate::web::health::Form;
use crate::web::{Refusal, Refusals, Traffic};

/// One text serves all scrapes within this time, so that the log's writer measures at most once in it.
const FRESH: Duration = Duration::from_secs(1);

/// Collects the numbers of their owners and keeps the last text.
pub(crate) struct Scraper {
    log: LogHandle,
    viewers: Arc<ViewerTotals>,
    traffic: Arc<Traffic>,
    refusals: Arc<Refusals>,
    history: watch::Receiver<Option<HistoryState>>,
    last: Mutex<Option<Texts>>,
}

/// One exposition in both forms, shared by all connections that are sent it.
#[derive(Clone)]
struct Texts {
    at: Instant,
    plain: Bytes,
    open_metrics: Bytes,
}

impl Scraper {
    pub(crate) fn new(
        log: LogHandle,
        viewers: Arc<ViewerTotals>,
        traffic: Arc<Traffic>,
        refusals: Arc<Refusals>,
        history: watch::Receiver<Option<HistoryState>>,
    ) -> Self {
        Self {
            log,
            viewers,
            traffic,
            refusals,
            history,
            last: Mutex::new(None),
        }
    }

    /// The text in the form asked for: at most a second old, or the last one once the log is closed.
    pub(crate) async fn text(&self, form: Form) -> Bytes {
        // Held while the writer measures: scrapes that come meanwhile wait for the same text.
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
        if let Some(history) = &*self.history.borrow() {
            history.expose(&self.log.log().0, self.log.now(), &mut exposition);
        }
        self.viewers.expose(&mut exposition);
        expose_web(&self.traffic, &self.refusals, &mut exposition);
        exposition.add(&f::BUILD_INFO, [env!("CARGO_PKG_VERSION").into()], 1_u64);
        let open_metrics = exposition.open_metrics();
        Texts {
            at: Instant::now(),
            plain: plain(&open_metrics).into(),
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
mod tests {
    use watchscope_model::event::ConnectionOpened;
    use watchscope_model::{ConnectionId, Event};

    use super::*;
    use crate::log::LogConfig;

    /// The writer measures at most once a second, for however many scrapes. After its end the last text stays.
    #[tokio::test(start_paused = true)]
    async fn a_text_is_told_for_a_second_and_the_last_one_after_the_end() {
        let log = LogHandle::open(LogConfig::new("demo".into())).unwrap();
        let scraper = Scraper::new(
            log.clone(),
            Arc::default(),
            Arc::default(),
            Arc::default(),
            watch::channel(None).1,
        );
        let records = async |scraper: &Scraper| {
            let text = scraper.text(Form::Plain).await;
            let text = String::from_utf8(text.to_vec()).unwrap();
            let line = text.lines().find_map(|line| {
                line.strip_prefix("watchscope_connections_opened_total{cluster=\"demo\"} ")
            });
            line.unwrap().parse::<u64>().unwrap()
        };
        let open = |connection| {
            Event::from(ConnectionOpened {
                connection: ConnectionId(connection),
                server: "s".into(),
                remote: "r".into(),
                alpn: None,
                tls: None,
                version: None,
            })
        };
        log.append(open(1)).await.unwrap();
        assert_eq!(records(&scraper).await, 1);
        log.append(open(2)).await.unwrap();
        assert_eq!(records(&scraper).await, 1, "not a second old");
        tokio::time::advance(FRESH).await;
        assert_eq!(records(&scraper).await, 2);
        log.append(open(3)).await.unwrap();
        log.close().await;
        tokio::time::advance(FRESH).await;
        assert_eq!(records(&scraper).await, 2);
    }
}
