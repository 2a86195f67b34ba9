//! Bodies of objects, fetched and compared as they are asked for.

use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use watchscope_model::wire::PAGE_HEADER;
use web_sys::{Headers, RequestInit, Response};

use super::signals::show_bodies;
use crate::body::diff;
use crate::core::shown::{Bodies, Body, ObjectPane};

/// Fetches the body of a change and of the version before, and compares them.
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

fn compare(before: &Body, after: &Body) -> Result<Vec<diff::Difference>, String> {
    match (before, after) {
        (Body::Text(before), Body::Text(after)) => diff::differences(before, after)
            .map(|mut found| {
                found.truncate(diff::MAX_DIFFERENCES);
                found
            })
            .ok_or_else(|| "One of the two is no JSON, so they cannot be compared.".to_owned()),
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

/// The redacted body of a change.
async fn object(epoch: &str, seq: u64) -> Body {
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
