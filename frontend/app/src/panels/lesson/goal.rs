//! The goal of a lesson, which the run itself checks.

use leptos::prelude::*;
use watchscope_model::wire::player::{GoalText, LessonNow};
use watchscope_timeline::inside::stretches::haunted_by;

use super::shown::{Reached, mirrors};
use crate::core::lesson::seconds;
use crate::core::person::Person;
use crate::runtime::page::{act, read};

/// Looks whether the present run has reached the goal. Says so when it does for the first time with so few clicks.
pub(super) fn check(now: &LessonNow) {
    let shown = mirrors();
    let Some(goal) = shown
        .text
        .with_untracked(|text| text.as_ref()?.goal.clone())
    else {
        return;
    };
    let until = now.begin.plus_micros(now.at_us);
    let at = haunted_by(&read().store, &goal.client, goal.ghosts, until);
    // Every lesson begins with changes that are its own, so no click means that nothing was done.
    let at = at.filter(|_| (1..=goal.clicks).contains(&now.clicks));
    let before = shown.goal.get_untracked();
    let fewest = match (before.fewest, at) {
        (Some(fewest), Some(_)) => Some(fewest.min(now.clicks)),
        (fewest, at) => fewest.or(at.map(|_| now.clicks)),
    };
    let reached = Reached {
        at_us: at.map(|at| at.micros_since(now.begin)),
        fewest,
    };
    if before != reached {
        shown.goal.set(reached);
        if before.fewest != fewest {
            act(Person::Say("You have reached the goal.".into()));
        }
    }
}

/// The goal, once the person has seen the passage with the buttons.
#[component]
pub(super) fn Goal() -> impl IntoView {
    let shown = mirrors();
    let goal = Memo::new(move |_| shown.text(|text| text.goal.clone()));
    move || goal.get().map(|goal| view! { <GoalBox goal/> })
}

#[component]
fn GoalBox(goal: GoalText) -> impl IntoView {
    let shown = mirrors();
    let clicks = Memo::new(move |_| shown.now(|now| now.clicks));
    let reached = Memo::new(move |_| shown.goal.get());
    let most = goal.clicks;
    let (words, harder) = (goal.words, goal.harder);
    let task = move || match reached.get().fewest {
        Some(fewest) if fewest < most => "You have reached both goals.".to_owned(),
        Some(_) => harder.clone(),
        None => words.clone(),
    };
    let state = move || {
        let Reached { at_us, fewest } = reached.get();
        let most = if fewest == Some(most) { most - 1 } else { most };
        match at_us {
            Some(at_us) => format!(
                "Reached at {} with {}.",
                seconds(at_us),
                counted(clicks.get())
            ),
            None if clicks.get() > most => {
                "This run cannot reach it. Start again: As written.".to_owned()
            }
            None => format!("{} of {most} used", counted(clicks.get())),
        }
    };
    view! {
        <div class="goal" class:reached=move || reached.get().at_us.is_some() role="group" aria-label="Goal">
            <span class="goal-mark" aria-hidden="true">{move || if reached.get().fewest.is_some() { "✓" } else { "○" }}</span>
            <span>
                <b>{task}</b>
                <span class="quiet" role="status">{state}</span>
            </span>
        </div>
    }
}

fn counted(clicks: u32) -> String {
    match clicks {
        1 => "1 click".to_owned(),
        clicks => format!("{clicks} clicks"),
    }
}
