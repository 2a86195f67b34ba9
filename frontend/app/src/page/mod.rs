//! The page in the browser: panels by Leptos, the picture on a canvas, and one engine that owns what changes.

#![allow(unreachable_pub, reason = "the component macro makes its items pub")]

mod chart;
mod debug;
mod detail;
mod engine;
mod events;
mod glyph;
mod header;
mod interaction;
mod panels;
mod picture;
mod save;
mod selection;
mod status;
mod theme;
mod tree;
mod way;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

use self::engine::Handle;
use self::panels::Panels;
use crate::source::connection::Input;
use crate::source::link;

/// Puts the page into the document's body and starts it.
pub fn mount() {
    console_error_panic_hook::set_once();
    mount_to_body(App);
}

#[component]
fn App() -> impl IntoView {
    let panels = Panels::new(theme::remembered());
    let handle = Handle::new();
    handle.start(panels, window(), document());
    theme::watch(handle);
    listen(handle, panels);
    debug::expose(handle);
    handle.with(|engine| {
        let secret = take_link();
        engine.input(Input::Link(secret));
    });
    view! {
        <div class="page">
            <header::Header panels handle/>
            <header::Banner panels handle/>
            <main class="picture">
                <tree::Tree panels handle/>
                <chart::Chart panels handle/>
            </main>
            <status::Narration panels/>
            <detail::DetailPanel panels handle/>
            <status::StatusBar panels/>
        </div>
        <status::Help panels handle/>
    }
}

/// The secret of the link, which leaves the address bar and the history at once.
fn take_link() -> Option<String> {
    let window = window();
    let fragment = link::take_secret(&window.location().hash().ok()?);
    if fragment.secret.is_some() {
        let rest = if fragment.rest.is_empty() {
            window.location().pathname().unwrap_or_default()
        } else {
            format!("#{}", fragment.rest)
        };
        // A page in a frame without history keeps its address; nothing else fails.
        let _ = window.history().and_then(|history| {
            history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&rest))
        });
    }
    fragment.secret
}

/// What the page listens to besides its own elements.
fn listen(handle: Handle, panels: Panels) {
    let poke = move || {
        handle.with(|engine| engine.input(Input::Poke));
    };
    window_event_listener(ev::hashchange, move |_| {
        let secret = take_link();
        handle.with(|engine| {
            engine.input(match secret {
                Some(secret) => Input::Link(Some(secret)),
                None => Input::Poke,
            });
        });
    });
    window_event_listener(ev::focus, move |_| poke());
    window_event_listener(ev::online, move |_| poke());
    window_event_listener(ev::storage, move |event| {
        if event.key().as_deref() == Some(way::SESSION_KEY) {
            poke();
        }
    });
    window_event_listener(ev::keydown, move |event| handle.key(&event));
    window_event_listener(ev::resize, move |_| {
        handle.with(engine::Engine::redraw);
    });
    let hidden = Closure::<dyn FnMut()>::new(move || {
        let hidden = document().hidden();
        handle.with(|engine| {
            engine.input(Input::Hidden(hidden));
            engine.redraw();
        });
    });
    // The page lives as long as its document.
    let hidden = hidden.into_js_value();
    let _ = document().add_event_listener_with_callback("visibilitychange", hidden.unchecked_ref());
    // The banner counts down; nothing ticks while there is none.
    let tick = Closure::<dyn FnMut()>::new(move || {
        if panels
            .way
            .with_untracked(|way| *way != crate::source::connection::Status::Live)
        {
            panels.now_ms.set(engine::now_ms());
        }
    });
    let tick = tick.into_js_value();
    let _ = window()
        .set_interval_with_callback_and_timeout_and_arguments_0(tick.unchecked_ref(), 1_000);
    // The canvas changes its size with panels and window alike.
    let resized = Closure::<dyn FnMut()>::new(move || {
        handle.with(engine::Engine::redraw);
    });
    let resized = resized.into_js_value();
    if let Ok(observer) = web_sys::ResizeObserver::new(resized.unchecked_ref()) {
        handle.with(|engine| engine.watch_size(observer));
    }
}
