//! The one owner of everything that changes: connection, store, view, lanes, scene, painter.
//!
//! ```text
//!   socket ─► input ─► store ─┐
//!   keys, pointers ─► view ───┼─► dirty ─► animation frame ─► rows ─► scene ─► painter
//!                             └─► at most 4 times a second ─► panels
//! ```
//!
//! Handlers only change state and ask for a frame. One permanent callback draws, and is armed only while something
//! changed or the picture follows now.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_model::Time;
use watchscope_model::wire::{Heartbeat, Welcome};
use watchscope_timeline::lanes::{Lanes, Rows};
use watchscope_timeline::{LaneId, Scene, Store, Theme, Token, View, draw};
use web_sys::{Document, HtmlCanvasElement, HtmlElement, HtmlInputElement, ResizeObserver, Window};

use super::panels::{Panels, Tab, ThemeChoice, publish};
use super::picture::RULER_PX;
use super::selection::Selection;
use super::way::{self, Way};
use crate::input::gesture::{Gesture, Gestures};
use crate::painter::{Painter, Palette};
use crate::source::backfill::Backfill;
use crate::source::clock::ServerClock;
use crate::source::connection::{Connection, Effect, Input, Status};
use crate::source::feed::Delivery;

/// What a new page shows of the past at most, and at least, in microseconds.
const FIRST_SPAN_US: i64 = 300_000_000;
const LEAST_SPAN_US: i64 = 90_000_000;
/// Waits up to this are left to the animation frames, in milliseconds.
const SMOOTH_MS: f64 = 34.0;
/// Panels are written at most so often, in milliseconds.
const PUBLISH_MS: f64 = 250.0;

/// The way to the engine from every callback and panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(StoredValue<Rc<RefCell<Option<Engine>>>, LocalStorage>);

impl Handle {
    /// A handle to an engine that [`start`](Self::start) makes.
    pub(super) fn new() -> Self {
        Self(StoredValue::new_local(Rc::new(RefCell::new(None))))
    }

    /// Makes the engine.
    pub(super) fn start(self, panels: Panels, window: Window, document: Document) {
        let engine = Engine::new(self, panels, window, document);
        *self.0.get_value().borrow_mut() = Some(engine);
    }

    /// Does something with the engine, if there is one and nobody else is at it.
    pub(super) fn with<T>(self, action: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let shared = self.0.try_get_value()?;
        let mut engine = shared.try_borrow_mut().ok()?;
        engine.as_mut().map(action)
    }
}

/// Everything that changes.
pub(super) struct Engine {
    pub(super) handle: Handle,
    pub(super) panels: Panels,
    pub(super) window: Window,
    pub(super) document: Document,
    pub(super) connection: Connection,
    pub(super) way: Way,
    pub(super) clock: ServerClock,
    /// When the server was last heard, by its clock.
    heard_at: Time,
    backfill: Backfill,
    pub(super) store: Store,
    pub(super) heartbeat: Option<Heartbeat>,
    pub(super) welcome: Option<Welcome>,
    pub(super) contexts: Option<(Vec<String>, String)>,
    pub(super) lag_ms: Option<u64>,
    pub(super) view: View,
    pub(super) lanes: Lanes,
    pub(super) rows: Rows,
    pub(super) scene: Scene,
    pub(super) scroll_px: f64,
    pub(super) focused: Option<LaneId>,
    pub(super) selection: Option<Selection>,
    pub(super) selections: u64,
    /// The tab of the detail that was shown last.
    pub(super) tab: Tab,
    pub(super) hover: Option<(f64, f64)>,
    pub(super) gestures: Gestures,
    /// What the last release means, until its click.
    pub(super) released: Option<Gesture>,
    /// Whether the person moves by keys, and wants to see what has the focus.
    pub(super) by_keyboard: bool,
    /// Records at the head when following stopped.
    pub(super) paused_at: Option<u64>,
    pub(super) canvas: Option<HtmlCanvasElement>,
    pub(super) rows_element: Option<HtmlElement>,
    pub(super) thumb: Option<HtmlElement>,
    pub(super) filter_field: Option<HtmlInputElement>,
    painter: Option<Painter>,
    pub(super) palette: Palette,
    pub(super) theme: ThemeChoice,
    pub(super) reduced_motion: bool,
    /// Width and height of the canvas in CSS px, and device px to one of them.
    pub(super) size: (f64, f64, f64),
    drawn_version: u64,
    drawn_view: Option<View>,
    dirty: bool,
    armed: bool,
    on_frame: Closure<dyn FnMut(f64)>,
    step_timer: Option<i32>,
    on_step: Closure<dyn FnMut()>,
    published_ms: f64,
    unpublished: bool,
    pub(super) frame_ms: f64,
    /// How much of it rows and scene take.
    pub(super) scene_ms: f64,
    moved_ms: f64,
    /// The last record the canvas shows.
    pub(super) painted_head: u64,
    /// When the first lane was painted, in milliseconds from the page's start.
    pub(super) first_lane_ms: Option<f64>,
    size_observer: Option<ResizeObserver>,
    /// The picture became lower, as when the detail opens: the selected lane stays in sight.
    pub(super) keeps_selection: bool,
}

