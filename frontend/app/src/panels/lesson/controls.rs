//! The controls of a lesson: play, the bar of time, and what the person can do to the cluster.

use leptos::prelude::*;
use watchscope_model::Time;
use watchscope_model::wire::player::{
    AsWritten, Break, NextPassage, PreviousPassage, Seek, SetClient, SetSeed, SetServer, SetSpeed,
    Step,
};

use super::goal::Goal;
use super::pace::asked;
use super::shown::{mirrors, say, toggle};
use crate::core::lesson::{STRIDE_US, seconds, share_from_time, time_from_share};
use crate::decimal::decimal;
use crate::panels::player::{BarStep, bar, glyph_button, play_button};

/// The speeds to choose from, in thousandths.
const SPEEDS: [u32; 9] = [
    100, 250, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000,
];

/// The controls.
#[component]
pub(super) fn Controls() -> impl IntoView {
    view! {
        <footer class="lesson-controls">
            <Player/>
            <Bar/>
            <Yours/>
        </footer>
    }
}

fn is_at_end() -> bool {
    let shown = mirrors();
    shown.both(|text, now| !now.is_playing && now.at_us >= text.lasts_us)
}

#[component]
fn Player() -> impl IntoView {
    let shown = mirrors();
    let is_playing = move || shown.now(|now| now.is_playing);
    let words = move || {
        if is_playing() {
            "Pause".to_owned()
        } else {
            "Play".to_owned()
        }
    };
    let speed = Memo::new(move |_| shown.now(|now| now.speed_thousandths));
    let speeds = SPEEDS.map(|thousandths| {
        let times = decimal(f64::from(thousandths) / 1e3, 3);
        view! {
            <option value=times.clone() selected=move || speed.get() == thousandths>{format!("{times}×")}</option>
        }
    });
    let choose = |value: &str| {
        let times: Option<f64> = value.parse().ok();
        if let Some(times) = times {
            say(SetSpeed {
                thousandths: (times * 1e3) as u32,
            });
        }
    };
    view! {
        <div class="keys">
            {glyph_button("Back to where this step begins", "|◀\u{FE0E}", || { asked(); say(PreviousPassage {}); })}
            {play_button(is_playing, words, is_at_end, toggle)}
            {glyph_button("To the next step", "▶\u{FE0E}|", || say(NextPassage {}))}
            <button class="control" title="To the next message or moment, and no further" on:click=|_| say(Step {})>"Step"</button>
            <select class="control" aria-label="Speed" on:change:target=move |event| choose(&event.target().value())>
                {speeds}
            </select>
        </div>
    }
}

#[component]
fn Bar() -> impl IntoView {
    let shown = mirrors();
    let share = move || shown.both(|text, now| share_from_time(text, now.at_us));
    let clock = move || shown.now(|now| seconds(now.at_us));
    let seek: fn(f64) = |share| {
        let to_us = mirrors().text(|text| time_from_share(text, share));
        asked();
        say(Seek { to_us });
    };
    let step: fn(BarStep) = |step| {
        let at_us = mirrors().now(|now| now.at_us);
        let by_us = if step.is_long {
            5 * STRIDE_US
        } else {
            STRIDE_US
        };
        asked();
        say(Seek {
            to_us: (at_us + step.towards * by_us).max(0),
        });
    };
    let ticks = move || {
        shown.text(|text| {
            let passages = text.passages.iter().enumerate().map(|(place, passage)| {
                let percent = share_from_time(text, passage.at_us) * 100.0;
                let at_us = passage.at_us;
                let go = move |_| {
                    asked();
                    say(Seek { to_us: at_us });
                };
                view! {
                    <button
                        tabindex="-1"
                        style:left=format!("{}%", decimal(percent, 2))
                        class:present=move || shown.now(|now| now.passage as usize == place)
                        on:click=go
                    >
                        {(place + 1).to_string()}
                    </button>
                }
            });
            Some(passages.collect_view())
        })
    };
    view! {
        <div class="time">
            <div class="when">
                <span>
                    <b class="clock" data-part="clock">{clock}</b>
                    <span class="quiet">{move || shown.text(|text| format!(" of {}", seconds(text.lasts_us)))}</span>
                    <Pace/>
                </span>
                <Note/>
            </div>
            <div class="ticks" aria-hidden="true">{ticks}</div>
            {bar("Time since the lesson began", share, clock, seek, step)}
            <Stretches/>
        </div>
    }
}

