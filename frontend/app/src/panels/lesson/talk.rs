//! Receives the lesson's messages, and moves the picture with the lesson.

use std::cell::RefCell;
use std::time::Duration;

use js_sys::{Function, Reflect, Uint8Array};
use leptos::prelude::{queue_microtask, set_timeout, window};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_model::Time;
use watchscope_model::wire::player::{Halt, LessonNow, LessonText, MomentNow, decode_lesson};
use watchscope_timeline::LaneId;
use watchscope_timeline::inside::{beliefs, stretches};

use super::drag;
use super::goal;
use super::marks::tap;
use super::on::is_on;
use super::pace;
use super::shown::{ActPlace, Beside, Place, RulerShown, call, mirrors, say};
use crate::core::lesson::{Marks, ring_x, ruler};
use crate::core::person::{LessonLanes, Person};
use crate::runtime::page::{act, elements, read};

/// The codes of the script's messages, as assets/lessons.js has them.
const TEXT: u32 = 0;
const NOW: u32 = 1;
const FED: u32 = 2;
const FAILED: u32 = 3;
const PAUSE: u32 = 4;
const STATE: u32 = 5;
/// The least time between two updates of the panels beside the picture, in milliseconds.
const WRITE_MS: u64 = 250;
/// The number of pictures after which the lanes of a new run are all open: lanes can be opened once they are drawn, and
/// the lanes inside them are drawn next.
const OPENINGS: u32 = 3;
/// Below this width of the lanes the streams have no rows, in px.
const NARROW_PX: f64 = 600.0;
/// The width of the pen's label with the label of a step before it, in px.
const PEN_PX: f64 = 84.0;

/// What the talk remembers between two messages.
#[derive(Debug, Default)]
struct Talk {
    /// The run whose log the page has.
    run: u64,
    /// The passage and run that were last shown, and the end of the time that the picture shows.
    showed: Option<(u32, u64)>,
    showed_to_us: i64,
    /// In how many of the next pictures lanes are opened.
    openings: u32,
    is_writing: bool,
    /// The fragment that the address has.
    link: String,
}

thread_local! {
    static TALK: RefCell<Talk> = RefCell::default();
}

/// Passes the page's function to the script, if there is a lesson.
pub(crate) fn offer() {
    if !is_on() {
        return;
    }
    TALK.with_borrow_mut(|talk| talk.run = 1);
    let take = Closure::<dyn FnMut(u32, JsValue) -> JsValue>::new(|code, data: JsValue| {
        let bytes = || Uint8Array::new(&data).to_vec();
        match code {
            TEXT => {
                if let Ok(text) = decode_lesson::<LessonText>(&bytes()) {
                    take_text(text);
                }
            }
            NOW => {
                if let Ok(now) = decode_lesson::<LessonNow>(&bytes()) {
                    take_now(now);
                }
            }
            FED => pace::fed(),
            FAILED => mirrors().failed.set(data.as_string()),
            PAUSE if mirrors().now(|now| now.is_playing) => say(Halt {}),
            STATE => return JsValue::from_str(&state()),
            _ => {}
        }
        JsValue::UNDEFINED
    });
    let lesson = Reflect::get(&window(), &JsValue::from_str("watchscopeLesson"));
    let ready = lesson.and_then(|lesson| Reflect::get(&lesson, &JsValue::from_str("ready")));
    if let Some(ready) = ready
        .ok()
        .and_then(|ready| ready.dyn_into::<Function>().ok())
    {
        // The script keeps the function, and gives it what came before.
        let _ = ready.call1(&JsValue::NULL, &take.into_js_value());
    }
}

fn take_text(text: LessonText) {
    call("title", &JsValue::from_str(&text.title));
    if text.is_offer || text.unknown.is_some() {
        mirrors().menu.set(true);
    }
    mirrors().text.set(Some(text));
}

