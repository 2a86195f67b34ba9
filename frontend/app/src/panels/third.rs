//! The third part of the page: the panels that a person opens, and the help. It is loaded when the first of them opens.

use std::cell::Cell;

use leptos::prelude::*;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen_futures::spawn_local;

use super::detail::DetailPanel;
use super::findings::FindingsPanel;
use super::focus::focus_awaited;
use super::notes::NotesPanel;
use super::signals::Signals;
use super::status::Help;
use super::watches::WatchesPanel;
use crate::core::person::Person;
use crate::runtime::page::act;

/// What puts a panel into the page.
type Panel = fn(Signals) -> AnyView;

/// The panels of the third part.
#[derive(Clone, Copy)]
pub(super) struct Third {
    pub(super) findings: Panel,
    pub(super) watches: Panel,
    pub(super) notes: Panel,
    pub(super) detail: Panel,
    pub(super) help: Panel,
}

/// The cut: what this function reaches and the other parts do not is the third part.
#[wasm_split(third, wasm_split_path = leptos::wasm_split, fallible)]
fn third_part() -> Result<Third, SplitLoaderError> {
    Ok(Third {
        findings: |panels| view! { <FindingsPanel panels/> }.into_any(),
        watches: |panels| view! { <WatchesPanel panels/> }.into_any(),
        notes: |panels| view! { <NotesPanel panels/> }.into_any(),
        detail: |panels| view! { <DetailPanel panels/> }.into_any(),
        help: |panels| view! { <Help panels/> }.into_any(),
    })
}

thread_local! {
    /// Whether it is being loaded.
    static IS_LOADING: Cell<bool> = const { Cell::new(false) };
}

/// The third part, once it is loaded.
#[derive(Clone, Copy)]
pub(super) struct Late {
    panels: Signals,
    third: RwSignal<Option<Third>>,
}

impl Late {
    /// Loads the third part when the first of its panels opens.
    pub(super) fn new(panels: Signals) -> Self {
        let third = RwSignal::new(None);
        Effect::new(move |_| {
            let is_open = panels.findings_open.get()
                || panels.watches_open.get()
                || panels.notes_open.get()
                || panels.help.get()
                || panels.detail.with(Option::is_some);
            if is_open && third.with_untracked(Option::is_none) {
                load(third);
            }
        });
        Self { panels, third }
    }

    /// A panel: nothing until the third part is here.
    pub(super) fn panel(self, panel: fn(Third) -> Panel) -> impl IntoView + use<> {
        move || self.third.get().map(|third| panel(third)(self.panels))
    }
}

fn load(third: RwSignal<Option<Third>>) {
    if IS_LOADING.replace(true) {
        return;
    }
    spawn_local(async move {
        match third_part().await {
            Ok(loaded) => {
                third.set(Some(loaded));
                focus_awaited();
            }
            // The next panel that opens tries again.
            Err(_) => act(Person::Trouble(
                "The panel could not be loaded. Is watchscope still there? Open the panel again.",
            )),
        }
        IS_LOADING.set(false);
    });
}
