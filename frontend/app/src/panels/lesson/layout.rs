//! Where the panels of a lesson stand: beside each other, or in a narrow window one at a time.

use leptos::prelude::*;

use super::acts::{ActHandles, ActLines};
use super::controls::Controls;
use super::keys::do_in_lesson;
use super::menu::Menu;
use super::narration::Narration;
use super::on::is_on;
use super::rings::Rings;
use super::ruler::Ruler;
use super::shown::{Tab, mirrors};
use super::sides::Sides;
use super::wire::Wire;
use crate::core::person::Person;
use crate::panels::lesson_keys::begin_with;
use crate::runtime::page::act;

/// The panels below the picture in the document, if the page shows a lesson.
#[component]
pub(crate) fn LessonPanels() -> impl IntoView {
    is_on().then(|| view! { <Panels/> })
}

/// What lies over the picture, if the page shows a lesson.
#[component]
pub(crate) fn LessonOver() -> impl IntoView {
    is_on().then(|| view! { <Ruler/><ActLines/><Rings/> })
}

#[component]
fn Panels() -> impl IntoView {
    let shown = mirrors();
    begin_with(do_in_lesson);
    let is_covered = Memo::new(move |_| shown.is_covered());
    Effect::new(move |_| {
        let is_covered = is_covered.get();
        // The page may be at work now.
        queue_microtask(move || act(Person::Cover(is_covered)));
    });
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
            class:covered=move || is_covered.get()
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
