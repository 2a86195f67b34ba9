//! Checks that an object has the type that its path names, and refuses another type.

use serde_json::{Value, json};

use crate::json::{at, set, set_default, text};
use crate::kinds::{Kinds, Printer, ResourceType, go_type};
use crate::status::{ApiError, FieldError, bad_request, invalid};

/// Checks that an object has the type that its path names, and fills in `kind` and `apiVersion` if they are absent.
/// Another type is refused with 400, or with 422 for another kind of a custom type.
pub(super) fn check_type(
    body: &mut Value,
    kind: &ResourceType,
    kinds: &Kinds,
) -> Result<(), ApiError> {
    if body.get("metadata").is_some_and(|m| !m.is_object()) {
        return Err(bad_request(format!(
            "the object provided is unrecognized (must be of type {}): metadata is no JSON object",
            kind.kind
        )));
    }
    let api_version = kind.api_version();
    set_default(body, &["apiVersion"], json!(api_version));
    set_default(body, &["kind"], json!(kind.kind));
    let (given_version, given_kind) = (text(body, &["apiVersion"]), text(body, &["kind"]));
    if (given_version, given_kind) != (api_version.as_str(), kind.kind.as_str()) {
        let name = text(body, &["metadata", "name"]);
        return Err(other_type(given_version, given_kind, name, kind, kinds));
    }
    if at(body, &["metadata"]).is_none() {
        set(body, &["metadata"], json!({}));
    }
    Ok(())
}

/// The refusal of an object with another type than its path.
fn other_type(
    api_version: &str,
    given: &str,
    name: &str,
    kind: &ResourceType,
    kinds: &Kinds,
) -> ApiError {
    if matches!(kind.printer, Printer::Columns(_)) {
        if api_version != kind.api_version() {
            return bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                kind.api_version()
            ));
        }
        let error = FieldError::invalid("kind", given, &format!("must be {}", kind.kind));
        return invalid(&kind.group, given, name, &[error]);
    }
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    let why = misfit(api_version, given, kind, kinds);
    bad_request(format!(
        "{given} in version {version:?} cannot be handled as a {}: {why}",
        kind.kind
    ))
}

/// Returns the reason why an object of the given type cannot be decoded as a kind.
pub(crate) fn misfit(api_version: &str, given: &str, kind: &ResourceType, kinds: &Kinds) -> String {
    let known = kinds
        .all()
        .any(|(_, k)| k.kind == given && k.api_version() == api_version);
    if known {
        let version = api_version.rsplit('/').next().unwrap_or(api_version);
        format!(
            "converting ({version}.{given}) to ({}): unknown conversion",
            go_type(kind)
        )
    } else {
        not_registered(api_version, given)
    }
}

/// Returns the error of Kubernetes' scheme for a type that is not registered in it.
pub(crate) fn not_registered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
}
