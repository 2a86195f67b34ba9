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

use self::engine::{Msg, send};
use self::stage::Stage;

/// Starts the page in its document.
pub fn start() {
    let Some(stage) = web_sys::window().and_then(Stage::find) else {
        return;
    };
    engine::start(stage);
    way::listen();
    send(Msg::Start);
}
