//! Passes the browser's events to the model: keys, pointers, wheels, and drags of panel edges.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, WheelEvent};

use super::focus::{focused_panel, has_focus};
use super::lesson_keys;
use crate::core::msg::Msg;
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::input::gesture::Pointer;
use crate::input::keys::{self, InForce, Key, Modifiers, Reach};
use crate::runtime::page::{act, elements, read, send};
use crate::source::connection::Input;
use crate::source::link;

/// Height of a line for a wheel that counts lines, in px.
const LINE_PX: f64 = 16.0;
/// The least and the greatest width of the tree, in px.
const TREE_PX: (f64, f64) = (160.0, 640.0);
/// The storage key of the tree's width.
const TREE_KEY: &str = "watchscope-tree";
/// The least height of the detail panel, in px.
const DETAIL_PX: f64 = 96.0;

/// Sends the secret of a pasted link to the model. Returns whether the text has one.
pub(super) fn paste_link(text: &str) -> bool {
    let secret = link::secret_of_pasted(text);
    let found = secret.is_some();
    if found {
        send(Msg::Link(Input::Link(secret)));
    }
    found
}

/// Connects now.
pub(super) fn try_now() {
    send(Msg::Link(Input::TryNow));
}

/// Loads the page again.
pub(super) fn reload() {
    // There is no alternative if the browser refuses.
    let _ = elements().window.location().reload();
}

/// Handles a wheel over the tree: scrolls the lanes.
pub(super) fn wheel_on_tree(event: &WheelEvent) {
    event.prevent_default();
    let (_, dy_px) = wheel_px(event);
    act(Person::Scroll { dx_px: 0.0, dy_px });
}

/// Widens the tree, within its bounds.
pub(super) fn widen_tree(by_px: f64) {
    let width = f64::from(elements().rows.client_width());
    set_length("--tree-width", (width + by_px).clamp(TREE_PX.0, TREE_PX.1));
    keep_tree_width();
}

/// Keeps the width of the tree in this browser.
fn keep_tree_width() {
    let width = elements().rows.client_width();
    if let Ok(Some(storage)) = elements().window.local_storage() {
        // A full or forbidden storage keeps nothing.
        let _ = storage.set_item(TREE_KEY, &width.to_string());
    }
}

/// Gives the tree the width that this browser kept, within its bounds. Other texts are ignored.
pub(super) fn recall_tree_width() {
    let storage = elements().window.local_storage();
    let kept = storage.ok().flatten();
    let kept = kept.and_then(|storage| storage.get_item(TREE_KEY).ok().flatten());
    if let Some(width) = kept.and_then(|text| text.parse::<u16>().ok()) {
        set_length("--tree-width", f64::from(width).clamp(TREE_PX.0, TREE_PX.1));
    }
}

/// Heightens the detail panel, within its bound.
pub(super) fn heighten_detail(by_px: f64) {
    let px = (detail_height() + by_px).max(DETAIL_PX);
    set_length("--detail-height", px);
}

/// Returns the height of the detail panel, in px.
pub(super) fn detail_height() -> f64 {
    let panel = elements().document.query_selector(".detail");
    panel
        .ok()
        .flatten()
        .map_or(240.0, |panel| f64::from(panel.client_height()))
}

/// Drags the edge of the tree.
pub(super) fn grip_tree(event: &PointerEvent) {
    grip(
        event,
        move |event| {
            let width = f64::from(event.client_x()).clamp(TREE_PX.0, TREE_PX.1);
            set_length("--tree-width", width);
        },
        keep_tree_width,
    );
}

/// Drags the edge of the detail panel.
pub(super) fn grip_detail(event: &PointerEvent) {
    grip(
        event,
        move |event| {
            let window = elements()
                .window
                .inner_height()
                .ok()
                .and_then(|height| height.as_f64());
            let below = window.unwrap_or(0.0) - f64::from(event.client_y()) - 24.0;
            set_length("--detail-height", below.max(DETAIL_PX));
        },
        || {},
    );
}

