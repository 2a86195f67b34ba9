//! What there is to say of each row of the failure catalogue: fetched once, when somebody asks.

use std::sync::Arc;

use js_sys::{Array, JSON, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;

use super::bodies;
use super::signals::Signals;

/// What is said of the rows, by their codes.
type Rows = Vec<(String, Said)>;

/// What is said of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Where its picture is.
    pub(super) picture: String,
    /// Headings and texts.
    pub(super) parts: Vec<(String, String)>,
}

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
    pub(super) fn of(&self, code: &str) -> Option<Said> {
        let Self::Here(rows) = self else {
            return None;
        };
        let row = rows.iter().find(|(other, _)| other == code);
        row.map(|(_, said)| said.clone())
    }
}

/// Fetches the texts, unless they are here or on their way.
pub(super) fn ask(panels: Signals) {
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
    let url = url.as_string()?;
    let text = bodies::file(&url).await?;
    let parsed: Object = JSON::parse(&text).ok()?.dyn_into().ok()?;
    let list = |value: JsValue| value.dyn_into::<Array>().ok();
    let pair = |value: JsValue| {
        let pair = list(value)?;
        Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
    };
    // The pictures lie beside the texts.
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
