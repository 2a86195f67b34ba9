//! Carries out the model's effects on the panels: focus, storage, bodies and texts.

use watchscope_model::id::LogId;

use super::export::Dialog;
use super::focus::{focus_filter, take_focus_back};
use super::mount::mount;
use super::storage::storage;
use super::{address, lesson, notes, overview, third};
use crate::core::effect::{Kept, PanelEffect};
use crate::core::lanes::LanesDeed;
use crate::core::person::Person;
use crate::core::search::SearchDeed;
use crate::runtime::bridge;
use crate::runtime::page::{act, read};
use crate::runtime::theme::THEME_KEY;

/// The storage key of the panels and lanes that a person opened and closed.
const OPENED_KEY: &str = "watchscope-opened";
/// The storage key of muted findings; the log's name follows it.
const MUTED_KEY: &str = "watchscope-muted";
/// The storage key of the wishes for lanes; the log's name follows it.
const LANES_KEY: &str = "watchscope-lanes";

/// Carries out an effect.
pub(crate) fn carry_out(effect: PanelEffect) {
    match effect {
        PanelEffect::Mount => {
            mount();
            let is_lesson = lesson::is_on();
            act(Person::Begin {
                is_lesson,
                opened: recall(&Kept::Opened).map(Into::into),
            });
            if is_lesson {
                third::offer_lesson();
            }
            act(Person::GoTo(address::fragment().into()));
        }
        PanelEffect::FocusFilter => focus_filter(),
        PanelEffect::TakeFocusBack => take_focus_back(),
        PanelEffect::FocusSoon(focus) => third::focus_once_here(focus),
        PanelEffect::Keep(kept, text) => {
            if let Some(storage) = storage() {
                // A full or forbidden storage keeps nothing.
                let _ = storage.set_item(&key(&kept), &text);
            }
        }
        PanelEffect::Recall(kept) => {
            let text = recall(&kept).map(Into::into);
            match kept {
                Kept::Lanes(_) => act(Person::Lanes(LanesDeed::Kept(text))),
                _ => act(Person::Muted(text)),
            }
        }
        PanelEffect::FetchBodies { selection, pane } => third::fetch_bodies(selection, pane),
        PanelEffect::FetchTexts => third::fetch_texts(),
        PanelEffect::FetchNotes => notes::fetch(),
        PanelEffect::Address { fragment, is_new } => bridge::place(&fragment, is_new),
        PanelEffect::OpenExport { as_recording } => {
            third::open_dialog(if as_recording {
                Dialog::Recording
            } else {
                Dialog::Picture
            });
        }
        PanelEffect::OpenCharts => third::open_dialog(Dialog::Charts),
        PanelEffect::HandRange { from, to } => third::hand_range(&read(), from, to),
        PanelEffect::RefuseRange(why) => third::refuse_range(why),
        PanelEffect::Search {
            number,
            text,
            before,
        } => {
            // The worker of an opened file answers like a server.
            if lesson::is_on() {
                act(Person::Search(SearchDeed::NoServer { number }));
            } else {
                third::search(number, &text, before.as_deref());
            }
        }
        PanelEffect::SearchOn { number } => {
            let on = move || act(Person::Search(SearchDeed::Step { number }));
            leptos::prelude::set_timeout(on, std::time::Duration::ZERO);
        }
        PanelEffect::EndSearch => third::end_search(),
        PanelEffect::PaintOverview => overview::paint(&read()),
    }
}

fn recall(kept: &Kept) -> Option<String> {
    storage()?.get_item(&key(kept)).ok()?
}

fn key(kept: &Kept) -> String {
    match kept {
        Kept::Opened => OPENED_KEY.to_owned(),
        Kept::Theme => THEME_KEY.to_owned(),
        Kept::Lanes(LogId(log)) => format!("{LANES_KEY} {log}"),
        Kept::Muted(LogId(log)) => format!("{MUTED_KEY} {log}"),
    }
}
