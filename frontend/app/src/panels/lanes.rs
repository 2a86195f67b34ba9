//! The lanes bar, the list of hidden lanes, and drags of pinned lanes in the tree.

use std::cell::{Cell, RefCell};

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_timeline::LaneId;
use watchscope_timeline::format::count;
use watchscope_timeline::lanes::{Folding, Grouping, Sorting};
use watchscope_timeline::scene::Px;
use web_sys::{HtmlElement, PointerEvent};

use super::events::grip;
use super::focus::keep_focus;
use super::signals::Signals;
use crate::core::lanes::LanesDeed;
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::input::gesture::CLICK_TOLERANCE_PX;
use crate::runtime::page::{act, elements, read};

/// The name of a section in the tree: its place, and whether it stands in a column.
#[derive(Debug, PartialEq)]
struct Name {
    top_px: i32,
    height_px: i32,
    text: String,
    is_column: bool,
}

thread_local! {
    /// The names of sections that the tree shows.
    static NAMES: RefCell<Vec<Name>> = const { RefCell::new(Vec::new()) };
    /// Whether a pinned lane was dragged, so that the click that follows selects nothing.
    static WAS_DRAGGED: Cell<bool> = const { Cell::new(false) };
}

/// The lanes bar, while it is there.
#[component]
pub(super) fn LanesBar(panels: Signals) -> impl IntoView {
    let lanes = panels.lanes;
    let is_bar = Memo::new(move |_| lanes.with(|lanes| lanes.is_bar));
    move || is_bar.get().then(|| view! { <Bar panels/> })
}

#[component]
fn Bar(panels: Signals) -> impl IntoView {
    let lanes = panels.lanes;
    let folds =
        move |folding: Folding| move || lanes.with(|lanes| lanes.folding == folding).to_string();
    view! {
        <div class="lanes-bar" role="toolbar" aria-label="Lanes" data-part="lanes-bar">
            <span class="label">"Group by"</span>
            <span class="segments" role="group" aria-label="Group lanes by">
                {Grouping::OFFERED.map(|grouping| view! {
                    <button
                        class="control"
                        aria-pressed=move || lanes.with(|lanes| lanes.grouping == grouping).to_string()
                        on:click=move |_| act(Person::Lanes(LanesDeed::Group(grouping)))
                    >
                        {grouping.word()}
                    </button>
                }).collect_view()}
            </span>
            <label class="sort">
                <span class="label">"Sort by "</span>
                <select
                    class="control"
                    on:change:target=move |event| {
                        let sorting = Sorting::from_word(&event.target().value());
                        act(Person::Lanes(LanesDeed::Sort(sorting)));
                    }
                    prop:value=move || lanes.with(|lanes| lanes.sorting.word())
                >
                    {Sorting::ALL.map(|sorting| view! {
                        <option value=sorting.word()>{sorting.words()}</option>
                    }).collect_view()}
                </select>
            </label>
            <button
                class="control"
                aria-keyshortcuts="["
                aria-pressed=folds(Folding::Strips)
                title="Make each watch a strip, also those that you opened. Again: watches open by themselves"
                on:click=|_| act(Person::Act(Action::CollapseAll))
            >
                "Collapse all" <kbd aria-hidden="true">"["</kbd>
            </button>
            <button
                class="control"
                aria-keyshortcuts="]"
                aria-pressed=folds(Folding::Trouble)
                title="Open each watch that has trouble, except those that you closed"
                on:click=|_| act(Person::Act(Action::OpenTrouble))
            >
                "Open trouble" <kbd aria-hidden="true">"]"</kbd>
            </button>
            <span class="quiet" data-part="lanes-words">{move || lanes.with(|lanes| lanes.words.clone())}</span>
            <span class="space"></span>
            <button
                class="close"
                aria-label="Close the lanes bar"
                aria-keyshortcuts="L"
                on:click=|_| {
                    act(Person::Act(Action::LanesBar));
                    keep_focus();
                }
            >"×"</button>
        </div>
    }
}

