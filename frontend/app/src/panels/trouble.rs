//! The stepper through all trouble, and the plates at the edges of the picture that name what lies off it.

use leptos::prelude::*;
use watchscope_timeline::words::{TroubleWords, severity_token};

use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::{Edge, Stepper};
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Shows the stepper in the header.
#[component]
pub(super) fn InHeader(panels: Signals) -> impl IntoView {
    move || {
        panels.stepper.get().map(|stepper| {
            let (is_first, is_last) = (stepper.is_first, stepper.is_last);
            view! {
                <span class="stepper" role="group" aria-label="Problems over all lanes">
                    {step(false, is_first)}
                    <span class="stepper-words" data-part="stepper">{stepper.words.clone()}</span>
                    {step(true, is_last)}
                </span>
            }
        })
    }
}

/// Shows the stepper as a row of its own, for narrow windows. A swipe on it steps.
#[component]
pub(super) fn InRow(panels: Signals) -> impl IntoView {
    let pressed = StoredValue::new(None::<i32>);
    move || {
        panels.stepper.get().map(|stepper| {
            let (is_first, is_last) = (stepper.is_first, stepper.is_last);
            view! {
                <div
                    class="stepper-row"
                    role="group"
                    aria-label="Problems over all lanes"
                    on:pointerdown=move |event| pressed.set_value(Some(event.client_x()))
                    on:pointercancel=move |_| pressed.set_value(None)
                    on:pointerup=move |event| {
                        let Some(from) = pressed.get_value() else {
                            return;
                        };
                        pressed.set_value(None);
                        let by = event.client_x() - from;
                        if by.abs() >= SWIPE_PX {
                            act(Person::ShowProblem { is_next: by < 0 });
                        }
                    }
                >
                    {step(false, is_first)}
                    {about(stepper)}
                    {step(true, is_last)}
                </div>
            }
        })
    }
}

/// The least distance of a swipe, in px.
const SWIPE_PX: i32 = 48;

/// Shows the selected problem in two lines.
fn about(stepper: Stepper) -> impl IntoView + use<> {
    let Stepper { words, current, .. } = stepper;
    view! {
        <div class="stepper-about">
            {current.as_ref().map(chip)}
            <div>
                {current.map(|current| view! { <b>{format!("{}, {}", current.subject, current.at)}</b> })}
                <span data-part="stepper-row">{words}</span>
            </div>
        </div>
    }
}

fn step(is_next: bool, is_end: bool) -> impl IntoView + use<> {
    let (name, keys, action) = match is_next {
        true => ("Next problem", "N", Action::NextTrouble),
        false => ("Previous problem", "Shift+N", Action::PreviousTrouble),
    };
    let title = if is_next {
        "Next problem: n"
    } else {
        "Previous problem: N"
    };
    view! {
        <button
            class="step"
            class:end=is_end
            aria-label=name
            aria-keyshortcuts=keys
            title=title
            data-part=if is_next { "next-problem" } else { "previous-problem" }
            on:click=move |_| act(Person::Act(action))
        >
            {(!is_next).then(|| view! { <kbd aria-hidden="true">"N"</kbd> })}
            <span class="step-sign" aria-hidden="true">{if is_next { "›" } else { "‹" }}</span>
            {is_next.then(|| view! { <kbd aria-hidden="true">"n"</kbd> })}
        </button>
    }
}

fn chip(words: &TroubleWords) -> impl IntoView + use<> {
    let ink = severity_token(words.severity).name();
    let code = match words.times.is_empty() {
        true => words.code.clone(),
        false => format!("{} {}", words.code, words.times),
    };
    view! { <span class=format!("chip {ink}") title=words.name.clone()>{code}</span> }
}

/// Shows the plates at the edges of the picture. Each is a button that goes there; so is each problem that it names.
#[component]
pub(super) fn EdgePlates(panels: Signals) -> impl IntoView {
    let plate = move |side: &'static str,
                      sign: &'static str,
                      of: fn(&crate::core::shown::Edges) -> &Option<Edge>| {
        move || {
            let edge = panels.edges.with(|edges| of(edges).clone());
            let top_px = (side == "above").then(|| panels.edges.with(|edges| edges.top_px));
            edge.map(|edge| view! { <Plate edge side sign top_px/> })
        }
    };
    view! {
        {plate("above", "▲", |edges| &edges.above)}
        {plate("below", "▼", |edges| &edges.below)}
        {plate("left", "◀", |edges| &edges.left)}
        {plate("right", "▶", |edges| &edges.right)}
    }
}

#[component]
fn Plate(edge: Edge, side: &'static str, sign: &'static str, top_px: Option<i32>) -> impl IntoView {
    let goes_to = edge.goes_to;
    let is_of_lanes = matches!(side, "above" | "below");
    let top = top_px.map(|top_px| format!("{top_px}px"));
    let named = edge.named.into_iter().map(|(place, words)| {
        let about = format!("{} {}", words.subject, words.at);
        view! {
            <button
                class="plate-of"
                title=format!("{} {about}", words.name)
                on:click=move |_| act(Person::ShowTrouble(place))
            >
                {chip(&words)}
                {is_of_lanes.then(|| view! { <span class="plate-lane">{words.subject}</span><span class="quiet">{words.at}</span> })}
            </button>
        }
    });
    view! {
        <div class=format!("plate {side}") data-part=format!("edge-{side}") style:top=top>
            <button class="plate-words" on:click=move |_| act(Person::ShowTrouble(goes_to))>
                <span aria-hidden="true">{sign}</span>
                <span>{edge.words}</span>
            </button>
            {named.collect_view()}
        </div>
    }
}
