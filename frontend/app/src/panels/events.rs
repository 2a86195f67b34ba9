//! What the browser tells: keys, pointers, wheels, buttons and fields, each passed on to the model.

use std::cell::RefCell;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::LaneId;
use watchscope_timeline::words::Spot;
use web_sys::{
    Element, EventTarget, HtmlElement, HtmlInputElement, KeyboardEvent, MouseEvent, PointerEvent,
    WheelEvent,
};

use super::signals::{publish, signals};
use crate::core::effect::{Effect as Wanted, PanelEffect};
use crate::core::layout::RULER_PX;
use crate::core::panel_state::Awaited;
use crate::core::screen::ThemeChoice;
use crate::input::gesture::Pointer;
use crate::input::keys::{self, Action, Key};
use crate::runtime::page::{Handle, elements};
use crate::runtime::theme::THEME_KEY;
use crate::source::connection::Input;
use crate::source::link;

/// Lines of a wheel that counts in lines, in px.
const LINE_PX: f64 = 16.0;
/// The narrowest and widest the tree may be, in px.
const TREE_PX: (f64, f64) = (160.0, 640.0);
/// The lowest the detail panel may be, in px.
const DETAIL_PX: f64 = 96.0;

thread_local! {
    /// The field by whose text the lanes are filtered.
    static FILTER_FIELD: RefCell<Option<HtmlInputElement>> = const { RefCell::new(None) };
}

/// Does in the browser what the model asked for.
pub(crate) fn carry_out(effect: PanelEffect) {
    match effect {
        PanelEffect::FocusFilter => focus_filter(),
        PanelEffect::TakeFocusBack => take_focus_back(),
    }
}

/// The picture takes the focus from the detail, which is about to close.
fn take_focus_back() {
    let focused = elements().document.active_element();
    let in_detail = focused.and_then(|focused| focused.closest(".detail").ok().flatten());
    if in_detail.is_some() {
        let _ = elements().canvas.focus();
    }
}

fn focus_filter() {
    FILTER_FIELD.with_borrow(|field| {
        if let Some(field) = field {
            let _ = field.focus();
            field.select();
        }
    });
}

impl Handle {
    /// Does what a key or button asks for.
    pub(super) fn act(self, action: Action) {
        self.send(move |model| model.act(action));
    }

    /// The filter field.
    pub(super) fn set_filter_field(self, field: NodeRef<leptos::html::Input>) {
        Effect::new(move |_| {
            if let Some(field) = field.get() {
                FILTER_FIELD.set(Some(field));
            }
        });
    }

    /// Shows only lanes that fit the text.
    pub(super) fn filter(self, text: String) {
        self.send(move |model| {
            model.lanes.set_filter(&text);
            publish(signals().filter, text);
            model.redraw();
        });
    }

    /// Gives the picture the focus.
    pub(super) fn focus_chart(self) {
        let _ = elements().canvas.focus();
    }

    /// Selects a lane and opens its detail.
    pub(super) fn select_lane(self, lane: LaneId) {
        self.send(move |model| model.open_lane(lane));
    }

    /// Opens or closes the group of a lane.
    pub(super) fn toggle_lane(self, lane: LaneId) {
        self.send(move |model| model.toggle_lane(lane));
    }

    /// Brings a problem into the window and selects it.
    pub(super) fn show_problem(self, spot: Option<Spot>) {
        self.send(move |model| match spot {
            Some(Spot::Stretch {
                lane,
                kind,
                began,
                at,
            }) => model.show_stretch(Awaited {
                lane,
                kind,
                began,
                at,
            }),
            Some(Spot::Finding(raised)) => model.show_finding(raised),
            Some(Spot::Lane(lane)) => {
                if let LaneId::Object(watch, _) = lane {
                    model.lanes.set_expanded(&model.store, watch, true);
                }
                model.pick.stays_in_sight = true;
                model.focus_lane(lane);
                model.select_lane(lane);
            }
            None => model.say("Nothing of it is loaded.".to_owned()),
        });
    }

    /// Asks watchscope to use a context of the kubeconfig.
    pub(super) fn use_context(self, name: &str) {
        let name = name.to_owned();
        self.send(move |model| {
            let command = model.link.connection.command("use-context", name);
            if let Some((_, ask)) = command {
                model.want(Wanted::Link(ask));
            }
        });
    }

    /// Connects now.
    pub(super) fn try_now(self) {
        self.send(move |model| model.input(Input::TryNow));
    }

