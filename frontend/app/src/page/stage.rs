//! The elements of index.html that the first part draws on.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Document, Element, HtmlCanvasElement, HtmlElement, Window};

/// What is on the page before any panel.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) window: Window,
    pub(super) document: Document,
    pub(super) canvas: HtmlCanvasElement,
    /// Holds the rows of the lane tree, and moves with the lanes.
    pub(super) rows: HtmlElement,
    /// A row to be copied.
    pub(super) row: Element,
    /// Where the status bar will be.
    pub(super) status: Element,
    /// The date over the tree.
    pub(super) date: Element,
    /// The scroll bar's thumb.
    pub(super) thumb: HtmlElement,
}

impl Stage {
    /// The elements by their ids; `None` if index.html lacks one, which a test forbids.
    pub(super) fn find(window: Window) -> Option<Self> {
        let document = window.document()?;
        let element = |id: &str| document.get_element_by_id(id);
        let rows: HtmlElement = element("rows")?.unchecked_into();
        let row = rows.first_element_child()?;
        row.remove();
        Some(Self {
            canvas: element("chart")?.unchecked_into(),
            rows,
            row,
            status: element("status")?,
            date: element("date")?,
            thumb: element("thumb")?.unchecked_into(),
            document,
            window,
        })
    }

    /// Says that the second part is missing, with a button that does `again`.
    pub(super) fn tell_incomplete(&self, again: fn()) {
        self.status.set_text_content(Some(
            "Panels and live updates could not be loaded; what is drawn is how it was when the page opened.",
        ));
        let Ok(button) = self.document.create_element("button") else {
            return;
        };
        button.set_class_name("control");
        button.set_text_content(Some("Try again"));
        let status = self.status.clone();
        let pressed = Closure::<dyn FnMut()>::new(move || {
            status.set_text_content(Some("Loading panels and live updates again."));
            again();
        });
        // It fails on no element.
        let _ = button
            .add_event_listener_with_callback("click", pressed.into_js_value().unchecked_ref());
        let _ = self.status.append_child(&button);
    }
}
