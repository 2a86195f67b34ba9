//! Carries out the effects of messages in the browser.

use watchscope_timeline::{LaneId, Token};

use super::bridge;
use super::elements::Elements;
use super::frame::{self, Callbacks};
use super::theme::{self, palette};
use super::tree::Tree;
use crate::core::effect::Effect;
use crate::core::model::Model;
use crate::core::msg::{Msg, Painted};
use crate::core::screen::Size;
use crate::core::tree_rows::Thumb;
use crate::paint::painter::Painter;
use crate::source::connection;

/// The browser's objects that the first part uses.
pub(super) struct Browser {
    elements: &'static Elements,
    send: fn(Msg),
    /// Loads the second part.
    load: fn(),
    callbacks: Callbacks,
    tree: Tree,
    painter: Option<Painter>,
    /// The size that the canvas has.
    fitted: Size,
    /// The shift of the rows in px, and the thumb, that the document has.
    scrolled: Option<(i32, Option<Thumb>)>,
    /// When the handling of the message began, and when its effects began, in milliseconds since the page's start.
    started_ms: f64,
    updated_ms: f64,
}

impl Browser {
    pub(super) fn new(elements: &'static Elements, send: fn(Msg), load: fn()) -> Self {
        Self {
            elements,
            send,
            load,
            callbacks: Callbacks::new(elements, send),
            tree: Tree::default(),
            painter: None,
            fitted: Size::default(),
            scrolled: None,
            started_ms: 0.0,
            updated_ms: 0.0,
        }
    }

    /// Begins the effects of a message whose handling began at `started_ms`.
    pub(super) fn begin(&mut self, started_ms: f64) {
        self.started_ms = started_ms;
        self.updated_ms = self.elements.clock_ms();
    }

    /// Carries out one effect.
    pub(super) fn carry_out(&mut self, effect: Effect, model: &Model) {
        let elements = self.elements;
        match effect {
            Effect::Link(effect) => link(elements, effect, model),
            Effect::WakeAt(at_ms) => bridge::wake_at(at_ms, model.now.ms),
            Effect::ArmFrame => self.callbacks.arm_frame(elements),
            Effect::ArmAfter { wait_ms } => self.callbacks.arm_after(elements, wait_ms),
            Effect::WarmUp => self.warm_up(model),
            Effect::Paint => self.paint(model),
            Effect::ShowDate(date) => {
                self.tree.show_date(elements, date);
                self.tree.show(elements, model.tree_rows(), true);
            }
            Effect::Theme => {
                theme::apply(elements, model.screen.theme);
                // A canvas keeps the values that the system's colours had when it first drew with them.
                self.painter = None;
            }
            Effect::LoadSecond => (self.load)(),
            Effect::TellIncomplete => elements.tell_incomplete(self.load),
            Effect::Drawn => {
                if let Some(second) = model.second {
                    (second.drawn)();
                }
            }
            Effect::Panel(effect) => {
                if let Some(second) = model.second {
                    (second.carry_out)(effect);
                }
            }
            Effect::Show => {
                if let Some(second) = model.second {
                    (second.show)(model);
                }
            }
        }
    }

    pub(super) fn lane_of_row(&self, id: &str) -> Option<LaneId> {
        self.tree.lane_of(id)
    }

    fn warm_up(&mut self, model: &Model) {
        if self.painter.is_some() {
            return;
        }
        let size = frame::size(self.elements);
        (self.send)(Msg::Resized(size));
        self.fit(size);
        self.painter = Painter::new(&self.elements.canvas, size.scale, palette(&model.screen));
        if let Some(painter) = &mut self.painter {
            painter.warm_up();
        }
    }

    fn paint(&mut self, model: &Model) {
        let elements = self.elements;
        self.tree.show(elements, model.tree_rows(), false);
        self.tree.focus(elements, model.pick.focused);
        let scrolled = (-model.scroll_px as i32, model.thumb());
        if self.scrolled != Some(scrolled) {
            self.scrolled = Some(scrolled);
            elements.scroll(scrolled.0, scrolled.1);
        }
        let size = model.screen.size;
        self.fit(size);
        if size.has_area() {
            let palette = palette(&model.screen);
            if self.painter.is_none() {
                self.painter = Painter::new(&elements.canvas, size.scale, palette);
            }
            if let Some(painter) = &mut self.painter {
                painter.set(size.scale, palette);
                let scenes = [
                    (&model.scene, 0.0, model.lanes_top_px()),
                    (&model.ruler, 0.0, 0.0),
                ];
                painter.paint(Token::Ground0, &scenes);
            }
        }
        if model.frame.first_lane_ms.is_none() && model.shows_lanes() {
            elements.mark("first lane");
        }
        let at_ms = elements.clock_ms();
        (self.send)(Msg::Painted(Painted {
            at_ms,
            scene_ms: self.updated_ms - self.started_ms,
            frame_ms: at_ms - self.started_ms,
        }));
    }

    /// Gives the canvas its resolution, which clears it.
    fn fit(&mut self, size: Size) {
        if size != self.fitted {
            self.fitted = size;
            let canvas = &self.elements.canvas;
            canvas.set_width((size.width_px * size.scale).round() as u32);
            canvas.set_height((size.height_px * size.scale).round() as u32);
        }
    }
}

fn link(elements: &Elements, effect: connection::Effect, model: &Model) {
    match effect {
        connection::Effect::AskSession => bridge::ask(),
        connection::Effect::Exchange(secret) => bridge::exchange(&secret),
        connection::Effect::TellTabs => {
            if let Ok(Some(storage)) = elements.window.local_storage() {
                // If the storage is full or forbidden, the other tabs notice when they get the focus.
                let _ = storage.set_item(bridge::SESSION_KEY, &model.now.ms.to_string());
            }
        }
        connection::Effect::OpenSocket => bridge::open(),
        connection::Effect::CloseSocket => bridge::close(),
        connection::Effect::Send(bytes) => bridge::send(&bytes),
        // The core handles these itself.
        connection::Effect::Deliver(_) | connection::Effect::TellUndecodable(_) => {}
    }
}
