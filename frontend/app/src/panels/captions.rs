//! The captions of a first visit: three shapes in words, right of the pen. The browser keeps that a person has read them.

use std::cell::Cell;

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use watchscope_timeline::Glyph;
use watchscope_timeline::scene::Hatch;

use super::focus::focus_picture;
use super::glyph::{GlyphPicture, HatchPicture};
use super::mirror::Mirror;
use super::signals::Signals;
use super::storage::storage;
use crate::core::captions::{CaptionsShown, Shape};
use crate::core::person::Person;
use crate::decimal::decimal;
use crate::input::actions::Action;
use crate::runtime::page::{act, elements, read};

/// The storage key of the captions. Without a value this is the browser's first visit.
const CAPTIONS_KEY: &str = "watchscope-captions";
/// Its value while a person wants to see them.
const WANTED: &str = "show";
/// Its value once a person has dismissed them.
const READ: &str = "read";

/// Distances in px of the captions from the top of the first one. panels.css has the same numbers.
const TOPS_PX: [f64; 3] = [0.0, 100.0, 232.0];
/// Distance in px of a caption's line from its top: the middle of its title.
const TITLE_PX: f64 = 9.0;

/// What this page knows of its captions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// They are closed.
    Closed,
    /// The page has asked the model to open them.
    Opening,
    /// The model has opened them.
    Open,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Closed) };
    /// The captions as they stand, once the third part is loaded.
    static SHOWN: Cell<Option<Mirror<Option<CaptionsShown>>>> = const { Cell::new(None) };
}

/// Whether this browser wants captions: at its first visit, and after a person asked for them again. A program that
/// drives the browser reads none, and a browser without storage could not keep that they were read.
pub(super) fn is_wanted() -> bool {
    let kept = storage().map(|storage| storage.get_item(CAPTIONS_KEY));
    match kept {
        Some(Ok(None)) => !is_driven(),
        Some(Ok(Some(text))) => text == WANTED,
        _ => false,
    }
}

/// Whether a program drives the browser.
fn is_driven() -> bool {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let navigator = get(&window(), "navigator");
    let driven = navigator.and_then(|navigator| get(&navigator, "webdriver"));
    driven.is_some_and(|driven| driven.is_truthy())
}

fn keep(value: &str) {
    if let Some(storage) = storage() {
        // A full or forbidden storage keeps nothing.
        let _ = storage.set_item(CAPTIONS_KEY, value);
    }
}

/// Opens the captions.
fn open() {
    STATE.set(State::Opening);
    let free_px = read().captions_free_px();
    act(Person::Captions(Some(free_px)));
}

/// Shows the captions again, beside the pen, until a person dismisses them.
pub(super) fn show_again() {
    keep(WANTED);
    act(Person::HelpClosed);
    act(Person::Act(Action::Follow));
    open();
}

/// Whether this page can show captions: it is no frame of another page, and the picture has room for them.
pub(super) fn can_show() -> bool {
    !is_framed() && read().has_room_for_captions()
}

/// Whether the page is a frame of another one.
fn is_framed() -> bool {
    window().parent().ok().flatten() != Some(window())
}

/// Closes the captions for good.
fn dismiss() {
    STATE.set(State::Closed);
    keep(READ);
}

/// Moves the captions after the picture was painted. Notices that a key has closed them.
pub(super) fn drawn() {
    let Some(shown) = SHOWN.get() else {
        return;
    };
    let model = read();
    match (STATE.get(), model.panels.captions) {
        (State::Opening, true) => STATE.set(State::Open),
        (State::Open, false) => dismiss(),
        _ => {}
    }
    let captions = model.captions();
    let free_px = model.captions_free_px();
    let is_moved =
        STATE.get() == State::Open && model.view.following && model.view.free_px != free_px;
    drop(model);
    if is_moved {
        act(Person::Captions(Some(free_px)));
    }
    if shown.with_untracked(|known| *known != captions) {
        shown.set(captions);
    }
}

/// Shows the captions while they are open and have room.
#[component]
pub(super) fn Captions(panels: Signals) -> impl IntoView {
    let shown = Mirror::new(None);
    SHOWN.set(Some(shown));
    let is_live = panels.replay.with_untracked(Option::is_none);
    if is_wanted() && is_live && !is_framed() && !super::lesson::is_on() {
        open();
    }
    let is_shown = Memo::new(move |_| shown.with(Option::is_some));
    move || {
        is_shown
            .get()
            .then(|| view! { <Lines shown/><Words shown/> })
    }
}

fn px(px: f64) -> String {
    format!("{}px", decimal(px, 1))
}

