//! Puts the panels around and over the picture.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;

use super::signals::Signals;
use super::third::Late;
use super::{debug, header, listen, notes, overlay, overview, signals, status};
use crate::runtime::bridge;
use crate::runtime::page::read;

/// Puts the panels into the document, and listens to the person.
pub(super) fn mount() {
    let (panels, late) = signals::begin(Late::new);
    signals::show(&read());
    put("above", move || {
        late.load_on_demand();
        tell_scripts(panels);
        view! {
            <header::Header panels/>
            <header::Banner panels/>
        }
        .into_any()
    });
    put("over", move || {
        view! {
            <overlay::Overlay panels/>
            {late.panel(|third| third.range)}
            <notes::FlagsLabel panels/>
            {late.panel(|third| third.findings)}
        }
        .into_any()
    });
    put("below", move || {
        view! {
            {late.panel(|third| third.replay)}
            <status::Narration panels/>
            {late.panel(|third| third.watches)}
            {late.panel(|third| third.notes)}
            {late.panel(|third| third.detail)}
            <status::StatusBar panels/>
            {late.panel(|third| third.help)}
        }
        .into_any()
    });
    listen::listen();
    overview::listen();
    debug::expose();
    show_icon();
    // It goes on by itself.
    drop(bridge::offer());
}

/// Says in attributes of the document's body what assets/open.js asks for: whether a recording is shown, and how many
/// notes are in this page only. A view calls it: only there can an effect be made.
fn tell_scripts(panels: Signals) {
    let says = |name: &str, value: &str| {
        if let Some(body) = document().body() {
            // Attributes are refused only if their names are no names.
            let _ = body.set_attribute(name, value);
        }
    };
    Effect::new(move |_| {
        if panels.replay.with(Option::is_some) {
            says("data-replay", "");
        }
    });
    Effect::new(move |_| {
        let unsaved = panels.notes.with(|notes| notes.unsaved);
        if unsaved > 0 {
            says("data-unsaved", &unsaved.to_string());
        }
    });
}

/// Gives the tab its icon, which the document only names: fetched with it, it held up the first lane.
fn show_icon() {
    if let Some(icon) = document().get_element_by_id("icon")
        && let Some(href) = icon.get_attribute("data-href")
    {
        // Attributes are refused only if their names are no names.
        let _ = icon.set_attribute("href", &href);
    }
}

/// Mounts a view in the place that index.html keeps for it.
fn put(id: &str, view: impl FnOnce() -> AnyView + 'static) {
    let Some(place) = document()
        .get_element_by_id(id)
        .and_then(|place| place.dyn_into::<web_sys::HtmlElement>().ok())
    else {
        return;
    };
    place.set_text_content(None);
    mount_to(place, view).forget();
}
