//! The spelling of requests to an apiserver, for probes and for the audit.

use std::fmt::Write as _;

/// The `Accept` header for whole objects (docs/semantics/requests.md#forms).
pub const ACCEPT_WHOLE: &str = "application/json";
/// The `Accept` header for the metadata of an object or of a stream's objects (docs/semantics/requests.md#forms). The
/// header's second choice is whole objects, for a server that cannot send metadata alone.
pub const ACCEPT_METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// The `Accept` header for a list of metadata (docs/semantics/requests.md#forms). Its second choice is whole objects,
/// as in [`ACCEPT_METADATA`].
pub const ACCEPT_METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Returns the path of a collection (docs/semantics/requests.md#parameters). An empty `group` is core. `None` as the
/// namespace gives the path of all namespaces, or of a cluster-scoped resource; an empty namespace stays in the path.
/// Each part is percent-encoded.
#[must_use]
pub fn collection_path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
) -> String {
    let mut path = if group.is_empty() {
        "/api/".to_owned()
    } else {
        let mut path = "/apis/".to_owned();
        percent_encode(group, &mut path);
        path.push('/');
        path
    };
    percent_encode(version, &mut path);
    if let Some(namespace) = namespace {
        path.push_str("/namespaces/");
        percent_encode(namespace, &mut path);
    }
    path.push('/');
    percent_encode(resource, &mut path);
    path
}

/// Appends a text for a path or query. Every byte that is not an unreserved character of RFC 3986 (section 2.3) is
/// written as `%` and two capital hexadecimal digits.
pub fn percent_encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
