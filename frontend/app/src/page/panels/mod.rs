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
mod records;
mod save;
mod selection;
mod sides;
mod signals;
mod status;
mod texts;
mod watches;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_model::Time;
use watchscope_model::id::LogId;
use watchscope_timeline::View;
use watchscope_timeline::words::Footing;
use web_sys::HtmlInputElement;

use self::selection::{Awaited, Selection};
use self::signals::{Panels, Tab};
use super::engine::{Engine, Handle};
use crate::input::gesture::{Gesture, Gestures};

/// What the second part keeps between events; it lies in the engine.
#[derive(Debug, Default)]
pub(super) struct Desk {
    panels: Option<Panels>,
    selection: Option<Selection>,
    /// What was gone to and is not loaded yet: it is selected once it is, unless something else is selected first.
    awaited: Option<Awaited>,
    /// How many selections there were: a late answer does not land in a newer one.
    selections: u64,
    /// The tab of the detail that was shown last.
    tab: Tab,
    hover: Option<(f64, f64)>,
    gestures: Gestures,
    /// What the last release means, until its click.
    released: Option<Gesture>,
    /// How a story that is over is shown.
    story: StoryFit,
    /// Records at the head when following stopped.
    paused_at: Option<u64>,
    filter_field: Option<HtmlInputElement>,
    /// The comparison that was asked for and has not come.
    asked: Option<check::Asked>,
    /// What the answer why the selected object is here rests on.
    footing: Option<Footing>,
    /// The log whose muted findings were recalled.
    muted_of: Option<LogId>,
    /// What wants to know when the picture was drawn.
    drawn: Option<js_sys::Function>,
}

/// How a story that is over is shown.
#[derive(Clone, Copy, Debug, Default)]
enum StoryFit {
    /// It is not over, as far as the page knows.
    #[default]
    Running,
    /// The page shows this view of it, which reaches to the time beside it.
    Shown(View, Time),
    /// A person looks elsewhere.
    Left,
}

impl Desk {
    /// Whether this page shows a lesson.
    pub(super) fn is_lesson(&self) -> bool {
        self.drawn.is_some()
    }
}

impl Engine {
    fn panels(&self) -> Panels {
        self.desk
            .panels
            .expect("the second part begins with its panels")
    }
}

/// Puts the panels around and over the picture, and listens.
pub(super) fn mount(handle: Handle) {
    let theme = handle.read(|engine| engine.theme);
    // The root of all panels lives as long as the page.
    let root = Owner::new();
    let panels = root.with(|| Panels::new(theme));
    std::mem::forget(root);
    handle.send(move |engine| {
        engine.desk.panels = Some(panels);
    });
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
    handle.send(Engine::recall_choices);
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
