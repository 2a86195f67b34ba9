//! A question with answers to choose from, a reply to each wrong answer, and the explanation.

use leptos::prelude::*;
use watchscope_model::wire::player::{Answer, LessonNow, PassageText};

use super::shown::say;
use super::texts::marked;

/// Returns the question of a passage, if it has one.
pub(super) fn question(passage: &PassageText, now: &LessonNow) -> Option<impl IntoView + use<>> {
    let question = passage.question.as_ref()?;
    let number = now.passage;
    let is_settled = now.settled.contains(&u64::from(number));
    let given = now.answers.iter().filter(|given| given.passage == number);
    let given: Vec<u32> = given.map(|given| given.answer).collect();
    let answers = (0..).zip(&question.answers).map(|(place, answer)| {
        let is_given = given.contains(&place);
        let is_right = is_settled && place == question.right;
        let is_wrong = is_given && place != question.right;
        let judged = match (is_right, is_wrong) {
            (true, _) => ", right",
            (_, true) => ", wrong",
            _ => "",
        };
        view! {
            <button
                class="control"
                class:right=is_right
                class:wrong=is_wrong
                disabled=is_settled || is_given
                aria-label=format!("{answer}{judged}")
                on:click=move |_| say(Answer { passage: number, answer: place })
            >
                <span>{answer.clone()}</span>
                <span aria-hidden="true">
                    {match (is_right, is_wrong) { (true, _) => "✓", (_, true) => "✗", _ => "" }}
                </span>
            </button>
        }
    });
    let see = question.answers.len() as u32;
    let last = given.last().copied();
    let reply = last.and_then(|last| question.replies.get(last as usize));
    let reply = reply.filter(|_| !is_settled).map(|reply| {
        view! {
            <p><b>"No. "</b>{marked(reply, passage, now)}</p>
            <button class="control show-me" on:click=move |_| say(Answer { passage: number, answer: see })>
                "Show me"
            </button>
        }
    });
    let because = is_settled.then(|| {
        let judged = match last {
            Some(last) if last == question.right => "Yes. ",
            Some(last) if last < see => "No. ",
            _ => "",
        };
        view! { <p><b>{judged}</b>{marked(&question.because, passage, now)}</p> }
    });
    Some(view! {
        <div class="question" role="group" aria-label="A question before you go on">
            <p class="quiet">"Before you go on"</p>
            <p class="asks">{marked(&question.asks, passage, now)}</p>
            <div class="answers">{answers.collect_view()}</div>
            <div class="reply" role="status">{reply}{because}</div>
        </div>
    })
}
