//! The text of the present passage, what there is to find, and the list of passages.

use leptos::prelude::*;
use watchscope_model::wire::player::{LessonNow, LessonText, Seek};

use super::goal::Goal;
use super::pace::asked;
use super::question::question;
use super::shown::{go, mirrors, say, toggle};
use super::texts::marked;
use crate::core::lesson::seconds;

/// The narration.
#[component]
pub(super) fn Narration() -> impl IntoView {
    let shown = mirrors();
    // The text changes only with these.
    let key = Memo::new(move |_| {
        shown.now(|now| {
            (
                now.passage,
                now.run,
                now.moments.clone(),
                now.answers.clone(),
                now.settled.clone(),
            )
        })
    });
    let passage = move || {
        key.with(|_| ());
        shown.text.with(|text| {
            shown.now.with_untracked(|now| {
                let (text, now) = (text.as_ref()?, now.as_ref()?);
                Some(view! { {passage(text, now)}{steps(text, now)} })
            })
        })
    };
    view! {
        <aside class="lesson-text" aria-label="Lesson">
            {passage}
        </aside>
    }
}

fn passage(text: &LessonText, now: &LessonNow) -> Option<impl IntoView + use<>> {
    let place = now.passage as usize;
    let passage = text.passages.get(place)?;
    let paragraphs = passage.text.iter();
    let paragraphs = paragraphs.map(|paragraph| view! { <p>{marked(paragraph, passage, now)}</p> });
    let finds = passage.act.map(|act| view! { <Finds act=act as usize/> });
    Some(view! {
        <div class="told">
            <p class="quiet">{format!("{} of {}", place + 1, text.passages.len())}</p>
            <h2>{passage.title.clone()}</h2>
            {paragraphs.collect_view()}
            {finds}
            {question(passage, now)}
            {onward(text, now)}
        </div>
    })
}

/// What there is to find by moving an act.
#[component]
fn Finds(act: usize) -> impl IntoView {
    let shown = mirrors();
    let found = Memo::new(move |_| {
        shown.beside.with(|beside| {
            let act = beside.acts.get(act);
            act.map(|act| act.finds.clone()).unwrap_or_default()
        })
    });
    let words = shown.text(|text| {
        let act = text.acts.get(act);
        act.map(|act| act.finds.clone()).unwrap_or_default()
    });
    let item = move |(place, words): (usize, String)| {
        let at =
            move || found.with(|found| found.get(place).and_then(|found| found.at_us).map(seconds));
        view! {
            <li class:found=move || at().is_some()>
                <span aria-hidden="true">{move || if at().is_some() { "✓" } else { "○" }}</span>
                <span>
                    {words} " " <span class="quiet">{move || at().unwrap_or_default()}</span>
                </span>
            </li>
        }
    };
    let count = words.len();
    view! {
        <div class="finds" role="group" aria-label="Find">
            <p class="quiet">{format!("Find {count} moments")}</p>
            <ul>{words.into_iter().enumerate().map(item).collect_view()}</ul>
        </div>
    }
}

/// The button that goes on: to the next passage, or to the next lesson.
fn onward(text: &LessonText, now: &LessonNow) -> AnyView {
    let shown = mirrors();
    if let Some(next) = text.passages.get(now.passage as usize + 1) {
        let to = format!("Go on to {}", seconds(next.at_us));
        let words = move || {
            if shown.now(|now| now.is_playing) {
                "Pause".to_owned()
            } else {
                to.clone()
            }
        };
        return view! { <button class="control onward" on:click=|_| toggle()>{words}</button> }
            .into_any();
    }
    let first_us = text.passages.first().map_or(0, |passage| passage.at_us);
    let goal = (!text.goals.is_empty()).then(|| view! { <Goal/> });
    let again = view! {
        <button class="control onward" on:click=move |_| seek(first_us)>"Again"</button>
    };
    let following = text.lessons.get(text.number as usize).cloned();
    let next = match following {
        Some(next) => view! {
            <button class="control onward" on:click=move |_| go(Some(&next.name))>
                {format!("Next lesson: {}", next.title)}
            </button>
        }
        .into_any(),
        None => view! {
            <button class="control onward" aria-haspopup="dialog" on:click=move |_| shown.menu.set(true)>
                "All lessons"
            </button>
        }
        .into_any(),
    };
    view! { {goal}<div class="ways">{next}{again}</div> }.into_any()
}

fn seek(to_us: i64) {
    asked();
    say(Seek { to_us });
}

/// The list of passages. Later titles are covered while the present question is open.
fn steps(text: &LessonText, now: &LessonNow) -> impl IntoView + use<> {
    let present = now.passage as usize;
    let question = text
        .passages
        .get(present)
        .and_then(|passage| passage.question.as_ref());
    let is_open = question.is_some() && !now.settled.contains(&u64::from(now.passage));
    let steps = text.passages.iter().enumerate().map(|(place, passage)| {
        let at_us = passage.at_us;
        let is_covered = is_open && place > present;
        let title = if is_covered {
            String::new()
        } else {
            passage.title.clone()
        };
        let label = is_covered.then(|| format!("Step {}, covered", place + 1));
        view! {
            <li>
                <button
                    class:told-already=place <= present
                    aria-current=(place == present).then_some("step")
                    aria-label=label
                    on:click=move |_| seek(at_us)
                >
                    {title}
                </button>
            </li>
        }
    });
    view! { <ol class="steps" aria-label="Steps">{steps.collect_view()}</ol> }
}
