//! Bodies of objects, fetched as they are asked for.

use wasm_bindgen_futures::JsFuture;

use super::super::way::fetch;

/// What came of asking for a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Here it is.
    Text(String),
    /// It was dropped to stay within the budget (410).
    Gone,
    /// There is none (404).
    None,
    /// Something else answered, or nobody.
    Failed(Option<u16>),
}

/// The redacted body of a change.
pub(super) async fn object(epoch: &str, seq: u64) -> Body {
    let Some(response) = fetch(&format!("api/objects/{epoch}.{seq}"), "GET", None).await else {
        return Body::Failed(None);
    };
    match response.status() {
        200 => {
            let Ok(promise) = response.text() else {
                return Body::Failed(Some(200));
            };
            match JsFuture::from(promise)
                .await
                .ok()
                .and_then(|text| text.as_string())
            {
                Some(text) => Body::Text(text),
                None => Body::Failed(Some(200)),
            }
        }
        410 => Body::Gone,
        404 => Body::None,
        status => Body::Failed(Some(status)),
    }
}
