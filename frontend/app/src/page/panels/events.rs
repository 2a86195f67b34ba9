//! What the browser tells: keys, pointers, wheels, buttons and fields, each passed on to the engine.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::LaneId;
use watchscope_timeline::words::Spot;
use web_sys::{
    Element, EventTarget, HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, WheelEvent,
};

use super::super::engine::Handle;
use super::super::picture::RULER_PX;
use super::super::theme::{THEME_KEY, ThemeChoice};
use super::super::way;
use super::selection::Awaited;
use super::signals::publish;
use crate::input::gesture::Pointer;
use crate::input::keys::{self, Action, Key};
use crate::source::connection::{self, Input};
use crate::source::link;

/// Lines of a wheel that counts in lines, in px.
const LINE_PX: f64 = 16.0;
/// The narrowest and widest the tree may be, in px.
const TREE_PX: (f64, f64) = (160.0, 640.0);
/// The lowest the detail panel may be, in px.
const DETAIL_PX: f64 = 96.0;

impl Handle {
    /// Does what a key or button asks for.
    pub(super) fn act(self, action: Action) {
        self.send(move |engine| engine.act(action));
    }

    /// The filter field.
    pub(super) fn set_filter_field(self, field: NodeRef<leptos::html::Input>) {
        Effect::new(move |_| {
            if let Some(field) = field.get() {
                self.send(move |engine| engine.desk.filter_field = Some(field));
            }
        });
    }

    /// Shows only lanes that fit the text.
    pub(super) fn filter(self, text: String) {
        self.send(move |engine| {
            engine.lanes.set_filter(&text);
            publish(engine.panels().filter, text);
            engine.redraw();
        });
    }

    /// Gives the picture the focus.
    pub(super) fn focus_chart(self) {
        // Outside the engine: the focus is an event, which asks for the engine itself.
        let canvas = self.read(|engine| engine.stage.canvas.clone());
        let _ = canvas.focus();
    }

    /// Selects a lane and opens its detail.
    pub(super) fn select_lane(self, lane: LaneId) {
        self.send(move |engine| engine.open_lane(lane));
    }

    /// Opens or closes the group of a lane.
    pub(super) fn toggle_lane(self, lane: LaneId) {
        self.send(move |engine| engine.toggle_lane(lane));
    }

    /// Brings a problem into the window and selects it.
    pub(super) fn show_problem(self, spot: Option<Spot>) {
        self.send(move |engine| match spot {
            Some(Spot::Stretch {
                lane,
                kind,
                began,
                at,
            }) => engine.show_stretch(Awaited {
                lane,
                kind,
                began,
                at,
            }),
            Some(Spot::Finding(raised)) => engine.show_finding(raised),
            Some(Spot::Lane(lane)) => {
                if let LaneId::Object(watch, _) = lane {
                    engine.lanes.set_expanded(&engine.store, watch, true);
                }
                engine.keeps_selection = true;
                engine.focus_lane(lane);
                engine.select_lane(lane);
            }
            None => engine.say("Nothing of it is loaded.".to_owned()),
        });
    }

    /// Asks watchscope to use a context of the kubeconfig.
    pub(super) fn use_context(self, name: &str) {
        let name = name.to_owned();
        self.send(move |engine| {
            let command = engine.connection.command("use-context", name);
            if let Some((_, connection::Effect::Send(bytes))) = command {
                way::send(&bytes);
            }
        });
    }

    /// Connects now.
    pub(super) fn try_now(self) {
        self.send(move |engine| engine.input(Input::TryNow));
    }

    /// Takes the secret of a pasted link; says whether there was one.
    pub(super) fn paste_link(self, text: &str) -> bool {
        let secret = link::secret_of_pasted(text);
        let found = secret.is_some();
        if found {
            self.send(move |engine| engine.input(Input::Link(secret)));
        }
        found
    }

    /// What went wrong is read.
    pub(super) fn dismiss(self) {
        self.send(move |engine| {
            engine.trouble = None;
            engine.inform();
        });
    }

    /// Loads the page again.
    pub(super) fn reload(self) {
        self.send(move |engine| {
            // Nothing to fall back on if the browser refuses.
            let _ = engine.stage.window.location().reload();
        });
    }

    /// A time of the browser's clock as the page writes times.
    pub(super) fn clock(self, at_ms: u64) -> String {
        let at = watchscope_model::Time(0).plus_millis(at_ms);
        watchscope_timeline::format::clock(at)
    }

    /// Uses a theme and remembers it.
    pub(super) fn set_theme(self, theme: ThemeChoice) {
        self.send(move |engine| {
            engine.theme = theme;
            engine.panels().theme.set(theme);
            engine.apply_theme();
            if let Ok(Some(storage)) = engine.stage.window.local_storage() {
                let _ = storage.set_item(THEME_KEY, theme.word());
            }
        });
    }

