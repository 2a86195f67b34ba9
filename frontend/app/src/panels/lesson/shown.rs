//! What the panels of a lesson show, as mirrors, and the commands that they send.

use std::cell::Cell;

use js_sys::{Function, Reflect, Uint8Array};
use leptos::prelude::{Owner, window};
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_model::Time;
use watchscope_model::wire::player::{
    ActNow, ClientNow, CrowdNow, EndNow, FindingNow, Halt, LessonCommand, LessonNow, LessonText,
    MoveAct, PassageText, Play, WireLine, encode_command,
};
use watchscope_timeline::inside::beliefs::BeliefTable;
use watchscope_timeline::inside::stretches::Stretches;

use crate::core::lesson::Marks;
use crate::panels::mirror::Mirror;

/// What is beside the picture: it follows the picture at most four times a second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beside {
    pub(super) at_us: i64,
    pub(super) begin: Time,
    pub(super) acts: Vec<ActNow>,
    pub(super) stretches: Stretches,
    pub(super) beliefs: Option<BeliefTable>,
    pub(super) wire: Vec<WireLine>,
    pub(super) clients: Vec<ClientNow>,
    pub(super) ends: Vec<EndNow>,
    pub(super) servers: Vec<String>,
    pub(super) crowd: Vec<CrowdNow>,
    pub(super) findings: Vec<FindingNow>,
}

impl Beside {
    fn empty() -> Self {
        Self {
            at_us: 0,
            begin: Time(0),
            acts: Vec::new(),
            stretches: Stretches::default(),
            beliefs: None,
            wire: Vec::new(),
            clients: Vec::new(),
            ends: Vec::new(),
            servers: Vec::new(),
            crowd: Vec::new(),
            findings: Vec::new(),
        }
    }
}

/// The ruler above the lanes, in seconds since the lesson began. Places are in CSS px of the canvas.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RulerShown {
    /// Where the canvas begins in the picture.
    pub(super) left_px: f64,
    /// The labels: the place, and the time in µs.
    pub(super) labels: Vec<(f64, i64)>,
    /// The pen, unless it is out of sight.
    pub(super) pen: Option<(f64, i64)>,
}

/// Where something lies on the canvas, in CSS px of the picture; `None` if it is out of sight.
pub(super) type Place = Option<(f64, f64)>;

/// Where the handle of an act lies, in CSS px of the picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ActPlace {
    /// The handle.
    pub(super) x_px: f64,
    /// The bounds.
    pub(super) bounds_px: (f64, f64),
    /// The ticks of the times that were tried.
    pub(super) tried_px: Vec<f64>,
    /// The height of the act's mark in the picture.
    pub(super) mark_px: f64,
}

/// How the present run and the earlier ones did with a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reached {
    /// When the present run reached the goal, in microseconds since the lesson began.
    pub(super) at_us: Option<i64>,
    /// Whether any run of this page reached it.
    pub(super) is_reached: bool,
}

/// The panels; a narrow window shows one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Text,
    Holds,
    Wire,
    Code,
}

/// The mirrors. The struct is a cheap copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) text: Mirror<Option<LessonText>>,
    pub(super) now: Mirror<Option<LessonNow>>,
    pub(super) beside: Mirror<Beside>,
    /// Where the moments of the passage lie, in their order.
    pub(super) rings: Mirror<Vec<Place>>,
    /// The moment that the person called last, and how often one was called.
    pub(super) called: Mirror<(u32, u32)>,
    /// Where each act that can be moved lies.
    pub(super) acts: Mirror<Vec<ActPlace>>,
    /// The act that is being moved, and its time.
    pub(super) drag: Mirror<Option<(u32, i64)>>,
    /// What the picture showed when the act was taken: the passage, the view's begin and end, and the scrolled px.
    pub(super) before: Mirror<Option<(u32, Time, Time, i64)>>,
    /// What the picture shows now, in the same form.
    pub(super) present: Mirror<Option<(u32, Time, Time, i64)>>,
    /// Whether the picture is of an earlier run than the one that was asked for.
    pub(super) is_old: Mirror<bool>,
    pub(super) ruler: Mirror<RulerShown>,
    /// Whether the person wants all lanes and panels, whatever the passage needs.
    pub(super) shows_all: Mirror<bool>,
    /// How far the goals are reached, in their order.
    pub(super) goals: Mirror<Vec<Reached>>,
    /// The lanes or cells that the person has marked in the open question.
    pub(super) marks: Mirror<Marks>,
    /// The furthest passage that was shown.
    pub(super) furthest: Mirror<u32>,
    pub(super) tab: Mirror<Tab>,
    /// Why the lesson cannot go on.
    pub(super) failed: Mirror<Option<String>>,
    /// Whether the menu is open.
    pub(super) menu: Mirror<bool>,
}

thread_local! {
    /// The mirrors, which live as long as the page.
    static SHOWN: Cell<Option<Shown>> = const { Cell::new(None) };
}

