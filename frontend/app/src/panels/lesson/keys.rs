//! Does what the keys of a lesson request.

use watchscope_model::wire::player::{Answer, NextPassage, PreviousPassage, Step};

use super::acts::focus_act;
use super::pace::asked;
use super::shown::{mirrors, say, toggle};
use crate::input::actions::Action;

/// Does an action of the lesson; any other action does nothing.
pub(super) fn do_in_lesson(action: Action) {
    match action {
        Action::PlayLesson => toggle(),
        Action::NextPassage => say(NextPassage {}),
        Action::PreviousPassage => {
            asked();
            say(PreviousPassage {});
        }
        Action::StepLesson => say(Step {}),
        Action::FirstAnswer => answer(0),
        Action::SecondAnswer => answer(1),
        Action::ThirdAnswer => answer(2),
        Action::TakeAct => focus_act(),
        _ => {}
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
