//! The palette: a field over the page, and the actions, lanes and places that match its text.

use leptos::prelude::*;

use super::focus::keep_focus;
use super::signals::Signals;
use super::status::key_caps;
use crate::core::palette::{PaletteDeed, PaletteRow, PaletteShown, RowKind};
use crate::core::person::Person;
use crate::runtime::page::act;

/// The palette, in a dialog over the page. The browser keeps the focus inside.
#[component]
pub(super) fn Palette(panels: Signals) -> impl IntoView {
    let dialog = NodeRef::<leptos::html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else {
            return;
        };
        match (panels.palette.with(Option::is_some), dialog.open()) {
            // The dialog is in the document, so it can be shown.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    let text = move || {
        panels.palette.with(|shown| {
            shown
                .as_ref()
                .map_or_else(String::new, |shown| shown.text.clone())
        })
    };
    let hint = move || {
        let lanes_only = panels
            .palette
            .with(|shown| shown.as_ref().is_some_and(|shown| shown.lanes_only));
        if lanes_only {
            "Go to a lane"
        } else {
            "An action, a lane, a time, a resourceVersion or a uid"
        }
    };
    let counts = move || {
        panels.palette.with(|shown| {
            shown
                .as_ref()
                .map_or_else(String::new, |shown| shown.counts.clone())
        })
    };
    let active = move || {
        panels.palette.with(|shown| {
            let shown = shown.as_ref().filter(|shown| !shown.rows.is_empty());
            shown.map(|shown| row_id(shown.picked))
        })
    };
    view! {
        <dialog
            class="palette"
            aria-label="Palette"
            data-part="palette"
            node_ref=dialog
            on:close=|_| {
                act(Person::Palette(PaletteDeed::Closed));
                keep_focus();
            }
            on:click:target=move |event| {
                // A click beside the palette closes it. The dialog itself is the target only there.
                if dialog.get().is_some_and(|dialog| is_outside(&dialog, &event)) {
                    act(Person::Palette(PaletteDeed::Closed));
                }
            }
        >
            <div class="palette-field"><input
                type="text"
                role="combobox"
                aria-expanded="true"
                aria-controls="palette-rows"
                aria-activedescendant=active
                aria-label=hint
                placeholder=hint
                spellcheck="false"
                autocomplete="off"
                maxlength="256"
                prop:value=text
                on:input:target=|event| act(Person::Palette(PaletteDeed::Typed(event.target().value().into())))
            /><span class="quiet" data-part="palette-counts">{counts}</span></div>
            <div id="palette-rows" class="palette-rows" role="listbox" aria-label="What matches">
                {move || panels.palette.get().map(|shown| rows(&shown))}
            </div>
            <p class="palette-foot quiet">
                <span><kbd>"↑"</kbd>" "<kbd>"↓"</kbd>" choose"</span>
                <span><kbd>"Enter"</kbd>" do it"</span>
                <span><kbd>"Esc"</kbd>" close"</span>
            </p>
        </dialog>
    }
}

/// Whether a click hit the ground around the dialog's content.
fn is_outside(dialog: &web_sys::HtmlDialogElement, event: &web_sys::MouseEvent) -> bool {
    let area = dialog.get_bounding_client_rect();
    let (x_px, y_px) = (f64::from(event.client_x()), f64::from(event.client_y()));
    // A click by a key has no place.
    event.detail() > 0 && !(area.left()..area.right()).contains(&x_px)
        || event.detail() > 0 && !(area.top()..area.bottom()).contains(&y_px)
}

fn row_id(place: usize) -> String {
    format!("palette-row-{place}")
}

fn rows(shown: &PaletteShown) -> impl IntoView + use<> {
    let mut kind_before = None;
    let more_lanes = shown.more_lanes;
    let lanes_only = shown.lanes_only;
    let rows = shown.rows.iter().enumerate().map(|(place, row)| {
        let heading = heading(row, &mut kind_before);
        let PaletteRow {
            kind,
            words,
            beside,
            refused,
        } = row.clone();
        let is_picked = place == shown.picked;
        view! {
            {heading.map(|words| view! {
                <p class="palette-kind" aria-hidden="true">
                    {words}
                    {(kind == RowKind::Lane && more_lanes > 0).then(|| view! {
                        <span class="quiet">
                            {format!("{more_lanes} more")}{if lanes_only { "" } else { ", G lists lanes only" }}
                        </span>
                    })}
                </p>
            })}
            <div
                id=row_id(place)
                class="palette-row"
                class:picked=is_picked
                class:refused=refused.is_some()
                role="option"
                aria-selected=is_picked.to_string()
                aria-disabled=refused.is_some().then_some("true")
                on:click=move |_| act(Person::Palette(PaletteDeed::Do(place)))
            >
                <span class="palette-words">
                    {words.into_iter().map(|(piece, marked)| if marked {
                        view! { <b>{piece}</b> }.into_any()
                    } else {
                        piece.into_any()
                    }).collect_view()}
                </span>
                {match refused {
                    Some(why) => view! { <span class="quiet">{why}</span> }.into_any(),
                    None if kind == RowKind::Action => key_caps(&beside).into_any(),
                    None => view! { <span class="quiet">{beside}</span> }.into_any(),
                }}
            </div>
        }
    });
    let rows = rows.collect_view();
    let nothing = shown.nothing.clone();
    view! {
        {rows}
        {(!nothing.is_empty()).then(|| view! { <p class="palette-nothing quiet">{nothing}</p> })}
    }
}

/// Returns the heading over a row, if the row before is of another kind.
fn heading(row: &PaletteRow, before: &mut Option<(RowKind, bool)>) -> Option<&'static str> {
    let group = (row.kind, row.refused.is_some());
    let is_new = before.replace(group) != Some(group);
    match group {
        (_, true) => is_new.then_some("Not now"),
        (kind, false) => is_new.then_some(kind.words()),
    }
}
