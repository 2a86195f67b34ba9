//! Hands a file to the browser's downloads.

use leptos::prelude::document;
use wasm_bindgen::JsCast as _;
use web_sys::{Blob, HtmlAnchorElement, Url};

/// Downloads a file under a name; `None` if the browser refuses.
pub(super) fn download(blob: &Blob, name: &str) -> Option<()> {
    let url = Url::create_object_url_with_blob(blob).ok()?;
    let anchor: HtmlAnchorElement = document().create_element("a").ok()?.dyn_into().ok()?;
    anchor.set_href(&url);
    anchor.set_download(name);
    anchor.click();
    // The download has its own reference by now.
    Url::revoke_object_url(&url).ok()
}
