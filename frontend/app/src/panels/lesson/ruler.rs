//! The ruler of a lesson, over that of the picture: seconds since the lesson began.

use leptos::prelude::*;

use super::shown::mirrors;
use crate::core::lesson::{seconds, whole_seconds};
use crate::decimal::decimal;

fn px(px: f64) -> String {
    format!("{}px", decimal(px, 1))
}

/// The ruler.
#[component]
pub(super) fn Ruler() -> impl IntoView {
    let shown = mirrors();
    let label = |(x_px, at_us): (f64, i64)| {
        view! { <span class="ruler-label" style:left=px(x_px)>{whole_seconds(at_us)}</span> }
    };
    let pen = |(x_px, at_us): (f64, i64)| {
        view! { <b class="ruler-pen" style:left=px(x_px)>{seconds(at_us)}</b> }
    };
    view! {
        <div class="lesson-ruler" aria-hidden="true" style:left=move || shown.ruler.with(|ruler| px(ruler.left_px))>
            {move || shown.ruler.with(|ruler| ruler.labels.iter().copied().map(label).collect_view())}
            {move || shown.ruler.with(|ruler| ruler.pen.map(pen))}
        </div>
    }
}
