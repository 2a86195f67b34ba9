//! What there is to say of each row of the failure catalogue: fetched once, when somebody asks.

use std::sync::Arc;

use js_sys::{Array, JSON, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;

use super::bodies;
use super::signals::Panels;

/// A row's headings and texts, by its code.
type Rows = Vec<(String, Vec<(String, String)>)>;

/// The texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Texts {
    /// Nobody asked.
    #[default]
    Unasked,
    /// They are on their way.
    Coming,
    /// Here they are.
    Here(Arc<Rows>),
    /// They could not be had.
    Failed,
}

impl Texts {
    /// What is said of a row; nothing while it is not here, or if there is no such row.
    pub(super) fn of(&self, code: &str) -> Option<Vec<(String, String)>> {
        let Self::Here(rows) = self else {
            return None;
        };
        let row = rows.iter().find(|(other, _)| other == code);
        row.map(|(_, parts)| parts.clone())
    }
}

/// Fetches the texts, unless they are here or on their way.
pub(super) fn ask(panels: Panels) {
    let is_had = panels
        .texts
        .with_untracked(|texts| matches!(texts, Texts::Coming | Texts::Here(_)));
    if is_had {
        return;
    }
    panels.texts.set(Texts::Coming);
    spawn_local(async move {
        let rows = fetch().await;
        panels
            .texts
            .set(rows.map_or(Texts::Failed, |rows| Texts::Here(Arc::new(rows))));
    });
}

async fn fetch() -> Option<Rows> {
    // The page's loader says where they are: their name has a hash.
    let url = Reflect::get(&window(), &JsValue::from_str("watchscopeTexts")).ok()?;
    let text = bodies::file(&url.as_string()?).await?;
    let parsed: Object = JSON::parse(&text).ok()?.dyn_into().ok()?;
    let list = |value: JsValue| value.dyn_into::<Array>().ok();
    let pair = |value: JsValue| {
        let pair = list(value)?;
        Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
    };
    let entries = Object::entries(&parsed);
    let rows = entries.iter().filter_map(|entry| {
        let entry = list(entry)?;
        let parts = list(entry.get(1))?.iter().filter_map(pair).collect();
        Some((entry.get(0).as_string()?, parts))
    });
    Some(rows.collect())
}