    /// Takes the secret of a pasted link; says whether there was one.
    pub(super) fn paste_link(self, text: &str) -> bool {
        let secret = link::secret_of_pasted(text);
        let found = secret.is_some();
        if found {
            self.send(move |model| model.input(Input::Link(secret)));
        }
        found
    }

    /// What went wrong is read.
    pub(super) fn dismiss(self) {
        self.send(move |model| {
            model.trouble = None;
            model.want(Wanted::Inform);
        });
    }

    /// Loads the page again.
    pub(super) fn reload(self) {
        // Nothing to fall back on if the browser refuses.
        let _ = elements().window.location().reload();
    }

    /// A time of the browser's clock as the page writes times.
    pub(super) fn clock(self, at_ms: u64) -> String {
        let at = watchscope_model::Time(0).plus_millis(at_ms);
        watchscope_timeline::format::clock(at)
    }

    /// Uses a theme and remembers it.
    pub(super) fn set_theme(self, theme: ThemeChoice) {
        self.send(move |model| {
            model.screen.theme = theme;
            signals().theme.set(theme);
            model.want(Wanted::Theme);
            model.redraw();
            if let Ok(Some(storage)) = elements().window.local_storage() {
                let _ = storage.set_item(THEME_KEY, theme.word());
            }
        });
    }

    /// A wheel over the tree scrolls as one over the lanes.
    pub(super) fn wheel_on_tree(self, event: &WheelEvent) {
        event.prevent_default();
        let (_, dy) = wheel_px(event);
        self.send(move |model| model.scroll(dy));
    }

    /// Makes the tree wider.
    pub(super) fn widen_tree(self, by_px: f64) {
        self.send(move |model| {
            let width = f64::from(elements().rows.client_width());
            model.set_length("--tree-width", (width + by_px).clamp(TREE_PX.0, TREE_PX.1));
        });
    }

    /// Makes the detail panel higher.
    pub(super) fn heighten_detail(self, by_px: f64) {
        self.send(move |model| {
            let height = elements()
                .document
                .query_selector(".detail")
                .ok()
                .flatten()
                .map_or(240.0, |panel| f64::from(panel.client_height()));
            model.set_length("--detail-height", (height + by_px).max(DETAIL_PX));
        });
    }

    /// Drags the edge of the tree.
    pub(super) fn grip_tree(self, event: &PointerEvent) {
        self.grip(event, move |event| {
            let width = f64::from(event.client_x()).clamp(TREE_PX.0, TREE_PX.1);
            self.send(move |model| model.set_length("--tree-width", width));
        });
    }

    /// Drags the edge of the detail panel.
    pub(super) fn grip_detail(self, event: &PointerEvent) {
        self.grip(event, move |event| {
            let y_px = f64::from(event.client_y());
            self.send(move |model| {
                let window = elements()
                    .window
                    .inner_height()
                    .ok()
                    .and_then(|height| height.as_f64());
                let below = window.unwrap_or(0.0) - y_px - 24.0;
                model.set_length("--detail-height", below.max(DETAIL_PX));
            });
        });
    }

    /// Drags the scroll bar.
    pub(super) fn grip_scroll(self, event: &PointerEvent) {
        let drag = move |event: &PointerEvent| {
            let y_px = f64::from(event.client_y());
            self.send(move |model| {
                let top = elements().canvas.get_bounding_client_rect().top() + RULER_PX;
                let share = (y_px - top) / model.window_px().max(1.0);
                model.scroll_px = model.rows.height.to_f64() * share - model.window_px() / 2.0;
                model.redraw();
            });
        };
        drag(event);
        self.grip(event, drag);
    }

