//! `window.watchscope`: a read-only description of the screen, for tests and for people with a console.
//!
//! * `watchscope.hits()`: a JSON text, one object for each glyph, torn or square end and gap drawn: `glyph` or `hatch`,
//!   `token`, `color` (as painted), the lane's key, the point in CSS px of the canvas that has the colour, and the box.
//! * `watchscope.summary()`: a JSON text: records, head, rows, following, `connection` in a word,
//!   frame and lag in ms, the view, now, and the coverage of each time range (`coverage`).

use js_sys::{Object, Reflect};
use leptos::prelude::window;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::scene::{Sign, Target};

use crate::core::model::Model;
use crate::decimal::decimal;
use crate::runtime::page;
use crate::runtime::theme::palette;
use crate::source::connection::{Lock, Status};

/// Adds the object to the window.
pub(super) fn expose() {
    let object = Object::new();
    let reader = |name: &str, read: fn(&Model) -> String| {
        let function =
            Closure::<dyn Fn() -> JsValue>::new(move || JsValue::from_str(&read(&page::read())));
        // Only a frozen object refuses a property.
        let _ = Reflect::set(&object, &JsValue::from_str(name), &function.into_js_value());
    };
    reader("hits", hits_json);
    reader("summary", summary_json);
    let _ = Reflect::set(&window(), &JsValue::from_str("watchscope"), &object);
}

fn hits_json(model: &Model) -> String {
    let top_px = model.lanes_top_px();
    let mut json = String::from("[");
    for hit in &model.scene.hits {
        let Some(drawn) = hit.drawn else {
            continue;
        };
        let (kind, id) = match drawn.sign {
            Sign::Glyph(glyph) => ("glyph", glyph.id()),
            Sign::Hatch(hatch) => ("hatch", hatch.id()),
        };
        if json.len() > 1 {
            json.push(',');
        }
        let (first, count) = match &hit.target {
            Target::Record(id) | Target::Stretch(_, id) => (id.seq.0, 1),
            Target::Merged { first, count, .. } => (first.seq.0, *count),
            Target::Findings(raised) => (raised[0].seq.0, raised.len() as u32),
            Target::Lane => (0, 0),
        };
        json.push_str(&format!(
            "{{\"{kind}\":\"{id}\",\"token\":\"{}\",\"color\":\"{}\",\"lane\":{},\"seq\":{first},\"count\":{count},\
             \"x\":{},\"y\":{},\"left\":{},\"top\":{},\"width\":{},\"height\":{}}}",
            drawn.ink.name(),
            palette(&model.screen).css(drawn.ink),
            quoted(&model.lane_key(hit.lane)),
            decimal(drawn.x.to_f64(), 6),
            decimal(drawn.y.to_f64() + top_px, 6),
            decimal(hit.area.x.to_f64(), 6),
            decimal(hit.area.y.to_f64() + top_px, 6),
            decimal(hit.area.w.to_f64(), 6),
            decimal(hit.area.h.to_f64(), 6),
        ));
    }
    json.push(']');
    json
}

fn summary_json(model: &Model) -> String {
    let state = model.store.state();
    let now = model.now();
    let coverage: Vec<String> = model
        .store
        .coverage(now)
        .iter()
        .map(|stretch| {
            let (is, from, to) = (stretch.coverage, stretch.from.0, stretch.to.0);
            format!("{{\"is\":\"{is:?}\",\"fromUs\":{from},\"toUs\":{to}}}")
        })
        .collect();
    format!(
        "{{\"records\":{},\"head\":{},\"rows\":{},\"hidden\":{},\"following\":{},\"connection\":{},\"frameMs\":{},\"sceneMs\":{},\
         \"lagMs\":{},\"leftUs\":{},\"usPerPx\":{},\"scrollPx\":{},\"painted\":{},\"firstLaneMs\":{},\"nowUs\":{},\"coverage\":[{}]}}",
        model.store.records(),
        state.map_or(0, |state| state.seq.0),
        model.rows.rows.len(),
        model.rows.hidden,
        model.view.following,
        quoted(status_word(&model.link.connection.status())),
        decimal(model.frame.frame_ms, 2),
        decimal(model.frame.scene_ms, 2),
        model
            .link
            .lag_ms
            .map_or_else(|| "null".to_owned(), |lag| lag.to_string()),
        model.view.left_us as i64,
        decimal(model.view.us_per_px, 6),
        decimal(model.scroll_px, 2),
        model.frame.painted_head,
        model
            .frame
            .first_lane_ms
            .map_or_else(|| "null".to_owned(), |ms| decimal(ms, 1)),
        now.0,
        coverage.join(","),
    )
}

/// Returns the status of the connection to the server, in one word.
fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Connecting => "Connecting",
        Status::Live => "Live",
        Status::NotConnected { .. } => "NotConnected",
        Status::Locked(Lock::NoLink) => "NoLink",
        Status::Locked(Lock::LinkSpent) => "LinkSpent",
        Status::Locked(Lock::SessionOver) => "SessionOver",
        Status::OtherVersion { .. } => "OtherVersion",
        Status::Ended { .. } => "Ended",
    }
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    js_sys::JSON::stringify(&JsValue::from_str(text))
        .map_or_else(|_| "\"\"".to_owned(), String::from)
}
