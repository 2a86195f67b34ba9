//! How requests to an apiserver are spelt, whoever makes them: a probe, or the audit beside it.

use std::fmt::Write as _;

/// Accepts whole objects.
pub const ACCEPT_WHOLE: &str = "application/json";
/// Accepts the metadata of an object, or of each of a stream; a server that has no metadata alone may send it whole.
pub const ACCEPT_METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// The same of a list.
pub const ACCEPT_METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The path of a collection: that of a namespace, or of all.
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

/// Appends a text for a path or query: all but RFC 3986's unreserved characters is encoded.
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