    /// Follows a pointer from its press until it is released.
    fn grip(self, event: &PointerEvent, drag: impl Fn(&PointerEvent) + 'static) {
        event.prevent_default();
        let Some(target) = event
            .current_target()
            .and_then(|target| target.dyn_into::<Element>().ok())
        else {
            return;
        };
        // Without capture the drag ends at the element's edge, no worse.
        let _ = target.set_pointer_capture(event.pointer_id());
        let motion = Closure::<dyn Fn(PointerEvent)>::new(move |event: PointerEvent| drag(&event));
        let listener = motion.into_js_value();
        let ends = target.clone();
        let ending = listener.clone();
        let end = Closure::once_into_js(move || {
            let _ = ends.remove_event_listener_with_callback("pointermove", ending.unchecked_ref());
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

    /// A key, wherever the focus is.
    pub(super) fn key(self, event: &KeyboardEvent) {
        let target: Option<HtmlElement> = event.target().and_then(|target| target.dyn_into().ok());
        let tag = target
            .as_ref()
            .map(|target| target.tag_name())
            .unwrap_or_default();
        let (code, key) = (event.code(), event.key());
        let action = keys::action(Key {
            code: &code,
            key: &key,
            modified: event.ctrl_key() || event.alt_key() || event.meta_key(),
            shift: event.shift_key(),
        });
        let Some(action) = action else {
            return;
        };
        // Help covers the page: it is read and closed.
        let is_covered = signals().help.get_untracked();
        if is_covered && !matches!(action, Action::Help | Action::Clear) {
            return;
        }
        let on_picture = matches!(tag.as_str(), "CANVAS" | "BODY" | "HTML");
        // A button takes Space and Enter for itself, a field everything.
        let allowed = on_picture
            || (tag == "BUTTON" && keys::is_global(action) && key != " ")
            || (tag != "INPUT" && tag != "BUTTON" && keys::is_global(action));
        if allowed {
            event.prevent_default();
            self.send(move |model| model.pick.by_keyboard = true);
            self.act(action);
        }
    }

    /// A wheel over the picture.
    pub(super) fn wheel(self, event: &WheelEvent) {
        event.prevent_default();
        let (dx, dy) = wheel_px(event);
        if event.ctrl_key() || event.meta_key() {
            // A pinch on a touchpad comes as a wheel with Ctrl: small steps, zoomed in proportion.
            let factor = (1.0 - dy * 0.0035).clamp(0.5, 2.0);
            let x_px = f64::from(event.offset_x());
            self.send(move |model| model.zoom(x_px, factor));
            return;
        }
        let (dx, dy) = if event.shift_key() && dx == 0.0 {
            (dy, 0.0)
        } else {
            (dx, dy)
        };
        self.send(move |model| {
            if dx != 0.0 {
                model.set_view(model.view.pan(dx));
            }
            if dy != 0.0 {
                model.scroll(dy);
            }
        });
    }

    /// A pointer was pressed on the picture.
    pub(super) fn press(self, event: &PointerEvent) {
        if event.button() != 0 && event.pointer_type() == "mouse" {
            return;
        }
        if let Some(target) = event
            .target()
            .and_then(|target| target.dyn_into::<Element>().ok())
        {
            let _ = target.set_pointer_capture(event.pointer_id());
        }
        let pointer = pointer(event);
        self.send(move |model| {
            model.pick.by_keyboard = false;
            model.panels.released = None;
            model.panels.gestures.press(pointer);
            model.set_hover(None);
        });
    }

    /// A pointer moved over the picture.
    pub(super) fn motion(self, event: &PointerEvent) {
        let pointer = pointer(event);
        self.send(move |model| {
            let gestures = model.panels.gestures.motion(pointer);
            for gesture in gestures {
                model.gesture(gesture);
            }
            if model.panels.gestures.is_dragging() {
                model.set_hover(None);
            } else if !pointer.touch {
                model.set_hover(Some((pointer.x_px, pointer.y_px)));
            }
        });
    }

    /// A pointer was released. What that means is done at the click that follows, or the click would land on what has
    /// opened under the pointer meanwhile.
    pub(super) fn release(self, event: &PointerEvent) {
        let (pointer, at_ms) = (pointer(event), event.time_stamp());
        self.send(move |model| {
            model.panels.released = model.panels.gestures.release(pointer, at_ms);
        });
    }

    /// The click after a release.
    pub(super) fn click(self) {
        self.send(move |model| {
            if let Some(gesture) = model.panels.released.take() {
                model.gesture(gesture);
            }
        });
    }

    /// The browser took a pointer away, or it left the picture.
    pub(super) fn leave(self, event: &PointerEvent, cancelled: bool) {
        let pointer = event.pointer_id();
        self.send(move |model| {
            if cancelled {
                model.panels.gestures.cancel(pointer);
            }
            model.set_hover(None);
        });
    }
}

fn pointer(event: &PointerEvent) -> Pointer {
    let event_target: Option<EventTarget> = event.target();
    let (left, top) = event_target
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
    }
}

/// How far a wheel went, in px, sideways and down.
fn wheel_px(event: &WheelEvent) -> (f64, f64) {
    let unit = match event.delta_mode() {
        WheelEvent::DOM_DELTA_LINE => LINE_PX,
        WheelEvent::DOM_DELTA_PAGE => LINE_PX * 30.0,
        _ => 1.0,
    };
    (event.delta_x() * unit, event.delta_y() * unit)
}
