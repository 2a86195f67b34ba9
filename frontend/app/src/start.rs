//! Starts the page: opens it, listens to the server, and sends the first message.

use crate::core::msg::Msg;
use crate::runtime::elements::Elements;
use crate::runtime::{bridge, page, theme};
use crate::second;

/// Starts the page in its document, or exports in a worker.
pub fn start() {
    let Some(window) = web_sys::window() else {
        // A worker has no window. There the page's modules make exports.
        second::load_soon();
        return;
    };
    let Some(elements) = Elements::find(window) else {
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
