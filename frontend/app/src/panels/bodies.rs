//! Bodies of objects, fetched as they are asked for.

use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;
use watchscope_model::wire::PAGE_HEADER;
use web_sys::{Headers, RequestInit, Response};

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
    let Some(response) = fetch(&format!("api/objects/{epoch}.{seq}")).await else {
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

/// A file of the page, as text.
pub(super) async fn file(url: &str) -> Option<String> {
    let response = fetch(url).await.filter(Response::ok)?;
    let text = JsFuture::from(response.text().ok()?).await.ok()?;
    text.as_string()
}

async fn fetch(url: &str) -> Option<Response> {
    let headers = Headers::new().ok()?;
    // What reads from `/api` needs it where the browser does not say whose page fetches.
    headers.set(PAGE_HEADER, "1").ok()?;
    let init = RequestInit::new();
    init.set_headers(&headers);
    let answer = web_sys::window()?.fetch_with_str_and_init(url, &init);
    JsFuture::from(answer).await.ok()?.dyn_into().ok()
}