    /// A wheel over the tree scrolls as one over the lanes.
    pub(super) fn wheel_on_tree(self, event: &WheelEvent) {
        event.prevent_default();
        let (_, dy) = wheel_px(event);
        self.send(move |engine| engine.scroll(dy));
    }

    /// Makes the tree wider.
    pub(super) fn widen_tree(self, by_px: f64) {
        self.send(move |engine| {
            let width = f64::from(engine.stage.rows.client_width());
            engine.set_length("--tree-width", (width + by_px).clamp(TREE_PX.0, TREE_PX.1));
        });
    }

    /// Makes the detail panel higher.
    pub(super) fn heighten_detail(self, by_px: f64) {
        self.send(move |engine| {
            let height = engine
                .stage
                .document
                .query_selector(".detail")
                .ok()
                .flatten()
                .map_or(240.0, |panel| f64::from(panel.client_height()));
            engine.set_length("--detail-height", (height + by_px).max(DETAIL_PX));
        });
    }

    /// Drags the edge of the tree.
    pub(super) fn grip_tree(self, event: &PointerEvent) {
        self.grip(event, move |event| {
            let width = f64::from(event.client_x()).clamp(TREE_PX.0, TREE_PX.1);
            self.send(move |engine| engine.set_length("--tree-width", width));
        });
    }

    /// Drags the edge of the detail panel.
    pub(super) fn grip_detail(self, event: &PointerEvent) {
        self.grip(event, move |event| {
            let y_px = f64::from(event.client_y());
            self.send(move |engine| {
                let window = engine
                    .stage
                    .window
                    .inner_height()
                    .ok()
                    .and_then(|height| height.as_f64());
                let below = window.unwrap_or(0.0) - y_px - 24.0;
                engine.set_length("--detail-height", below.max(DETAIL_PX));
            });
        });
    }

    /// Drags the scroll bar.
    pub(super) fn grip_scroll(self, event: &PointerEvent) {
        let drag = move |event: &PointerEvent| {
            let y_px = f64::from(event.client_y());
            self.send(move |engine| {
                let top = engine.stage.canvas.get_bounding_client_rect().top() + RULER_PX;
                let share = (y_px - top) / engine.window_px().max(1.0);
                engine.scroll_px = engine.rows.height.to_f64() * share - engine.window_px() / 2.0;
                engine.redraw();
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
        let is_covered = self.read(|engine| engine.panels().help.get_untracked());
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
            self.send(move |engine| engine.by_keyboard = true);
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
            self.send(move |engine| engine.zoom(x_px, factor));
            return;
        }
        let (dx, dy) = if event.shift_key() && dx == 0.0 {
            (dy, 0.0)
        } else {
            (dx, dy)
        };
        self.send(move |engine| {
            if dx != 0.0 {
                engine.set_view(engine.view.pan(dx));
            }
            if dy != 0.0 {
                engine.scroll(dy);
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
        self.send(move |engine| {
            engine.by_keyboard = false;
            engine.desk.released = None;
            engine.desk.gestures.press(pointer);
            engine.set_hover(None);
        });
    }

    /// A pointer moved over the picture.
    pub(super) fn motion(self, event: &PointerEvent) {
        let pointer = pointer(event);
        self.send(move |engine| {
            let gestures = engine.desk.gestures.motion(pointer);
            for gesture in gestures {
                engine.gesture(gesture);
            }
            if engine.desk.gestures.is_dragging() {
                engine.set_hover(None);
            } else if !pointer.touch {
                engine.set_hover(Some((pointer.x_px, pointer.y_px)));
            }
        });
    }

    /// A pointer was released. What that means is done at the click that follows, or the click would land on what has
    /// opened under the pointer meanwhile.
    pub(super) fn release(self, event: &PointerEvent) {
        let (pointer, at_ms) = (pointer(event), event.time_stamp());
        self.send(move |engine| {
            engine.desk.released = engine.desk.gestures.release(pointer, at_ms);
        });
    }

    /// The click after a release.
    pub(super) fn click(self) {
        self.send(move |engine| {
            if let Some(gesture) = engine.desk.released.take() {
                engine.gesture(gesture);
            }
        });
    }

    /// The browser took a pointer away, or it left the picture.
    pub(super) fn leave(self, event: &PointerEvent, cancelled: bool) {
        let pointer = event.pointer_id();
        self.send(move |engine| {
            if cancelled {
                engine.desk.gestures.cancel(pointer);
            }
            engine.set_hover(None);
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
