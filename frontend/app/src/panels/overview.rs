//! The overview above the picture: its canvas, its label, and a person's actions on it.

use std::cell::RefCell;

use leptos::prelude::document;
use wasm_bindgen::JsCast as _;
use watchscope_timeline::Token;
use web_sys::{Element, HtmlCanvasElement, HtmlElement, KeyboardEvent, PointerEvent, WheelEvent};

use super::events::{grip, wheel_px};
use super::listen::{on, on_resize};
use crate::core::model::Model;
use crate::core::person::Person;
use crate::paint::painter::Painter;
use crate::runtime::page::act;
use crate::runtime::theme::palette;

/// The factor of time by which a notch of the wheel widens or narrows the overview.
const WIDER: f64 = 1.25;
/// The share of the view's length by which an arrow key moves it. With Shift the share is 1.
const STEP: f64 = 0.1;

/// The overview's elements of index.html, and their painter.
struct Strip {
    area: HtmlElement,
    words: Element,
    canvas: HtmlCanvasElement,
    painter: Option<Painter>,
    said: (String, String),
}

thread_local! {
    static STRIP: RefCell<Option<Strip>> = const { RefCell::new(None) };
}

/// Starts listening, for the life of the page.
pub(super) fn listen() {
    let element = |id: &str| document().get_element_by_id(id);
    let (Some(area), Some(words), Some(canvas)) = (
        element("overview"),
        element("overview-words"),
        element("overview-strip"),
    ) else {
        return;
    };
    let canvas: HtmlCanvasElement = canvas.unchecked_into();
    on(&canvas, "pointerdown", |event: PointerEvent| press(&event));
    on(&canvas, "wheel", |event: WheelEvent| {
        event.prevent_default();
        let (dx_px, dy_px) = wheel_px(&event);
        if dx_px.abs() > dy_px.abs() {
            act(Person::Scroll { dx_px, dy_px: 0.0 });
        } else {
            let factor = if dy_px > 0.0 { WIDER } else { 1.0 / WIDER };
            act(Person::WidenOverview { factor });
        }
    });
    on(&canvas, "keydown", |event: KeyboardEvent| key(&event));
    follow_width(&canvas);
    STRIP.set(Some(Strip {
        area: area.unchecked_into(),
        words,
        canvas,
        painter: None,
        said: Default::default(),
    }));
}

/// Drags from here until the pointer is released.
fn press(event: &PointerEvent) {
    let Some(left_px) = STRIP.with_borrow(|strip| {
        let strip = strip.as_ref()?;
        Some(strip.canvas.get_bounding_client_rect().left())
    }) else {
        return;
    };
    let x_px = move |event: &PointerEvent| f64::from(event.client_x()) - left_px;
    act(Person::GripOverview { x_px: x_px(event) });
    grip(
        event,
        move |event| act(Person::DragOverview { x_px: x_px(event) }),
        || act(Person::ReleaseOverview),
    );
}

fn key(event: &KeyboardEvent) {
    if event.ctrl_key() || event.alt_key() || event.meta_key() {
        return;
    }
    let share = if event.shift_key() { 1.0 } else { STEP };
    let person = match event.key().as_str() {
        "ArrowLeft" => Person::StepOverview { share: -share },
        "ArrowRight" => Person::StepOverview { share },
        "," | "<" => Person::ShowProblem { is_next: false },
        "." | ">" => Person::ShowProblem { is_next: true },
        _ => return,
    };
    event.prevent_default();
    event.stop_propagation();
    act(person);
}

/// Requests an overview of the canvas's width whenever that changes. To read the width with each picture made the
/// browser lay out the page twice in a frame: at 1,000 records a second that took 2 % of a core.
fn follow_width(canvas: &HtmlCanvasElement) {
    let observer = on_resize(canvas, || {
        let width_px = STRIP.with_borrow(|strip| {
            let canvas = &strip.as_ref()?.canvas;
            Some(f64::from(canvas.client_width())).filter(|width_px| *width_px >= 1.0)
        });
        if let Some(width_px) = width_px {
            act(Person::SizeOverview { width_px });
        }
    });
    // The page follows it as long as it lives.
    std::mem::forget(observer);
}

/// Paints the model's overview.
pub(super) fn paint(model: &Model) {
    STRIP.with_borrow_mut(|strip| {
        if let (Some(strip), Some((_, scene))) = (strip, &model.panels.overview.drawn) {
            strip.tell(&model.panels.overview.words);
            // Styles are set by script, which the content security policy allows.
            let height = format!("height:{}px", scene.height.to_f64() as i32 + 1);
            strip.area.style().set_css_text(&height);
            let scale = model.screen.size.scale;
            let device = |px: f64| (px * scale).round() as u32;
            let (width, height) = (device(scene.width.to_f64()), device(scene.height.to_f64()));
            if (strip.canvas.width(), strip.canvas.height()) != (width, height) {
                strip.canvas.set_width(width);
                strip.canvas.set_height(height);
            }
            let palette = palette(&model.screen);
            if strip.painter.is_none() {
                strip.painter = Painter::new(&strip.canvas, scale, palette);
            }
            if let Some(painter) = &mut strip.painter {
                painter.set(scale, palette);
                painter.paint(Token::Ground1, &[(scene, 0.0, 0.0)]);
            }
        }
    });
}

impl Strip {
    /// Writes the label, one element per line.
    fn tell(&mut self, words: &(String, String)) {
        if self.said == *words {
            return;
        }
        self.said.clone_from(words);
        self.words.set_text_content(None);
        for (line, class) in [(&words.0, "strong"), (&words.1, "quiet")] {
            if let Ok(element) = document().create_element("div") {
                element.set_class_name(class);
                element.set_text_content(Some(line));
                // It cannot fail on an element.
                let _ = self.words.append_child(&element);
            }
        }
    }
}
