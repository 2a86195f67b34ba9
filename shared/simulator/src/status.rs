//! The Status objects with which an apiserver refuses requests, in the words of apimachinery's `api/errors`.

use serde_json::{Value, json};

use crate::kinds::ResourceType;
use crate::names::qualified;
use crate::version::Version;

/// A refusal of a request, as its Status object describes it. A function that returns this error refuses the request
/// that it handles, in the words of a real server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    /// The Status reason; empty for errors that do not come from the Kubernetes API itself.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Boxed, because most results that could hold an error hold none.
    pub(crate) details: Option<Box<Value>>,
    /// Seconds after which to retry, sent as the header `Retry-After` and in the Status details.
    pub(crate) retry_after_secs: Option<u32>,
    /// A token with which a list that expired can be continued, at another version.
    pub(crate) continue_token: Option<String>,
}

impl ApiError {
    pub(crate) fn status(&self) -> Value {
        let mut metadata = json!({});
        if let Some(token) = &self.continue_token {
            metadata["continue"] = json!(token);
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        let mut details = self.details.as_deref().cloned();
        if let Some(secs) = self.retry_after_secs {
            details.get_or_insert_with(|| json!({}))["retryAfterSeconds"] = json!(secs);
        }
        if let Some(details) = details {
            status["details"] = details;
        }
        status["code"] = json!(self.code);
        status
    }

    /// Returns the Status object in the words of a server's version.
    pub(crate) fn status_of(&self, version: Version) -> Value {
        let mut status = self.status();
        if self.reason == "Expired" {
            status["reason"] = json!(version.expired_reason());
        }
        status
    }
}

/// One invalid field of a 422.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    pub(crate) field: String,
    /// The error's kind: `FieldValueForbidden`, `FieldValueRequired`, `FieldValueInvalid` or `FieldValueNotSupported`.
    pub(crate) kind: &'static str,
    /// The text after `field: `, as apimachinery's `ErrorBody` makes it.
    pub(crate) body: String,
}

impl FieldError {
    pub(crate) fn forbidden(field: &str, detail: &str) -> FieldError {
        FieldError {
            field: field.to_owned(),
            kind: "FieldValueForbidden",
            body: format!("Forbidden: {detail}"),
        }
    }

    pub(crate) fn required(field: &str, detail: &str) -> FieldError {
        let tail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        FieldError {
            field: field.to_owned(),
            kind: "FieldValueRequired",
            body: format!("Required value{tail}"),
        }
    }

    pub(crate) fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
        FieldError {
            field: field.to_owned(),
            kind: "FieldValueInvalid",
            body: format!("Invalid value: {value:?}: {detail}"),
        }
    }

    /// Returns a field error about a value that is not a string.
    pub(crate) fn invalid_value(field: &str, value: &Value, detail: &str) -> FieldError {
        FieldError {
            field: field.to_owned(),
            kind: "FieldValueInvalid",
            body: format!("Invalid value: {}: {detail}", crate::json::json_text(value)),
        }
    }

    pub(crate) fn not_supported(field: &str, value: &str, valid: &[&str]) -> FieldError {
        let quoted: Vec<String> = valid.iter().map(|v| format!("{v:?}")).collect();
        FieldError {
            field: field.to_owned(),
            kind: "FieldValueNotSupported",
            body: format!(
                "Unsupported value: {value:?}: supported values: {}",
                quoted.join(", ")
            ),
        }
    }
}

fn error(code: u16, reason: &'static str, message: String) -> ApiError {
    ApiError {
        code,
        reason,
        message,
        details: None,
        retry_after_secs: None,
        continue_token: None,
    }
}

fn about(group: &str, resource: &str, name: &str) -> Option<Box<Value>> {
    let mut details = json!({});
    for (key, value) in [("name", name), ("group", group), ("kind", resource)] {
        if !value.is_empty() {
            details[key] = json!(value);
        }
    }
    Some(Box::new(details))
}

pub(crate) fn bad_request(message: impl Into<String>) -> ApiError {
    error(400, "BadRequest", message.into())
}

/// 500 for an error that the server did not expect.
pub(crate) fn server_error(message: impl Into<String>) -> ApiError {
    error(500, "", message.into())
}

pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> ApiError {
    ApiError {
        details: about(group, resource, name),
        ..error(
            404,
            "NotFound",
            format!("{} {name:?} not found", qualified(group, resource)),
        )
    }
}

pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> ApiError {
    ApiError {
        details: about(group, resource, name),
        ..error(
            409,
            "AlreadyExists",
            format!("{} {name:?} already exists", qualified(group, resource)),
        )
    }
}

