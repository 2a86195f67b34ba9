//! The acts that the person can move: a track with a handle above the picture, and a line down to the act's mark.

use std::cell::Cell;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_model::wire::player::ActText;
use web_sys::{Element, KeyboardEvent, PointerEvent};

use super::drag;
use super::shown::{ActPlace, mirrors};
use super::talk::time_at;
use crate::core::lesson::{STEP_US, STRIDE_US, seconds};
use crate::decimal::decimal;
use crate::panels::focus::focus_first;

/// Half the width of a handle, rounded up, in px.
const HANDLE_HALF_PX: u32 = 102;

fn px(px: f64) -> String {
    format!("{}px", decimal(px, 1))
}

/// The indices of the acts that the passage is about. From such a passage on, an act stays.
fn present() -> Vec<u32> {
    let shown = mirrors();
    shown.both(|text, now| {
        let passages = text.passages.iter().take(now.passage as usize + 1);
        let mut acts: Vec<u32> = passages
            .filter_map(|passage| Some(passage.act? as u32))
            .collect();
        // An act that a link moved is there from the begin.
        let moved = text.acts.iter().zip(&now.acts).enumerate();
        acts.extend(
            moved
                .filter(|(_, (text, act))| text.written_us != act.at_us)
                .map(|(place, _)| place as u32),
        );
        acts.sort_unstable();
        acts.dedup();
        acts
    })
}

/// Gives the focus to the first handle.
pub(super) fn focus_act() {
    focus_first(".act-handle");
}

/// The tracks with their handles.
#[component]
pub(super) fn ActHandles() -> impl IntoView {
    let shown = mirrors();
    let present = Memo::new(move |_| present());
    move || {
        let acts = present.get();
        (!acts.is_empty()).then(|| {
            let handles = acts.into_iter().filter_map(|place| {
                let text = shown.text(|text| text.acts.get(place as usize).cloned())?;
                Some(view! { <Track place text/> })
            });
            view! {
                <div class="acts" role="group" aria-label="Acts that you can move">
                    {handles.collect_view()}
                </div>
            }
        })
    }
}

/// Where the whole track of an act is narrower than this, in px, or ends before the picture, the act is not shown.
const TRACK_PX: f64 = 44.0;

#[component]
fn Track(place: u32, text: ActText) -> impl IntoView {
    let shown = mirrors();
    let of = move |read: fn(&ActPlace) -> f64| {
        shown
            .acts
            .with(|acts| acts.get(place as usize).map(read).unwrap_or_default())
    };
    let at_us = Memo::new(move |_| {
        let drag = shown.drag.get().filter(|(act, _)| *act == place);
        drag.map_or_else(
            || shown.now(|now| now.acts.get(place as usize).map_or(0, |act| act.at_us)),
            |(_, at_us)| at_us,
        )
    });
    let tried = Memo::new(move |_| {
        let tried = shown.beside.with(|beside| {
            let act = beside.acts.get(place as usize);
            act.map(|act| act.tried.clone()).unwrap_or_default()
        });
        let places = shown.acts.with(|acts| {
            let act = acts.get(place as usize);
            act.map(|act| act.tried_px.clone()).unwrap_or_default()
        });
        let ticks = tried.into_iter().zip(places);
        ticks
            .map(|(tried, x_px)| (x_px, tried.heard, tried.clients))
            .collect::<Vec<_>>()
    });
    let fates = Memo::new(move |_| {
        shown.beside.with(|beside| {
            let act = beside.acts.get(place as usize);
            act.map(|act| act.fates.join(", ")).unwrap_or_default()
        })
    });
    // 0 before the picture is drawn.
    let is_far = move || {
        let width_px = of(|act| act.bounds_px.1) - of(|act| act.bounds_px.0);
        let is_past = of(|act| act.bounds_px.1) < shown.ruler.with(|ruler| ruler.left_px);
        0.0 < width_px && (width_px < TRACK_PX || is_past)
    };
    let written_us = text.written_us;
    let words = text.words.clone();
    let value_text = move || format!("{}: {}. {}", seconds(at_us.get()), words, fates.get());
    view! {
        <div class="act" class:far=is_far>
        <span class="act-bound from" style:left=move || px(of(|act| act.bounds_px.0))>
            {format!("from {}", seconds(text.from_us))}
        </span>
        <span class="act-bound to" style:left=move || px(of(|act| act.bounds_px.1))>
            {format!("to {}", seconds(text.to_us))}
        </span>
        <span
            class="act-track"
            style:left=move || px(of(|act| act.bounds_px.0))
            style:width=move || px((of(|act| act.bounds_px.1) - of(|act| act.bounds_px.0)).max(0.0))
        ></span>
        {move || tried.get().into_iter().map(|(x_px, heard, clients)| view! {
            <span class="act-tick" class:all=heard == clients style:left=px(x_px) title=format!("{heard} of {clients} learned of it")></span>
        }).collect_view()}
        <button
            class="act-handle"
            data-part="act"
            role="slider"
            aria-label=text.words.clone()
            aria-orientation="horizontal"
            aria-valuemin=in_seconds(text.from_us)
            aria-valuemax=in_seconds(text.to_us)
            aria-valuenow=move || in_seconds(at_us.get())
            aria-valuetext=value_text
            title="Drag it, or use the arrow keys; Shift for a second, Esc puts it back"
            style:left=move || in_sight(of(|act| act.x_px))
            on:pointerdown=move |event| grip(&event, place)
            on:pointermove=move |event| drag_to(&event, place)
            on:pointerup=|_| let_go()
            on:pointercancel=|_| let_go()
            on:keydown=move |event| key(&event, place)
            on:blur=|_| let_go()
        >
            <span aria-hidden="true">"‹"</span>
            <b>{text.words.clone()}</b>
            <span>{move || seconds(at_us.get())}</span>
            <span aria-hidden="true">"›"</span>
        </button>
        <span class="act-stem" style:left=move || px(of(|act| act.x_px))></span>
        <span class="act-fate" class:moved=move || at_us.get() != written_us>{move || fates.get()}</span>
        </div>
    }
}

