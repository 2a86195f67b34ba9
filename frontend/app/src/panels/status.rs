//! The status bar, the live region, and the help.

use leptos::prelude::*;
use watchscope_timeline::Glyph;
use watchscope_timeline::format::number;
use watchscope_timeline::scene::Hatch;

use super::captions;
use super::focus::keep_focus;
use super::glyph::{GlyphPicture, HatchPicture};
use super::signals::Signals;
use crate::core::lanes::LanesDeed;
use crate::core::person::Person;
use crate::core::shown::HistoryWords;
use crate::input::actions::Action;
use crate::input::keys::{self, GESTURES, InForce};
use crate::runtime::page::act;

/// The bar at the bottom.
#[component]
pub(super) fn StatusBar(panels: Signals) -> impl IntoView {
    let texts = move |texts: Vec<String>| {
        texts
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| view! { <span>{text}</span> })
            .collect_view()
    };
    view! {
        <footer class="status" data-part="status">
            {move || {
                let HistoryWords { text, is_trouble } = panels.status.get().history;
                (!text.is_empty()).then(|| view! { <span class:warn=is_trouble data-part="history">{text}</span> })
            }}
            {move || texts(panels.status.get().left)}
            {move || {
                let hidden = panels.lanes.with(|lanes| lanes.hidden.len());
                (hidden > 0).then(|| view! {
                    <button
                        class="control"
                        data-part="hidden"
                        aria-haspopup="dialog"
                        on:click=|_| act(Person::Lanes(LanesDeed::List(true)))
                    >{format!("{} hidden", number(hidden as u64))}</button>
                })
            }}
            <span class="space"></span>
            {move || {
                let right = panels.status.get().right;
                texts(right.into_iter().chain([zone_words()]).collect())
            }}
        </footer>
        <div class="unseen" role="status" aria-live="polite" data-part="said">{move || panels.said.get()}</div>
    }
}

/// Shows the last line of a story's narrator.
#[component]
pub(super) fn Narration(panels: Signals) -> impl IntoView {
    move || {
        panels.note.get().map(|(at, text)| {
            view! {
                <p class="narration" role="note" aria-live="polite" data-part="note">
                    <span class="quiet">{at}</span>" "{text}
                </p>
            }
        })
    }
}

/// The help: keys and glyphs, in a dialog over the page. The browser keeps the focus inside, and gives it back at the
/// end. If nothing had the focus, the picture takes it.
#[component]
pub(super) fn Help(panels: Signals) -> impl IntoView {
    let dialog = NodeRef::<leptos::html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else {
            return;
        };
        match (panels.help.get(), dialog.open()) {
            // The dialog is in the document, so it can be shown.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    view! {
        <dialog class="help" aria-label="Keys and glyphs" node_ref=dialog on:close=|_| {
            act(Person::HelpClosed);
            keep_focus();
        }>
            <h2>
                "Keys"
                <button class="close" aria-label="Close" on:click=|_| act(Person::Act(Action::Help))>"×"</button>
            </h2>
            {move || scopes(panels).iter().map(|&scope| view! {
                <h3>{scope.words()}</h3>
                <dl>
                    {Action::ALL.into_iter().map(|action| (keys::shown(action, scope), action.words()))
                        .filter(|(keys, _)| !keys.is_empty())
                        .map(|(keys, words)| view! { <dt>{key_caps(&keys)}</dt><dd>{words}</dd> })
                        .collect_view()}
                </dl>
            }).collect_view()}
            {move || (panels.help.get() && captions::can_show()).then(|| view! {
                <p class="captions-again"><button class="control" data-part="captions-again" on:click=|_| captions::show_again()>
                    "Show captions again"
                </button></p>
            })}
            <h3>"With mouse, pen or fingers"</h3>
            <dl>
                {GESTURES.iter().map(|&(gesture, words)| view! {
                    <dt><kbd>{gesture}</kbd></dt><dd>{words}</dd>
                }).collect_view()}
            </dl>
            <h2>"Glyphs"</h2>
            <ul class="legend">
                {Glyph::ALL.iter().map(|&glyph| view! {
                    <li><GlyphPicture glyph ink=glyph.ink() size=16/>{glyph.words()}</li>
                }).collect_view()}
            </ul>
            <h2>"Hatches"</h2>
            <ul class="legend">
                {[Hatch::Resumed, Hatch::Lost, Hatch::Own, Hatch::NotLoaded].map(|hatch| view! {
                    <li><HatchPicture hatch/>{hatch.words()}</li>
                }).collect_view()}
            </ul>
        </dialog>
    }
}

/// Returns the scopes of the page's keys that are in force behind the help, the narrowest first.
fn scopes(panels: Signals) -> &'static [keys::Scope] {
    InForce {
        lesson: super::lesson::is_on(),
        replay: panels.replay.with(Option::is_some),
        ..InForce::default()
    }
    .scopes()
}

/// Returns keys as the help shows them: each key of an action in a frame of its own.
pub(super) fn key_caps(keys: &str) -> impl IntoView + use<> {
    let caps = keys
        .split("  ")
        .map(|cap| view! { <kbd>{cap.to_owned()}</kbd>" " });
    caps.collect_view()
}

/// Returns `UTC, you are at UTC+1`.
fn zone_words() -> String {
    // The offset is in minutes from local time to UTC, so it is negative east of Greenwich.
    let minutes = -js_sys::Date::new_0().get_timezone_offset() as i64;
    if minutes == 0 {
        return "UTC, as you".to_owned();
    }
    let sign = if minutes < 0 { '−' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    if rest == 0 {
        format!("UTC, you are at UTC{sign}{hours}")
    } else {
        format!("UTC, you are at UTC{sign}{hours}:{rest:02}")
    }
}
