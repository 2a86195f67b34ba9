//! The question of a passage: answers to choose from, a reply to a wrong answer, and the explanation.

use leptos::prelude::*;
use watchscope_model::wire::player::{Answer, LessonNow, PassageText, QuestionText};

use super::judged::{glyph, word};
use super::marks::{Marked, marks};
use super::shown::say;
use super::texts::marked;

/// Returns the question of a passage, if it has one.
pub(super) fn question(passage: &PassageText, now: &LessonNow) -> Option<impl IntoView + use<>> {
    let question = passage.question.as_ref()?;
    let number = now.passage;
    let is_settled = now.settled.contains(&u64::from(number));
    let given = now.answers.iter().filter(|given| given.passage == number);
    let given: Vec<u32> = given.map(|given| given.answer).collect();
    let last = given.last().copied();
    let see = question.see;
    let answers = match question.form {
        0 => choices(question, number, &given, is_settled),
        _ => {
            let judged = given.iter().rev().copied().find(|given| *given < see);
            marks(question, number, judged, is_settled)
        }
    };
    let reply = last.filter(|_| !is_settled).map(|last| {
        let (lead, reply) = reply_to(question, last);
        view! {
            <p><b>{lead}</b>{marked(&reply, passage, now)}</p>
            <button class="control show-me" on:click=move |_| say(Answer { passage: number, answer: see })>
                "Show me"
            </button>
        }
    });
    let because = is_settled.then(|| {
        let is_right = last
            .filter(|last| *last < see)
            .map(|last| is_right(question, last));
        let judged = match is_right {
            Some(true) => "Yes. ",
            Some(false) => "No. ",
            None => "",
        };
        view! { <p><b>{judged}</b>{marked(&question.because, passage, now)}</p> }
    });
    Some(view! {
        <div class="question" role="group" aria-label="A question before you go on">
            <p class="quiet">"Before you go on"</p>
            <p class="asks">{marked(&question.asks, passage, now)}</p>
            {answers}
            <div class="reply" role="status">{reply}{because}</div>
        </div>
    })
}

/// Whether an answer is right, or near enough.
fn is_right(question: &QuestionText, answer: u32) -> bool {
    match question.form {
        0 => answer == question.right,
        _ => Marked::of(question, answer).first_wrong.is_none(),
    }
}

/// Returns the reply to a wrong answer: how wrong it is, and the hint.
fn reply_to(question: &QuestionText, last: u32) -> (String, String) {
    let reply = |place: usize| question.replies.get(place).cloned().unwrap_or_default();
    if question.form == 0 {
        return ("No. ".to_owned(), reply(last as usize));
    }
    let judged = Marked::of(question, last);
    let first = judged.first_wrong.unwrap_or_default();
    let what = question.answers.get(first).cloned().unwrap_or_default();
    let lead = format!(
        "{} of {}. {what}: not so. ",
        judged.right,
        question.answers.len()
    );
    (lead, reply(first))
}

fn choices(question: &QuestionText, number: u32, given: &[u32], is_settled: bool) -> AnyView {
    let answers = (0..).zip(&question.answers).map(|(place, answer)| {
        let is_given = given.contains(&place);
        let is_right = is_settled && place == question.right;
        let is_wrong = is_given && place != question.right;
        let judged = (is_right || is_wrong).then_some(is_right);
        view! {
            <button
                class="control"
                class:right=is_right
                class:wrong=is_wrong
                disabled=is_settled || is_given
                aria-label=format!("{answer}{}", word(judged))
                on:click=move |_| say(Answer { passage: number, answer: place })
            >
                <span>{answer.clone()}</span>
                <span aria-hidden="true">{glyph(judged)}</span>
            </button>
        }
    });
    view! { <div class="answers">{answers.collect_view()}</div> }.into_any()
}
