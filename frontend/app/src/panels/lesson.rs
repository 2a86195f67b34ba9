//! What the page offers to a lesson's narration and controls (assets/lessons.js), which are loaded only with a lesson.
//!
//! They get one function, once, by which they say where the time stands and what to show, and ask where a moment lies on
//! screen and what each side believes. All else of a lesson comes to the page as from any server.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Reflect};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_model::{Seq, Time};
use watchscope_timeline::sides::{self, Sides};
use watchscope_timeline::{LaneId, Px, Store, View};

use crate::core::layout::RULER_PX;
use crate::core::model::Model;
use crate::runtime::page::Handle;
use crate::source::connection::Input;

/// Whether the page shows a lesson, whose simulator has nobody to ask.
pub(super) fn is_on() -> bool {
    let lesson = Reflect::get(&window(), &JsValue::from_str("watchscopeLesson"));
    lesson.is_ok_and(|lesson| lesson.is_object())
}

/// Offers the functions to `watchscopeLesson`, if there is a lesson.
pub(super) fn offer(handle: Handle) {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let Some(ready) = get(&window(), "watchscopeLesson")
        .and_then(|lesson| get(&lesson, "ready"))
        .and_then(|ready| ready.dyn_into::<Function>().ok())
    else {
        return;
    };
    // One function for all, called with a list: what, and with what.
    let page = Closure::<dyn FnMut(Array) -> JsValue>::new(move |asked: Array| {
        let text = |place| asked.get(place).as_string().unwrap_or_default();
        let time = |place| Time(asked.get(place).as_f64().unwrap_or_default() as i64);
        match &*text(0) {
            // Where the time stands.
            "hold" => {
                let at = time(1);
                handle.send(move |model| {
                    model.link.clock.hold(at);
                    model.redraw();
                });
            }
            // Which stretch of time is shown.
            "show" => {
                let (from, to) = (time(1), time(2));
                handle.send(move |model| {
                    model.set_view(View::between(from, to, model.view.width_px));
                });
            }
            // The log has begun again.
            "startOver" => handle.send(|model| {
                model.link.starts_over = true;
                model.input(Input::Anew);
            }),
            // Opens the layers and all watches, so that their objects are seen.
            "expand" => handle.send(|model| {
                model.lanes.shows_all = true;
                if let Some(LaneId::Layer(all)) = model.lane_of_key("inside") {
                    model.lanes.set_layer_open(&model.store, all, true);
                }
                model.redraw();
            }),
            // Scrolls to a lane.
            "reveal" => {
                let lane = text(1);
                handle.send(move |model| model.reveal_lane(&lane));
            }
            // Where a moment of a lane lies, by its time and its record, in px of the picture; null if it is not on
            // screen.
            "place" => {
                let seq = time(3).0.unsigned_abs();
                let place = handle.read(|model| model.place_of(&text(1), time(2), seq));
                if let Some((x, y)) = place {
                    return Array::of2(&JsValue::from_f64(x), &JsValue::from_f64(y)).into();
                }
            }
            // What each side believes now; null if nothing is told of it.
            "sides" => {
                let sides = handle.read(|model| sides::sides(&model.store, LaneId::Findings, None));
                if let Some(sides) = sides {
                    return sides_object(sides);
                }
            }
            _ => {}
        }
        JsValue::NULL
    });
    let drawn = get(&window(), "watchscopeLesson").and_then(|lesson| get(&lesson, "drawn"));
    let drawn = drawn.and_then(|drawn| drawn.dyn_into().ok());
    if drawn.is_some() {
        handle.send(|model| model.panels.is_lesson = true);
    }
    DRAWN.set(drawn);
    let _ = ready.call1(&JsValue::NULL, &page.into_js_value());
}

thread_local! {
    /// What the lesson wants to have called when the picture was drawn.
    static DRAWN: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Tells the lesson that the picture was drawn.
pub(crate) fn drawn() {
    let drawn = DRAWN.with_borrow(Clone::clone);
    if let Some(drawn) = drawn {
        // It only asks to be called later.
        let _ = drawn.call0(&JsValue::NULL);
    }
}

impl Model {
    /// Lets go of all records.
    pub(crate) fn forget(&mut self) {
        self.store = Store::default();
        self.lanes.forget();
        self.redraw();
    }

    fn lane_of_key(&self, key: &str) -> Option<LaneId> {
        let mut rows = self.rows.rows.iter();
        rows.find(|row| self.lane_key(row.id) == key)
            .map(|row| row.id)
    }

    fn reveal_lane(&mut self, key: &str) {
        if let Some(lane) = self.lane_of_key(key) {
            self.scroll_to(lane);
            self.redraw();
        }
    }

    /// Where a moment of a lane lies on the canvas, in px: at the mark of its record, else in the middle of the lane.
    fn place_of(&self, key: &str, at: Time, seq: u64) -> Option<(f64, f64)> {
        let row = self.rows.find(self.lane_of_key(key)?)?;
        let x = self.view.x_from_time(at);
        let top = row.y - Px::from_f64(self.scroll_px);
        let record = self.store.newest(Seq(seq));
        let mark_y = self.scene.y_of(row.id, (top, top + row.height), record);
        let y = mark_y.unwrap_or(top + row.height.half()).to_f64() + RULER_PX;
        let is_seen = (0.0..self.view.width_px).contains(&x)
            && (RULER_PX..self.screen.size.height_px).contains(&y);
        is_seen.then_some((x, y))
    }
}

/// As JavaScript's own objects.
fn sides_object(sides: Sides) -> JsValue {
    let text = |text: &str| JsValue::from_str(text);
    let object = |fields: &[(&str, JsValue)]| {
        let object = Object::new();
        for (name, value) in fields {
            let _ = Reflect::set(&object, &text(name), value);
        }
        JsValue::from(object)
    };
    let list = |values: &mut dyn Iterator<Item = JsValue>| JsValue::from(values.collect::<Array>());
    object(&[
        ("of", text(&sides.of)),
        ("at", text(&sides.at)),
        (
            "sentences",
            list(&mut sides.sentences.iter().map(|sentence| {
                object(&[
                    ("words", text(&sentence.words)),
                    ("differs", sentence.differs.into()),
                ])
            })),
        ),
        (
            "columns",
            list(&mut sides.columns.iter().map(|name| text(name))),
        ),
        (
            "rows",
            list(&mut sides.rows.iter().map(|row| {
                let cells = &mut row.cells.iter().map(|cell| {
                    let word = cell.difference.map_or("", |difference| difference.word());
                    object(&[("words", text(&cell.words)), ("word", text(word))])
                });
                object(&[("name", text(&row.name)), ("cells", list(cells))])
            })),
        ),
    ])
}
