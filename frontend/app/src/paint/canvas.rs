//! Makes canvases outside the document, and the 2D contexts of canvases.

use js_sys::{Object, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{CanvasRenderingContext2d, Document, HtmlCanvasElement};

/// Makes a canvas of this size, in device px. It is not part of the document.
#[must_use]
pub fn hidden_canvas(document: &Document, width: u32, height: u32) -> Option<HtmlCanvasElement> {
    let canvas: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
    canvas.set_width(width);
    canvas.set_height(height);
    Some(canvas)
}

/// Returns the 2D context of a canvas, made with one option.
pub(super) fn context_of(
    canvas: &HtmlCanvasElement,
    option: &str,
    value: bool,
) -> Option<CanvasRenderingContext2d> {
    let options = Object::new();
    Reflect::set(
        &options,
        &JsValue::from_str(option),
        &JsValue::from_bool(value),
    )
    .ok()?;
    canvas
        .get_context_with_context_options("2d", &options)
        .ok()??
        .dyn_into()
        .ok()
}
