//! `window.watchscope`: what is on screen, for tests and for people with a console. Read only.
//!
//! * `watchscope.hits()`: a JSON text, one object for each glyph drawn: `glyph`, `token`, `color` (as painted), the lane's
//!   key, the point in CSS px of the canvas that has the colour, and the box.
//! * `watchscope.summary()`: a JSON text: records, head, rows, following, connection, frame and lag in ms.

use js_sys::{Object, Reflect};
use leptos::prelude::window;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::scene::Target;

use super::engine::{Engine, Handle};
use super::picture::RULER_PX;

/// Puts the object into the window.
pub(super) fn expose(handle: Handle) {
    let object = Object::new();
    let reader = |name: &str, read: fn(&Engine) -> String| {
        let function = Closure::<dyn Fn() -> JsValue>::new(move || {
            handle
                .with(|engine| JsValue::from_str(&read(engine)))
                .unwrap_or(JsValue::NULL)
        });
        // Only a frozen object refuses a property.
        let _ = Reflect::set(&object, &JsValue::from_str(name), &function.into_js_value());
    };
    reader("hits", Engine::hits_json);
    reader("summary", Engine::summary_json);
    let _ = Reflect::set(&window(), &JsValue::from_str("watchscope"), &object);
}

impl Engine {
    fn hits_json(&self) -> String {
        let mut json = String::from("[");
        for hit in &self.scene.hits {
            let Some((glyph, token, x, y)) = hit.glyph else {
                continue;
            };
            if json.len() > 1 {
                json.push(',');
            }
            let (first, count) = match &hit.target {
                Target::Record(id) | Target::Stretch(_, id) => (id.seq.0, 1),
                Target::Merged { first, count, .. } => (first.seq.0, *count),
                Target::Lane => (0, 0),
            };
            json.push_str(&format!(
                "{{\"glyph\":\"{}\",\"token\":\"{}\",\"color\":\"{}\",\"lane\":{},\"seq\":{first},\"count\":{count},\
                 \"x\":{},\"y\":{},\"left\":{},\"top\":{},\"width\":{},\"height\":{}}}",
                glyph.id(),
                token.name(),
                self.palette.css(token),
                quoted(&self.lane_key(hit.lane)),
                x.to_f64(),
                y.to_f64() + RULER_PX,
                hit.area.x.to_f64(),
                hit.area.y.to_f64() + RULER_PX,
                hit.area.w.to_f64(),
                hit.area.h.to_f64(),
            ));
        }
        json.push(']');
        json
    }

    fn summary_json(&self) -> String {
        let state = self.store.state();
        format!(
            "{{\"records\":{},\"head\":{},\"rows\":{},\"hidden\":{},\"following\":{},\"connection\":{},\"frameMs\":{:.2},\
             \"lagMs\":{},\"leftUs\":{:.0},\"usPerPx\":{},\"scrollPx\":{},\"painted\":{}}}",
            self.store.records(),
            state.map_or(0, |state| state.seq.0),
            self.rows.rows.len(),
            self.rows.hidden,
            self.view.following,
            quoted(&format!("{:?}", self.connection.status())),
            self.frame_ms,
            self.lag_ms
                .map_or_else(|| "null".to_owned(), |lag| lag.to_string()),
            self.view.left_us,
            self.view.us_per_px,
            self.scroll_px,
            self.painted_head,
        )
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    js_sys::JSON::stringify(&JsValue::from_str(text))
        .map_or_else(|_| "\"\"".to_owned(), String::from)
}