pub(crate) fn conflict(group: &str, resource: &str, name: &str, why: &str) -> ApiError {
    ApiError {
        details: about(group, resource, name),
        ..error(
            409,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {} {name:?}: {why}",
                qualified(group, resource)
            ),
        )
    }
}

pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> ApiError {
    ApiError {
        details: about(group, resource, name),
        ..error(
            403,
            "Forbidden",
            format!(
                "{} {name:?} is forbidden: {why}",
                qualified(group, resource)
            ),
        )
    }
}

/// The code of a refusal of something that a real server has and the simulator does not model: HTTP's `Not Implemented`
/// (RFC 9110 section 15.6.2).
pub(crate) const NOT_MODELLED: u16 = 501;

/// 501 for something that a real server has and the simulator does not model.
pub(crate) fn not_modelled(what: &str) -> ApiError {
    error(
        NOT_MODELLED,
        "NotImplemented",
        format!("watchscope's simulated apiserver does not model {what}"),
    )
}

/// 401 for a request without valid credentials.
pub(crate) fn unauthorized() -> ApiError {
    error(401, "Unauthorized", "Unauthorized".to_owned())
}

/// 403 for a request that RBAC does not allow.
pub(crate) fn forbidden_request(
    user: &str,
    verb: &str,
    kind: &ResourceType,
    namespace: &str,
    (name, subresource): (&str, &str),
) -> ApiError {
    let (group, plural) = (kind.group.as_str(), kind.plural.as_str());
    let resource = if subresource.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}/{subresource}")
    };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let named = if name.is_empty() {
        String::new()
    } else {
        format!(" {name:?}")
    };
    ApiError {
        details: about(group, plural, name),
        ..error(
            403,
            "Forbidden",
            format!(
                "{}{named} is forbidden: User \"system:serviceaccount:default:{user}\" cannot {verb} resource \
                 {resource:?} in API group {group:?} {place}",
                qualified(group, plural)
            ),
        )
    }
}

pub(crate) fn method_not_allowed() -> ApiError {
    ApiError {
        details: Some(Box::new(json!({}))),
        ..error(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource".to_owned(),
        )
    }
}

pub(crate) fn not_acceptable(message: impl Into<String>) -> ApiError {
    error(406, "NotAcceptable", message.into())
}

pub(crate) fn unsupported_media_type(message: impl Into<String>) -> ApiError {
    error(415, "UnsupportedMediaType", message.into())
}

/// 404 for a path below a group and version that are served.
pub(crate) fn unknown_resource() -> ApiError {
    ApiError {
        details: Some(Box::new(json!({}))),
        ..error(
            404,
            "NotFound",
            "the server could not find the requested resource".to_owned(),
        )
    }
}

/// 422 for a patched object that is not a valid object of its kind.
pub(crate) fn patched_into_none(patched: &Value, why: &str) -> ApiError {
    let error = FieldError {
        field: "patch".to_owned(),
        kind: "FieldValueInvalid",
        body: format!(
            "Invalid value: {:?}: {why}",
            crate::json::json_text(patched)
        ),
    };
    let mut refusal = invalid("", "", "", &[error]);
    refusal.message = format!(" {}", refusal.message.trim_start());
    refusal
}

/// 422 for a JSON patch that does not fit its object.
pub(crate) fn patch_does_not_fit() -> ApiError {
    ApiError {
        details: Some(Box::new(json!({}))),
        ..error(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request".to_owned(),
        )
    }
}

/// 422 for an invalid object of a kind of API group `group`.
pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> ApiError {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        // Two rules may give the same error. It is then two causes, and the message has it once.
        let text = format!("{}: {}", error.field, error.body);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let message = match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    let mut details = about(group, kind, name).unwrap_or_default();
    details["causes"] = errors
        .iter()
        .map(|e| json!({"reason": e.kind, "message": e.body, "field": e.field}))
        .collect();
    ApiError {
        details: Some(details),
        ..error(
            422,
            "Invalid",
            format!("{} {name:?} is invalid: {message}", qualified(group, kind)),
        )
    }
}

pub(crate) fn expired(message: impl Into<String>) -> ApiError {
    error(410, "Expired", message.into())
}

/// 410 of a watch cache: `oldest` is the lowest resourceVersion a watch can still start from
/// (docs/semantics/requests.md#expired).
pub(crate) fn too_old(requested: u64, oldest: u64) -> ApiError {
    expired(format!("too old resource version: {requested} ({oldest})"))
}

