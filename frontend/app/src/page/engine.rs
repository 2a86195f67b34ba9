//! The one owner of everything that changes: connection, store, view, lanes, scene, painter.
//!
//! ```text
//!   socket ─► input ─► store ─┐
//!   keys, pointers ─► view ───┼─► dirty ─► animation frame ─► rows ─► scene ─► painter
//!                             └─► at most 4 times a second ─► panels (second part)
//! ```
//!
//! Handlers only change state and ask for a frame. One permanent callback draws, and is armed only while something
//! changed or the picture follows now.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_model::Time;
use watchscope_model::wire::{Heartbeat, Welcome};
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::lanes::{Lanes, Rows};
use watchscope_timeline::{LaneId, RecordId, Scene, Store, Theme, Token, View, draw, format};

use super::panels::Desk;
use super::picture::RULER_PX;
use super::second::{self, Second};
use super::stage::Stage;
use super::theme::{self, ThemeChoice};
use super::tree::Tree;
use super::way;
use crate::core::queue::Queue;
use crate::painter::{Painter, Palette};
use crate::source::backfill::Backfill;
use crate::source::clock::ServerClock;
use crate::source::connection::{Connection, Effect, Input, Status};
use crate::source::feed::Delivery;

/// What the picture spans before anything is known of the log, in microseconds.
const UNKNOWN_SPAN_US: i64 = 300_000_000;
/// Waits up to this are left to the animation frames, in milliseconds.
const SMOOTH_MS: f64 = 34.0;
/// The least time between two frames that only move the pen on, in milliseconds. A young log's axis spans 20 s, and its
/// pen moves by a px each 15 ms. Painting at that pace delayed events: they waited for a frame under way, 4 ms at p50.
const MOTION_MS: f64 = 40.0;
/// Panels are written at most so often, in milliseconds.
const PUBLISH_MS: f64 = 250.0;

/// The first picture waits so long from the start for something to paint, in milliseconds; the second part is loaded
/// after it.
const PATIENCE_MS: f64 = 1_500.0;

thread_local! {
    /// The one page of the document, which lives as long as the document.
    static PAGE: Cell<Option<&'static Page>> = const { Cell::new(None) };
}

/// The engine, and what waits for it.
struct Page {
    engine: RefCell<Engine>,
    queue: Queue<Msg>,
}

/// What happened: the engine handles each message whole before the next.
pub(super) enum Msg {
    /// The page has started.
    Start,
    /// The browser is about to paint.
    Frame { now_ms: f64 },
    /// The time has come to ask for a frame.
    Step,
    /// The connection has an input.
    Link(Input<'static>),
    /// The socket brought a message.
    Message(Vec<u8>),
    /// The socket is open.
    Opened,
    /// The second part is here.
    Loaded(Second),
    /// The second part could not be loaded.
    NotLoaded,
    /// The second part has something to do with the engine.
    Do(Box<dyn FnOnce(&mut Engine)>),
}

/// Makes the engine.
pub(super) fn start(stage: Stage) {
    PAGE.set(Some(Box::leak(Box::new(Page {
        engine: RefCell::new(Engine::new(stage)),
        queue: Queue::default(),
    }))));
}

fn page() -> &'static Page {
    PAGE.get().expect("the page starts before it listens")
}

/// Handles a message now, or after the one that is being handled.
pub(super) fn send(message: Msg) {
    let page = page();
    page.queue
        .send(message, |message| page.engine.borrow_mut().handle(message));
}

/// The engine as it is. It cannot be asked while it handles a message.
pub(super) fn read() -> Ref<'static, Engine> {
    page().engine.borrow()
}

/// The way to the engine from every panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle;

impl Handle {
    /// Does something with the engine now, or after the message that is being handled.
    pub(super) fn send(self, action: impl FnOnce(&mut Engine) + 'static) {
        send(Msg::Do(Box::new(action)));
    }

    /// Asks the engine something.
    pub(super) fn read<T>(self, ask: impl FnOnce(&Engine) -> T) -> T {
        ask(&read())
    }
}

