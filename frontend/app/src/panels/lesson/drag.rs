//! Moves an act: sends its place to the lesson, one run at a time, and keeps the old picture until the new one is drawn.

use std::cell::RefCell;

use wasm_bindgen::JsValue;
use watchscope_model::wire::player::MoveAct;

use super::pace::asked;
use super::shown::{call, has_waiting, mirrors, say, take_waiting, wait_with};
use crate::core::lesson::{landed, seconds, within};
use crate::core::person::Person;
use crate::runtime::page::act;

/// A move of an act.
#[derive(Debug, Default)]
struct Drag {
    /// Whether a run was asked for and is not drawn yet.
    is_running: bool,
    /// The act that the person holds, with its time when the person took it.
    held: Option<(u32, i64)>,
}

thread_local! {
    static DRAG: RefCell<Drag> = RefCell::default();
}

/// Whether the lesson runs again because an act is moved.
pub(super) fn is_under_way() -> bool {
    DRAG.with_borrow(|drag| drag.is_running || drag.held.is_some())
}

/// Returns the present time of an act.
pub(super) fn time_of(place: u32) -> Option<i64> {
    let shown = mirrors();
    let drag = shown.drag.get_untracked().filter(|(act, _)| *act == place);
    drag.map(|(_, at_us)| at_us).or_else(|| {
        shown.now.with_untracked(|now| {
            let act = now.as_ref()?.acts.get(place as usize)?;
            Some(act.at_us)
        })
    })
}

/// Takes an act, and keeps the picture before the move.
pub(super) fn take(place: u32) {
    let Some(at_us) = time_of(place) else {
        return;
    };
    DRAG.with_borrow_mut(|drag| drag.held = Some((place, at_us)));
    copy_picture("before");
    mirrors().before.set(mirrors().present.get_untracked());
}

/// Takes an act by a key, unless it is held: a series of keys is one move.
pub(super) fn take_by_key(place: u32) {
    let is_held = DRAG.with_borrow(|drag| drag.held.is_some_and(|(held, _)| held == place));
    if !is_held {
        take(place);
    }
}

/// Lets the act go where it is.
pub(super) fn release() {
    let is_at_rest = DRAG.with_borrow_mut(|drag| {
        drag.held = None;
        !drag.is_running
    });
    if is_at_rest {
        mirrors().drag.set(None);
        speak();
    }
}

/// Puts the held act back where it was taken.
pub(super) fn put_back() {
    if let Some((place, at_us)) = DRAG.with_borrow(|drag| drag.held) {
        move_exactly(place, at_us);
    }
}

/// Moves an act by dragging: it snaps.
pub(super) fn move_to(place: u32, to_us: i64) {
    let at_us = mirrors().text(|text| Some(landed(text.acts.get(place as usize)?, to_us)));
    if let Some(at_us) = at_us {
        want(place, at_us);
    }
}

/// Moves an act to a time, or to the nearest of its bounds.
pub(super) fn move_exactly(place: u32, to_us: i64) {
    let at_us = mirrors().text(|text| Some(within(text.acts.get(place as usize)?, to_us)));
    if let Some(at_us) = at_us {
        want(place, at_us);
    }
}

fn want(place: u32, at_us: i64) {
    if time_of(place) == Some(at_us) {
        return;
    }
    mirrors().drag.set(Some((place, at_us)));
    wait_with(place, at_us);
    run();
    // The handle follows at once.
    act(Person::Redraw);
}

/// Asks for the next run, unless one is under way.
fn run() {
    let next = DRAG.with_borrow_mut(|drag| {
        if drag.is_running {
            return None;
        }
        let next = take_waiting();
        drag.is_running = next.is_some();
        next
    });
    if let Some((act, to_us)) = next {
        copy_picture("last");
        mirrors().is_old.set(true);
        asked();
        say(MoveAct { act, to_us });
    }
}

/// The run that was asked for is drawn.
pub(super) fn arrived() {
    let (was_running, is_held) =
        DRAG.with_borrow_mut(|drag| (std::mem::take(&mut drag.is_running), drag.held.is_some()));
    if !was_running {
        return;
    }
    if has_waiting() {
        run();
        return;
    }
    mirrors().is_old.set(false);
    if !is_held {
        mirrors().drag.set(None);
        speak();
    }
}

/// Says what became of the moved act.
fn speak() {
    let words = mirrors().both(|text, now| {
        let acts = text.acts.iter().zip(&now.acts);
        let moved = acts.filter(|(_, act)| !act.fates.is_empty());
        let words = moved.map(|(text, act)| {
            let fates = act.fates.join(". ");
            format!("{} at {}. {fates}.", text.words, seconds(act.at_us))
        });
        words.collect::<Vec<String>>().join(" ")
    });
    if !words.is_empty() {
        act(Person::Say(words.into()));
    }
}

/// Copies the picture into the canvas of a part, which lies over it.
fn copy_picture(part: &str) {
    call("copy", &JsValue::from_str(part));
}
