//! Whether the page shows a lesson.

use js_sys::Reflect;
use leptos::prelude::window;
use wasm_bindgen::JsValue;

/// Whether the page shows a lesson. A lesson has no server that could compare with a cluster.
pub(crate) fn is_on() -> bool {
    let lesson = Reflect::get(&window(), &JsValue::from_str("watchscopeLesson"));
    lesson.is_ok_and(|lesson| lesson.is_object())
}