/// Everything that changes.
pub(super) struct Engine {
    pub(super) stage: Stage,
    /// The second part, once it is loaded.
    pub(super) second: Option<Second>,
    second_asked: bool,
    /// Live segments that came before the second part, which takes them in. The server sends no more than 1 MiB of
    /// them: they are not acknowledged.
    held: Vec<Vec<u8>>,
    /// What only the second part keeps.
    pub(super) desk: Desk,
    pub(super) connection: Connection,
    pub(super) clock: ServerClock,
    /// When the server was last heard, by its clock.
    heard_at: Time,
    backfill: Backfill,
    pub(super) store: Store,
    /// The next snapshot is of a log that has begun again: what is held goes when it is here, not before.
    pub(super) starts_over: bool,
    pub(super) heartbeat: Option<Heartbeat>,
    /// The command that was answered last; all that came of it is here.
    pub(super) done: Option<u64>,
    pub(super) welcome: Option<Welcome>,
    pub(super) contexts: Option<(Vec<String>, String)>,
    pub(super) lag_ms: Option<u64>,
    pub(super) view: View,
    /// The next snapshot is the first: the view is chosen by it.
    is_first_view: bool,
    pub(super) lanes: Lanes,
    pub(super) rows: Rows,
    pub(super) scene: Scene,
    pub(super) scroll_px: f64,
    /// Size of the browser's window, and the greatest height of the lanes' window since it has that.
    pub(super) rows_room: ((Option<f64>, Option<f64>), f64),
    pub(super) focused: Option<LaneId>,
    /// The lane that is told in the detail.
    pub(super) selected: Option<LaneId>,
    /// The record that is told there.
    pub(super) selected_record: Option<RecordId>,
    /// What the selected finding rests on.
    pub(super) evidence: Option<Evidence>,
    /// The record of it that is pointed at.
    pub(super) lit: Option<RecordId>,
    /// Whether the person moves by keys, and wants to see what has the focus.
    pub(super) by_keyboard: bool,
    /// What the live region says.
    pub(super) said: String,
    /// What went wrong, until the person dismisses it.
    pub(super) trouble: Option<String>,
    pub(super) tree: Tree,
    pub(super) painter: Option<Painter>,
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
    /// The picture became lower, as when the detail opens: the selected lane stays in sight.
    pub(super) keeps_selection: bool,
}

impl Engine {
    fn new(stage: Stage) -> Self {
        let palette = Palette {
            theme: Theme::Dark,
            forced: false,
        };
        Self {
            second: None,
            second_asked: false,
            held: Vec::new(),
            desk: Desk::default(),
            connection: Connection::default(),
            clock: ServerClock::default(),
            heard_at: local_now(),
            backfill: Backfill::default(),
            store: Store::default(),
            starts_over: false,
            heartbeat: None,
            done: None,
            welcome: None,
            contexts: None,
            lag_ms: None,
            view: View::following(local_now(), UNKNOWN_SPAN_US, 1_000.0),
            is_first_view: false,
            lanes: Lanes::default(),
            rows: Rows::default(),
            scene: Scene::default(),
            scroll_px: 0.0,
            rows_room: ((None, None), 0.0),
            focused: None,
            selected: None,
            selected_record: None,
            evidence: None,
            lit: None,
            by_keyboard: false,
            said: String::new(),
            trouble: None,
            tree: Tree::default(),
            painter: None,
            palette,
            theme: ThemeChoice::System,
            reduced_motion: false,
            size: (0.0, 0.0, 1.0),
            drawn_version: u64::MAX,
            drawn_view: None,
            dirty: true,
            armed: false,
            on_frame: Closure::new(move |now_ms: f64| {
                send(Msg::Frame { now_ms });
            }),
            step_timer: None,
            on_step: Closure::new(move || {
                send(Msg::Step);
            }),
            published_ms: f64::NEG_INFINITY,
            unpublished: true,
            frame_ms: 0.0,
            scene_ms: 0.0,
            moved_ms: 0.0,
            painted_head: 0,
            first_lane_ms: None,
            keeps_selection: false,
            stage,
        }
    }