/// Returns the mirrors, which the first call makes.
pub(super) fn mirrors() -> Shown {
    if let Some(shown) = SHOWN.get() {
        return shown;
    }
    // Their root lives as long as the page.
    let root = Owner::new();
    let shown = root.with(|| Shown {
        text: Mirror::new(None),
        now: Mirror::new(None),
        beside: Mirror::new(Beside::empty()),
        rings: Mirror::new(Vec::new()),
        called: Mirror::new((0, 0)),
        acts: Mirror::new(Vec::new()),
        drag: Mirror::new(None),
        before: Mirror::new(None),
        present: Mirror::new(None),
        is_old: Mirror::new(false),
        ruler: Mirror::new(RulerShown::default()),
        shows_all: Mirror::new(false),
        goals: Mirror::new(Vec::new()),
        marks: Mirror::new(Marks::default()),
        furthest: Mirror::new(0),
        tab: Mirror::new(Tab::Text),
        failed: Mirror::new(None),
        menu: Mirror::new(false),
    });
    std::mem::forget(root);
    SHOWN.set(Some(shown));
    shown
}

impl Shown {
    /// Reads the lesson's text, and makes the view around follow it. Without a text, returns the default.
    pub(super) fn text<R: Default>(self, read: impl FnOnce(&LessonText) -> R) -> R {
        self.text
            .with(|text| text.as_ref().map(read).unwrap_or_default())
    }

    /// Reads the lesson's state, and makes the view around follow it. Without a state, returns the default.
    pub(super) fn now<R: Default>(self, read: impl FnOnce(&LessonNow) -> R) -> R {
        self.now
            .with(|now| now.as_ref().map(read).unwrap_or_default())
    }

    /// Reads text and state together.
    pub(super) fn both<R: Default>(self, read: impl FnOnce(&LessonText, &LessonNow) -> R) -> R {
        self.text(|text| self.now(|now| read(text, now)))
    }

    /// Reads the text of the present passage. Without one, returns the default.
    pub(super) fn passage<R: Default>(self, read: impl FnOnce(&PassageText) -> R) -> R {
        self.both(|text, now| {
            let passage = text.passages.get(now.passage as usize);
            passage.map(read).unwrap_or_default()
        })
    }

    /// Whether a panel is shown: a passage that was shown needs it, or the person wants all.
    pub(super) fn has(self, needs: fn(&PassageText) -> bool) -> bool {
        let furthest = self.furthest.get() as usize;
        let is_needed = self.text(|text| text.passages.get(furthest).is_some_and(needs));
        self.shows_all.get() || is_needed
    }

    /// Whether the question of a passage is open and covers what each side holds.
    pub(super) fn is_covered(self) -> bool {
        self.both(|text, now| {
            let passage = text.passages.get(now.passage as usize);
            let question = passage.and_then(|passage| passage.question.as_ref());
            let is_open = !now.settled.contains(&u64::from(now.passage));
            is_open && question.is_some_and(|question| question.covers)
        })
    }
}

/// Calls a function of the lesson's script.
pub(super) fn call(name: &str, argument: &JsValue) {
    let get = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let function = get(&window(), "watchscopeLesson")
        .and_then(|lesson| get(&lesson, name))
        .and_then(|function| function.dyn_into::<Function>().ok());
    if let Some(function) = function {
        // The script's functions only pass messages on.
        let _ = function.call1(&JsValue::NULL, argument);
    }
}

thread_local! {
    /// The act and the time of a move that waits until the run before it is drawn.
    static WAITING: Cell<Option<(u32, i64)>> = const { Cell::new(None) };
}

/// Keeps the next move of an act, in place of one that waits.
pub(super) fn wait_with(act: u32, to_us: i64) {
    WAITING.set(Some((act, to_us)));
}

/// Whether a move waits.
pub(super) fn has_waiting() -> bool {
    WAITING.get().is_some()
}

/// Takes the move that waits.
pub(super) fn take_waiting() -> Option<(u32, i64)> {
    WAITING.take()
}

/// Sends a command to the lesson. A move that waits goes before it: sent later, it would undo a step to another passage.
pub(super) fn say(command: impl Into<LessonCommand>) {
    let waiting = take_waiting().map(|(act, to_us)| MoveAct { act, to_us }.into());
    for command in waiting.into_iter().chain([command.into()]) {
        let bytes = encode_command(&command);
        call("say", &Uint8Array::from(&*bytes).into());
    }
}

/// Opens another lesson; without a name, the live view.
pub(super) fn go(name: Option<&str>) {
    call("go", &name.map_or(JsValue::UNDEFINED, JsValue::from_str));
}

/// Plays the lesson, or pauses it.
pub(super) fn toggle() {
    if mirrors().now(|now| now.is_playing) {
        say(Halt {});
    } else {
        say(Play {});
    }
}
