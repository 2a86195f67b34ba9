//! The elements of index.html that the first part draws on.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Document, Element, HtmlCanvasElement, HtmlElement, Window};

use crate::core::tree_rows::Thumb;

/// The elements of the page before any panel.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    pub(crate) window: Window,
    pub(crate) document: Document,
    pub(crate) canvas: HtmlCanvasElement,
    /// Holds the rows of the lane tree, and moves with the lanes.
    pub(crate) rows: HtmlElement,
    /// The row that is copied for each lane.
    pub(crate) row: Element,
    /// The place of the status bar.
    pub(crate) status: Element,
    /// The date over the tree.
    pub(crate) date: Element,
    /// The scroll bar's thumb.
    pub(crate) thumb: HtmlElement,
}

impl Elements {
    /// Finds the elements by their ids; `None` if index.html lacks one, which a test forbids.
    pub(crate) fn find(window: Window) -> Option<Self> {
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

    /// Moves the rows of the lane tree, and the scroll bar's thumb, with the lanes.
    pub(crate) fn scroll(&self, shift: i32, thumb: Option<Thumb>) {
        // Styles are set by script, which the content security policy allows.
        self.rows
            .style()
            .set_css_text(&format!("transform:translateY({shift}px)"));
        let thumb = thumb.map_or_else(
            || "display:none".to_owned(),
            |thumb| format!("height:{}px;top:{}px", thumb.height_px, thumb.top_px),
        );
        self.thumb.style().set_css_text(&thumb);
    }

    /// Returns the milliseconds since the page's start.
    pub(crate) fn clock_ms(&self) -> f64 {
        self.window
            .performance()
            .map_or(0.0, |performance| performance.now())
    }

    /// Leaves a performance mark, for measurements before the second part is there.
    pub(crate) fn mark(&self, name: &str) {
        if let Some(performance) = self.window.performance() {
            let _ = performance.mark(name);
        }
    }

    /// Shows that the second part is missing, with a button that calls `again`.
    pub(crate) fn tell_incomplete(&self, again: fn()) {
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
        // It fails for no element.
        let _ = button
            .add_event_listener_with_callback("click", pressed.into_js_value().unchecked_ref());
        let _ = self.status.append_child(&button);
    }
}
