//! Questions that a person answers with marks: a set of lanes, a table of the objects that each client holds, a table of
//! the ends of a watch, or a histogram.

use std::time::Duration;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_model::wire::player::{QuestionText, is_column_right};
use web_sys::{HtmlElement, KeyboardEvent};

use super::draw::columns;
use super::judged::{DRAW, ENDS, check, glyph, is_complete, word};
use super::shown::mirrors;
use crate::core::lesson::Marks;
use crate::panels::focus::focus_first;

/// The words of a cell that is set, and of one that is not: about objects, and about ends of a watch.
const OBJECTS: [&str; 2] = ["holds", "gone"];
const CHANNEL: [&str; 2] = ["ERROR", "closed"];

/// How right an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    /// How many marks are right.
    pub(super) right: usize,
    /// The index of the first wrong mark.
    pub(super) first_wrong: Option<usize>,
}

impl Marked {
    /// Judges an answer to a question.
    pub(super) fn of(question: &QuestionText, answer: u32) -> Self {
        let right = question.right;
        let is_wrong = |place: &usize| match question.form {
            DRAW => !is_column_right(answer, right, *place),
            _ => (answer ^ right) >> place & 1 == 1,
        };
        let all = question.answers.len();
        let wrong = (0..all).filter(is_wrong).count();
        Self {
            right: all - wrong,
            first_wrong: (0..all).find(is_wrong),
        }
    }
}

/// A mark as it is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sign {
    /// Whether the mark is set, once the person has filled it in.
    is_set: Option<bool>,
    /// Whether it is right, once it is judged.
    is_right: Option<bool>,
}

/// Returns how the mark with an index is shown. `judged` is the last wrong answer.
fn sign(question: &QuestionText, place: usize, judged: Option<u32>, is_settled: bool) -> Sign {
    let bit = |bits: u32| bits >> place & 1 == 1;
    let is_right = bit(question.right);
    if is_settled {
        return Sign {
            is_set: Some(is_right),
            is_right: Some(true),
        };
    }
    let Marks { set, filled } = mirrors().marks.get();
    let is_set = bit(filled).then(|| bit(set));
    let same = judged.map(bit).filter(|was| Some(*was) == is_set);
    Sign {
        is_set,
        is_right: same.map(|was| was == is_right),
    }
}

/// Returns the lanes to tap, or the table to fill in, and the button that checks.
pub(super) fn marks(
    question: &QuestionText,
    passage: u32,
    judged: Option<u32>,
    is_settled: bool,
) -> AnyView {
    let body = match question.form {
        1 => lanes(question, judged, is_settled),
        ENDS => ends(question, judged, is_settled),
        DRAW => columns(question, judged, is_settled),
        _ => table(question, judged, is_settled),
    };
    let (form, count) = (question.form, question.answers.len());
    let is_ready = move || {
        let marks = mirrors().marks.get();
        judged != Some(marks.set) && is_complete(marks, form, count)
    };
    let check = (!is_settled).then(|| {
        view! {
            <button
                class="control check-marks"
                aria-keyshortcuts="Enter"
                disabled=move || !is_ready()
                on:click=move |_| check(passage)
            >
                "Check"
            </button>
        }
    });
    view! { {body}{check} }.into_any()
}

/// Sets the mark with an index, or takes it back.
pub(super) fn tap(place: u32) {
    let marks = mirrors().marks.get_untracked();
    mirrors().marks.set(marks.tapped(place));
}

fn fill(place: u32, holds: bool) {
    let marks = mirrors().marks.get_untracked();
    mirrors().marks.set(marks.filled_in(place, holds));
}

fn lanes(question: &QuestionText, judged: Option<u32>, is_settled: bool) -> AnyView {
    let items = (0..).zip(&question.answers).map(|(place, words)| {
        let (question, words) = (question.clone(), words.clone());
        let shows = Memo::new(move |_| {
            let sign = sign(&question, place as usize, judged, is_settled);
            (sign.is_set == Some(true), sign.is_right)
        });
        let name = words.clone();
        view! {
            <button
                class="control tap"
                class:right=move || shows.get().1 == Some(true)
                class:wrong=move || shows.get().1 == Some(false)
                disabled=is_settled
                aria-pressed=move || shows.get().0.to_string()
                aria-label=move || format!("{name}{}", word(shows.get().1))
                on:click=move |_| tap(place)
            >
                <span class="box" aria-hidden="true">{move || if shows.get().0 { "■" } else { "□" }}</span>
                <span>{words}</span>
                <span aria-hidden="true">{move || glyph(shows.get().1)}</span>
            </button>
        }
    });
    view! {
        <div class="answers taps" role="group" aria-label="Lanes">{items.collect_view()}</div>
        {(!is_settled).then(|| view! { <p class="quiet">"Tap the lanes in the picture, or here."</p> })}
    }
    .into_any()
}

