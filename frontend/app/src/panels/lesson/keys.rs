//! Does what the keys of a lesson request.

use watchscope_model::wire::player::{Answer, NextPassage, PreviousPassage, Step};

use super::acts::focus_act;
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
        LessonAction::TakeAct => focus_act(),
    }
}

/// Answers the question of the present passage, if it has one that is open.
fn answer(answer: u32) {
    let answer = mirrors().both(|text, now| {
        let passage = text.passages.get(now.passage as usize)?;
        let question = passage.question.as_ref()?;
        let is_open = !now.settled.contains(&u64::from(now.passage));
        (is_open && (answer as usize) < question.answers.len()).then_some(Answer {
            passage: now.passage,
            answer,
        })
    });
    if let Some(answer) = answer {
        say(answer);
    }
}
