//! Listens to events outside the panels: the picture, the lane tree, the window, other tabs.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::convert::FromWasmAbi;
use wasm_bindgen::{JsCast as _, JsValue, closure::Closure};
use watchscope_timeline::LaneId;
use web_sys::{Element, Event, EventTarget, KeyboardEvent, PointerEvent, ResizeObserver};

use super::address;
use super::signals::tick;
use super::{events, lanes};
use crate::core::lanes::LanesDeed;
use crate::core::msg::Msg;
use crate::core::person::Person;
use crate::decimal::decimal;
use crate::runtime::bridge;
use crate::runtime::page::{act, elements, lane_of_row, send};
use crate::runtime::theme::{FORCED, LIGHT, REDUCED_MOTION, surroundings as surroundings_now};
use crate::source::connection::Input;

/// Starts listening, for the life of the page.
pub(super) fn listen() {
    picture();
    tree();
    tabs();
    surroundings();
}

fn picture() {
    let find = |id: &str| document().get_element_by_id(id);
    if let Some(canvas) = find("chart") {
        on(&canvas, "wheel", |event| events::wheel(&event));
        on(&canvas, "pointerdown", |event| events::press(&event));
        on(&canvas, "pointermove", |event| events::motion(&event));
        on(&canvas, "pointerup", |event| events::release(&event));
        on(&canvas, "click", |_: Event| act(Person::Click));
        on(&canvas, "pointercancel", |event| {
            events::leave(&event, true);
        });
        on(&canvas, "pointerleave", |event| {
            events::leave(&event, false);
        });
        // Panels and the window both change the canvas's size.
        std::mem::forget(on_resize(&canvas, || act(Person::Redraw)));
    }
    if let Some(bar) = find("scrollbar") {
        on(&bar, "pointerdown", |event| events::grip_scroll(&event));
    }
}