/// Returns a time in seconds, for readers of screens.
fn in_seconds(at_us: i64) -> String {
    decimal(at_us as f64 / 1e6, 1)
}

/// Returns the left edge of a handle at a place: the handle stays in sight.
fn in_sight(x_px: f64) -> String {
    format!(
        "clamp({HANDLE_HALF_PX}px, {}, calc(100% - {HANDLE_HALF_PX}px))",
        px(x_px)
    )
}

thread_local! {
    /// While a pointer holds a handle: how much later than the act the time under the pointer is.
    static GRIP_US: Cell<Option<i64>> = const { Cell::new(None) };
}

fn let_go() {
    GRIP_US.set(None);
    drag::release();
}

fn grip(event: &PointerEvent, place: u32) {
    let at_us = time_at(f64::from(event.client_x())).zip(drag::time_of(place));
    GRIP_US.set(Some(at_us.map_or(0, |(under_us, at_us)| under_us - at_us)));
    let target: Option<Element> = event
        .current_target()
        .and_then(|target| target.dyn_into().ok());
    if let Some(target) = target {
        // Without the pointer the handle is only moved while the pointer is over it.
        let _ = target.set_pointer_capture(event.pointer_id());
    }
    drag::take(place);
}

fn drag_to(event: &PointerEvent, place: u32) {
    let Some(grip_us) = GRIP_US.get() else {
        return;
    };
    if let Some(under_us) = time_at(f64::from(event.client_x())) {
        drag::move_to(place, under_us - grip_us);
    }
}

fn key(event: &KeyboardEvent, place: u32) {
    let step_us = if event.shift_key() {
        STRIDE_US
    } else {
        STEP_US
    };
    let Some(at_us) = drag::time_of(place) else {
        return;
    };
    let to_us = match event.key().as_str() {
        "ArrowLeft" | "ArrowDown" => at_us - step_us,
        "ArrowRight" | "ArrowUp" => at_us + step_us,
        "Home" => i64::MIN,
        "End" => i64::MAX,
        "Escape" => {
            event.prevent_default();
            event.stop_propagation();
            drag::put_back();
            return;
        }
        _ => return,
    };
    event.prevent_default();
    event.stop_propagation();
    drag::take_by_key(place);
    drag::move_exactly(place, to_us);
}

/// The lines from the handles to the acts' marks, and the pictures before the move.
#[component]
pub(super) fn ActLines() -> impl IntoView {
    let shown = mirrors();
    let is_old = move || shown.is_old.get();
    // The picture before the move fits only the same view.
    let has_before = Memo::new(move |_| {
        let before = shown.before.get();
        let is_moved = shown.both(|text, now| {
            let mut acts = text.acts.iter().zip(&now.acts);
            acts.any(|(text, act)| text.written_us != act.at_us)
        });
        is_moved && before.is_some() && before == shown.present.get()
    });
    let present = Memo::new(move |_| present());
    let line = move |place: u32| {
        let of = move |read: fn(&ActPlace) -> f64| {
            shown
                .acts
                .with(|acts| acts.get(place as usize).map(read).unwrap_or_default())
        };
        view! {
            <span
                class="act-line"
                style:left=move || px(of(|act| act.x_px))
                style:height=move || px(of(|act| act.mark_px))
            ></span>
        }
    };
    view! {
        <canvas class="act-before" data-part="act-before" aria-hidden="true" class:shown=move || has_before.get()></canvas>
        <canvas class="act-last" data-part="act-last" aria-hidden="true" class:shown=is_old></canvas>
        {move || present.get().into_iter().map(line).collect_view()}
    }
}
