//! The elements over the picture: messages about empty lanes, the tooltip, the pill of a paused picture.

use leptos::prelude::*;

use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::{Emptiness, Remedy};
use crate::input::actions::Action;
use crate::runtime::page::{act, elements};

/// Shows the elements over the picture.
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
        {move || panels.pill.get().map(|count| view! {
            <button class="pill" on:click=|_| act(Person::Act(Action::Follow))>
                {format!("{} new", watchscope_timeline::format::number(count))}
                <span class="by-keys">" · End to follow"</span>
                <span class="by-touch">" · follow"</span>
            </button>
        })}
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