/// 410 for a watch that etcd serves (docs/semantics/requests.md#compacted).
pub(crate) fn watch_compacted() -> ApiError {
    expired("The resourceVersion for the provided watch is too old.")
}

/// 410 for a list at a revision that etcd compacted (docs/semantics/requests.md#expired-list).
pub(crate) fn list_compacted() -> ApiError {
    expired("The resourceVersion for the provided list is too old.")
}

/// 410 for a continued list whose revision was compacted. `token` continues the list at the latest revision.
pub(crate) fn continue_compacted(token: String) -> ApiError {
    ApiError {
        continue_token: Some(token),
        ..expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new \
             list without the continue parameter, or use the continue token in this response to retrieve the \
             remainder of the results. Continuing with the provided token results in an inconsistent list - objects \
             that were created, modified, or deleted between the time the first chunk was returned and now may show \
             up in the list.",
        )
    }
}

/// 504 for a read at a revision that the server has not reached (docs/semantics/requests.md#too-large).
pub(crate) fn too_large(requested: u64, current: u64) -> ApiError {
    ApiError {
        details: Some(Box::new(json!({"causes": [{
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        }]}))),
        retry_after_secs: Some(1),
        ..error(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {requested}, current: {current}"),
        )
    }
}

/// 504 for a read that etcd serves, at a revision that etcd has not reached. Unlike a watch cache's 504, it has no
/// Retry-After.
pub(crate) fn too_large_for_etcd(requested: u64, current: u64) -> ApiError {
    ApiError {
        retry_after_secs: None,
        ..too_large(requested, current)
    }
}

/// 500 for an error that the server did not expect, in apimachinery's form (`NewInternalError`).
pub(crate) fn internal_error(message: &str) -> ApiError {
    ApiError {
        details: Some(Box::new(json!({"causes": [{"message": message}]}))),
        ..error(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
    }
}

/// 500 for a request while etcd has no leader.
pub(crate) fn etcd_timed_out() -> ApiError {
    server_error("etcdserver: request timed out")
}

/// 500 for an object whose conversion webhook does not answer (F38).
pub(crate) fn cannot_convert(api_version: &str, kind: &str) -> ApiError {
    internal_error(&format!(
        "conversion webhook for {api_version}, Kind={kind} failed: Post \"https://converter.default.svc:443/convert?timeout=30s\": \
         dial tcp 10.96.0.17:443: connect: connection refused"
    ))
}

/// 504 for a request that took longer than its timeout.
pub(crate) fn timed_out() -> ApiError {
    ApiError {
        details: Some(Box::new(json!({}))),
        ..error(
            504,
            "Timeout",
            "Timeout: request did not complete within requested timeout - context deadline exceeded".to_owned(),
        )
    }
}

/// 429 for a consistent list whose cache stays behind, from a server that does not fall back to etcd
/// (docs/semantics/requests.md#stale-list).
pub(crate) fn stale_cache(too_large: &ApiError) -> ApiError {
    ApiError {
        retry_after_secs: Some(1),
        ..error(429, "TooManyRequests", too_large.message.clone())
    }
}

/// 503 of a server that takes no new requests before it stops (docs/semantics/requests.md#shutting-down).
pub(crate) fn shutting_down() -> ApiError {
    error(
        503,
        "ServiceUnavailable",
        "apiserver is shutting down".to_owned(),
    )
}

/// 429 of a watch cache that is not ready (docs/semantics/requests.md#not-ready).
pub(crate) fn initializing(retry_after_secs: u32) -> ApiError {
    ApiError {
        retry_after_secs: Some(retry_after_secs),
        ..error(
            429,
            "TooManyRequests",
            "storage is (re)initializing".to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_410_of_the_watch_cache_names_both_versions() {
        insta::assert_snapshot!(too_old(5, 10).status(), @r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 5 (10)","reason":"Expired","code":410}"#);
    }

    #[test]
    fn a_read_from_the_future_says_when_to_retry_and_why() {
        insta::assert_snapshot!(too_large(9, 7).status(), @r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 9, current: 7","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#);
    }

    #[test]
    fn several_invalid_fields_are_listed_in_brackets() {
        let errors = [
            FieldError::forbidden("a", "no"),
            FieldError::not_supported("b", "x", &["y", ""]),
        ];
        let error = invalid("meta.k8s.io", "ListOptions", "", &errors);
        assert_eq!(
            error.message,
            "ListOptions.meta.k8s.io \"\" is invalid: [a: Forbidden: no, b: Unsupported value: \"x\": supported \
             values: \"y\", \"\"]"
        );
    }
}
