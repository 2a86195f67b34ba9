//! The rings around the moments of a passage, over the picture.

use leptos::prelude::*;

use super::shown::{Place, mirrors};
use crate::decimal::decimal;

/// The rings.
#[component]
pub(super) fn Rings() -> impl IntoView {
    let shown = mirrors();
    let count = Memo::new(move |_| shown.rings.with(Vec::len));
    let ring = move |place: usize| {
        let at = move || -> Place {
            shown
                .rings
                .with(|rings| rings.get(place).copied().flatten())
        };
        let px = |px: Option<f64>| format!("{}px", decimal(px.unwrap_or_default(), 1));
        let number = place as u32 + 1;
        // Each call takes the other of two equal animations, so that it runs anew.
        let is_called = move |turn: u32| {
            let (called, calls) = shown.called.get();
            called == number && calls % 2 == turn
        };
        view! {
            <span
                class="ring"
                class:called=move || is_called(0)
                class:called-again=move || is_called(1)
                hidden=move || at().is_none()
                style:left=move || px(at().map(|at| at.0))
                style:top=move || px(at().map(|at| at.1))
            >
                <b>{number.to_string()}</b>
            </span>
        }
    };
    view! {
        <div class="rings" aria-hidden="true">
            {move || (0..count.get()).map(ring).collect_view()}
        </div>
    }
}
