//! The texts of the failure catalogue, fetched once on demand.

use std::sync::Arc;

use js_sys::{Array, JSON, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;

use super::bodies;
use super::signals::{show_texts, signals};
use crate::core::shown::{Said, SaidOfRows, Texts};

/// Fetches the texts, unless they are loaded or being loaded.
pub(super) fn ask() {
    let texts = signals().texts;
    if texts.with_untracked(|texts| matches!(texts, Texts::Coming | Texts::Here(_))) {
        return;
    }
    show_texts(Texts::Coming);
    spawn_local(async move {
        let rows = fetch().await;
        show_texts(rows.map_or(Texts::Failed, |rows| Texts::Here(Arc::new(rows))));
    });
}

async fn fetch() -> Option<SaidOfRows> {
    // The page's loader sets the address, because the file's name contains a hash.
    let url = Reflect::get(&window(), &JsValue::from_str("watchscopeTexts")).ok()?;
    let url = url.as_string()?;
    let text = bodies::file(&url).await?;
    let parsed: Object = JSON::parse(&text).ok()?.dyn_into().ok()?;
    let list = |value: JsValue| value.dyn_into::<Array>().ok();
    let pair = |value: JsValue| {
        let pair = list(value)?;
        Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
    };
    // The pictures are in the folder of the texts.
    let (folder, _) = url.rsplit_once('/')?;
    let entries = Object::entries(&parsed);
    let rows = entries.iter().filter_map(|entry| {
        let entry = list(entry)?;
        let said = list(entry.get(1))?;
        let said = Said {
            picture: format!("{folder}/{}", said.get(0).as_string()?),
            parts: list(said.get(1))?.iter().filter_map(pair).collect(),
        };
        Some((entry.get(0).as_string()?, said))
    });
    Some(rows.collect())
}