impl Engine {
    fn new(handle: Handle, panels: Panels, window: Window, document: Document) -> Self {
        let palette = Palette {
            theme: Theme::Dark,
            forced: false,
        };
        Self {
            way: Way::new(window.clone(), handle),
            handle,
            panels,
            connection: Connection::default(),
            clock: ServerClock::default(),
            heard_at: local_now(),
            backfill: Backfill::default(),
            store: Store::default(),
            heartbeat: None,
            welcome: None,
            contexts: None,
            lag_ms: None,
            view: View::following(local_now(), FIRST_SPAN_US, 1_000.0),
            lanes: Lanes::default(),
            rows: Rows::default(),
            scene: Scene::default(),
            scroll_px: 0.0,
            focused: None,
            selection: None,
            selections: 0,
            tab: Tab::Event,
            hover: None,
            gestures: Gestures::default(),
            released: None,
            by_keyboard: false,
            paused_at: None,
            canvas: None,
            rows_element: None,
            thumb: None,
            filter_field: None,
            painter: None,
            palette,
            theme: panels.theme.get_untracked(),
            reduced_motion: false,
            size: (0.0, 0.0, 1.0),
            drawn_version: u64::MAX,
            drawn_view: None,
            dirty: true,
            armed: false,
            on_frame: Closure::new(move |now_ms: f64| {
                handle.with(|engine| engine.frame(now_ms));
            }),
            step_timer: None,
            on_step: Closure::new(move || {
                handle.with(|engine| {
                    engine.step_timer = None;
                    engine.arm();
                });
            }),
            published_ms: f64::NEG_INFINITY,
            unpublished: true,
            frame_ms: 0.0,
            scene_ms: 0.0,
            moved_ms: 0.0,
            painted_head: 0,
            first_lane_ms: None,
            size_observer: None,
            keeps_selection: false,
            window,
            document,
        }
    }

    /// Puts an input into the connection and carries out what it asks for.
    pub(super) fn input(&mut self, input: Input<'_>) {
        let mut effects = VecDeque::from(self.step(input));
        while let Some(effect) = effects.pop_front() {
            // Carrying out an effect may bring up another input; what that asks for comes next.
            if let Some(input) = self.carry_out(effect) {
                let more = self.step(input);
                more.into_iter()
                    .rev()
                    .for_each(|effect| effects.push_front(effect));
            }
        }
        self.way.wake_at(self.connection.wake_ms(), now_ms());
        let status = self.connection.status();
        if status != Status::Live {
            self.backfill.interrupted();
        }
        publish(self.panels.way, status);
        self.changed();
    }

    /// The socket is open: says where the store stands.
    pub(super) fn opened(&mut self) {
        self.input(Input::Opened(self.store.resume_point()));
    }

    fn step(&mut self, input: Input<'_>) -> Vec<Effect> {
        self.connection
            .step(input, now_ms(), js_sys::Math::random())
    }

    /// Marks the panels stale and asks for a frame.
    pub(super) fn changed(&mut self) {
        self.unpublished = true;
        self.arm();
    }

    /// Marks the picture stale and asks for a frame.
    pub(super) fn redraw(&mut self) {
        self.dirty = true;
        self.changed();
    }

    /// Now by the server's clock.
    pub(super) fn now(&self) -> Time {
        self.clock.now(local_now())
    }

    /// Where the pen is: now, or the last word from the server.
    pub(super) fn pen(&mut self) -> Time {
        if self.is_connected() {
            self.heard_at = self.now();
        }
        self.heard_at
    }

