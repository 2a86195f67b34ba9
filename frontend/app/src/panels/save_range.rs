//! Hands the frames of the marked range to what makes a file of them (assets/recordings.js), in a worker.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use watchscope_model::Time;
use watchscope_model::notes::push_note;
use watchscope_timeline::format;

use crate::core::model::Model;
use crate::core::person::Person;
use crate::runtime::bridge;
use crate::runtime::page::act;

/// Saves what is loaded between two times.
pub(super) fn save(model: &Model, from: Time, to: Time) {
    let chapters = Array::new();
    for frames in model.store.frames(from, to) {
        match frames {
            Ok(frames) => {
                chapters.push(&Uint8Array::from(&*frames));
            }
            Err(error) => {
                act(Person::NotSaved(error.to_string().into()));
                return;
            }
        }
    }
    let name = format!(
        "watchscope {} {} UTC.wscope",
        format::date(from),
        format::clock(from).replace(':', "-")
    );
    let mut notes = Vec::new();
    for note in model.store.notes().records_about(from, to) {
        push_note(note, &mut notes);
    }
    let notes = Uint8Array::from(&*notes);
    let asked = bridge::save(&name, from.0 as f64, to.0 as f64, &chapters, &notes);
    spawn_local(async move {
        let answer = match asked {
            Ok(asked) => JsFuture::from(asked).await,
            Err(error) => Err(error),
        };
        act(match answer {
            Ok(records) => Person::Saved {
                records: records.as_f64().unwrap_or_default() as u64,
            },
            Err(error) => Person::NotSaved(words(&error).into()),
        });
    });
}

/// The error that JavaScript threw, as a sentence.
fn words(error: &JsValue) -> String {
    let message = js_sys::Error::from(error.clone()).message();
    let message = String::from(message);
    let mut letters = message.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_ascii_uppercase(), letters.as_str()),
        None => "The browser does not say why.".to_owned(),
    }
}
