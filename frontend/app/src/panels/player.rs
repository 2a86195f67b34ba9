//! The controls of a player: buttons, and the bar of time. Recordings and lessons share them.

use leptos::prelude::*;

/// The bar's steps. Decimal fractions would add 4 kB to the page.
const BAR_STEPS: u32 = 1_000_000;

/// A step on the bar by an arrow key.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarStep {
    /// 1 for later, -1 for earlier.
    pub(super) towards: i64,
    /// Whether Shift was held, for a longer step.
    pub(super) is_long: bool,
}

/// Returns a button that shows a glyph and has a name.
pub(super) fn glyph_button(name: &'static str, glyph: &'static str, does: fn()) -> impl IntoView {
    view! {
        <button class="control glyph" aria-label=name title=name on:click=move |_| does()>
            <span aria-hidden="true">{glyph}</span>
        </button>
    }
}

/// Returns the button that plays and pauses. `words` name what it does.
pub(super) fn play_button(
    is_playing: impl Fn() -> bool + Copy + Send + 'static,
    words: impl Fn() -> String + Send + 'static,
    is_disabled: impl Fn() -> bool + Send + 'static,
    toggle: fn(),
) -> impl IntoView {
    view! {
        <button
            class="control play"
            aria-keyshortcuts="Space"
            aria-pressed=move || is_playing().to_string()
            disabled=is_disabled
            on:click=move |_| toggle()
        >
            <span aria-hidden="true">{move || if is_playing() { "❚❚ " } else { "▶ " }}</span>
            {words}
        </button>
    }
}

/// Returns the bar of time. `share` is the present place, from 0 to 1, and `words` name it.
pub(super) fn bar(
    label: &'static str,
    share: impl Fn() -> f64 + Send + 'static,
    words: impl Fn() -> String + Send + 'static,
    seek: fn(f64),
    step: fn(BarStep),
) -> impl IntoView {
    view! {
        <input
            class="seek"
            type="range"
            min="0"
            max=BAR_STEPS.to_string()
            aria-label=label
            aria-valuetext=words
            prop:value=move || ((share() * f64::from(BAR_STEPS)) as u32).to_string()
            on:input:target=move |event| {
                if let Ok(step) = event.target().value().parse::<u32>() {
                    seek(f64::from(step) / f64::from(BAR_STEPS));
                }
            }
            on:keydown=move |event| {
                let towards = match event.key().as_str() {
                    "ArrowLeft" | "ArrowDown" => -1,
                    "ArrowRight" | "ArrowUp" => 1,
                    _ => return,
                };
                event.prevent_default();
                event.stop_propagation();
                step(BarStep { towards, is_long: event.shift_key() });
            }
        />
    }
}