/// Sets a length that styles.css uses, and the value of the separator by which a person changes it.
fn set_length(property: &str, px: f64) {
    let separator = match property {
        "--tree-width" => ".tree-grip",
        _ => ".detail-grip",
    };
    if let Ok(Some(separator)) = elements().document.query_selector(separator) {
        // The browser refuses only attributes with an invalid name.
        let _ = separator.set_attribute("aria-valuenow", &(px as i32).to_string());
    }
    if let Some(root) = elements()
        .document
        .document_element()
        .and_then(|root| root.dyn_into::<HtmlElement>().ok())
    {
        // Styles are set by script, which the content security policy allows.
        let _ = root
            .style()
            .set_property(property, &format!("{}px", px as i32));
    }
    act(Person::Redraw);
}

/// Drags the scroll bar.
pub(super) fn grip_scroll(event: &PointerEvent) {
    let drag = move |event: &PointerEvent| {
        let top_px = elements().canvas.get_bounding_client_rect().top() + read().lanes_top_px();
        act(Person::ScrollTo {
            y_px: f64::from(event.client_y()) - top_px,
        });
    };
    drag(event);
    grip(event, drag, || {});
}

/// Follows a pointer from its press to its release; then calls `ended`.
pub(super) fn grip(
    event: &PointerEvent,
    drag: impl Fn(&PointerEvent) + 'static,
    ended: impl FnOnce() + 'static,
) {
    event.prevent_default();
    let Some(target) = event
        .current_target()
        .and_then(|target| target.dyn_into::<Element>().ok())
    else {
        return;
    };
    // Without capture the drag ends at the element's edge, which is acceptable.
    let _ = target.set_pointer_capture(event.pointer_id());
    let motion = Closure::<dyn Fn(PointerEvent)>::new(move |event: PointerEvent| drag(&event));
    let listener = motion.into_js_value();
    let ends = target.clone();
    let ending = listener.clone();
    let end = Closure::once_into_js(move || {
        let _ = ends.remove_event_listener_with_callback("pointermove", ending.unchecked_ref());
        ended();
    });
    let _ = target.add_event_listener_with_callback("pointermove", listener.unchecked_ref());
    let once = web_sys::AddEventListenerOptions::new();
    once.set_once(true);
    let _ = target.add_event_listener_with_callback_and_add_event_listener_options(
        "lostpointercapture",
        end.unchecked_ref(),
        &once,
    );
}

/// Handles a key, whichever element has the focus.
pub(super) fn key(event: &KeyboardEvent) {
    let target: Option<HtmlElement> = event.target().and_then(|target| target.dyn_into().ok());
    let tag = target
        .as_ref()
        .map(|target| target.tag_name())
        .unwrap_or_default();
    let (code, key) = (event.code(), event.key());
    // AltGr, which Windows reports as Ctrl and Alt, writes signs such as `[` on many keyboards.
    let has_alt_gr = event.get_modifier_state("AltGraph");
    let key = Key {
        code: &code,
        key: &key,
        modifiers: Modifiers {
            ctrl: (event.ctrl_key() || event.meta_key()) && !has_alt_gr,
            alt: event.alt_key() && !has_alt_gr,
            shift: event.shift_key(),
        },
    };
    let Some(binding) = keys::binding(key, in_force()) else {
        return;
    };
    let on_picture = matches!(tag.as_str(), "CANVAS" | "BODY" | "HTML");
    let allowed = match binding.reach {
        Reach::Any => true,
        Reach::Picture => on_picture,
        Reach::PictureOrTree => on_picture || is_within(target.as_ref(), ".rows"),
        // A button handles Space and Enter itself, and a field handles all keys.
        Reach::NoField => {
            on_picture
                || match tag.as_str() {
                    "INPUT" | "TEXTAREA" | "SELECT" => false,
                    "BUTTON" => !matches!(key.key, " " | "Enter"),
                    _ => true,
                }
        }
    };
    if allowed {
        event.prevent_default();
        match binding.action {
            Action::Lesson(action) => lesson_keys::do_in_lesson(action),
            action => act(Person::Key(action, focused_panel())),
        }
    }
}

