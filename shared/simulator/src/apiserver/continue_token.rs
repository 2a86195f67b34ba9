//! Continue tokens: the key at which the next page of a list begins, and the list's revision.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{self, GeneralPurpose, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::json::go;
use crate::status::{ApiError, bad_request};

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ContinueToken {
    v: String,
    rv: i64,
    start: String,
}

pub(super) fn encode_continue(start: &str, rv: i64) -> String {
    let token = ContinueToken {
        v: "meta.k8s.io/v1".to_owned(),
        rv,
        start: start.to_owned(),
    };
    let json = serde_json::to_vec(&token).expect("a struct of strings and a number is JSON");
    URL_SAFE_NO_PAD.encode(json)
}

/// The decoder of continue tokens. The decoder ignores trailing bits that are left over, as Go's base64 decoder does
/// unless it is strict (`Encoding.Strict` of `encoding/base64`).
const AS_GO_DECODES: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    general_purpose::NO_PAD.with_decode_allow_trailing_bits(true),
);

/// Decodes a continue token (`storage/continue.go`). Returns the key at which the next page begins, and the list's
/// revision; `None` means the latest revision. A token that is not valid is refused with 400.
pub(super) fn decode_continue(
    token: &str,
    prefix: &str,
) -> Result<(String, Option<u64>), ApiError> {
    let refused = |why: String| bad_request(format!("invalid continue token: {why}"));
    let not_valid = |why: &str| refused(format!("continue key is not valid: {why}"));
    let bytes = AS_GO_DECODES
        .decode(token)
        .map_err(|e| not_valid(&go::base64_error(&e)))?;
    let token: ContinueToken =
        serde_json::from_slice(&bytes).map_err(|e| not_valid(&go::json_error(&bytes, &e)))?;
    if token.v != "meta.k8s.io/v1" {
        return Err(not_valid(&format!(
            "server does not recognize this encoded version {}",
            token.v
        )));
    }
    if token.start.is_empty() {
        return Err(not_valid(
            "encoded start key empty (version meta.k8s.io/v1)",
        ));
    }
    let start = token.start.strip_prefix('/').unwrap_or(&token.start);
    if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(not_valid(&token.start));
    }
    let revision = match token.rv {
        0 => {
            return Err(not_valid(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        rv => u64::try_from(rv).ok(),
    };
    Ok((format!("{prefix}{start}"), revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continue_token_is_what_the_apiserver_writes() {
        let token = encode_continue("shop/web\0", 42);
        let json = String::from_utf8(URL_SAFE_NO_PAD.decode(&token).unwrap()).unwrap();
        assert_eq!(
            json,
            r#"{"v":"meta.k8s.io/v1","rv":42,"start":"shop/web\u0000"}"#
        );
        assert_eq!(
            decode_continue(&token, "/registry/pods/").unwrap(),
            ("/registry/pods/shop/web\0".to_owned(), Some(42))
        );
        let latest = encode_continue("a", -1);
        assert_eq!(
            decode_continue(&latest, "/p/").unwrap(),
            ("/p/a".to_owned(), None)
        );
    }

    #[test]
    fn a_token_that_was_tampered_with_is_400() {
        for token in [
            "!",
            "e30",
            &encode_continue("", 1),
            &encode_continue("a", 0),
            &encode_continue("../x", 1),
        ] {
            assert_eq!(
                decode_continue(token, "/p/").unwrap_err().code,
                400,
                "{token}"
            );
        }
    }
}
