//! The page in the browser, in two parts.
//!
//! ```text
//!   first part    engine ─► rows, scene ─► canvas, lane tree        what the first paint needs: no Leptos in it
//!   second part   panels (Leptos), keys and pointers, words, past   loaded as soon as something is painted
//! ```
//! Both are one crate and share one memory; the page build cuts them apart at [`second`]. What only the second
//! part calls is carried by it alone.

mod engine;
mod panels;
mod picture;
mod second;
mod stage;
mod theme;
mod tree;
mod way;

use wasm_bindgen::JsValue;
use web_sys::Window;

use self::engine::Handle;
use self::stage::Stage;
use crate::source::connection::Input;
use crate::source::link;

/// Starts the page in its document.
pub fn start() {
    console_error_panic_hook::set_once();
    let Some(stage) = web_sys::window().and_then(Stage::find) else {
        return;
    };
    let secret = take_link(&stage.window);
    Handle::start(stage);
    Handle.with(|engine| {
        engine.theme = theme::remembered(&engine.stage.window);
        engine.apply_theme();
        engine.input(Input::Link(secret));
    });
}

/// The secret of the link, which leaves the address bar and the history at once.
fn take_link(window: &Window) -> Option<String> {
    let fragment = link::take_secret(&window.location().hash().ok()?);
    if fragment.secret.is_some() {
        let rest = if fragment.rest.is_empty() {
            window.location().pathname().unwrap_or_default()
        } else {
            format!("#{}", fragment.rest)
        };
        // A page in a frame without history keeps its address; nothing else fails.
        let _ = window
            .history()
            .and_then(|history| history.replace_state_with_url(&JsValue::NULL, "", Some(&rest)));
    }
    fragment.secret
}