    fn handle(&mut self, message: Msg) {
        match message {
            Msg::Start => {
                self.theme = theme::remembered(&self.stage.window);
                self.apply_theme();
                self.input(Input::Link(way::link()));
            }
            Msg::Frame { now_ms } => self.frame(now_ms),
            Msg::Step => {
                self.step_timer = None;
                self.arm();
            }
            Msg::Link(input) => self.input(input),
            Msg::Message(bytes) => self.input(Input::Message(&bytes)),
            Msg::Opened => self.opened(),
            Msg::Loaded(second) => self.join(second),
            // The picture stays, and says where the panels would be what became of them.
            Msg::NotLoaded => self.stage.tell_incomplete(second::load_soon),
            Msg::Do(action) => action(self),
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
        way::wake_at(self.connection.wake_ms(), now_ms());
        let status = self.connection.status();
        if status != Status::Live {
            self.backfill.interrupted();
        }
        self.inform();
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

    /// Where the pen is: now, or where it was in the last picture before the server fell silent.
    pub(super) fn pen(&self) -> Time {
        if self.is_connected() {
            self.now()
        } else {
            self.heard_at
        }
    }

    /// Whether the page hears from the server.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.status() == Status::Live
    }

    fn arm(&mut self) {
        if !self.armed {
            self.armed = self
                .stage
                .window
                .request_animation_frame(self.on_frame.as_ref().unchecked_ref())
                .is_ok();
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Input<'static>> {
        match effect {
            Effect::AskSession => way::ask(),
            Effect::Exchange(secret) => way::exchange(&secret),
            Effect::TellTabs => {
                if let Ok(Some(storage)) = self.stage.window.local_storage() {
                    // Full or forbidden: the other tabs then find out when they get the focus.
                    let _ = storage.set_item(way::SESSION_KEY, &now_ms().to_string());
                }
            }
            Effect::OpenSocket => {
                // The store goes on from what it has taken in.
                self.held.clear();
                way::open();
                self.warm_up();
            }
            Effect::CloseSocket => way::close(),
            Effect::Send(bytes) => way::send(&bytes),
            Effect::TellUndecodable(why) => {
                self.trouble = Some(format!(
                    "What watchscope sent could not be read ({why}). The page starts again from a snapshot; \
                     the records between stay in watchscope."
                ));
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
                self.is_first_view = self.welcome.is_none();
                self.welcome = Some(welcome);
            }
            Delivery::Head(frame) => {
                self.held.clear();
                if std::mem::take(&mut self.starts_over)
                    && let Some(second) = self.second
                {
                    (second.forget)(self);
                }
                if let Err(error) = self.store.snapshot(&frame) {
                    return undecodable(&error);
                }
                if let Some(welcome) = &self.welcome {
                    self.store
                        .ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
                    if std::mem::take(&mut self.is_first_view) {
                        let (begin, last) = (welcome.first_at, self.store.last_news());
                        self.view = View::opened(self.now(), begin, last, self.view.width_px);
                    }
                }
            }
            Delivery::Segment(frame) => match self.second {
                Some(second) => return (second.segment)(self, &frame),
                None => self.held.push(frame),
            },
            Delivery::Chapter(frames) => {
                // Not asked for without the second part; see `ask_for_past`.
                let second = self.second?;
                match (second.chapter)(&mut self.store, &frames) {
                    Ok(records) => self.backfill.answered(records),
                    Err(error) => return undecodable(&error),
                }
            }
            Delivery::Expired { epoch, last } => {
                self.store.expired(&epoch, last);
                self.backfill.answered(0);
            }
            Delivery::Moved { records } => {
                self.say(format!(
                    "This page fell behind; {records} records are loaded again as they are looked at."
                ));
            }
            Delivery::Heartbeat(heartbeat) => {
                self.clock.set(heartbeat.at, local_now());
                if let Some(welcome) = &mut self.welcome {
                    // Of an epoch the store does not know yet, it learns with the head that follows.
                    (welcome.first, welcome.first_at) = (heartbeat.first, heartbeat.first_at);
                    self.store
                        .ring_begins(&welcome.epoch, heartbeat.first, heartbeat.first_at);
                }
                self.heartbeat = Some(heartbeat);
            }
            Delivery::Contexts { names, reason } => {
                let names = names.iter().map(ToString::to_string).collect();
                self.contexts = Some((names, reason));
            }
            Delivery::CommandDone { command, error } => {
                self.done = Some(command);
                if let Some(error) = error {
                    self.say(error.clone());
                    self.trouble = Some(error);
                }
            }
            Delivery::Bye(_) => {}
        }
        None
    }

    /// The second part is here: what waited for it is taken in.
    pub(super) fn join(&mut self, second: Second) {
        self.second = Some(second);
        for frame in std::mem::take(&mut self.held) {
            if let Some(input) = (second.segment)(self, &frame) {
                self.input(input);
                break;
            }
        }
        self.input(Input::TakenIn);
        self.inform();
        self.redraw();
    }

    /// Says something in the live region.
    pub(super) fn say(&mut self, words: String) {
        self.said = words;
        self.inform();
    }

    /// Tells of something that went wrong, until the person dismisses it.
    pub(super) fn trouble_with(&mut self, words: impl Into<String>) {
        self.trouble = Some(words.into());
        self.inform();
    }

    /// Passes on what the panels cannot wait for.
    pub(super) fn inform(&mut self) {
        if let Some(second) = self.second {
            (second.inform)(self);
        }
    }

    fn frame(&mut self, now_ms: f64) {
        self.armed = false;
        if !self.has_face() && now_ms < PATIENCE_MS {
            // An empty picture would keep waiting what there is to draw: measured, 60 ms.
            self.arm_after(PATIENCE_MS - now_ms);
            return;
        }
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
            if let Some(second) = self.second {
                (second.drawn)(self);
            }
            self.frame_ms += (self.clock_ms() - started - self.frame_ms) * 0.1;
            self.unpublished = true;
        }
        self.ask_for_past();
        if self.unpublished && now_ms - self.published_ms >= PUBLISH_MS {
            self.published_ms = now_ms;
            self.unpublished = false;
            let date = format::date(self.view.right().min(now));
            self.tree.show_date(&self.stage, date);
            if let Some(second) = self.second {
                (second.publish)(self, now);
            }
        }
        if !self.second_asked {
            self.second_asked = true;
            second::load_soon();
        }
        self.arm_next(now_ms);
    }

    /// Whether the first paint is done: a lane is painted, or it is known that there is none to paint.
    fn has_face(&self) -> bool {
        match self.connection.status() {
            Status::Connecting => false,
            Status::Live => self.store.state().is_some() || self.contexts.is_some(),
            _ => true,
        }
    }

    /// Asks for the next frame when one will have something to show: at once if something changed, else when the
    /// picture that follows has moved by a px, or when the panels may be written again.
    fn arm_next(&mut self, now_ms: f64) {
        let motion_ms = self.view.following.then(|| {
            let px_ms = self.view.us_per_px / 1_000.0;
            if self.reduced_motion {
                px_ms.max(1_000.0)
            } else {
                px_ms.clamp(MOTION_MS, 1_000.0)
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
        self.arm_after(if self.dirty { 0.0 } else { wait_ms });
    }

    /// Asks for a frame in so many milliseconds.
    fn arm_after(&mut self, wait_ms: f64) {
        if wait_ms <= SMOOTH_MS {
            self.arm();
        } else if self.step_timer.is_none() {
            self.step_timer = self
                .stage
                .window
                .set_timeout_with_callback_and_timeout_and_arguments_0(
                    self.on_step.as_ref().unchecked_ref(),
                    wait_ms as i32,
                )
                .ok();
        }
    }

    /// Makes what any picture needs, while the first socket opens.
    fn warm_up(&mut self) {
        if self.drawn_view.is_none() && self.painter.is_none() {
            self.fit();
            self.painter = Painter::new(&self.stage.canvas, self.size.2, self.palette);
            if let Some(painter) = &mut self.painter {
                painter.warm_up();
            }
        }
    }

    fn draw(&mut self) {
        let now = self.pen();
        self.heard_at = now;
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
            self.painter = Painter::new(&self.stage.canvas, scale, self.palette);
        }
        let ruler = draw::ruler(&self.view, now);
        if let Some(painter) = &mut self.painter {
            painter.set(scale, self.palette);
            let scenes = [(&self.scene, 0.0, RULER_PX), (&ruler, 0.0, 0.0)];
            painter.paint(Token::Ground0, &scenes);
        }
        self.painted_head = self.store.state().map_or(0, |state| state.seq.0);
        if self.first_lane_ms.is_none() && !self.rows.rows.is_empty() {
            self.first_lane_ms = Some(self.clock_ms());
            // For whoever measures before there is a second part to ask.
            if let Some(performance) = self.stage.window.performance() {
                let _ = performance.mark("first lane");
            }
        }
    }

    /// Fits the canvas to its place and resolution.
    fn fit(&mut self) {
        let canvas = &self.stage.canvas;
        let scale = self.stage.window.device_pixel_ratio().max(0.5);
        let (width, height) = (
            f64::from(canvas.client_width()),
            f64::from(canvas.client_height()),
        );
        if (width, height, scale) == self.size {
            return;
        }
        self.keeps_selection = height < self.size.1;
        let is_first = self.size.0 < 1.0;
        self.size = (width, height, scale);
        canvas.set_width((width * scale).round() as u32);
        canvas.set_height((height * scale).round() as u32);
        self.view = if is_first {
            // The span was chosen before the width was known.
            self.view.spread(width)
        } else {
            self.view.resized(width)
        };
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
        if !self.is_connected() || self.second.is_none() {
            return;
        }
        if let Some(before) = self.backfill.ask(seq)
            && let Some((log, epoch, _)) = wanted
            && let Some(Effect::Send(bytes)) = self.connection.backfill((log, epoch, before))
        {
            way::send(&bytes);
        }
    }

    /// Milliseconds of the page's own clock, to measure with.
    fn clock_ms(&self) -> f64 {
        self.stage
            .window
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
