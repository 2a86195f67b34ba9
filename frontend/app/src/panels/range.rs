//! The row of the marked range.

use leptos::prelude::*;

use super::copy::copy_link;
use super::mirror::Mirror;
use super::notes::NoteOnRange;
use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::RangeShown;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Shows the row while a range is marked.
#[component]
pub(super) fn RangeRow(panels: Signals) -> impl IntoView {
    move || {
        panels
            .range
            .get()
            .map(|range| view! { <Row range x_px=panels.range_x_px/> })
    }
}

/// The row under the ruler: the contents of the marked range, and its buttons.
#[component]
fn Row(range: RangeShown, x_px: Mirror<i32>) -> impl IntoView {
    let RangeShown { from, to, words } = range;
    view! {
        <section class="range-row" data-part="range" aria-label="Marked range">
            <span class="range-name"><b>"Range"</b><span class="quiet">"Esc clears it"</span></span>
            <span class="range-lead" style:flex-basis=move || format!("{}px", x_px.get())></span>
            <span class="range-words">
                <b>{words.lasted}</b>
                {words.parts.into_iter().map(|(part, ink)| view! {
                    <span class=ink.name()>{part}</span>
                }).collect_view()}
                {words.is_loading.then(|| view! { <span class="quiet">"and more, which is loading"</span> })}
                <span class="quiet range-times">{format!("{from} – {to}")}</span>
            </span>
            <span class="range-tools">
                <button class="control" aria-keyshortcuts="R" on:click=|_| act(Person::Act(Action::ZoomToRange))>
                    "Zoom " <kbd aria-hidden="true">"R"</kbd>
                </button>
                {(!words.is_empty).then(|| view! {
                    <button
                        class="control"
                        data-part="save-range"
                        aria-haspopup="dialog"
                        title="Save it as a recording, a .wscope file"
                        on:click=|_| act(Person::SaveRange)
                    >
                        "Save"
                    </button>
                    <button
                        class="control"
                        data-part="export-range"
                        aria-haspopup="dialog"
                        on:click=|_| act(Person::Act(Action::Export))
                    >
                        "Export"
                    </button>
                    <button
                        class="control"
                        data-part="charts-range"
                        aria-haspopup="dialog"
                        on:click=|_| act(Person::Act(Action::Charts))
                    >
                        "Charts"
                    </button>
                })}
                <NoteOnRange/>
                <CopyLink/>
                <button class="close" aria-label="Clear the range" on:click=|_| act(Person::ClearRange)>"×"</button>
            </span>
        </section>
    }
}

/// Copies the address of this place to the clipboard.
#[component]
fn CopyLink() -> impl IntoView {
    let done = RwSignal::new("Copy link");
    view! {
        <button class="control" data-part="copy-link" on:click=move |_| {
            act(Person::NamePlace);
            copy_link(done);
        }>
            {move || done.get()}
        </button>
    }
}
