//! The status bar, the live region, and the help.

use leptos::prelude::*;
use watchscope_timeline::Glyph;
use watchscope_timeline::scene::Hatch;

use super::glyph::{GlyphPicture, HatchPicture};
use super::signals::Signals;
use crate::core::model::Model;
use crate::input::keys::{Action, HELP};
use crate::runtime::page::Handle;

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
            {move || texts(panels.status.get().left)}
            <span class="space"></span>
            {move || texts(panels.status.get().right)}
        </footer>
        <div class="unseen" role="status" aria-live="polite" data-part="said">{move || panels.said.get()}</div>
    }
}

/// The last line of a story's narrator, or of a person.
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

/// The keys and the glyphs, over the page. The browser keeps the focus in it, and gives it back; if nothing had it,
/// the picture takes it.
#[component]
pub(super) fn Help(panels: Signals, handle: Handle) -> impl IntoView {
    let dialog = NodeRef::<leptos::html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else {
            return;
        };
        match (panels.help.get(), dialog.open()) {
            // It is in the document, so it can be shown.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    view! {
        <dialog class="help" aria-label="Keys and glyphs" node_ref=dialog on:close=move |_| {
            panels.help.set(false);
            handle.send(Model::keep_focus);
        }>
            <h2>
                "Keys"
                <button class="close" aria-label="Close" on:click=move |_| handle.act(Action::Help)>"×"</button>
            </h2>
            <dl>
                {HELP.iter().map(|&(keys, words)| view! {
                    <dt><kbd>{keys}</kbd></dt><dd>{words}</dd>
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
