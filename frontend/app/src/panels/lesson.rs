//! The page's interface to a lesson's narration and controls (assets/lessons.js), which are loaded only with a lesson.
//!
//! They get one function, once. By it they set the time and the view, find a moment on the screen, and read the beliefs
//! of all layers. The lesson's records come to the page as from any server.

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

/// Whether the page shows a lesson. A lesson has no server that could compare with a cluster.
pub(super) fn is_on() -> bool {
    let lesson = Reflect::get(&window(), &JsValue::from_str("watchscopeLesson"));
    lesson.is_ok_and(|lesson| lesson.is_object())
}

/// Passes the function to `watchscopeLesson`, if there is a lesson.
pub(super) fn offer() {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let Some(ready) = get(&window(), "watchscopeLesson")
        .and_then(|lesson| get(&lesson, "ready"))
        .and_then(|ready| ready.dyn_into::<Function>().ok())
    else {
        return;
    };
    // One function serves all requests. Its list holds the request's name and its arguments.
    let page = Closure::<dyn FnMut(Array) -> JsValue>::new(move |asked: Array| {
        let text = |place| asked.get(place).as_string().unwrap_or_default();
        let time = |place| Time(asked.get(place).as_f64().unwrap_or_default() as i64);
        match &*text(0) {
            // Sets the time.
            "hold" => act(Person::Hold(time(1))),
            // Sets the view's time range.
            "show" => act(Person::ShowTime {
                from: time(1),
                to: time(2),
            }),
            // Begins again with a new log.
            "startOver" => act(Person::StartOver),
            // Opens the layers and all watches, so that their objects are visible.
            "expand" => act(Person::Expand),
            // Scrolls to a lane.
            "reveal" => act(Person::Reveal(text(1).into())),
            // Returns where a moment of a lane lies in the picture, in px, by its time and its record. Null if that is
            // out of sight.
            "place" => {
                let seq = time(3).0.unsigned_abs();
                let place = read().place_of(&text(1), time(2), seq);
                if let Some((x, y)) = place {
                    return Array::of2(&JsValue::from_f64(x), &JsValue::from_f64(y)).into();
                }
            }
            // Returns the beliefs of all layers now; null if the log has no records about them.
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
    /// The lesson's function to call after each picture.
    static DRAWN: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Calls the lesson's function: the picture was painted.
pub(crate) fn drawn() {
    let drawn = DRAWN.with_borrow(Clone::clone);
    if let Some(drawn) = drawn {
        // The function only schedules its work.
        let _ = drawn.call0(&JsValue::NULL);
    }
}

/// Converts a table of beliefs to JavaScript objects.
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