/// Returns the scopes of keys that are in force. Dialogs of scripts are open elements too.
fn in_force() -> InForce {
    let model = read();
    let dialog = elements().document.query_selector("dialog[open]");
    InForce {
        palette: model.shown.palette.is_some(),
        dialog: model.panels.help || dialog.is_ok_and(|dialog| dialog.is_some()),
        search: has_focus(".search input"),
        lesson: model.panels.is_lesson,
        replay: model.shown.replay.is_some(),
    }
}

fn is_within(element: Option<&HtmlElement>, selector: &str) -> bool {
    let within = element.and_then(|element| element.closest(selector).ok().flatten());
    within.is_some()
}

/// Handles a wheel over the picture.
pub(super) fn wheel(event: &WheelEvent) {
    event.prevent_default();
    let (dx_px, dy_px) = wheel_px(event);
    if event.ctrl_key() || event.meta_key() {
        // The browser reports a pinch on a touchpad as a wheel with Ctrl, in small steps. The zoom is proportional to
        // them.
        act(Person::Zoom {
            x_px: f64::from(event.offset_x()),
            factor: (1.0 - dy_px * 0.0035).clamp(0.5, 2.0),
        });
        return;
    }
    let (dx_px, dy_px) = if event.shift_key() && dx_px == 0.0 {
        (dy_px, 0.0)
    } else {
        (dx_px, dy_px)
    };
    act(Person::Scroll { dx_px, dy_px });
}

/// Handles the press of a pointer on the picture.
pub(super) fn press(event: &PointerEvent) {
    if event.button() != 0 && event.pointer_type() == "mouse" {
        return;
    }
    if let Some(target) = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
    {
        let _ = target.set_pointer_capture(event.pointer_id());
    }
    act(Person::Press(pointer(event)));
}

/// Handles the move of a pointer over the picture.
pub(super) fn motion(event: &PointerEvent) {
    act(Person::Motion(pointer(event)));
}

/// Handles the release of a pointer. It takes effect at the click that follows. Otherwise that click would hit what has
/// opened under the pointer meanwhile.
pub(super) fn release(event: &PointerEvent) {
    act(Person::Release {
        pointer: pointer(event),
        at_ms: event.time_stamp(),
    });
}

/// Handles a pointer that left the picture, or that the browser cancelled.
pub(super) fn leave(event: &PointerEvent, cancelled: bool) {
    act(Person::Leave {
        pointer: event.pointer_id(),
        cancelled,
    });
}

fn pointer(event: &PointerEvent) -> Pointer {
    let (left, top) = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .map_or((0.0, 0.0), |element| {
            let area = element.get_bounding_client_rect();
            (area.left(), area.top())
        });
    let mouse: &MouseEvent = event;
    Pointer {
        id: event.pointer_id(),
        x_px: f64::from(mouse.client_x()) - left,
        y_px: f64::from(mouse.client_y()) - top,
        touch: event.pointer_type() == "touch",
        shift: mouse.shift_key(),
        alt: mouse.alt_key(),
    }
}

/// Returns a wheel's movement in px, sideways and down. A page counts as 30 lines.
pub(super) fn wheel_px(event: &WheelEvent) -> (f64, f64) {
    let unit = match event.delta_mode() {
        WheelEvent::DOM_DELTA_LINE => LINE_PX,
        WheelEvent::DOM_DELTA_PAGE => LINE_PX * 30.0,
        _ => 1.0,
    };
    (event.delta_x() * unit, event.delta_y() * unit)
}
