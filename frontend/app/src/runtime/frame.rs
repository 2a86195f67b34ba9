//! The callbacks of frames and timers, and the sizes that a frame is drawn for.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;

use super::elements::Elements;
use crate::core::msg::Msg;
use crate::core::screen::{Size, Window};

/// The callback of all frames, and that of the timer that requests a frame. They live as long as the page.
#[derive(Debug)]
pub(super) struct Callbacks {
    on_frame: Closure<dyn FnMut(f64)>,
    on_step: Closure<dyn FnMut()>,
}

impl Callbacks {
    pub(super) fn new(elements: &'static Elements, send: fn(Msg)) -> Self {
        Self {
            on_frame: Closure::new(move |now_ms: f64| {
                send(Msg::Frame {
                    now_ms,
                    size: size(elements),
                    window: window(elements),
                });
            }),
            on_step: Closure::new(move || send(Msg::Step)),
        }
    }

    /// Requests a callback before the next paint.
    pub(super) fn arm_frame(&self, elements: &Elements) {
        // It fails for no function.
        let _ = elements
            .window
            .request_animation_frame(self.on_frame.as_ref().unchecked_ref());
    }

    /// Requests a frame after `wait_ms`.
    pub(super) fn arm_after(&self, elements: &Elements, wait_ms: f64) {
        // It fails for no function.
        let _ = elements
            .window
            .set_timeout_with_callback_and_timeout_and_arguments_0(
                self.on_step.as_ref().unchecked_ref(),
                wait_ms as i32,
            );
    }
}

/// Returns the present size of the canvas.
pub(super) fn size(elements: &Elements) -> Size {
    Size {
        width_px: f64::from(elements.canvas.client_width()),
        height_px: f64::from(elements.canvas.client_height()),
        scale: elements.window.device_pixel_ratio().max(0.5),
    }
}

fn window(elements: &Elements) -> Window {
    let px = |size: Result<JsValue, JsValue>| size.ok().and_then(|px| px.as_f64());
    Window {
        width_px: px(elements.window.inner_width()).unwrap_or(f64::INFINITY),
        height_px: px(elements.window.inner_height()).unwrap_or(f64::INFINITY),
    }
}