    /// Whether the page hears from the server.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.status() == Status::Live
    }

    fn arm(&mut self) {
        if !self.armed {
            self.armed = self
                .window
                .request_animation_frame(self.on_frame.as_ref().unchecked_ref())
                .is_ok();
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Input<'static>> {
        match effect {
            Effect::AskSession => way::ask_session(self.handle),
            Effect::Exchange(secret) => way::exchange(self.handle, secret),
            Effect::TellTabs => {
                if let Ok(Some(storage)) = self.window.local_storage() {
                    // Full or forbidden: the other tabs then find out when they get the focus.
                    let _ = storage.set_item(way::SESSION_KEY, &now_ms().to_string());
                }
            }
            Effect::OpenSocket => {
                if !self.way.open() {
                    return Some(Input::Closed);
                }
            }
            Effect::CloseSocket => self.way.close(),
            Effect::Send(bytes) => self.way.send(&bytes),
            Effect::TellUndecodable(why) => {
                self.panels.trouble.set(Some(format!(
                    "What watchscope sent could not be read ({why}). The page starts again from a snapshot; \
                     the records between stay in watchscope."
                )));
            }
            Effect::Deliver(delivery) => return self.deliver(delivery),
        }
        None
    }

    fn deliver(&mut self, delivery: Delivery) -> Option<Input<'static>> {
        let undecodable =
            |error: &dyn std::fmt::Display| Some(Input::Undecodable(error.to_string()));
        match delivery {
            Delivery::Welcome(welcome) => {
                self.clock.reset();
                self.clock.set(welcome.at, local_now());
                self.contexts = None;
                // Of an epoch the store does not know yet, it learns with the head that follows.
                self.store
                    .ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
                if self.welcome.is_none() {
                    // A log that has just begun fills the picture from the start.
                    let kept_us = welcome.at.micros_since(welcome.first_at);
                    let span_us = kept_us.clamp(LEAST_SPAN_US, FIRST_SPAN_US);
                    self.view = View::following(self.now(), span_us, self.view.width_px);
                }
                self.welcome = Some(welcome);
            }
            Delivery::Head(frame) => {
                if let Err(error) = self.store.snapshot(&frame) {
                    return undecodable(&error);
                }
                if let Some(welcome) = &self.welcome {
                    self.store
                        .ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
                }
            }
            Delivery::Segment(frame) => {
                if let Err(error) = self.store.segment(&frame) {
                    return undecodable(&error);
                }
                if let Some(at) = self.store.head_at() {
                    self.clock.set(at, local_now());
                    self.lag_ms = Some(self.now().millis_since(at));
                }
            }
            Delivery::Chapter(frames) => match self.store.chapter(&frames) {
                Ok(records) => self.backfill.answered(records),
                Err(error) => return undecodable(&error),
            },
            Delivery::Expired { epoch: _, last } => {
                self.store.expired(last);
                self.backfill.answered(0);
            }
            Delivery::Moved { records } => {
                self.say(format!(
                    "This page fell behind; {records} records are loaded again as they are looked at."
                ));
            }
            Delivery::Heartbeat(heartbeat) => {
                self.clock.set(heartbeat.at, local_now());
                self.heartbeat = Some(heartbeat);
            }
            Delivery::Contexts { names, reason } => {
                let names = names.iter().map(ToString::to_string).collect();
                self.contexts = Some((names, reason));
            }
            Delivery::CommandDone { error, .. } => {
                if let Some(error) = error {
                    self.say(error.clone());
                    self.panels.trouble.set(Some(error));
                }
            }
            Delivery::Bye(_) => {}
        }
        None
    }

    /// Says something in the live region.
    pub(super) fn say(&mut self, words: String) {
        publish(self.panels.said, words);
    }

    fn frame(&mut self, now_ms: f64) {
        self.armed = false;
        let started = self.clock_ms();
        self.fit();
        let now = self.now();
        // Less motion: the picture steps once a second.
        if !self.reduced_motion || now_ms - self.moved_ms >= 1_000.0 {
            self.moved_ms = now_ms;
            self.view = self.view.at_now(now);
        }
        let stale = self.dirty
            || self.drawn_version != self.store.version()
            || self.drawn_view != Some(self.view);
        if stale {
            self.draw();
            self.frame_ms += (self.clock_ms() - started - self.frame_ms) * 0.1;
            self.unpublished = true;
        }
        self.ask_for_past();
        if self.unpublished && now_ms - self.published_ms >= PUBLISH_MS {
            self.published_ms = now_ms;
            self.unpublished = false;
            self.publish(now);
        }
        self.arm_next(now_ms);
    }

    /// Asks for the next frame when one will have something to show: at once if something changed, else when the
    /// picture that follows has moved by a px, or when the panels may be written again.
    fn arm_next(&mut self, now_ms: f64) {
        let motion_ms = self.view.following.then(|| {
            let px_ms = self.view.us_per_px / 1_000.0;
            if self.reduced_motion {
                px_ms.max(1_000.0)
            } else {
                px_ms.min(1_000.0)
            }
        });
        let publish_ms = self
            .unpublished
            .then_some(PUBLISH_MS - (now_ms - self.published_ms));
        let wait_ms = match (motion_ms, publish_ms) {
            (Some(motion), Some(publish)) => motion.min(publish),
            (Some(wait), None) | (None, Some(wait)) => wait,
            (None, None) if self.dirty => 0.0,
            (None, None) => return,
        };
        if self.dirty || wait_ms <= SMOOTH_MS {
            self.arm();
        } else if self.step_timer.is_none() {
            self.step_timer = self
                .window
                .set_timeout_with_callback_and_timeout_and_arguments_0(
                    self.on_step.as_ref().unchecked_ref(),
                    wait_ms as i32,
                )
                .ok();
        }
    }

    fn draw(&mut self) {
        let now = self.pen();
        self.dirty = false;
        self.drawn_version = self.store.version();
        self.drawn_view = Some(self.view);
        let started_ms = self.clock_ms();
        self.lay_out(now);
        self.scene_ms += (self.clock_ms() - started_ms - self.scene_ms) * 0.1;
        let (width, height, scale) = self.size;
        if width < 1.0 || height < 1.0 {
            return;
        }
        if self.painter.is_none() {
            self.painter = self
                .canvas
                .as_ref()
                .and_then(|canvas| Painter::new(canvas, scale, self.palette));
        }
        let ruler = draw::ruler(&self.view, now);
        if let Some(painter) = &mut self.painter {
            painter.set(scale, self.palette);
            painter.clear(width, height, Token::Ground0);
            painter.paint(&self.scene, 0.0, RULER_PX);
            painter.paint(&ruler, 0.0, 0.0);
        }
        self.painted_head = self.store.state().map_or(0, |state| state.seq.0);
        if self.first_lane_ms.is_none() && !self.rows.rows.is_empty() {
            self.first_lane_ms = Some(self.clock_ms());
        }
    }

    /// Watches the canvas' size with this observer.
    pub(super) fn watch_size(&mut self, observer: ResizeObserver) {
        self.size_observer = Some(observer);
    }

    /// The canvas is in the document.
    pub(super) fn set_canvas(&mut self, canvas: HtmlCanvasElement) {
        if let Some(observer) = &self.size_observer {
            observer.observe(&canvas);
        }
        self.canvas = Some(canvas);
        self.redraw();
    }

    /// Fits the canvas to its place and resolution.
    fn fit(&mut self) {
        let Some(canvas) = &self.canvas else {
            return;
        };
        let scale = self.window.device_pixel_ratio().max(0.5);
        let (width, height) = (
            f64::from(canvas.client_width()),
            f64::from(canvas.client_height()),
        );
        if (width, height, scale) == self.size {
            return;
        }
        self.keeps_selection = height < self.size.1;
        self.size = (width, height, scale);
        canvas.set_width((width * scale).round() as u32);
        canvas.set_height((height * scale).round() as u32);
        self.view = self.view.resized(width);
        self.dirty = true;
    }

    /// Asks for the chapter that the view, and half a screen before it, lacks.
    fn ask_for_past(&mut self) {
        let reach = self
            .view
            .left()
            .plus_micros(-((self.view.us_per_px * self.view.width_px / 2.0) as i64));
        let wanted = self.store.backfill(reach);
        let seq = wanted.as_ref().map(|(.., seq)| *seq);
        if !self.is_connected() {
            return;
        }
        if let Some(before) = self.backfill.ask(seq)
            && let Some((log, epoch, _)) = wanted
            && let Some(Effect::Send(bytes)) = self.connection.backfill((log, epoch, before))
        {
            self.way.send(&bytes);
        }
    }

    /// Milliseconds of the page's own clock, to measure with.
    fn clock_ms(&self) -> f64 {
        self.window
            .performance()
            .map_or(0.0, |performance| performance.now())
    }
}

/// The browser's clock in milliseconds.
pub(super) fn now_ms() -> u64 {
    js_sys::Date::now() as u64
}

/// The browser's clock.
pub(super) fn local_now() -> Time {
    Time((js_sys::Date::now() * 1_000.0) as i64)
}
