//! The clipboard.

use js_sys::{Array, Function, Promise, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Blob;

use super::address::whole;
use super::download::download;
use crate::core::person::Person;
use crate::runtime::page::act;

/// Writes a text to the clipboard; `None` if the browser refuses. Only a page in a secure context has a clipboard.
pub(super) async fn copy(text: &str) -> Option<()> {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let clipboard = get(&get(&window(), "navigator")?, "clipboard")?;
    let write: Function = get(&clipboard, "writeText")?.dyn_into().ok()?;
    let promise: Promise = write
        .call1(&clipboard, &JsValue::from_str(text))
        .ok()?
        .dyn_into()
        .ok()?;
    JsFuture::from(promise).await.ok().map(drop)
}

/// Copies a text to the clipboard. If the browser refuses, downloads it under a name. Returns what happened, in words.
pub(super) async fn copy_or_save(text: &str, name: &str) -> String {
    if copy(text).await.is_some() {
        return "Copied".to_owned();
    }
    let blob = Blob::new_with_str_sequence(&Array::of1(&JsValue::from_str(text)));
    match blob.ok().and_then(|blob| download(&blob, name)) {
        Some(()) => format!("Saved as {name}"),
        None => "The browser allows neither".to_owned(),
    }
}

/// Copies the page's address to the clipboard. The result becomes the button's text `done`.
pub(super) fn copy_link(done: RwSignal<&'static str>) {
    let address = whole();
    spawn_local(async move {
        let is_copied = copy(&address).await.is_some();
        done.set(if is_copied {
            "Copied"
        } else {
            "It is in the address bar"
        });
        act(Person::Say(done.get_untracked().into()));
    });
}