fn take_now(now: LessonNow) {
    let shown = mirrors();
    let is_other = shown.now.with_untracked(|before| {
        before.as_ref().is_none_or(|before| {
            before.passage != now.passage || before.run != now.run || before.moments != now.moments
        })
    });
    hold(&now);
    if shown.now.with_untracked(|before| {
        before
            .as_ref()
            .is_none_or(|before| before.passage != now.passage)
    }) {
        shown.marks.set(Marks::default());
    }
    let is_playing = now.is_playing;
    if now.passage > shown.furthest.get_untracked() {
        shown.furthest.set(now.passage);
    }
    shown.now.set(Some(now));
    if is_other {
        write();
    }
    if !is_playing {
        write_soon();
    }
}

/// Makes the picture show the lesson's time, and another passage or run.
fn hold(now: &LessonNow) {
    let is_anew = TALK.with_borrow_mut(|talk| {
        let is_anew = talk.run != now.run;
        if is_anew {
            (talk.run, talk.openings) = (now.run, OPENINGS);
        }
        is_anew
    });
    if is_anew {
        pace::begins();
        act(Person::StartOver);
    }
    act(Person::Hold(now.begin.plus_micros(now.at_us)));
    let shows = TALK.with_borrow_mut(|talk| {
        let is_other = talk.showed.is_none_or(|(passage, run)| {
            passage != now.passage || (run != now.run && !drag::is_under_way())
        });
        let shows = is_other || now.at_us > talk.showed_to_us;
        talk.showed = Some((now.passage, now.run));
        shows
    });
    if shows {
        show_passage(now);
    }
}

/// Makes the picture show the time of a passage. When the lesson plays beyond that time, the picture moves along.
fn show_passage(now: &LessonNow) {
    let range = mirrors().text(|text| {
        let passage = text.passages.get(now.passage as usize)?;
        let length_us = passage.to_us - passage.from_us;
        let to_us = if now.at_us < passage.to_us {
            passage.to_us
        } else {
            now.at_us + length_us / 4
        };
        Some((to_us - length_us, to_us))
    });
    let Some((from_us, to_us)) = range else {
        return;
    };
    act(Person::ShowTime {
        from: now.begin.plus_micros(from_us),
        to: now.begin.plus_micros(to_us),
    });
    TALK.with_borrow_mut(|talk| (talk.showed_to_us, talk.openings) = (to_us, OPENINGS));
}

/// Returns the lanes that the present passage needs, and those of earlier passages.
fn lanes() -> LessonLanes {
    let shown = mirrors();
    if shown.shows_all.get_untracked() {
        return LessonLanes::All;
    }
    let level = shown.passage(|passage| passage.lanes);
    let is_narrow = read().screen.size.width_px < NARROW_PX;
    match level {
        0 => LessonLanes::Sides,
        1 => LessonLanes::Layers,
        // The clients would be out of sight below the streams.
        2 if is_narrow => LessonLanes::Layers,
        2 => LessonLanes::Ways,
        _ => LessonLanes::All,
    }
}

/// Shows all lanes and panels, or those that the passage needs.
pub(super) fn show_all(shows_all: bool) {
    mirrors().shows_all.set(shows_all);
    TALK.with_borrow_mut(|talk| talk.openings = OPENINGS);
    act(Person::Redraw);
}

/// Brings a moment into the picture, and points it out.
pub(super) fn reveal(number: u32) {
    let shown = mirrors();
    let Some((now, moment)) = shown.now.with_untracked(|now| {
        let now = now.clone()?;
        let moment = now.moments.get((number as usize).checked_sub(1)?)?.clone();
        Some((now, moment))
    }) else {
        return;
    };
    if let Some(within) = &moment.within {
        act(Person::Reveal((&**within).into()));
    }
    act(Person::Reveal((&*moment.lane).into()));
    if place_of(&moment).is_none() {
        show_passage(&now);
    }
    let (_, calls) = shown.called.get_untracked();
    shown.called.set((number, calls + 1));
}

