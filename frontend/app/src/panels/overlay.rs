//! What floats over the picture: empty states, tooltip, the pill of a paused picture.

use leptos::prelude::*;

use super::copy::copy_link;
use super::notes::NoteOnRange;
use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::{Emptiness, RangeShown, Remedy};
use crate::input::keys::Action;
use crate::runtime::page::{act, elements};

/// What lies over the picture.
#[component]
pub(super) fn Overlay(panels: Signals) -> impl IntoView {
    view! {
        <p class="unseen" id="lane-text">{move || panels.lane_text.get()}</p>
        {move || panels.empty.get().map(|empty| view! { <EmptyState empty/> })}
        {move || panels.tooltip.get().map(|tooltip| view! {
            <div
                class="tooltip"
                role="tooltip"
                style:left=format!("{}px", elements().canvas.offset_left() + tooltip.x_px)
                style:top=format!("{}px", tooltip.y_px)
            >
                {tooltip.lines.iter().map(|line| view! { <p>{line.clone()}</p> }).collect_view()}
                {tooltip.keys.map(|keys| view! { <p class="keys">{keys}</p> })}
            </div>
        })}
        {move || panels.range.get().map(|range| view! { <RangeRow range x_px=panels.range_x_px/> })}
        {move || panels.pill.get().map(|count| view! {
            <button class="pill" on:click=|_| act(Person::Act(Action::Follow))>
                {format!("{} new", watchscope_timeline::format::number(count))}
                <span class="by-keys">" · End to follow"</span>
                <span class="by-touch">" · follow"</span>
            </button>
        })}
    }
}

/// The row under the ruler: what is in the marked range, and what can be done with it.
#[component]
fn RangeRow(range: RangeShown, x_px: RwSignal<i32>) -> impl IntoView {
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
                    <button class="control" aria-haspopup="dialog" on:click=|_| act(Person::Act(Action::Charts))>
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

/// Puts the address of this place on the clipboard.
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

#[component]
fn EmptyState(empty: Emptiness) -> impl IntoView {
    let (headline, advice) = empty.words;
    let remedy = match empty.remedy {
        Remedy::None => ().into_any(),
        Remedy::Contexts(contexts) => view! {
            <ul>
                {contexts.into_iter().map(|context| {
                    let name = context.clone();
                    view! {
                        <li><button class="control" on:click=move |_| act(Person::UseContext((&*name).into()))>
                            <b>{context}</b>
                        </button></li>
                    }
                }).collect_view()}
            </ul>
        }
        .into_any(),
        Remedy::ClearFilter => view! {
            <button class="inline-action" on:click=|_| act(Person::Filter("".into()))>"Clear the filter"</button>
        }
        .into_any(),
        Remedy::GoToOldest => view! {
            <button class="inline-action" on:click=|_| act(Person::Act(Action::Oldest))>"Go to the oldest"</button>
        }
        .into_any(),
    };
    view! {
        <div class="state" data-part="empty" style:top=format!("{}px", empty.top_px)>
            <p>{headline}</p>
            {(!advice.is_empty()).then(|| view! { <p>{advice}</p> })}
            {remedy}
        </div>
    }
}
