//! Fetches bodies of objects and compares them.

use js_sys::Uint8Array;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use watchscope_model::wire::PAGE_HEADER;
use web_sys::{Headers, RequestInit, Response};

use super::signals::show_bodies;
use crate::body::diff;
use crate::core::shown::{Bodies, Body, ObjectPane};
use crate::runtime::bridge;

/// Fetches the body of a change and of the previous version, and compares them. Shows each result as it comes.
pub(super) fn fetch_for(selection: u64, pane: ObjectPane) {
    let mut bodies = Bodies {
        number: selection,
        ..Bodies::default()
    };
    spawn_local(async move {
        let (epoch, seq) = &pane.position;
        let after = object(epoch, *seq).await;
        bodies.body = Some(after.clone());
        show_bodies(bodies.clone());
        let Some((epoch, seq)) = &pane.before else {
            return;
        };
        let before = object(epoch, *seq).await;
        bodies.difference = Some(compare(&before, &after));
        show_bodies(bodies);
    });
}

/// Fetches the bodies of two changes of an object and compares them, the earlier one first.
pub(super) async fn compare_both(
    [before, after]: [(String, u64); 2],
) -> Result<Vec<diff::Difference>, String> {
    let before = object(&before.0, before.1).await;
    let after = object(&after.0, after.1).await;
    compare(&before, &after)
}

fn compare(before: &Body, after: &Body) -> Result<Vec<diff::Difference>, String> {
    match (before, after) {
        (Body::Text(before), Body::Text(after)) => diff::differences(before, after)
            .map(|mut found| {
                found.truncate(diff::MAX_DIFFERENCES);
                found
            })
            .ok_or_else(|| "One of the two is not JSON, so they cannot be compared.".to_owned()),
        (Body::Gone, _) => {
            Err("410: the version before was dropped to stay within the body budget.".to_owned())
        }
        (Body::None, _) => Err("The version before carries no body.".to_owned()),
        (Body::Failed(_), _) => Err("The version before could not be fetched.".to_owned()),
        (Body::Text(_), _) => {
            Err("Without this version's body there is nothing to compare.".to_owned())
        }
    }
}

/// Fetches the redacted body of a change.
async fn object(epoch: &str, seq: u64) -> Body {
    let asked = JsFuture::from(bridge::object(&format!("{epoch}.{seq}")));
    let Some(response) = response(asked).await else {
        return Body::Failed(None);
    };
    match response.status() {
        200 => match text(&response).await {
            Some(text) => Body::Text(text),
            None => Body::Failed(Some(200)),
        },
        410 => Body::Gone,
        404 => Body::None,
        status => Body::Failed(Some(status)),
    }
}

/// Fetches a file of the page as text; `None` if that fails.
pub(super) async fn file(url: &str) -> Option<String> {
    let asked = web_sys::window()?.fetch_with_str(url);
    let response = response(JsFuture::from(asked)).await;
    text(&response.filter(Response::ok)?).await
}

/// Returns the options of a fetch below `/api`: with the page's header, without which the server refuses it where the
/// browser does not say which page fetches.
pub(super) fn own_fetch() -> RequestInit {
    let with = RequestInit::new();
    if let Ok(headers) = Headers::new()
        && headers.set(PAGE_HEADER, "1").is_ok()
    {
        with.set_headers(&headers);
    }
    with
}

/// Fetches an answer below `/api` as bytes; `None` if that fails.
pub(super) async fn bytes(url: &str) -> Option<Vec<u8>> {
    let asked = web_sys::window()?.fetch_with_str_and_init(url, &own_fetch());
    let response = response(JsFuture::from(asked)).await.filter(Response::ok)?;
    let buffer = JsFuture::from(response.array_buffer().ok()?).await.ok()?;
    Some(Uint8Array::new(&buffer).to_vec())
}

async fn response(asked: JsFuture) -> Option<Response> {
    asked.await.ok()?.dyn_into().ok()
}

async fn text(of: &Response) -> Option<String> {
    let text = JsFuture::from(of.text().ok()?).await.ok()?;
    text.as_string()
}
