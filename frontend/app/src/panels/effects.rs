//! What the model asks the panels for: the focus, the browser's storage, bodies and texts.

use wasm_bindgen::JsValue;
use watchscope_model::id::LogId;
use web_sys::Storage;

use super::focus::{focus_filter, focus_soon, take_focus_back};
use super::mount::mount;
use super::{bodies, lesson, overview, texts};
use crate::core::effect::{Kept, PanelEffect};
use crate::core::person::Person;
use crate::runtime::page::{act, elements, read};
use crate::runtime::theme::THEME_KEY;

/// What a person opened and closed is kept under this key.
const OPENED_KEY: &str = "watchscope-opened";
/// What is muted is kept under this key and the log's name.
const MUTED_KEY: &str = "watchscope-muted";

/// Does in the browser what the model asked for.
pub(crate) fn carry_out(effect: PanelEffect) {
    match effect {
        PanelEffect::Mount => {
            mount();
            act(Person::Begin {
                is_lesson: lesson::is_on(),
                opened: recall(&Kept::Opened).map(Into::into),
            });
            lesson::offer();
            act(Person::GoTo(fragment().into()));
        }
        PanelEffect::FocusFilter => focus_filter(),
        PanelEffect::TakeFocusBack => take_focus_back(),
        PanelEffect::FocusSoon(focus) => focus_soon(focus),
        PanelEffect::Keep(kept, text) => {
            if let Some(storage) = storage() {
                // Full or forbidden: then it is not kept.
                let _ = storage.set_item(&key(&kept), &text);
            }
        }
        PanelEffect::RecallMuted(log) => {
            let text = recall(&Kept::Muted(log));
            act(Person::Muted(text.map(Into::into)));
        }
        PanelEffect::FetchBodies { selection, pane } => bodies::fetch_for(selection, pane),
        PanelEffect::FetchTexts => texts::ask(),
        PanelEffect::Address { fragment, is_new } => write_address(&fragment, is_new),
        PanelEffect::PaintOverview => overview::paint(&read()),
    }
}

/// The fragment of the address, with its `#`; empty if it has none.
pub(super) fn fragment() -> String {
    elements().window.location().hash().unwrap_or_default()
}

/// Has the address bar name a place.
fn write_address(fragment: &str, is_new: bool) {
    let window = &elements().window;
    let (Ok(history), Ok(path)) = (window.history(), window.location().pathname()) else {
        return;
    };
    let address = if fragment.is_empty() {
        path
    } else {
        format!("#{fragment}")
    };
    // A browser that refuses more of them shows an older place.
    let _ = if is_new {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    };
}

fn recall(kept: &Kept) -> Option<String> {
    storage()?.get_item(&key(kept)).ok()?
}

/// None in a browser that forbids it.
fn storage() -> Option<Storage> {
    elements().window.local_storage().ok()?
}

fn key(kept: &Kept) -> String {
    match kept {
        Kept::Opened => OPENED_KEY.to_owned(),
        Kept::Theme => THEME_KEY.to_owned(),
        Kept::Muted(LogId(log)) => format!("{MUTED_KEY} {log}"),
    }
}
