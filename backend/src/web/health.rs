//! The health listener: liveness, readiness and metrics, on an address of its own and without any cluster data.
//!
//! It has no Host check: the kubelet probes the pod's address.

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::headers;

/// The text form of Prometheus.
const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// `/livez` (the process answers), `/readyz` (`ready` says why not, if so) and `/metrics` (the text `metrics` gives).
pub fn router(
    ready: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    metrics: impl Fn() -> String + Send + Sync + 'static,
) -> Router {
    let (ready, metrics) = (Arc::new(ready), Arc::new(metrics));
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { readiness(ready()) }))
        .route(
            "/metrics",
            get(move || async move { ([(CONTENT_TYPE, METRICS)], metrics()) }),
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
        let router = router(ready, || "watchscope_records_total 7\n".to_owned());
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
        assert_eq!(
            ask("/metrics").await,
            (200, "watchscope_records_total 7\n".to_owned())
        );
        for elsewhere in ["/", "/api/state", "/ws", "/session"] {
            assert_eq!(ask(elsewhere).await.0, 404, "{elsewhere}");
        }
    }
}
