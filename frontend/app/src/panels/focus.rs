//! The focus: which element has it, and which takes it.

use std::cell::RefCell;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, HtmlInputElement};

use crate::core::effect::Focus;
use crate::core::person::FocusedPanel;
use crate::runtime::page::elements;

thread_local! {
    /// The field with the lanes' filter.
    static FILTER_FIELD: RefCell<Option<HtmlInputElement>> = const { RefCell::new(None) };
}

/// Sets the filter field.
pub(super) fn set_filter_field(field: NodeRef<leptos::html::Input>) {
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            FILTER_FIELD.set(Some(field));
        }
    });
}

/// Gives the focus to the filter field, and selects its text.
pub(super) fn focus_filter() {
    FILTER_FIELD.with_borrow(|field| {
        if let Some(field) = field {
            let _ = field.focus();
            field.select();
        }
    });
}

/// Gives the focus to the picture.
pub(super) fn focus_picture() {
    let _ = elements().canvas.focus();
}

/// Gives the focus to an element in the next animation frame, when it is drawn.
pub(super) fn focus_soon(focus: Focus) {
    let selector = match focus {
        Focus::Picture => "canvas.chart",
        Focus::Findings => ".findings",
        Focus::Watches => ".watches .detail-body",
        Focus::Table => ".tables .grid",
        Focus::Notes => ".notes .detail-body",
        Focus::SelectedNote => ".note-row.selected .note-heading",
        Focus::NoteField => ".note-form textarea",
        Focus::Filter => ".filter input",
        Focus::Search => ".search input",
        Focus::Palette => ".palette input",
        Focus::Tab => ".tab[aria-selected=true]",
    };
    request_animation_frame(move || {
        focus_first(selector);
    });
}

/// Gives the focus to the first element that a selector finds. Returns false if there is none.
pub(super) fn focus_first(selector: &str) -> bool {
    let found = document().query_selector(selector).ok().flatten();
    let found = found.and_then(|found| found.dyn_into::<HtmlElement>().ok());
    found.is_some_and(|element| {
        let _ = element.focus();
        true
    })
}

/// Whether nothing but the picture has the focus.
pub(super) fn is_free() -> bool {
    let focused = elements().document.active_element();
    focused.is_none_or(|focused| matches!(&*focused.tag_name(), "BODY" | "CANVAS"))
}

/// Gives the focus to the picture if nothing else has it.
pub(super) fn keep_focus() {
    let focused = elements().document.active_element();
    if focused.is_none_or(|focused| focused.tag_name() == "BODY") {
        focus_soon(Focus::Picture);
    }
}

/// Moves the focus from the detail panel, which is about to close, to the picture.
pub(super) fn take_focus_back() {
    if has_focus(".detail") {
        focus_picture();
    }
}

/// Returns the panel that has the focus, if a key can close it.
pub(super) fn focused_panel() -> Option<FocusedPanel> {
    if has_focus(".findings") {
        Some(FocusedPanel::Findings)
    } else if has_focus(".watches") {
        Some(FocusedPanel::Watches)
    } else if has_focus(".tables") {
        Some(FocusedPanel::Tables)
    } else if has_focus(".notes") {
        Some(FocusedPanel::Notes)
    } else {
        None
    }
}

/// Whether the focus is within an element that matches the selector.
pub(super) fn has_focus(selector: &str) -> bool {
    let focused = elements().document.active_element();
    let within = |focused: Element| focused.closest(selector).ok().flatten();
    focused.and_then(within).is_some()
}
