//! What the page offers to a lesson's narration and controls (assets/lessons.js), which are loaded only with a lesson.
//!
//! They get one function, once, by which they say where the time stands and what to show, and ask where a moment lies on
//! screen and what each side believes. All else of a lesson comes to the page as from any server.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Reflect};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::inside::beliefs::{self, BeliefTable};

use crate::core::person::Person;
use crate::runtime::page::{act, read};

/// Whether the page shows a lesson, whose simulator has nobody to ask.
pub(super) fn is_on() -> bool {
    let lesson = Reflect::get(&window(), &JsValue::from_str("watchscopeLesson"));
    lesson.is_ok_and(|lesson| lesson.is_object())
}

/// Offers the functions to `watchscopeLesson`, if there is a lesson.
pub(super) fn offer() {
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
            "hold" => act(Person::Hold(time(1))),
            // Which stretch of time is shown.
            "show" => act(Person::ShowTime {
                from: time(1),
                to: time(2),
            }),
            // The log has begun again.
            "startOver" => act(Person::StartOver),
            // Opens the layers and all watches, so that their objects are seen.
            "expand" => act(Person::Expand),
            // Scrolls to a lane.
            "reveal" => act(Person::Reveal(text(1).into())),
            // Where a moment of a lane lies, by its time and its record, in px of the picture; null if it is not on
            // screen.
            "place" => {
                let seq = time(3).0.unsigned_abs();
                let place = read().place_of(&text(1), time(2), seq);
                if let Some((x, y)) = place {
                    return Array::of2(&JsValue::from_f64(x), &JsValue::from_f64(y)).into();
                }
            }
            // What each side believes now; null if nothing is told of it.
            "sides" => {
                let beliefs = beliefs::belief_table(&read().store, LaneId::Findings, None);
                if let Some(beliefs) = beliefs {
                    return beliefs_object(beliefs);
                }
            }
            _ => {}
        }
        JsValue::NULL
    });
    let drawn = get(&window(), "watchscopeLesson").and_then(|lesson| get(&lesson, "drawn"));
    let drawn = drawn.and_then(|drawn| drawn.dyn_into().ok());
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

/// As JavaScript's own objects.
fn beliefs_object(beliefs: BeliefTable) -> JsValue {
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
        ("of", text(&beliefs.of)),
        ("at", text(&beliefs.at)),
        (
            "sentences",
            list(&mut beliefs.sentences.iter().map(|sentence| {
                object(&[
                    ("words", text(&sentence.words)),
                    ("differs", sentence.differs.into()),
                ])
            })),
        ),
        (
            "columns",
            list(&mut beliefs.columns.iter().map(|name| text(name))),
        ),
        (
            "rows",
            list(&mut beliefs.rows.iter().map(|row| {
                let cells = &mut row.cells.iter().map(|cell| {
                    let word = cell.difference.map_or("", |difference| difference.word());
                    object(&[("words", text(&cell.words)), ("word", text(word))])
                });
                object(&[("name", text(&row.name)), ("cells", list(cells))])
            })),
        ),
    ])
}
