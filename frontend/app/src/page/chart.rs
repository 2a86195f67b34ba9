//! The canvas and what floats over it: empty states, tooltip, the pill of a paused picture, the scroll bar.

use leptos::prelude::*;

use super::engine::Handle;
use super::panels::{Emptiness, Panels, Remedy};
use super::tree::row_id;
use crate::input::keys::Action;

/// The picture.
#[component]
pub(super) fn Chart(panels: Panels, handle: Handle) -> impl IntoView {
    let canvas = NodeRef::<leptos::html::Canvas>::new();
    let thumb = NodeRef::<leptos::html::Div>::new();
    handle.set_canvas(canvas, thumb);
    let focused = move || {
        panels.rows.with(|rows| {
            rows.iter()
                .find(|row| row.focused)
                .map(|row| row_id(row.lane))
        })
    };
    view! {
        <canvas
            class="chart"
            node_ref=canvas
            tabindex="0"
            role="application"
            aria-label="Timeline of watches. Arrows move through lanes and time, comma and full stop through records, Enter opens, question mark lists all keys."
            aria-describedby="lane-text"
            aria-owns="tree"
            aria-activedescendant=focused
            on:wheel=move |event| handle.wheel(&event)
            on:pointerdown=move |event| handle.press(&event)
            on:pointermove=move |event| handle.motion(&event)
            on:pointerup=move |event| handle.release(&event)
            on:click=move |_| handle.click()
            on:pointercancel=move |event| handle.leave(&event, true)
            on:pointerleave=move |event| handle.leave(&event, false)
        ></canvas>
        <p class="unseen" id="lane-text">{move || panels.lane_text.get()}</p>
        <div class="scrollbar" aria-hidden="true" on:pointerdown=move |event| handle.grip_scroll(&event)>
            <div class="thumb" node_ref=thumb></div>
        </div>
        {move || panels.empty.get().map(|empty| view! { <EmptyState empty handle/> })}
        {move || panels.tooltip.get().map(|tooltip| view! {
            <div
                class="tooltip"
                role="tooltip"
                style:left=format!("{}px", tooltip.x_px)
                style:top=format!("{}px", tooltip.y_px)
            >
                {tooltip.lines.iter().map(|line| view! { <p>{line.clone()}</p> }).collect_view()}
                {tooltip.keys.map(|keys| view! { <p class="keys">{keys}</p> })}
            </div>
        })}
        {move || panels.pill.get().map(|count| view! {
            <button class="pill" on:click=move |_| handle.act(Action::Follow)>
                {format!("{} new · End to follow", watchscope_timeline::format::number(count))}
            </button>
        })}
    }
}

#[component]
fn EmptyState(empty: Emptiness, handle: Handle) -> impl IntoView {
    let (headline, advice) = empty.words;
    let remedy = match empty.remedy {
        Remedy::None => ().into_any(),
        Remedy::Contexts(contexts) => view! {
            <ul>
                {contexts.into_iter().map(|context| {
                    let name = context.clone();
                    view! {
                        <li><button class="control" on:click=move |_| handle.use_context(&name)>
                            <b>{context}</b>
                        </button></li>
                    }
                }).collect_view()}
            </ul>
        }
        .into_any(),
        Remedy::ClearFilter => view! {
            <button class="inline-action" on:click=move |_| handle.filter(String::new())>"Clear the filter"</button>
        }
        .into_any(),
        Remedy::GoToOldest => view! {
            <button class="inline-action" on:click=move |_| handle.act(Action::Oldest)>"Go to the oldest"</button>
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
