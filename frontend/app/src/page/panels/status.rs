//! The status bar, the live region, and the help.

use leptos::prelude::*;
use watchscope_timeline::Glyph;

use super::super::engine::Handle;
use super::glyph::GlyphPicture;
use super::signals::Panels;
use crate::input::keys::{Action, HELP};

/// The bar at the bottom.
#[component]
pub(super) fn StatusBar(panels: Panels) -> impl IntoView {
    let texts = move |texts: Vec<String>| {
        texts
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| view! { <span>{text}</span> })
            .collect_view()
    };
    view! {
        <footer class="status" data-part="status">
            {move || texts(panels.status.get().left)}
            <span class="space"></span>
            {move || texts(panels.status.get().right)}
        </footer>
        <div class="unseen" role="status" aria-live="polite" data-part="said">{move || panels.said.get()}</div>
    }
}

/// The last line of a story's narrator, or of a person.
#[component]
pub(super) fn Narration(panels: Panels) -> impl IntoView {
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

/// The keys and the glyphs, over the page.
#[component]
pub(super) fn Help(panels: Panels, handle: Handle) -> impl IntoView {
    move || {
        panels.help.get().then(|| {
            view! {
                <div class="help" role="dialog" aria-modal="true" aria-label="Keys and glyphs">
                    <h2>
                        "Keys"
                        <button class="close" aria-label="Close" autofocus on:click=move |_| handle.act(Action::Help)>"×"</button>
                    </h2>
                    <dl>
                        {HELP.iter().map(|&(keys, words)| view! {
                            <dt><kbd>{keys}</kbd></dt><dd>{words}</dd>
                        }).collect_view()}
                    </dl>
                    <h2>"Glyphs"</h2>
                    <ul class="legend">
                        {Glyph::ALL.iter().map(|&glyph| view! {
                            <li class="legend-item"><GlyphPicture glyph ink=glyph.ink() size=16/>{glyph.words()}</li>
                        }).collect_view()}
                    </ul>
                </div>
            }
        })
    }
}
