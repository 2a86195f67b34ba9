//! Parses and applies patches: JSON merge patch (RFC 7396), JSON patch (RFC 6902), and for built-in kinds strategic
//! merge patch.

use serde_json::{Value, json};

use super::strategic;
use crate::json::go;
use crate::kinds::ResourceType;
use crate::schema::Struct;
use crate::status::{
    ApiError, bad_request, not_modelled, patch_does_not_fit, server_error, unsupported_media_type,
};

/// A parsed patch; the content type of its body determines the variant.
#[derive(Debug)]
pub(crate) enum Patch {
    Merge(Value),
    Json(json_patch::Patch),
    Strategic(Value),
}

/// The media type of a JSON merge patch (RFC 7396).
const MERGE_PATCH: &str = "application/merge-patch+json";

fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or("").trim()
}

impl Patch {
    /// Parses the body of a patch for an object of a kind. A body that is no such patch is refused with 400 or 422, an
    /// unknown content type with 415, and server-side apply with 501.
    pub(crate) fn parse(
        content_type: &str,
        body: &[u8],
        kind: &ResourceType,
    ) -> Result<Patch, ApiError> {
        let read = || -> Result<Value, String> { crate::json::read(body) };
        let undecodable = |why: String| bad_request(format!("error decoding patch: {why}"));
        let map = |value: Value| match value {
            Value::Object(_) => Ok(value),
            other => Err(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::kind_of(&other)
            )),
        };
        match media_type(content_type) {
            MERGE_PATCH => {
                let patch = read().and_then(map).map_err(undecodable)?;
                Ok(Patch::Merge(patch))
            }
            "application/json-patch+json" => match read().map_err(undecodable)? {
                patch @ Value::Array(_) => serde_json::from_value(patch)
                    .map(Patch::Json)
                    // A server finds an unknown operation only when it applies the patch.
                    .map_err(|_| patch_does_not_fit()),
                other => Err(undecodable(format!(
                    "json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
                    go::kind_of(&other)
                ))),
            },
            "application/strategic-merge-patch+json" if Struct::of(kind).is_some() => {
                let patch = read().and_then(map).map_err(bad_request)?;
                Ok(Patch::Strategic(patch))
            }
            "application/strategic-merge-patch+json" => Err(unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            "application/apply-patch+yaml" => Err(not_modelled("server-side apply")),
            _ => Err(ApiError {
                details: Some(Box::new(json!({}))),
                ..unsupported_media_type("415: Unsupported Media Type")
            }),
        }
    }

    /// Returns `object` as the patch changes it. A JSON patch that does not fit is refused with 422, a strategic merge
    /// patch that is not valid with 500.
    pub(crate) fn apply(&self, object: &Value, kind: &ResourceType) -> Result<Value, ApiError> {
        let mut patched = object.clone();
        match self {
            Patch::Merge(patch) => json_patch::merge(&mut patched, patch),
            Patch::Json(patch) => {
                json_patch::patch(&mut patched, patch).map_err(|_| patch_does_not_fit())?;
            }
            Patch::Strategic(patch) => {
                patched =
                    strategic::merge(object, patch, Struct::of(kind)).map_err(server_error)?;
            }
        }
        Ok(patched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn config_maps() -> ResourceType {
        let kinds = Kinds::built_in();
        kinds.get(kinds.named("configmaps").unwrap()).clone()
    }

    fn applied(content_type: &str, body: &[u8], object: &Value) -> Result<Value, ApiError> {
        let kind = config_maps();
        Patch::parse(content_type, body, &kind)?.apply(object, &kind)
    }

    #[test]
    fn every_patch_type_changes_objects() {
        let object = json!({"a": 1, "b": {"c": 2}});
        let patch = br#"{"a":null,"b":{"d":3}}"#;
        for content_type in [
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ] {
            let patched = applied(content_type, patch, &object).unwrap();
            assert_eq!(patched, json!({"b": {"c": 2, "d": 3}}));
        }
        let body =
            br#"[{"op":"test","path":"/a","value":1},{"op":"replace","path":"/b/c","value":9}]"#;
        let patched = applied("application/json-patch+json; charset=utf-8", body, &object).unwrap();
        assert_eq!(patched, json!({"a": 1, "b": {"c": 9}}));
    }

    #[test]
    fn a_patch_that_cannot_be_applied_is_refused_with_its_code() {
        let code = |kind: &str, body: &[u8]| applied(kind, body, &json!({})).map_err(|e| e.code);
        assert_eq!(code("application/apply-patch+yaml", b"a: b"), Err(501));
        assert_eq!(code("application/apply-patch+cbor", b"a: b"), Err(415));
        assert_eq!(code("application/merge-patch+json", b"{"), Err(400));
        assert_eq!(
            code(
                "application/json-patch+json",
                br#"[{"op":"remove","path":"/x"}]"#
            ),
            Err(422)
        );
    }
}