/// Returns a moment's place on the canvas: at its mark, or in the lane around it if its own lane is not shown.
fn place_of(moment: &MomentNow) -> Place {
    let seq = moment.seq?;
    let model = read();
    let place = |lane: &str| model.place_of(lane, moment.at, seq);
    place(&moment.lane).or_else(|| moment.within.as_deref().and_then(place))
}

/// Follows the picture, which was painted just now.
pub(crate) fn drawn() {
    if !is_on() {
        return;
    }
    // The page is still at work, so it is changed only afterwards.
    queue_microtask(|| {
        let opens = TALK.with_borrow_mut(|talk| {
            let opens = talk.openings > 0;
            talk.openings = talk.openings.saturating_sub(1);
            opens
        });
        if opens {
            act(Person::Expand(lanes()));
        }
        place_all();
        tap_selected();
        let is_open = TALK.with_borrow(|talk| talk.openings == 0);
        if is_open && pace::is_fed() {
            pace::drawn();
            drag::arrived();
        }
        write_soon();
    });
}

/// Marks the lane that the person has selected in the picture, if the open question asks for lanes.
fn tap_selected() {
    let asked = mirrors().both(|text, now| {
        let passage = text.passages.get(now.passage as usize)?;
        let question = passage.question.as_ref()?;
        let is_open = question.form == 1 && !now.settled.contains(&u64::from(now.passage));
        is_open.then(|| question.lanes.clone())
    });
    let Some(lanes) = asked else {
        return;
    };
    let selected = read().pick.selected;
    let Some(key) = selected.map(|lane| read().lane_key(lane)) else {
        return;
    };
    let place = lanes.iter().position(|lane| *lane == key);
    if let Some(place) = place.and_then(|place| u32::try_from(place).ok()) {
        tap(place);
        // The lane can be tapped again.
        act(Person::CloseDetail);
    }
}

/// Finds the places of all that lies over the picture.
fn place_all() {
    let shown = mirrors();
    let canvas = &elements().canvas;
    let (left_px, top_px) = (
        f64::from(canvas.offset_left()),
        f64::from(canvas.offset_top()),
    );
    let Some(now) = shown.now.get_untracked() else {
        return;
    };
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let rings = now.moments.iter().map(|moment| {
        let (x_px, y_px) = place_of(moment)?;
        let x_px = ring_x(&taken, (x_px, y_px));
        taken.push((x_px, y_px));
        Some((left_px + x_px, top_px + y_px))
    });
    let rings: Vec<Place> = rings.collect();
    if shown.rings.with_untracked(|known| *known != rings) {
        shown.rings.set(rings);
    }
    let model = read();
    let (from, to) = (model.view.left(), model.view.right());
    let present = Some((now.passage, from, to, model.scroll_px as i64));
    let since = |at: Time| at.micros_since(now.begin);
    let pen = now.begin.plus_micros(now.at_us);
    let pen_px = model.view.x_from_time(pen);
    let ruler = RulerShown {
        left_px,
        labels: ruler(since(from), since(to), model.view.width_px)
            .into_iter()
            .map(|at_us| (model.view.x_from_time(now.begin.plus_micros(at_us)), at_us))
            .filter(|(x_px, _)| !(pen_px - PEN_PX..pen_px).contains(x_px))
            .collect(),
        pen: (from <= pen && pen <= to).then_some((pen_px, now.at_us)),
    };
    drop(model);
    if shown.ruler.with_untracked(|known| *known != ruler) {
        shown.ruler.set(ruler);
    }
    if shown.present.get_untracked() != present {
        shown.present.set(present);
    }
    let acts = shown.text.with_untracked(|text| {
        let texts = text.as_ref().map(|text| text.acts.as_slice());
        let acts = texts.unwrap_or_default().iter().zip(&now.acts).enumerate();
        let drag = shown.drag.get_untracked();
        acts.map(|(place, (text, present))| {
            let model = read();
            let x = |at_us: i64| left_px + model.view.x_from_time(now.begin.plus_micros(at_us));
            let dragged = drag.filter(|(act, _)| *act as usize == place);
            let at_us = dragged.map_or(present.at_us, |(_, at_us)| at_us);
            let at = now.begin.plus_micros(at_us);
            let mark = model.place_of(&text.lane, at, 0);
            ActPlace {
                x_px: x(at_us),
                bounds_px: (x(text.from_us), x(text.to_us)),
                tried_px: present.tried.iter().map(|tried| x(tried.at_us)).collect(),
                mark_px: top_px + mark.map_or(0.0, |(_, y_px)| y_px),
            }
        })
        .collect::<Vec<ActPlace>>()
    });
    if shown.acts.with_untracked(|known| *known != acts) {
        shown.acts.set(acts);
    }
}

