//! The list of all lessons, as a dialog.

use leptos::html::Dialog;
use leptos::prelude::*;
use watchscope_model::wire::player::LessonText;

use super::shown::{go, mirrors};
use super::talk::show_all;

/// The dialog.
#[component]
pub(super) fn Menu() -> impl IntoView {
    let shown = mirrors();
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let is_open = shown.menu.get();
        if let Some(dialog) = dialog.get() {
            match (is_open, dialog.open()) {
                // A dialog of the document can be shown.
                (true, false) => drop(dialog.show_modal()),
                (false, true) => dialog.close(),
                _ => {}
            }
        }
    });
    let body = move || shown.text.with(|text| text.as_ref().map(list));
    view! {
        <dialog
            class="help lesson-menu"
            aria-label="Lessons"
            node_ref=dialog
            on:close=move |_| shown.menu.set(false)
        >
            <h2>
                "Lessons"
                <button class="close" aria-label="Close" on:click=move |_| shown.menu.set(false)>"×"</button>
            </h2>
            {body}
            <p class="quiet">
                "Each runs a simulated cluster inside this tab. It needs no Kubernetes, and nothing leaves the tab."
            </p>
            <p>
                <label class="shows-all">
                    <input
                        type="checkbox"
                        prop:checked=move || shown.shows_all.get()
                        on:change:target=|event| show_all(event.target().checked())
                    />
                    "Show all lanes and panels from the begin"
                </label>
            </p>
            <p><button class="control" data-part="open">"Open a recording"</button></p>
        </dialog>
    }
}

fn list(text: &LessonText) -> impl IntoView + use<> {
    let unknown = text.unknown.as_ref().map(|name| {
        let nearest = if text.nearest.len() < text.lessons.len() {
            format!("The nearest: {}.", text.nearest.join(", "))
        } else {
            "These are all.".to_owned()
        };
        view! { <p role="alert">{format!("There is no lesson “{name}”. {nearest}")}</p> }
    });
    let present = text.name.clone();
    let lessons = text.lessons.iter().map(|lesson| {
        let name = lesson.name.clone();
        let is_present = name == present;
        let choose = move |_| {
            if is_present {
                mirrors().menu.set(false);
            } else {
                go(Some(&name));
            }
        };
        view! {
            <li>
                <button on:click=choose>
                    <b>{lesson.title.clone()}</b>
                    <i>{lesson.question.clone()}</i>
                    <span>{lesson.teaches.clone()}</span>
                </button>
            </li>
        }
    });
    view! { {unknown}<ol>{lessons.collect_view()}</ol> }
}
