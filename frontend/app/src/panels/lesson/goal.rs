//! The goals of a lesson, which the run itself checks.

use leptos::prelude::*;
use watchscope_model::wire::player::{GoalText, LessonNow};
use watchscope_timeline::inside::stretches::haunted_by;

use super::shown::{Reached, mirrors};
use crate::core::lesson::seconds;
use crate::core::person::Person;
use crate::runtime::page::{act, read};

/// Looks whether the present run has reached the goals. Says so when it does for the first time.
pub(super) fn check(now: &LessonNow) {
    let shown = mirrors();
    let goals = shown
        .text
        .with_untracked(|text| text.as_ref().map(|text| text.goals.clone()));
    let before = shown.goals.get_untracked();
    let goals = goals.unwrap_or_default();
    let reached = goals.iter().enumerate().map(|(place, goal)| {
        let at_us = reached_at(goal, place, now);
        let was_reached = before.get(place).is_some_and(|before| before.is_reached);
        Reached {
            at_us,
            is_reached: was_reached || at_us.is_some(),
        }
    });
    let reached: Vec<Reached> = reached.collect();
    if before != reached {
        let count = |reached: &[Reached]| reached.iter().filter(|one| one.is_reached).count();
        let is_more = count(&reached) > count(&before);
        shown.goals.set(reached);
        if is_more {
            act(Person::Say("You have reached the goal.".into()));
        }
    }
}

/// Returns when the present run reached a goal, in microseconds since the lesson began.
fn reached_at(goal: &GoalText, place: usize, now: &LessonNow) -> Option<i64> {
    // Every lesson begins with changes that are its own, so no click means that nothing was done.
    if !(1..=goal.clicks).contains(&now.clicks) {
        return None;
    }
    let Some(client) = &goal.client else {
        return now.goals.get(place)?.at_us;
    };
    let until = now.begin.plus_micros(now.at_us);
    let at = haunted_by(&read().store, client, goal.ghosts, until)?;
    Some(at.micros_since(now.begin))
}

/// The first goal that is not reached, or all, once the person has seen the passage with the buttons.
#[component]
pub(super) fn Goal() -> impl IntoView {
    let shown = mirrors();
    let goals = Memo::new(move |_| shown.text(|text| text.goals.clone()));
    let reached = Memo::new(move |_| shown.goals.get());
    let clicks = Memo::new(move |_| shown.now(|now| now.clicks));
    move || {
        let goals = goals.get();
        let is_reached = |place: usize| {
            let reached = reached.with(|reached| reached.get(place).copied());
            reached.unwrap_or_default()
        };
        let open = (0..goals.len()).find(|place| !is_reached(*place).is_reached);
        // The goal just reached is shown until the run is another one.
        let now = (0..goals.len()).rfind(|place| is_reached(*place).at_us.is_some());
        let last = goals.len().checked_sub(1)?;
        let task = match open {
            Some(place) => goals.get(place)?.words.clone(),
            None => "You have reached all goals.".to_owned(),
        };
        let most = goals.get(open.unwrap_or(last))?.clicks;
        let at_us = now.and_then(|place| is_reached(place).at_us);
        let state = match at_us {
            Some(at_us) => format!(
                "Reached at {} with {}.",
                seconds(at_us),
                counted(clicks.get())
            ),
            None if clicks.get() > most => {
                "This run cannot reach it. Start again: As written.".to_owned()
            }
            None => format!("{} of {most} used", counted(clicks.get())),
        };
        let has_any = (0..goals.len()).any(|place| is_reached(place).is_reached);
        Some(view! {
            <div class="goal" class:reached=at_us.is_some() role="group" aria-label="Goal">
                <span class="goal-mark" aria-hidden="true">{if has_any { "✓" } else { "○" }}</span>
                <span>
                    <b>{task}</b>
                    <span class="quiet" role="status">{state}</span>
                </span>
            </div>
        })
    }
}

fn counted(clicks: u32) -> String {
    match clicks {
        1 => "1 click".to_owned(),
        clicks => format!("{clicks} clicks"),
    }
}
