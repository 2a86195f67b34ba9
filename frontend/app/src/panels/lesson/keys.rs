//! Does what the keys of a lesson request.

use watchscope_model::wire::player::{Answer, NextPassage, PreviousPassage, Step};

use super::acts::focus_act;
use super::judged::check;
use super::marks::{focus_cells, tap};
use super::pace::asked;
use super::shown::{mirrors, say, toggle};
use crate::input::actions::LessonAction;

/// Does an action of the lesson.
pub(super) fn do_in_lesson(action: LessonAction) {
    match action {
        LessonAction::Play => toggle(),
        LessonAction::NextPassage => say(NextPassage {}),
        LessonAction::PreviousPassage => {
            asked();
            say(PreviousPassage {});
        }
        LessonAction::Step => say(Step {}),
        LessonAction::FirstAnswer => answer(0),
        LessonAction::SecondAnswer => answer(1),
        LessonAction::ThirdAnswer => answer(2),
        LessonAction::FourthAnswer => answer(3),
        LessonAction::Check => check(mirrors().now(|now| now.passage)),
        LessonAction::TakeAct => focus_act(),
    }
}

/// Answers the question of the present passage, if it has one that is open: chooses an answer, taps a lane, or goes to
/// the table.
fn answer(place: u32) {
    let question = mirrors().both(|text, now| {
        let passage = text.passages.get(now.passage as usize)?;
        let question = passage.question.as_ref()?;
        let is_open = !now.settled.contains(&u64::from(now.passage));
        let is_there = (place as usize) < question.answers.len();
        (is_open && is_there).then_some((now.passage, question.form))
    });
    match question {
        Some((passage, 0)) => say(Answer {
            passage,
            answer: place,
        }),
        Some((_, 1)) => tap(place),
        Some(_) => {
            focus_cells();
        }
        None => {}
    }
}
