//! A scrape of `/metrics`: collects the numbers of log, hub, history and web at one moment, and renders them.
//!
//! The log's writer takes the request to measure as one of its inputs, between two records. So all numbers of watches in one
//! scrape belong to one moment, behind the same record.

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

/// How long one text serves all scrapes. The log's writer measures at most once in this time.
const FRESH: Duration = Duration::from_secs(1);

/// The collector of all numbers. It asks their owners and keeps the last text.
pub(crate) struct Scraper {
    log: LogHandle,
    viewers: Arc<ViewerTotals>,
    traffic: Arc<Traffic>,
    refusals: Arc<Refusals>,
    history: watch::Receiver<Option<HistoryState>>,
    last: Mutex<Option<Texts>>,
}

/// One exposition in both text forms. All connections that are sent it share its bytes.
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

    /// Returns the text in the requested form. It is less than 1 s old; once the log is closed, it is the last one.
    pub(crate) async fn text(&self, form: Form) -> Bytes {
        // The lock is held while the writer measures, so that scrapes which arrive meanwhile wait for the same text.
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

    /// The writer measures at most once a second, however many scrapes there are.
    #[tokio::test(start_paused = true)]
    async fn a_text_serves_all_scrapes_of_a_second_and_the_last_one_stays_after_the_log_closed() {
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
        assert_eq!(records(&scraper).await, 1, "the text is less than 1 s old");
        tokio::time::advance(FRESH).await;
        assert_eq!(records(&scraper).await, 2);
        log.append(open(3)).await.unwrap();
        log.close().await;
        tokio::time::advance(FRESH).await;
        assert_eq!(records(&scraper).await, 2);
    }
}