/// Under the bar: red while a client has no stream, pink while one holds a ghost.
#[component]
fn Stretches() -> impl IntoView {
    let shown = mirrors();
    let stretches = Memo::new(move |_| {
        let is_covered = shown.is_covered();
        shown.beside.with(|beside| {
            let since = |at: Time| at.micros_since(beside.begin);
            let of = |found: &[(Time, Time)]| -> Vec<(i64, i64)> {
                found
                    .iter()
                    .map(|(from, to)| (since(*from), since(*to)))
                    .collect()
            };
            let haunted = of(&beside.stretches.haunted);
            let haunted = if is_covered { Vec::new() } else { haunted };
            (of(&beside.stretches.away), haunted)
        })
    });
    let percent = |share: f64| format!("{}%", decimal(share * 100.0, 2));
    let strip = move |kind: &'static str, found: Vec<(i64, i64)>| {
        let shares = shown.text(|text| {
            let share = |(from_us, to_us): (i64, i64)| {
                (share_from_time(text, from_us), share_from_time(text, to_us))
            };
            found.into_iter().map(share).collect::<Vec<_>>()
        });
        let strip = |(from, to): (f64, f64)| {
            view! { <span class=kind style:left=percent(from) style:width=percent(to - from)></span> }
        };
        shares.into_iter().map(strip).collect_view()
    };
    view! {
        <div class="stretches" aria-hidden="true">
            {move || {
                let (away, haunted) = stretches.get();
                view! { {strip("is-away", away)}{strip("is-haunted", haunted)} }
            }}
        </div>
    }
}

/// The speed at which the lesson plays, if that is not the chosen one.
#[component]
fn Pace() -> impl IntoView {
    let shown = mirrors();
    let pace = Memo::new(move |_| {
        shown.now(|now| {
            let is_other = now.pace_thousandths != now.speed_thousandths;
            is_other.then(|| format!("{}×", decimal(f64::from(now.pace_thousandths) / 1e3, 1)))
        })
    });
    move || {
        pace.get()
            .map(|words| view! { <b class="hurry" title="Nothing happens here">{words}</b> })
    }
}

/// What is to be said about this run.
#[component]
fn Note() -> impl IntoView {
    let shown = mirrors();
    let words = Memo::new(move |_| {
        shown.now(|now| {
            let changed = "You changed this run; the text describes the run before your change.";
            let changed = (!now.is_as_written).then_some(changed);
            let words: Vec<&str> = now.note.as_deref().into_iter().chain(changed).collect();
            if words.is_empty() {
                format!("seed {}, going back runs it again", now.seed)
            } else {
                words.join(" ")
            }
        })
    });
    let is_changed = Memo::new(move |_| shown.now(|now| !now.is_as_written));
    let as_written = |_| {
        asked();
        say(AsWritten {});
    };
    view! {
        <span class="note" role="status">
            {move || shown.failed.get().unwrap_or_else(|| words.get())}
            {move || is_changed.get().then(|| view! {
                <button class="control as-written" on:click=as_written>"As written"</button>
            })}
        </span>
    }
}

/// What the person can do to the cluster.
#[component]
fn Yours() -> impl IntoView {
    let shown = mirrors();
    let breaks = move || {
        shown.text(|text| {
            let breaks = (0..).zip(&text.breaks).map(|(place, words)| {
                view! {
                    <button class="control" on:click=move |_| say(Break { place })>{words.clone()}</button>
                }
            });
            Some(breaks.collect_view())
        })
    };
    let server = Memo::new(move |_| shown.now(|now| now.server.clone()));
    let client = Memo::new(move |_| shown.now(|now| now.client.clone()));
    let options = move |versions: Vec<String>, present: Memo<String>| {
        let option = move |version: String| {
            let known = version.clone();
            view! { <option selected=move || present.get() == known>{version}</option> }
        };
        versions.into_iter().map(option).collect_view()
    };
    let seed = |value: &str| {
        if let Ok(seed) = value.parse() {
            asked();
            say(SetSeed { seed });
        }
    };
    let has_breaks = Memo::new(move |_| shown.has(|passage| passage.has_breaks));
    view! {
        <div class="yours" class:unneeded=move || !has_breaks.get()>
            <h3>"Break it yourself"</h3>
            <Goal/>
            <div class="breaks">{breaks}</div>
            <div class="run">
                <label>
                    <span class="quiet">"server"</span>
                    <select class="control" on:change:target=|event| {
                        asked();
                        say(SetServer { version: event.target().value() });
                    }>
                        {move || options(shown.text(|text| text.servers.clone()), server)}
                    </select>
                </label>
                <label>
                    <span class="quiet">"client-go"</span>
                    <select class="control" on:change:target=|event| {
                        asked();
                        say(SetClient { version: event.target().value() });
                    }>
                        {move || options(shown.text(|text| text.clients.clone()), client)}
                    </select>
                </label>
                <label>
                    <span class="quiet">"seed"</span>
                    <input
                        class="control seed"
                        type="number"
                        min="0"
                        max="999999"
                        step="1"
                        prop:value=move || shown.now(|now| now.seed).to_string()
                        on:change:target=move |event| seed(&event.target().value())
                    />
                </label>
            </div>
        </div>
    }
}
