//! A question that a person answers by drawing a histogram: a range field for each column, which pointer, touch, keys
//! and screen readers know. Once it is settled, the run's own columns stand beside the drawn ones.

use leptos::prelude::*;
use watchscope_model::wire::player::{COLUMN_MOST, QuestionText, column_height, is_column_right};
use web_sys::KeyboardEvent;

use super::judged::{check, glyph, word};
use super::shown::mirrors;

/// Returns the columns to draw, or the drawn ones beside those of the run. `judged` is the last answer.
pub(super) fn columns(question: &QuestionText, judged: Option<u32>, is_settled: bool) -> AnyView {
    let step = u64::from(question.step);
    let names = (0..).zip(&question.answers);
    if is_settled {
        let columns = names.zip(&question.counts).map(|((place, name), count)| {
            let drawn = judged.map(|answer| column_height(answer, place));
            compared(name, *count, drawn, step)
        });
        return view! {
            <div class="answers drawing">{columns.collect_view()}</div>
            <p class="quiet">"Pale: what you drew. Full: the run."</p>
        }
        .into_any();
    }
    let right = question.right;
    let columns = names.map(|(place, name)| {
        let wrong = judged.filter(|answer| !is_column_right(*answer, right, place));
        column(place, name.clone(), wrong, step)
    });
    view! {
        <div class="answers drawing" role="group" aria-label="Columns">{columns.collect_view()}</div>
        <p class="quiet">
            {format!(
                "Pull the columns up, or use the arrow keys. One step is {step} requests, a full column {} or more.",
                step * u64::from(COLUMN_MOST),
            )}
        </p>
    }
    .into_any()
}

/// Returns a column to draw. `wrong` is the last answer, if it has this column wrong.
fn column(place: usize, name: String, wrong: Option<u32>, step: u64) -> impl IntoView {
    let height = Memo::new(move |_| column_height(mirrors().marks.get().set, place));
    let judged = move || {
        let is_same = wrong.is_some_and(|answer| column_height(answer, place) == height.get());
        is_same.then_some(false)
    };
    let label = name.clone();
    let draw = move |value: &str| {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let height = value.parse().unwrap_or(0);
        let marks = mirrors().marks.get_untracked();
        mirrors().marks.set(marks.drawn(place, height));
    };
    view! {
        <label class="stack" class:wrong=move || judged().is_some()>
            <input
                type="range"
                min="0"
                max=COLUMN_MOST.to_string()
                aria-orientation="vertical"
                aria-label=move || format!("{label}{}", word(judged()))
                aria-valuetext=move || about(height.get(), step)
                data-cell=place.to_string()
                style:--height=move || height.get().to_string()
                prop:value=move || height.get().to_string()
                on:input:target=move |event| draw(&event.target().value())
                on:keydown=key
            />
            <span aria-hidden="true">{name}{move || glyph(judged())}</span>
        </label>
    }
}

/// Checks the columns by Enter, as elsewhere in a question. Else the keys in a field are the field's.
fn key(event: KeyboardEvent) {
    if event.key() == "Enter" {
        check(mirrors().now(|now| now.passage));
    }
}

/// Returns a column of the run beside the drawn one.
fn compared(name: &str, count: u64, drawn: Option<u32>, step: u64) -> impl IntoView + use<> {
    let mine = drawn.map(|height| format!(", you drew {}", about(height, step)));
    let label = format!("{name}: {count} requests{}", mine.unwrap_or_default());
    let height = (count as f64 / step.max(1) as f64).min(f64::from(COLUMN_MOST));
    view! {
        <div class="stack" role="img" aria-label=label>
            <span aria-hidden="true">{count}</span>
            <span class="pair">
                <i class="drawn" style:--height=drawn.unwrap_or(0).to_string()></i>
                <i style:--height=format!("{height:.2}")></i>
            </span>
            <span aria-hidden="true">{name.to_owned()}</span>
        </div>
    }
}

/// Returns the height of a column in words.
fn about(height: u32, step: u64) -> String {
    match height {
        0 => "none or few".to_owned(),
        COLUMN_MOST => format!("{} or more", step * u64::from(height)),
        _ => format!("about {}", step * u64::from(height)),
    }
}
