//! The patches that are understood: JSON merge patch (RFC 7396) and JSON patch (RFC 6902).

use serde_json::Value;

use super::status::{ApiError, bad_request, patch_does_not_fit, unsupported_media_type};

/// A patch, read from a body of a content type.
#[derive(Debug)]
pub(crate) enum Patch {
    Merge(Value),
    Json(json_patch::Patch),
}

impl Patch {
    pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Patch, ApiError> {
        let unreadable = |e: serde_json::Error| bad_request(format!("error decoding patch: {e}"));
        match content_type.split(';').next().unwrap_or("").trim() {
            "application/merge-patch+json" => serde_json::from_slice(body)
                .map(Patch::Merge)
                .map_err(unreadable),
            "application/json-patch+json" => serde_json::from_slice(body)
                .map(Patch::Json)
                .map_err(unreadable),
            other => Err(unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json; got {other:?}: this is a simulated \
                 apiserver, without strategic merge patch and server-side apply"
            ))),
        }
    }

    /// `object` as the patch leaves it.
    pub(crate) fn apply(&self, object: &Value) -> Result<Value, ApiError> {
        let mut patched = object.clone();
        match self {
            Patch::Merge(patch) => json_patch::merge(&mut patched, patch),
            Patch::Json(patch) => {
                json_patch::patch(&mut patched, patch).map_err(|_| patch_does_not_fit())?;
            }
        }
        Ok(patched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_patch_types_change_objects() {
        let object = json!({"a": 1, "b": {"c": 2}});
        let merge =
            Patch::parse("application/merge-patch+json", br#"{"a":null,"b":{"d":3}}"#).unwrap();
        assert_eq!(
            merge.apply(&object).unwrap(),
            json!({"b": {"c": 2, "d": 3}})
        );
        let body =
            br#"[{"op":"test","path":"/a","value":1},{"op":"replace","path":"/b/c","value":9}]"#;
        let patch = Patch::parse("application/json-patch+json; charset=utf-8", body).unwrap();
        assert_eq!(
            patch.apply(&object).unwrap(),
            json!({"a": 1, "b": {"c": 9}})
        );
    }

    #[test]
    fn what_cannot_be_applied_is_refused_with_its_code() {
        let code = |kind: &str, body: &[u8]| match Patch::parse(kind, body) {
            Ok(patch) => patch.apply(&json!({})).map_err(|e| e.code),
            Err(e) => Err(e.code),
        };
        assert_eq!(
            code("application/strategic-merge-patch+json", b"{}"),
            Err(415)
        );
        assert_eq!(code("application/apply-patch+yaml", b"a: b"), Err(415));
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