#[component]
fn Words(shown: Mirror<Option<CaptionsShown>>) -> impl IntoView {
    let of = move |get: fn(CaptionsShown) -> f64| {
        let found = shown.with(|shown| shown.map(get));
        found.unwrap_or_default()
    };
    let left_px = move || f64::from(elements().canvas.offset_left()) + of(|shown| shown.left_px);
    let has = move |get: fn(CaptionsShown) -> Option<Shape>| {
        shown.with(|shown| shown.and_then(get).is_some())
    };
    let has_gap = Memo::new(move |_| has(|shown| shown.gap));
    let glyphs = |glyphs: [Glyph; 3], words: &'static str| {
        let of = |glyph: Glyph| view! { <GlyphPicture glyph ink=glyph.ink() size=14/> };
        view! { <p class="caption-sample">{glyphs.map(of)}<span class="quiet">{words}</span></p> }
    };
    view! {
        <div
            class="captions"
            role="note"
            aria-label="What the shapes mean"
            data-part="captions"
            style:left=move || px(left_px())
            style:top=move || px(of(|shown| shown.top_px))
        >
            <div class="caption" data-part="caption-plateau" hidden=move || !has(|shown| shown.plateau)>
                <h3>"High is open"</h3>
                <p>"The line stays up while the stream of this watch is open. When it ends, the line falls, and how it \
                    falls says how it ended."</p>
            </div>
            <div class="caption" data-part="caption-solid" hidden=move || !has(|shown| shown.solid)>
                <h3>"Solid came by the watch"</h3>
                <p>"Hollow came by a list: nobody saw it come."</p>
                {glyphs([Glyph::Added, Glyph::Modified, Glyph::Deleted], "by the watch")}
                {glyphs([Glyph::AddedByList, Glyph::ModifiedByList, Glyph::DeletedInferred], "by a list")}
            </div>
            <div class="caption" data-part="caption-gap">
                <h3>{move || if has_gap.get() { "A gap looks like this" } else { "A gap will look like this" }}</h3>
                <p>"While no stream is open, nothing is heard."{move || (!has_gap.get()).then_some(" No gap is in view.")}</p>
                <p class="caption-sample"><HatchPicture hatch=Hatch::Resumed/>
                    <span class="quiet">"went on where it stopped: none lost"</span></p>
                <p class="caption-sample"><HatchPicture hatch=Hatch::Lost/>
                    <span class="quiet">"could not go on: some may be lost"</span></p>
            </div>
            <p class="captions-end">
                <button class="control" data-part="captions-read" on:click=|_| {
                    dismiss();
                    act(Person::Captions(None));
                    // The button is gone then.
                    focus_picture();
                }>"Got it"</button>
                <span class="quiet">"shown once; ? brings it back"</span>
            </p>
        </div>
    }
}

/// The lines from the captions to the shapes.
#[component]
fn Lines(shown: Mirror<Option<CaptionsShown>>) -> impl IntoView {
    let line = move |place: usize, get: fn(CaptionsShown) -> Option<Shape>| {
        let path = move || {
            shown.with(|shown| {
                let shown = (*shown)?;
                Some(path(&shown, TOPS_PX[place], get(shown)?))
            })
        };
        view! { <path d=move || path().unwrap_or_default()/> }
    };
    let ring = move || shown.with(|shown| shown.and_then(|shown| shown.solid));
    let at = move |get: fn(Shape) -> f64| ring().map(|shape| decimal(get(shape), 1));
    let left = move || px(f64::from(elements().canvas.offset_left()));
    view! {
        <svg class="caption-lines" aria-hidden="true" style:left=left>
            {line(0, |shown| shown.plateau)}
            {line(1, |shown| shown.solid)}
            {line(2, |shown| shown.gap)}
            <circle
                r="10"
                style:display=move || if ring().is_some() { "inline" } else { "none" }
                cx=move || at(|shape| shape.x_px - 11.0)
                cy=move || at(|shape| shape.y_px)
            />
        </svg>
    }
}

/// Returns the path of a line: from the title of a caption to the pen, and along the lane to the shape.
fn path(shown: &CaptionsShown, top_px: f64, shape: Shape) -> String {
    let [from, title, bend, pen, y, to] = [
        shown.left_px - 8.0,
        shown.top_px + top_px + TITLE_PX,
        shown.left_px - 20.0,
        shown.pen_px.min(shown.left_px - 34.0),
        shape.y_px,
        shape.x_px,
    ]
    .map(|px| decimal(px, 1));
    format!("M{from} {title}H{bend}L{pen} {y}H{to}")
}
