//! The security headers of every answer. They never include a CORS header.

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// The content policy of every answer but the page's document. Scripts, styles and connections come from this server only.
/// WebAssembly may be compiled, but JavaScript may not be evaluated. Only the page itself may frame, for an opened file.
///
/// The document has a policy of its own, which also allows the script and the style inside it.
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

/// Returns the policy of a document from its own `<meta http-equiv>`, since a browser with both follows both. It adds the
/// rule against framing by other sites, which a document cannot state itself.
pub(super) fn policy_of(document: &str) -> Option<HeaderValue> {
    let (_, rest) = document.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    let (policy, _) = rest.split_once('"')?;
    HeaderValue::try_from(format!("{policy}; frame-ancestors 'self'")).ok()
}

/// Adds the security headers, and `no-store` if the route did not set its own caching.
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
