//! The controls of a recording: play, speed, and the time.

use leptos::prelude::*;
use watchscope_model::time::SECOND_US;

use super::mirror::Mirror;
use super::signals::Signals;
use crate::core::panel_state::SPEEDS;
use crate::core::person::Person;
use crate::core::shown::ReplayShown;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// A minute, in microseconds.
const MINUTE_US: i64 = 60 * SECOND_US;
/// The slider's steps. Decimal fractions would add 4 kB to the page.
const SEEK_STEPS: u32 = 1_000_000;

/// Shows the controls if the page shows a recording.
#[component]
pub(super) fn ReplayBar(panels: Signals) -> impl IntoView {
    let replay = panels.replay;
    let is_shown = Memo::new(move |_| replay.with(Option::is_some));
    move || is_shown.get().then(|| view! { <Bar replay/> })
}

#[component]
fn Bar(replay: Mirror<Option<ReplayShown>>) -> impl IntoView {
    let of = move |read: fn(&ReplayShown) -> String| {
        move || replay.with(|replay| replay.as_ref().map(read).unwrap_or_default())
    };
    let button = move |name: &'static str, glyph: &'static str, person: fn() -> Person| {
        view! {
            <button class="control glyph" aria-label=name title=name on:click=move |_| act(person())>
                <span aria-hidden="true">{glyph}</span>
            </button>
        }
    };
    let is_playing = move || replay.with(|replay| replay.as_ref().is_some_and(|of| of.is_playing));
    let play = of(|of| {
        let words = match (of.is_playing, of.is_at_end) {
            (true, _) => "Pause",
            (false, true) => "Play again",
            (false, false) => "Play",
        };
        words.to_owned()
    });
    view! {
        <section class="replay" data-part="replay" aria-label="Replay">
            <span class="replay-buttons">
                {button("To the beginning", "|◂", || Person::SeekShare(0.0))}
                {button("Previous problem", "◂!", || Person::ShowProblem { is_next: false })}
                <button
                    class="control play"
                    aria-keyshortcuts="Space"
                    aria-pressed=move || is_playing().to_string()
                    on:click=|_| act(Person::Act(Action::Play))
                >
                    <span aria-hidden="true">{move || if is_playing() { "❚❚ " } else { "▶ " }}</span>
                    {play}
                </button>
                {button("Next problem", "!▸", || Person::ShowProblem { is_next: true })}
                {button("To the end", "▸|", || Person::SeekShare(1.0))}
            </span>
            <span class="speeds" role="group" aria-label="Speed">
                {SPEEDS.map(|speed| view! {
                    <button
                        class="control"
                        aria-pressed=move || {
                            replay.with(|replay| replay.as_ref().is_some_and(|of| of.speed == speed)).to_string()
                        }
                        on:click=move |_| act(Person::Speed(speed))
                    >
                        {format!("{speed}×")}
                    </button>
                }).collect_view()}
            </span>
            <span class="replay-at">
                <b data-part="replay-clock">{of(|of| of.clock.clone())}</b>
                <span class="quiet">{of(|of| {
                    let doing = match (of.is_playing, of.is_at_end) {
                        (true, _) => "playing",
                        (false, true) => "recording ends here",
                        (false, false) => "paused",
                    };
                    format!("{doing}, of {}", of.lasts)
                })}</span>
            </span>
            <span class="quiet">{of(|of| of.begins.clone())}</span>
            <input
                class="seek"
                type="range"
                min="0"
                max=SEEK_STEPS.to_string()
                aria-label="Time of the recording"
                aria-valuetext=of(|of| of.clock.clone())
                prop:value=of(|of| ((of.share * f64::from(SEEK_STEPS)) as u32).to_string())
                on:input:target=|event| {
                    if let Ok(step) = event.target().value().parse::<u32>() {
                        act(Person::SeekShare(f64::from(step) / f64::from(SEEK_STEPS)));
                    }
                }
                on:keydown=|event| {
                    let step_us = |towards: i64| if event.shift_key() { towards * MINUTE_US } else { towards * SECOND_US };
                    let by_us = match event.key().as_str() {
                        "ArrowLeft" | "ArrowDown" => step_us(-1),
                        "ArrowRight" | "ArrowUp" => step_us(1),
                        _ => return,
                    };
                    event.prevent_default();
                    event.stop_propagation();
                    act(Person::SeekBy { by_us });
                }
            />
            <span class="quiet">{of(|of| of.ends.clone())}</span>
        </section>
    }
}
