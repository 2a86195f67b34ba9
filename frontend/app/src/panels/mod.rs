//! The second part: panels and controls by Leptos, what the person does, and what is told in words.

#![allow(unreachable_pub, reason = "the component macro makes its items pub")]

mod bodies;
mod check;
mod debug;
mod detail;
mod events;
mod evidence;
mod findings;
mod glyph;
mod header;
mod interaction;
mod lesson;
mod listen;
mod overlay;
mod publish;
mod save;
mod selection;
mod sides;
mod signals;
mod status;
mod texts;
mod watches;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;

pub(crate) use self::events::carry_out;
pub(crate) use self::lesson::drawn;
pub(crate) use self::publish::inform;
use self::signals::Signals;
use crate::core::model::Model;
use crate::runtime::page::Handle;

/// Puts the panels around and over the picture, and listens.
pub(crate) fn mount(handle: Handle) {
    let theme = handle.read(|model| model.screen.theme);
    // The root of all panels lives as long as the page.
    let root = Owner::new();
    let panels = root.with(|| Signals::new(theme));
    std::mem::forget(root);
    signals::begin(panels);
    put("above", move || {
        view! {
            <header::Header panels handle/>
            <header::Banner panels handle/>
        }
        .into_any()
    });
    put("over", move || {
        view! {
            <overlay::Overlay panels handle/>
            <findings::FindingsPanel panels handle/>
        }
        .into_any()
    });
    put("below", move || {
        view! {
            <status::Narration panels/>
            <watches::WatchesPanel panels handle/>
            <detail::DetailPanel panels handle/>
            <status::StatusBar panels/>
            <status::Help panels handle/>
        }
        .into_any()
    });
    listen::listen(handle, panels);
    debug::expose(handle);
    handle.send(Model::recall_choices);
    lesson::offer(handle);
    show_icon();
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
        .and_then(|place| place.dyn_into().ok())
    else {
        return;
    };
    clear(&place);
    mount_to(place, view).forget();
}

fn clear(place: &web_sys::HtmlElement) {
    place.set_text_content(None);
}
