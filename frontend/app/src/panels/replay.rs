//! The controls of a recording: play, speed, and the time.

use leptos::prelude::*;
use watchscope_model::time::SECOND_US;

use super::mirror::Mirror;
use super::player::{BarStep, bar, glyph_button, play_button};
use super::signals::Signals;
use crate::core::panel_state::SPEEDS;
use crate::core::person::Person;
use crate::core::shown::ReplayShown;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// A minute, in microseconds.
const MINUTE_US: i64 = 60 * SECOND_US;

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
    let is_playing = move || replay.with(|replay| replay.as_ref().is_some_and(|of| of.is_playing));
    let play = of(|of| {
        let words = match (of.is_playing, of.is_at_end) {
            (true, _) => "Pause",
            (false, true) => "Play again",
            (false, false) => "Play",
        };
        words.to_owned()
    });
    let share = move || {
        let share = replay.with(|replay| replay.as_ref().map(|of| of.share));
        share.unwrap_or_default()
    };
    let seek: fn(f64) = |share| act(Person::SeekShare(share));
    let step: fn(BarStep) = |step| {
        let by_us = if step.is_long { MINUTE_US } else { SECOND_US };
        act(Person::SeekBy {
            by_us: step.towards * by_us,
        });
    };
    view! {
        <section class="replay" data-part="replay" aria-label="Replay">
            <span class="replay-buttons">
                {glyph_button("To the beginning", "|◂", || act(Person::SeekShare(0.0)))}
                {glyph_button("Previous problem", "◂!", || act(Person::ShowProblem { is_next: false }))}
                {play_button(is_playing, play, || false, || act(Person::Act(Action::Play)))}
                {glyph_button("Next problem", "!▸", || act(Person::ShowProblem { is_next: true }))}
                {glyph_button("To the end", "▸|", || act(Person::SeekShare(1.0)))}
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
            {bar("Time of the recording", share, of(|of| of.clock.clone()), seek, step)}
            <span class="quiet">{of(|of| of.ends.clone())}</span>
        </section>
    }
}
