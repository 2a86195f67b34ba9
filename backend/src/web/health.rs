//! The health listener: liveness, readiness and metrics, on an address of its own.
//!
//! It does not check the Host, because the kubelet probes the pod's address. It needs no session, because it serves neither
//! content nor names of objects.

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use http::{HeaderMap, StatusCode};

use super::headers;

/// The text form of `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The text form of Prometheus, which every scraper reads.
    Plain,
    /// OpenMetrics, for scrapers that request it, as Prometheus does.
    OpenMetrics,
}

impl Form {
    fn wanted(headers: &HeaderMap) -> Self {
        let is_open_metrics = |accept: &HeaderValue| {
            let mut wanted = accept.as_bytes().split(|&byte| byte == b',');
            wanted.any(|kind| {
                kind.trim_ascii_start()
                    .starts_with(b"application/openmetrics-text")
            })
        };
        if headers.get_all(ACCEPT).iter().any(is_open_metrics) {
            Self::OpenMetrics
        } else {
            Self::Plain
        }
    }

    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        })
    }
}

/// Makes the routes `/livez` (the process answers), `/readyz` (an error of `ready` is the reason why not) and `/metrics`
/// (the text of `metrics`).
pub fn router<F: Future<Output = Bytes> + Send>(
    ready: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    metrics: impl Fn(Form) -> F + Send + Sync + 'static,
) -> Router {
    let (ready, metrics) = (Arc::new(ready), Arc::new(metrics));
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { readiness(ready()) }))
        .route(
            "/metrics",
            get(move |headers: HeaderMap| async move {
                let form = Form::wanted(&headers);
                let content_type = (CONTENT_TYPE, form.content_type());
                let vary = (VARY, HeaderValue::from_static("Accept"));
                ([content_type, vary], metrics(form).await)
            }),
        )
        .layer(middleware::map_response(headers::secure))
}

fn readiness(ready: Result<(), String>) -> Response {
    match ready {
        Ok(()) => "ok\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::body::{Body, to_bytes};
    use http::Request;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn a_process_that_shuts_down_is_alive_but_not_ready() {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let ready = move || {
            if stopping.load(Ordering::Relaxed) {
                Err("shutting down".to_owned())
            } else {
                Ok(())
            }
        };
        let router = router(ready, async |form| Bytes::from(format!("{form:?}\n")));
        let ask = |path: &'static str| {
            let router = router.clone();
            async move {
                let request = Request::get(path)
                    .header("host", "10.0.0.7:9090")
                    .body(Body::empty())
                    .unwrap();
                let response = router.oneshot(request).await.unwrap();
                let status = response.status().as_u16();
                let body = to_bytes(response.into_body(), 1024).await.unwrap();
                (status, String::from_utf8(body.to_vec()).unwrap())
            }
        };
        assert_eq!(ask("/readyz").await, (200, "ok\n".to_owned()));
        is_stopping.store(true, Ordering::Relaxed);
        assert_eq!(ask("/readyz").await, (503, "shutting down\n".to_owned()));
        assert_eq!(ask("/livez").await, (200, "ok\n".to_owned()));
        assert_eq!(ask("/metrics").await, (200, "Plain\n".to_owned()));
        for elsewhere in ["/", "/api/state", "/ws", "/session"] {
            assert_eq!(ask(elsewhere).await.0, 404, "{elsewhere}");
        }
    }

    #[test]
    fn open_metrics_is_sent_on_request_only() {
        let wanted = |accept: &'static str| {
            Form::wanted(&HeaderMap::from_iter([(
                ACCEPT,
                HeaderValue::from_static(accept),
            )]))
        };
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let protobuf_first =
            "application/vnd.google.protobuf;q=0.7, application/openmetrics-text; version=0.0.1";
        for accept in [prometheus, protobuf_first] {
            assert_eq!(wanted(accept), Form::OpenMetrics, "{accept}");
        }
        for accept in [
            "*/*",
            "text/plain",
            "",
            "text/plain;x=application/openmetrics-text",
        ] {
            assert_eq!(wanted(accept), Form::Plain, "{accept}");
        }
        assert_eq!(Form::wanted(&HeaderMap::new()), Form::Plain);
    }
}
