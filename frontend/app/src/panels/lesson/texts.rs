//! A text of a lesson with its marks: stressed words, code, and moments as buttons.

use leptos::prelude::*;
use watchscope_model::wire::player::{LessonNow, PassageText};

use super::talk::reveal;
use crate::core::lesson::{Part, parts, seconds};

/// Returns a text with its marks.
pub(super) fn marked(text: &str, passage: &PassageText, now: &LessonNow) -> AnyView {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Plain(text) => text.into_any(),
        Part::Stressed(text) => view! { <b>{text}</b> }.into_any(),
        Part::Code(text) => view! { <code>{text}</code> }.into_any(),
        Part::Moment(number) => moment(number, passage, now),
    });
    parts.collect_view().into_any()
}

fn moment(number: u32, passage: &PassageText, now: &LessonNow) -> AnyView {
    let place = (number as usize).saturating_sub(1);
    let words = passage.moments.get(place).cloned().unwrap_or_default();
    let found = now.moments.get(place).filter(|moment| moment.seq.is_some());
    let title = match found {
        Some(found) => {
            let at = seconds(found.at.micros_since(now.begin));
            format!("{words}: {at}, in {}", found.lane)
        }
        None => format!("{words}: not in this run yet"),
    };
    let is_found = found.is_some();
    view! {
        <button
            class="moment"
            title=title
            aria-label=format!("Show {words}")
            aria-disabled=(!is_found).then_some("true")
            on:click=move |_| if is_found { reveal(number) }
        >
            {number.to_string()}
        </button>
    }
    .into_any()
}
