//! The bridge to the dialogs of exports and charts, which are JavaScript (assets/export-dialog.js, charts-dialog.js).
//! It gives them the facts of the page and the frames that they request.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use watchscope_model::Time;
use watchscope_model::notes::push_note;

use crate::core::model::Model;
use crate::core::person::Person;
use crate::runtime::bridge;
use crate::runtime::page::{act, read};

/// The frames reach this many lengths of the range beyond each of its ends, because charts need that context.
const CONTEXT: i64 = 10;

thread_local! {
    /// The functions for the frames, and for the reason why there are none. A later request replaces an earlier one.
    static ASKED: RefCell<Option<(Function, Function)>> = const { RefCell::new(None) };
}

/// A dialog, by the form that is chosen when it opens.
#[derive(Clone, Copy)]
pub(super) enum Dialog {
    /// The export dialog, with a picture.
    Picture,
    /// The export dialog, with a recording.
    Recording,
    /// The dialog of charts.
    Charts,
}

/// Opens a dialog. Reports an error if there is no record yet.
pub(super) fn open(dialog: Dialog) {
    let of = read().exportable();
    let Some(of) = of else {
        act(Person::Trouble("There is no record yet."));
        return;
    };
    let text = |text: &str| JsValue::from_str(text);
    let form = match dialog {
        Dialog::Picture => "svg",
        Dialog::Recording => "wscope",
        Dialog::Charts => "charts",
    };
    // In microseconds.
    let span = |(from, to): (Time, Time)| {
        let edge = |at: Time| JsValue::from_f64(at.0 as f64);
        JsValue::from(Array::of2(&edge(from), &edge(to)))
    };
    let facts = Object::new();
    for (name, fact) in [
        ("form", text(form)),
        ("notes", JsValue::from_f64(of.notes as f64)),
        ("cluster", text(&of.cluster)),
        ("namespaces", text(&of.namespaces)),
        ("marked", of.marked.map_or(JsValue::NULL, span)),
        ("view", span(of.view)),
        ("loaded", span(of.loaded)),
        ("choices", text(&of.choices)),
        ("filter", text(&of.filter)),
    ] {
        // An object of our own takes every field.
        let _ = Reflect::set(&facts, &text(name), &fact);
    }
    let hand = Closure::<dyn Fn(f64, f64) -> Promise>::new(|from_us: f64, to_us: f64| {
        let (from, to) = (Time(from_us as i64), Time(to_us as i64));
        let promise = Promise::new(&mut |resolve, reject| ASKED.set(Some((resolve, reject))));
        act(Person::TakeRange { from, to });
        promise
    });
    let opened = match dialog {
        Dialog::Picture | Dialog::Recording => bridge::export(&facts, &hand),
        Dialog::Charts => bridge::charts(&facts, &hand),
    };
    if opened.is_err() {
        act(Person::Trouble(
            "The dialog could not be loaded. Reload the page.",
        ));
    }
    // The dialog calls it as long as it is open. The page gets no sign when it closes.
    hand.forget();
}

/// Hands over the frames of a range and of its context, and all notes. The record of a note may lie outside the range
/// that the note is about.
pub(super) fn hand(model: &Model, from: Time, to: Time) {
    let around_us = to.micros_since(from).saturating_mul(CONTEXT);
    let wide = (from.plus_micros(-around_us), to.plus_micros(around_us));
    let chapters: Result<Array, _> = model
        .store
        .frames(wide.0, wide.1)
        .map(|frames| frames.map(|frames| Uint8Array::from(&*frames)))
        .collect();
    let mut notes = Vec::new();
    for note in model.store.notes().records() {
        push_note(note, &mut notes);
    }
    let notes = Uint8Array::from(&*notes);
    match chapters {
        Ok(chapters) => {
            let handed = Array::of2(&chapters, &notes);
            answer(|(resolve, _)| resolve.call1(&JsValue::NULL, &handed));
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// Reports to the dialog why it gets no frames.
pub(super) fn refuse(why: &str) {
    let error = js_sys::Error::new(why);
    answer(|(_, reject)| reject.call1(&JsValue::NULL, &error));
}

fn answer(tell: impl FnOnce((Function, Function)) -> Result<JsValue, JsValue>) {
    if let Some(asked) = ASKED.take() {
        // A promise's own functions do not fail.
        let _ = tell(asked);
    }
}
