//! The address bar: the fragment that names a place.

use wasm_bindgen::JsValue;

use crate::runtime::page::elements;

/// The fragment of the address, with its `#`; empty if it has none.
pub(super) fn fragment() -> String {
    elements().window.location().hash().unwrap_or_default()
}

/// Has the address bar name a place.
pub(super) fn write(fragment: &str, is_new: bool) {
    let window = &elements().window;
    let (Ok(history), Ok(path)) = (window.history(), window.location().pathname()) else {
        return;
    };
    let address = if fragment.is_empty() {
        path
    } else {
        format!("#{fragment}")
    };
    // A browser that refuses more of them shows an older place.
    let _ = if is_new {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    };
}
