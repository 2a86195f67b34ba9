//! A question's marks and their judgement: when they are an answer, how they are sent, and how right and wrong look.

use watchscope_model::wire::player::Answer;

use super::shown::{mirrors, say};
use crate::core::lesson::Marks;

/// The form of a question about the ends of a watch.
pub(super) const ENDS: u32 = 3;
/// The form of a question whose answer is drawn as a histogram.
pub(super) const DRAW: u32 = 4;

/// Returns what a screen reader adds to a mark or an answer; nothing before it is judged.
pub(super) fn word(is_right: Option<bool>) -> &'static str {
    match is_right {
        Some(true) => ", right",
        Some(false) => ", wrong",
        None => "",
    }
}

/// Returns the sign beside a mark or an answer; nothing before it is judged.
pub(super) fn glyph(is_right: Option<bool>) -> &'static str {
    match is_right {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    }
}

/// Whether marks are an answer to a question of this form, with `count` lanes or cells.
pub(super) fn is_complete(marks: Marks, form: u32, count: usize) -> bool {
    match form {
        1 | DRAW => marks.set != 0,
        2 | ENDS => marks.is_full(count),
        _ => false,
    }
}

/// Sends the marks as an answer, if the question is open and they are complete.
pub(super) fn check(passage: u32) {
    let shown = mirrors();
    let marks = shown.marks.get_untracked();
    let is_open = shown.both(|text, now| {
        let question = text.passages.get(passage as usize);
        let question = question.and_then(|passage| passage.question.as_ref());
        question.is_some_and(|question| is_complete(marks, question.form, question.answers.len()))
            && !now.settled.contains(&u64::from(passage))
    });
    if is_open {
        say(Answer {
            passage,
            answer: marks.set,
        });
    }
}