/// The list of hidden lanes, in a dialog over the page. The browser keeps the focus inside, and gives it back at the
/// end.
#[component]
pub(super) fn HiddenLanes(panels: Signals) -> impl IntoView {
    let lanes = panels.lanes;
    let dialog = NodeRef::<leptos::html::Dialog>::new();
    let is_open = Memo::new(move |_| lanes.with(|lanes| lanes.is_list_open));
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else {
            return;
        };
        match (is_open.get(), dialog.open()) {
            // The dialog is in the document, so it can be shown.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    view! {
        <dialog class="help hidden-lanes" aria-label="Hidden lanes" node_ref=dialog on:close=|_| {
            act(Person::Lanes(LanesDeed::List(false)));
            keep_focus();
        }>
            <h2>
                {move || lanes.with(|lanes| count(lanes.hidden.len() as u64, "hidden lane"))}
                <button
                    class="close"
                    aria-label="Close"
                    on:click=|_| act(Person::Lanes(LanesDeed::List(false)))
                >"×"</button>
            </h2>
            <ul>
                <For
                    each=move || lanes.with(|lanes| lanes.hidden.clone())
                    key=|key| key.clone()
                    children=move |key| {
                        let shown = key.clone();
                        view! {
                            <li>
                                <span>{key}</span>
                                <button
                                    class="control"
                                    on:click=move |_| act(Person::Lanes(LanesDeed::Show(shown.as_str().into())))
                                >"Show"</button>
                            </li>
                        }
                    }
                />
            </ul>
            <button class="control" on:click=|_| act(Person::Lanes(LanesDeed::ShowAll))>"Show all"</button>
        </dialog>
    }
}

/// Shows the names of the sections in and near the window. The tree moves its rows in the same frame.
pub(super) fn show_sections() {
    let names = names();
    if NAMES.with_borrow(|shown| *shown == names) {
        return;
    }
    let rows = &elements().rows;
    for old in (0..).map_while(|_| rows.query_selector(":scope > .section").ok().flatten()) {
        old.remove();
    }
    for name in &names {
        let Ok(element) = document().create_element("div") else {
            continue;
        };
        element.set_class_name(if name.is_column {
            "section column"
        } else {
            "section"
        });
        element.set_text_content(Some(&name.text));
        // The browser refuses only attributes with an invalid name. Readers hear the names by the lanes' own.
        let _ = element.set_attribute("aria-hidden", "true");
        let _ = element.set_attribute("title", &name.text);
        if let Some(element) = element.dyn_ref::<HtmlElement>() {
            // A script may set styles under the content security policy.
            element.style().set_css_text(&format!(
                "top:{}px;height:{}px",
                name.top_px, name.height_px
            ));
        }
        let _ = rows.append_child(&element);
    }
    NAMES.set(names);
}

fn names() -> Vec<Name> {
    let model = read();
    let (top, height) = (model.scroll_px - 200.0, model.window_px() + 400.0);
    let rows = &model.rows;
    let named = rows
        .sections
        .iter()
        .filter(|section| !section.name.is_empty());
    let placed = named.filter_map(|section| {
        let first = rows.rows.get(section.row)?;
        let (top, bottom) = (section.top(first), first.y - first.label);
        let bottom = if section.has_heading {
            bottom
        } else {
            first.bottom()
        };
        Some((section, top.to_f64(), bottom.to_f64()))
    });
    placed
        .filter(|(_, at, _)| (top..top + height).contains(at))
        .map(|(section, top, bottom)| Name {
            top_px: top as i32,
            height_px: (bottom - top) as i32,
            text: section.name.to_string(),
            is_column: !section.has_heading,
        })
        .collect()
}

/// Drags a pinned lane in the tree. Presses on other lanes do nothing.
pub(super) fn grip_pin(event: &PointerEvent, lane: LaneId) {
    WAS_DRAGGED.set(false);
    let is_pinned = read().rows.find(lane).is_some_and(|row| row.pinned);
    if !is_pinned || event.button() != 0 {
        return;
    }
    let from_px = f64::from(event.client_y());
    grip(
        event,
        move |event| {
            let y_px = f64::from(event.client_y());
            if !WAS_DRAGGED.get() && (y_px - from_px).abs() <= CLICK_TOLERANCE_PX {
                return;
            }
            WAS_DRAGGED.set(true);
            let to = lane_at(y_px);
            if let Some(to) = to.filter(|&to| to != lane) {
                act(Person::Lanes(LanesDeed::MovePin { lane, to }));
            }
        },
        || {},
    );
}

/// Whether the click that comes now ends a drag.
pub(super) fn ends_drag() -> bool {
    WAS_DRAGGED.replace(false)
}

/// Returns the pinned lane at a height of the window.
fn lane_at(client_y_px: f64) -> Option<LaneId> {
    let top_px = elements().rows.get_bounding_client_rect().top();
    let model = read();
    let row = model.rows.at(Px::from_f64(client_y_px - top_px))?;
    row.pinned.then_some(row.id)
}
