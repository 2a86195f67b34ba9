//! The stepper through all trouble, and the plates at the edges of the picture that name what lies off it.

use leptos::prelude::*;
use watchscope_timeline::words::{TroubleWords, severity_token};

use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::{Edge, Stepper};
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Shows the stepper in the header. Its buttons stay while its words change, so that they keep the focus.
#[component]
pub(super) fn InHeader(panels: Signals) -> impl IntoView {
    let is_shown = Memo::new(move |_| panels.stepper.with(Option::is_some));
    move || {
        is_shown.get().then(|| {
            view! {
                <span class="stepper" role="group" aria-label="Problems over all lanes">
                    <Step panels is_next=false/>
                    <span class="stepper-words" data-part="stepper">{move || words(panels)}</span>
                    <Step panels is_next=true/>
                </span>
            }
        })
    }
}

/// The least distance of a swipe, in px.
const SWIPE_PX: i32 = 48;

/// Shows the stepper as a row of its own, for narrow windows. A swipe on it steps.
#[component]
pub(super) fn InRow(panels: Signals) -> impl IntoView {
    let is_shown = Memo::new(move |_| panels.stepper.with(Option::is_some));
    let pressed = StoredValue::new(None::<i32>);
    let current = move || {
        panels
            .stepper
            .with(|stepper| stepper.as_ref()?.current.clone())
    };
    move || {
        is_shown.get().then(|| {
            view! {
                <div
                    class="stepper-row"
                    role="group"
                    aria-label="Problems over all lanes"
                    on:pointerdown=move |event| pressed.set_value(Some(event.client_x()))
                    on:pointercancel=move |_| pressed.set_value(None)
                    on:pointerup=move |event| {
                        let from = pressed.get_value();
                        pressed.set_value(None);
                        let by = from.map_or(0, |from| event.client_x() - from);
                        if by.abs() >= SWIPE_PX {
                            act(Person::ShowProblem { is_next: by < 0 });
                        }
                    }
                >
                    <Step panels is_next=false/>
                    <div class="stepper-about">
                        {move || current().as_ref().map(chip)}
                        <div>
                            {move || current().map(|current| view! {
                                <b>{format!("{}, {}", current.subject, current.at)}</b>
                            })}
                            <span data-part="stepper-row">{move || words(panels)}</span>
                        </div>
                    </div>
                    <Step panels is_next=true/>
                </div>
            }
        })
    }
}

/// Returns `Problem 2 of 9`.
fn words(panels: Signals) -> String {
    let words = |stepper: &Option<Stepper>| Some(stepper.as_ref()?.words.clone());
    panels.stepper.with(words).unwrap_or_default()
}

#[component]
fn Step(panels: Signals, is_next: bool) -> impl IntoView {
    let (name, keys, part, action) = match is_next {
        true => ("Next problem", "N", "next-problem", Action::NextTrouble),
        false => (
            "Previous problem",
            "Shift+N",
            "previous-problem",
            Action::PreviousTrouble,
        ),
    };
    let is_end = move || {
        panels.stepper.with(|stepper| {
            let is_end = |of: &Stepper| if is_next { of.is_last } else { of.is_first };
            stepper.as_ref().is_some_and(is_end)
        })
    };
    view! {
        <button
            class="step"
            class:end=is_end
            aria-keyshortcuts=keys
            title=format!("{name} ({keys})")
            data-part=part
            on:click=move |_| act(Person::Act(action))
        >
            {(!is_next).then(|| view! { <kbd aria-hidden="true">"N"</kbd> })}
            <span class="step-sign" aria-hidden="true">{if is_next { "›" } else { "‹" }}</span>
            <span class="unseen">{name}</span>
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
