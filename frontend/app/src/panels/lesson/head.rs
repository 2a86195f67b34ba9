//! The header of a lesson.

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::on::is_on;
use super::shown::{go, mirrors};
use crate::panels::header::{HelpButton, ThemeButton};
use crate::panels::signals::Signals;

/// Whether a watchscope answers here, to which the person can go back.
fn has_server() -> bool {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let lesson = get(&window(), "watchscopeLesson");
    let has = lesson.and_then(|lesson| get(&lesson, "hasServer"));
    has.is_some_and(|has| has.is_truthy())
}

/// The header, if the page shows a lesson.
#[component]
pub(crate) fn LessonHead(panels: Signals) -> impl IntoView {
    is_on().then(|| view! { <Head panels/> })
}

#[component]
fn Head(panels: Signals) -> impl IntoView {
    let shown = mirrors();
    let place =
        move || shown.text(|text| format!("lesson {} of {}", text.number, text.lessons.len()));
    let title = move || shown.text(|text| text.title.clone());
    // A narrow window has the passage's title in view while the text scrolls.
    let passage = Memo::new(move |_| {
        shown.both(|text, now| {
            let passage = text.passages.get(now.passage as usize);
            passage
                .map(|passage| passage.title.clone())
                .unwrap_or_default()
        })
    });
    let step = Memo::new(move |_| {
        shown.both(|text, now| format!("{} of {}", now.passage + 1, text.passages.len()))
    });
    view! {
        <header class="header lesson-head">
            <h1 class="mark">"watchscope"</h1>
            <span class="control lesson-title"><span class="quiet">{place}</span><b>{title}</b></span>
            <span class="lesson-passage"><b>{passage}</b><span class="quiet">{step}</span></span>
            <span class="control simulated">
                <span class="label">"simulated cluster"</span>
                <b>{move || shown.now(|now| format!("v{}", now.server))}</b>
            </span>
            <span class="quiet stays">"Nothing here leaves this tab"</span>
            <span class="space"></span>
            <button class="control" aria-haspopup="dialog" on:click=move |_| shown.menu.set(true)>"All lessons"</button>
            {has_server().then(|| view! {
                <button class="control live-view" on:click=|_| go(None)>"Open as live view"</button>
            })}
            <ThemeButton panels/>
            <HelpButton class="control extra"/>
        </header>
    }
}
