//! Where the panels of a lesson stand: beside each other, or in a narrow window one at a time.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::Element;

use super::acts::{ActHandles, ActLines};
use super::controls::Controls;
use super::menu::Menu;
use super::narration::Narration;
use super::on::is_on;
use super::rings::Rings;
use super::shown::{Tab, mirrors, toggle};
use super::sides::Sides;
use super::wire::Wire;

/// The panels below the picture in the document, if the page shows a lesson.
#[component]
pub(in crate::panels) fn LessonPanels() -> impl IntoView {
    is_on().then(|| view! { <Panels/> })
}

/// What lies over the picture, if the page shows a lesson.
#[component]
pub(in crate::panels) fn LessonOver() -> impl IntoView {
    is_on().then(|| view! { <ActLines/><Rings/> })
}

#[component]
fn Panels() -> impl IntoView {
    let shown = mirrors();
    listen_to_space();
    let is = move |tab: Tab| move || shown.tab.get() == tab;
    let tab = move |tab: Tab, words: &'static str| {
        view! {
            <button role="tab" aria-selected=move || is(tab)().to_string() on:click=move |_| shown.tab.set(tab)>
                {words}
            </button>
        }
    };
    view! {
        <ActHandles/>
        <div
            class="lesson-panels"
            class:of-text=is(Tab::Text)
            class:of-holds=is(Tab::Holds)
            class:of-wire=is(Tab::Wire)
            class:of-code=is(Tab::Code)
        >
            <div class="lesson-tabs" role="tablist" aria-label="Panels">
                {tab(Tab::Text, "Text")}
                {tab(Tab::Holds, "Holds")}
                {tab(Tab::Wire, "Wire")}
                {tab(Tab::Code, "Code")}
            </div>
            <Narration/>
            <Sides/>
            <Wire/>
        </div>
        <Controls/>
        <Menu/>
    }
}

/// Space plays and pauses, unless an element has its own use for it. The page sees the key after this.
fn listen_to_space() {
    let heard = move |event: web_sys::KeyboardEvent| {
        let target: Option<Element> = event.target().and_then(|target| target.dyn_into().ok());
        let uses = "button, input, select, a, dialog";
        let is_used = target.is_some_and(|target| target.closest(uses).ok().flatten().is_some());
        let is_plain = !event.ctrl_key() && !event.meta_key() && !event.alt_key();
        if event.key() == " " && is_plain && !is_used {
            event.prevent_default();
            toggle();
        }
    };
    let handle = window_event_listener(ev::keydown, heard);
    on_cleanup(move || handle.remove());
}