fn tree() {
    let find = |id: &str| document().get_element_by_id(id);
    if let Some(tree) = find("tree") {
        on(&tree, "wheel", |event| events::wheel_on_tree(&event));
        for (name, is_on) in [("pointerenter", true), ("pointerleave", false)] {
            on(&tree, name, move |event: PointerEvent| {
                if event.pointer_type() == "mouse" {
                    act(Person::Lanes(LanesDeed::PointAtTree(is_on)));
                }
            });
        }
        on(&tree, "pointerdown", |event: PointerEvent| {
            if closest(&event, ".caret").is_none()
                && let Some(lane) = lane_of(&event)
            {
                lanes::grip_pin(&event, lane);
            }
        });
        on(&tree, "click", move |event: Event| {
            if lanes::ends_drag() {
                return;
            }
            let on_caret = closest(&event, ".caret").is_some();
            match lane_of(&event) {
                Some(lane) if on_caret => act(Person::ToggleLane(lane)),
                Some(lane) => act(Person::OpenLane(lane)),
                None => {}
            }
        });
        on(&tree, "dblclick", move |event: Event| {
            if closest(&event, ".caret").is_none()
                && let Some(lane) = lane_of(&event)
            {
                act(Person::ToggleLane(lane));
            }
        });
    }
    if let Some(grip) = find("tree-grip") {
        on(&grip, "pointerdown", |event| events::grip_tree(&event));
        on(&grip, "keydown", move |event: KeyboardEvent| {
            let step = match event.key().as_str() {
                "ArrowLeft" => -16.0,
                "ArrowRight" => 16.0,
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            events::widen_tree(step);
        });
    }
}

fn tabs() {
    let poke = || send(Msg::Link(Input::Poke));
    window_event_listener(ev::hashchange, move |_| {
        // A lesson has its own cluster, and begins with a fresh page.
        let location = window().location();
        let is_lesson = |hash: String| {
            let mut parts = hash.trim_start_matches('#').split('&');
            parts.any(|part| part.starts_with("lesson"))
        };
        if location.hash().is_ok_and(is_lesson) {
            let _ = location.reload();
        }
        send(Msg::Link(match bridge::link() {
            Some(secret) => Input::Link(Some(secret)),
            None => Input::Poke,
        }));
    });
    window_event_listener(ev::popstate, |_| {
        act(Person::GoTo(address::fragment().into()));
    });
    on(&window(), "notes-saved", |_: Event| notes_saved());
    window_event_listener(ev::focus, move |_| poke());
    window_event_listener(ev::online, move |_| poke());
    window_event_listener(ev::storage, move |event| {
        if event.key().as_deref() == Some(bridge::SESSION_KEY) {
            poke();
        }
    });
    on(&document(), "visibilitychange", |_: Event| tell_hidden());
    tell_hidden();
}

/// Passes on that an exported recording has the notes: export-dialog.js wrote its name into the document's body.
fn notes_saved() {
    let said = |name: &str| document().body()?.get_attribute(name);
    if let Some(name) = said("data-saved-in")
        && let Some(kept) = said("data-saved").and_then(|kept| kept.parse().ok())
    {
        let name = name.into();
        act(Person::NotesSaved { kept, name });
    }
}

/// Passes on whether the tab is hidden. The server sends nothing to a hidden tab.
fn tell_hidden() {
    send(Msg::Link(Input::Hidden(elements().document.hidden())));
    act(Person::Redraw);
}

fn surroundings() {
    window_event_listener(ev::keydown, |event| events::key(&event));
    window_event_listener(ev::resize, |_| act(Person::Redraw));
    on_resolution();
    // The banner counts down once a second. While the page is connected, a tick changes nothing.
    let tick = Closure::<dyn FnMut()>::new(|| tick(js_sys::Date::now() as u64)).into_js_value();
    let _ = window()
        .set_interval_with_callback_and_timeout_and_arguments_0(tick.unchecked_ref(), 1_000);
    let changed = Closure::<dyn FnMut()>::new(move || {
        send(Msg::Surroundings(surroundings_now(elements())));
    })
    .into_js_value();
    for query in [LIGHT, FORCED, REDUCED_MOTION] {
        if let Ok(Some(list)) = window().match_media(query) {
            list.set_onchange(Some(changed.unchecked_ref()));
        }
    }
}

/// Draws again when the resolution changes, by another screen or another zoom. Each query matches one resolution, within
/// two thousandths, so a change registers the next query.
fn on_resolution() {
    let ratio = window().device_pixel_ratio();
    let edge = |off: f64| decimal(ratio + off, 3);
    let query = format!(
        "(min-resolution: {}dppx) and (max-resolution: {}dppx)",
        edge(-0.001),
        edge(0.001)
    );
    let Ok(Some(list)) = window().match_media(&query) else {
        return;
    };
    let changed = Closure::once_into_js(move || {
        act(Person::Redraw);
        on_resolution();
    });
    let once = web_sys::AddEventListenerOptions::new();
    once.set_once(true);
    // It cannot fail on this target.
    let _ = list.add_event_listener_with_callback_and_add_event_listener_options(
        "change",
        changed.unchecked_ref(),
        &once,
    );
}

pub(super) fn on<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    name: &str,
    heard: impl FnMut(E) + 'static,
) {
    // The page listens as long as it lives.
    let heard: JsValue = Closure::<dyn FnMut(E)>::new(heard).into_js_value();
    // It cannot fail on this target.
    let _ = target.add_event_listener_with_callback(name, heard.unchecked_ref());
}

/// Calls `resized` at once, and whenever the element's size changes, for as long as the caller keeps the observer: the
/// browser collects one that nothing holds.
pub(super) fn on_resize(
    element: &Element,
    resized: impl FnMut() + 'static,
) -> Option<ResizeObserver> {
    let resized = Closure::<dyn FnMut()>::new(resized).into_js_value();
    let observer = ResizeObserver::new(resized.unchecked_ref()).ok()?;
    observer.observe(element);
    Some(observer)
}

fn closest(event: &Event, selector: &str) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest(selector).ok()?
}

fn lane_of(event: &Event) -> Option<LaneId> {
    let row = closest(event, ".row")?;
    lane_of_row(&row.id())
}
