//! Starts the page: opens it, listens to the server, and sends the first message.

use crate::core::msg::Msg;
use crate::runtime::elements::Elements;
use crate::runtime::{bridge, page, theme};
use crate::second;

/// Starts the page in its document.
pub fn start() {
    let Some(elements) = web_sys::window().and_then(Elements::find) else {
        return;
    };
    let elements: &Elements = Box::leak(Box::new(elements));
    page::open(elements, second::load_soon);
    bridge::listen(page::send);
    page::send(Msg::Start {
        theme: theme::remembered(elements),
        surroundings: theme::surroundings(elements),
        link: bridge::link(),
        is_led: bridge::names(),
    });
}
