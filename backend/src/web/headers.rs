//! The headers of every answer: what the browser is told never to do. No CORS header is ever among them.

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// Scripts, styles and connections from here only; WebAssembly may be compiled, JavaScript not evaluated; no framing
/// but by the page itself, for an opened file.
/// The page's document has its own, which allows no more than the script and the style in it besides.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'self'";

const SECURITY: [(HeaderName, HeaderValue); 5] = [
    (X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// What a document may do, by its own `<meta http-equiv>`: a browser that has the header too follows both. What a
/// document cannot forbid, to be framed by others, is added.
pub(super) fn policy_of(document: &str) -> Option<HeaderValue> {
    let (_, rest) = document.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    let (policy, _) = rest.split_once('"')?;
    HeaderValue::try_from(format!("{policy}; frame-ancestors 'self'")).ok()
}

/// Adds the security headers, and `no-store` where the route said nothing of caching.
pub(super) async fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, value);
    }
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(CONTENT_SECURITY));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
