//! Content negotiation by Accept and Content-Type: the form of an answer, and the forms of request bodies that the
//! server reads.

use serde_json::json;

use super::options::Query;
use crate::kinds::{ResourceType, go_type};
use crate::kubectl::table::IncludeObject;
use crate::message::Request;
use crate::status::{ApiError, bad_request, not_acceptable, not_modelled, unsupported_media_type};

/// The form of the objects in an answer (docs/semantics/requests.md#forms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Representation {
    /// The object itself.
    Whole,
    /// A PartialObjectMetadata, or a PartialObjectMetadataList.
    Metadata,
    /// meta.k8s.io/v1 Table, with as much of the rows' objects as requested.
    Table(IncludeObject),
}

/// A media type of an Accept header: its name and parameters.
struct MediaType<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl MediaType<'_> {
    fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| value)
    }

    fn is_json(&self) -> bool {
        matches!(self.name, "application/json" | "*/*")
    }

    /// Returns whether a real server reads and writes this media type, and the simulator does not.
    fn is_not_modelled(&self) -> bool {
        is_not_modelled(self.name) && self.parameter("as").is_empty()
    }
}

/// Returns the first form that a request for objects accepts and that the server has. A request without such a form is
/// refused with 406, or with 501 if a real server has the form.
pub(crate) fn representation(
    request: &Request,
    query: &Query,
    kind: &ResourceType,
    collection: bool,
    watch: bool,
) -> Result<Representation, ApiError> {
    let accept = request.header_value("accept").unwrap_or("");
    if accept.trim().is_empty() {
        return Ok(Representation::Whole);
    }
    let mut any_json = false;
    let list = collection && !watch && request.method == "GET";
    for media_type in media_types(accept) {
        if !media_type.is_json() {
            continue;
        }
        any_json = true;
        let meta = media_type.parameter("g") == "meta.k8s.io" && media_type.parameter("v") == "v1";
        match media_type.parameter("as") {
            "" => return Ok(Representation::Whole),
            "PartialObjectMetadata" if meta && list => {
                return Err(not_acceptable(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{}List)",
                    go_type(kind)
                )));
            }
            "PartialObjectMetadataList" if meta && !list => {
                return Err(not_acceptable(format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{})",
                    go_type(kind)
                )));
            }
            "PartialObjectMetadata" | "PartialObjectMetadataList" if meta => {
                return Ok(Representation::Metadata);
            }
            "Table" if meta => return Ok(Representation::Table(include_object(query)?)),
            _ => {}
        }
    }
    not_in_other_forms(accept)?;
    let mut known =
        "application/json, application/yaml, application/vnd.kubernetes.protobuf".to_owned();
    if any_json {
        let why = format!("only the following media types are accepted: {known}");
        return Err(not_acceptable(why));
    }
    if collection {
        known.push_str(
            ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        );
    }
    Err(ApiError {
        details: Some(Box::new(json!({}))),
        ..not_acceptable(format!(
            "406: Not Acceptable\n\nAvailable representations: {known}"
        ))
    })
}

fn is_not_modelled(media_type: &str) -> bool {
    matches!(
        media_type,
        "application/vnd.kubernetes.protobuf" | "application/yaml"
    )
}

/// Refuses with 501 a request that accepts a form that a real server has and the simulator does not.
fn not_in_other_forms(accept: &str) -> Result<(), ApiError> {
    let mut asked = media_types(accept).into_iter();
    match asked.find(MediaType::is_not_modelled) {
        Some(form) => Err(not_modelled(&format!(
            "answers in {}: ask for application/json",
            form.name
        ))),
        None => Ok(()),
    }
}

/// Refuses with 501 a request about the server itself that accepts a form that only a real server has, and not JSON.
/// Every other such request gets JSON.
pub(crate) fn json_answer(request: &Request) -> Result<(), ApiError> {
    let accept = request.header_value("accept").unwrap_or("");
    if media_types(accept).iter().any(MediaType::is_json) {
        return Ok(());
    }
    not_in_other_forms(accept)
}

/// The version of aggregated discovery (`v2`, `v2beta1`) that a request prefers; `None` if it prefers another form.
pub(crate) fn aggregated_discovery(request: &Request) -> Option<&'static str> {
    let accept = request.header_value("accept")?;
    let first = media_types(accept).into_iter().find(MediaType::is_json)?;
    let wanted = first.parameter("as") == "APIGroupDiscoveryList"
        && first.parameter("g") == "apidiscovery.k8s.io";
    match first.parameter("v") {
        "v2" if wanted => Some("v2"),
        "v2beta1" if wanted => Some("v2beta1"),
        _ => None,
    }
}

/// Refuses a body that is not JSON: protobuf and YAML, which a real server reads, with 501, any other with 415.
pub(crate) fn json_body(request: &Request) -> Result<(), ApiError> {
    let content_type = request
        .header_value("content-type")
        .unwrap_or("application/json");
    match content_type.split(';').next().unwrap_or("").trim() {
        "" | "application/json" => Ok(()),
        other if is_not_modelled(other) => Err(not_modelled(&format!(
            "bodies in {other}: send application/json"
        ))),
        _ => Err(unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

fn include_object(query: &Query) -> Result<IncludeObject, ApiError> {
    match query.get("includeObject").unwrap_or("") {
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "None" => Ok(IncludeObject::None),
        "Object" => Ok(IncludeObject::Object),
        other => Err(bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        ))),
    }
}

fn media_types(accept: &str) -> Vec<MediaType<'_>> {
    accept
        .split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            MediaType {
                name: parts.next().unwrap_or(""),
                parameters: parts.filter_map(|p| p.split_once('=')).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn accept(text: &str) -> Result<Representation, u16> {
        let request = Request::get("/").header("Accept", text);
        let kinds = Kinds::built_in();
        let kind = kinds.get(kinds.named("pods").unwrap());
        representation(&request, &Query::default(), kind, true, false).map_err(|e| e.code)
    }

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        let table = Representation::Table(IncludeObject::Metadata);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                       application/json";
        assert_eq!(accept(kubectl), Ok(table));
        assert_eq!(
            accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Ok(Representation::Metadata)
        );
        assert_eq!(
            accept("application/vnd.kubernetes.protobuf,application/json"),
            Ok(Representation::Whole)
        );
        assert_eq!(accept("*/*"), Ok(Representation::Whole));
        assert_eq!(accept("application/vnd.kubernetes.protobuf"), Err(501));
        assert_eq!(accept("text/html,application/yaml"), Err(501));
        assert_eq!(accept("application/cbor"), Err(406));
        assert_eq!(
            accept("application/json;as=Table;v=v9;g=meta.k8s.io"),
            Err(406)
        );
    }

    #[test]
    fn aggregated_discovery_is_for_requests_that_prefer_it() {
        let asked =
            |text: &str| aggregated_discovery(&Request::get("/apis").header("accept", text));
        assert_eq!(
            asked(
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
            ),
            Some("v2")
        );
        assert_eq!(asked("application/json"), None);
    }

    #[test]
    fn bodies_that_only_a_real_server_reads_are_501_and_others_415() {
        let refused = |content_type: &str| {
            let request = Request::new("POST", "/").header("content-type", content_type);
            json_body(&request).unwrap_err()
        };
        for content_type in ["application/vnd.kubernetes.protobuf", "application/yaml"] {
            let error = refused(content_type);
            assert_eq!(error.code, 501);
            assert!(error.message.ends_with("send application/json"));
        }
        assert_eq!(refused("application/cbor").code, 415);
        assert_eq!(refused("text/plain").code, 415);
    }
}
