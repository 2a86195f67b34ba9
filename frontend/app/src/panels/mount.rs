//! Mounts the panels around and over the picture.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;

use super::signals::Signals;
use super::third::LatePanels;
use super::{debug, events, header, listen, notes, overlay, overview, signals, status, trouble};
use crate::core::person::Person;
use crate::runtime::bridge;
use crate::runtime::page::{act, read};

/// Mounts the panels in the document, and starts listening to the person.
pub(super) fn mount() {
    let (panels, late) = signals::begin(LatePanels::new);
    signals::show(&read());
    put("above", move || {
        tell_scripts(panels);
        view! {
            <header::Header panels/>
            {late.panel(|third| third.lesson_head)}
            <div>
                <header::Banner panels/>
                {late.panel(|third| third.lanes_bar)}
                <trouble::InRow panels/>
            </div>
        }
        .into_any()
    });
    put("over", move || {
        view! {
            <overlay::Overlay panels/>
            <trouble::EdgePlates panels/>
            {late.panel(|third| third.search)}
            {late.panel(|third| third.range)}
            {late.panel(|third| third.over_picture)}
            <notes::FlagsLabel panels/>
            {late.panel(|third| third.findings)}
        }
        .into_any()
    });
    put("below", move || {
        view! {
            {late.panel(|third| third.lesson)}
            {late.panel(|third| third.replay)}
            <status::Narration panels/>
            {late.panel(|third| third.watches)}
            {late.panel(|third| third.tables)}
            {late.panel(|third| third.notes)}
            {late.panel(|third| third.detail)}
            {late.panel(|third| third.compared)}
            <status::StatusBar panels/>
            {late.panel(|third| third.help)}
            {late.panel(|third| third.palette)}
            {late.panel(|third| third.hidden_lanes)}
        }
        .into_any()
    });
    events::recall_tree_width();
    listen::listen();
    overview::listen();
    debug::expose();
    show_icon();
    // Nothing waits for it.
    drop(bridge::offer());
}

/// Sets attributes of the document's body for assets/open.js: whether the page shows a recording, and how many notes
/// were made in this page, and how many of them are in no exported recording. A view calls this, because only a view can make an effect.
fn tell_scripts(panels: Signals) {
    let says = |name: &str, value: &str| {
        if let Some(body) = document().body() {
            // The browser refuses only attributes with an invalid name.
            let _ = body.set_attribute(name, value);
        }
    };
    Effect::new(move |_| {
        if panels.replay.with(Option::is_some) {
            says("data-replay", "");
        }
    });
    let has_columns = Memo::new(move |_| panels.lanes.with(|lanes| lanes.has_columns));
    Effect::new(move |_| {
        if let Some(root) = document().document_element() {
            // The browser refuses only attributes with an invalid name.
            let _ = root.toggle_attribute_with_force("data-columns", has_columns.get());
        }
        act(Person::Redraw);
    });
    Effect::new(move |_| {
        let (kept, unsaved) = panels.notes.with(|notes| (notes.kept, notes.unsaved));
        if kept > 0 {
            says("data-kept", &kept.to_string());
            says("data-unsaved", &unsaved.to_string());
        }
    });
}

/// Sets the tab's icon, which the document only names. Loaded with the document, the icon delayed the first lane.
fn show_icon() {
    if let Some(icon) = document().get_element_by_id("icon")
        && let Some(href) = icon.get_attribute("data-href")
    {
        // The browser refuses only attributes with an invalid name.
        let _ = icon.set_attribute("href", &href);
    }
}

/// Mounts a view in the element of index.html that is reserved for it.
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