fn table(question: &QuestionText, judged: Option<u32>, is_settled: bool) -> AnyView {
    let heads = question.columns.iter();
    let heads = heads.map(|column| view! { <th scope="col">{column.clone()}</th> });
    let wide = question.columns.len() as u32;
    let rows = (0..).zip(&question.rows).map(|(row, name)| {
        let cells = (0..wide).map(|column| {
            let place = row * wide + column;
            cell(question.clone(), place, OBJECTS, judged, is_settled)
        });
        view! { <tr><th scope="row">{name.clone()}</th>{cells.collect_view()}</tr> }
    });
    view! {
        <table class="answers fill" on:keydown=|event| key(&event)>
            <thead><tr><th></th>{heads.collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        {(!is_settled).then(|| view! { <p class="quiet">"H and G fill in the cell with the focus."</p> })}
    }
    .into_any()
}

/// Returns the table of the ends of a watch: does an ERROR come, or is the channel just closed?
fn ends(question: &QuestionText, judged: Option<u32>, is_settled: bool) -> AnyView {
    let rows = (0..).zip(&question.answers).map(|(place, name)| {
        let cell = cell(question.clone(), place, CHANNEL, judged, is_settled);
        view! { <tr><th scope="row">{name.clone()}</th>{cell}</tr> }
    });
    view! {
        <table class="answers fill" on:keydown=|event| key(&event)>
            <thead><tr><th scope="col">"on the wire"</th><th scope="col">"channel"</th></tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        {(!is_settled).then(|| view! { <p class="quiet">"E and C fill in the cell with the focus."</p> })}
    }
    .into_any()
}

fn cell(
    question: QuestionText,
    place: u32,
    words: [&'static str; 2],
    judged: Option<u32>,
    is_settled: bool,
) -> AnyView {
    let name = question
        .answers
        .get(place as usize)
        .cloned()
        .unwrap_or_default();
    let shows = Memo::new(move |_| {
        let sign = sign(&question, place as usize, judged, is_settled);
        (sign.is_set, sign.is_right)
    });
    let choice = |holds: bool, words: &'static str| {
        let is_chosen = move || shows.get().0 == Some(holds);
        let judged = move || shows.get().1.filter(|_| is_chosen());
        let name = name.clone();
        view! {
            <button
                class:right=move || judged() == Some(true)
                class:wrong=move || judged() == Some(false)
                disabled=is_settled
                data-cell=place.to_string()
                aria-pressed=move || is_chosen().to_string()
                aria-label=move || format!("{name}: {words}{}", word(judged()))
                on:click=move |_| fill(place, holds)
            >
                {words}
            </button>
        }
    };
    view! {
        <td>
            <span class="cell">
                {choice(true, words[0])}
                {choice(false, words[1])}
                <span class="judged" aria-hidden="true">{move || glyph(shows.get().1)}</span>
            </span>
        </td>
    }
    .into_any()
}

/// Fills in the cell with the focus by a letter, and goes on to the next cell or the button that checks.
fn key(event: &KeyboardEvent) {
    let holds = match event.key().as_str() {
        "h" | "e" => true,
        "g" | "c" => false,
        _ => return,
    };
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let cell = target.and_then(|target| target.get_attribute("data-cell"));
    let Some(place) = cell.and_then(|cell| cell.parse::<u32>().ok()) else {
        return;
    };
    event.prevent_default();
    event.stop_propagation();
    fill(place, holds);
    let next = format!("[data-cell=\"{}\"]", place + 1);
    // The button can have the focus only once it is enabled, which it is after this turn.
    let go_on = move || {
        if !focus_first(&next) {
            focus_first(".check-marks");
        }
    };
    set_timeout(go_on, Duration::ZERO);
}

/// Gives the focus to the first cell.
pub(super) fn focus_cells() {
    focus_first("[data-cell=\"0\"]");
}