/// Updates what is beside the picture, unless an update is already to come.
fn write_soon() {
    let begins = TALK.with_borrow_mut(|talk| !std::mem::replace(&mut talk.is_writing, true));
    if begins {
        set_timeout(
            || {
                TALK.with_borrow_mut(|talk| talk.is_writing = false);
                write();
            },
            Duration::from_millis(WRITE_MS),
        );
    }
}

fn write() {
    let shown = mirrors();
    let Some(now) = shown.now.get_untracked().filter(|_| pace::has_run()) else {
        return;
    };
    if !now.is_playing && !shown.text(|text| text.is_offer || text.unknown.is_some()) {
        let is_other = TALK.with_borrow_mut(|talk| {
            std::mem::replace(&mut talk.link, now.link.clone()) != now.link
        });
        if is_other {
            call("place", &JsValue::from_str(&now.link));
        }
    }
    goal::check(&now);
    let beliefs = beliefs::belief_table(&read().store, LaneId::Findings, None);
    let until = now.begin.plus_micros(now.at_us);
    let beside = Beside {
        at_us: now.at_us,
        acts: now.acts,
        stretches: stretches::stretches(&read().store, until),
        begin: now.begin,
        beliefs,
        wire: now.wire,
        clients: now.clients,
        ends: now.ends,
        servers: now.servers,
        crowd: now.crowd,
        findings: now.findings,
    };
    if shown.beside.with_untracked(|known| *known != beside) {
        shown.beside.set(beside);
    }
}

/// Returns the state as JSON, for tests, and for people with a console.
fn state() -> String {
    let shown = mirrors();
    let rings = shown.rings.with_untracked(|rings| {
        let rings = rings.iter().map(|place| place.is_some().to_string());
        rings.collect::<Vec<String>>().join(",")
    });
    let lesson = shown.text(|text| text.name.clone());
    shown.now.with_untracked(|now| {
        let Some(now) = now else {
            return "{}".to_owned();
        };
        let acts = now.acts.iter().map(|act| (act.at_us / 1_000).to_string());
        let acts = acts.collect::<Vec<String>>().join(",");
        let rewind = pace::took_ms().map_or("null".to_owned(), |ms| crate::decimal::decimal(ms, 1));
        format!(
            "{{\"lesson\":\"{lesson}\",\"at\":{},\"run\":{},\"passage\":{},\"playing\":{},\"asWritten\":{},\
             \"rewindMs\":{rewind},\"rings\":[{rings}],\"actsMs\":[{acts}],\"old\":{}}}",
            crate::decimal::decimal(now.at_us as f64 / 1e6, 6),
            now.run,
            now.passage,
            now.is_playing,
            now.is_as_written,
            shown.is_old.get_untracked(),
        )
    })
}

/// Converts a place on the canvas to a time since the lesson began.
pub(super) fn time_at(client_x_px: f64) -> Option<i64> {
    let left_px = elements().canvas.get_bounding_client_rect().left();
    let at: Time = read().view.time_from_x(client_x_px - left_px);
    mirrors()
        .now
        .with_untracked(|now| now.as_ref().map(|now| at.micros_since(now.begin)))
}
