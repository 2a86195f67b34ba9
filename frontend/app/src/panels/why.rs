//! The steps of a "why", and the lesson that teaches a finding. The numbers are those of the tags in the picture.

use leptos::prelude::*;
use watchscope_model::Row;
use watchscope_timeline::evidence::{Evidence, Way};
use watchscope_timeline::why::taught;
use watchscope_timeline::words::severity_token;

use super::evidence::TagRow;
use super::signals::Signals;
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Shows the steps. Pointing at one lights its tag in the picture; a click goes there.
#[component]
pub(super) fn WhyTab(why: Evidence, panels: Signals) -> impl IntoView {
    let (finding, ink) = (why.finding, severity_token(why.severity).name());
    let code = why.code.clone();
    let steps = (1..).zip(why.items).map(|(place, item)| {
        let way = sign(item.way);
        let [time, lane, what] = item.words.clone();
        let cells = view! {
            <td>{time}</td>
            <td class="of">{lane}</td>
            <td class="way">{way}</td>
            <td class="what">{what}</td>
        };
        let label = format!("Step {place}: go there");
        view! { <TagRow finding ink place item label panels>{cells}</TagRow> }
    });
    view! {
        <div data-part="why">
            <h3>"Why?"</h3>
            <table class="evidence why">
                <thead class="unseen"><tr>
                    <th scope="col">"Step"</th>
                    <th scope="col">"Time"</th>
                    <th scope="col">"Lane"</th>
                    <th scope="col">"How it came here"</th>
                    <th scope="col">"What"</th>
                </tr></thead>
                <tbody>{steps.collect_view()}</tbody>
            </table>
            {lesson_link(&code)}
        </div>
    }
}

/// Returns how a step is reached, in a word or two.
fn sign(way: Option<Way>) -> &'static str {
    match way {
        Some(Way::WentOn) | None => "",
        Some(Way::NobodyHeard) => "× nobody heard",
        Some(Way::TimePasses) => "later",
        Some(Way::NotKnown) => "not known",
    }
}

/// Returns the link to the lesson that teaches a finding; nothing if no lesson does.
pub(super) fn lesson_link(code: &str) -> Option<impl IntoView + use<>> {
    let taught = Row::of(code).and_then(taught)?;
    let title = format!("Lesson: {}", taught.title);
    Some(view! {
        <p class="lesson-link"><a href=format!("#lesson={}", taught.lesson)>{title}</a></p>
    })
}

/// Shows the link that asks why, after a space.
#[component]
pub(super) fn AskWhy() -> impl IntoView {
    view! {
        " "<button class="inline-action" data-part="ask-why" on:click=|_| act(Person::Act(Action::Why))>"Why?"</button>
    }
}
