//! Carries out the connection's effects: requests, the socket, the timer.
//!
//! boot.js makes them, and begins while the page's module compiles. Here are its functions, and the listener for its
//! events.

use js_sys::{Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::core::msg::Msg;
use crate::source::connection::{Input, SessionStatus};

/// The key through which a tab announces to the others that the browser has a session; its value is the time.
pub(crate) const SESSION_KEY: &str = "watchscope-session";

#[allow(
    unsafe_code,
    reason = "what boot.js offers is declared as foreign functions"
)]
mod boot {
    use wasm_bindgen::closure::Closure;
    use wasm_bindgen::prelude::wasm_bindgen;

    use super::{JsValue, Object, Promise};

    #[wasm_bindgen]
    extern "C" {
        /// Reports events from now on: each event's number and its data.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(super) fn listen(page: &Closure<dyn FnMut(u32, JsValue)>);
        /// Returns the secret of the link that opened the page, and removes it from the address bar. `None` before the
        /// server is known to be watchscope; then an event brings it.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn link() -> Option<String>;
        /// Whether the page's address names a view (`v=` in its fragment).
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn names() -> bool;
        /// Sends `GET session`.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn ask();
        /// Sends `POST session` with a link's secret.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn exchange(secret: &str);
        /// Opens a socket; the one before reports nothing more.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn open();
        /// Sends a message; a socket that is closing drops it, and `Closed` follows.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn send(bytes: &[u8]);
        /// Closes the socket; it reports nothing more.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn close();
        /// Makes the address bar name a place, by a fragment without its `#`. The browser's back button leads from a
        /// new place to the one before.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn place(fragment: &str, is_new: bool);
        /// Fetches the body of a change: `EPOCH.SEQ`.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn object(name: &str) -> Promise;
        /// Returns the notes of persons in an open file, as a recording encodes them. Fails where a server has the
        /// notes.
        #[wasm_bindgen(js_namespace = watchscopeBridge, catch)]
        pub(crate) fn notes() -> Result<Promise, JsValue>;
        /// Enables opening files and exporting.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(crate) fn offer() -> Promise;
        /// Opens the export dialog for these facts; it requests the frames between two times, in microseconds. Fails
        /// before [`offer`].
        #[wasm_bindgen(js_namespace = watchscopeBridge, catch)]
        pub(crate) fn export(
            facts: &Object,
            hand: &Closure<dyn Fn(f64, f64) -> Promise>,
        ) -> Result<(), JsValue>;
        /// Opens the dialog of charts; otherwise like [`export`].
        #[wasm_bindgen(js_namespace = watchscopeBridge, catch)]
        pub(crate) fn charts(
            facts: &Object,
            hand: &Closure<dyn Fn(f64, f64) -> Promise>,
        ) -> Result<(), JsValue>;
        /// Sets the only timer, in milliseconds from now; a negative number clears it.
        #[wasm_bindgen(js_namespace = watchscopeBridge)]
        pub(super) fn wake(delay_ms: i32);
    }
}

pub(crate) use self::boot::{
    ask, charts, close, exchange, export, link, names, notes, object, offer, open, place, send,
};

/// Passes the events of boot.js on as messages.
pub(crate) fn listen(send: fn(Msg)) {
    take(move |what, brought| {
        send(match what {
            SESSION => Msg::Link(Input::Session(session_status(&brought))),
            EXCHANGED => Msg::Link(Input::Exchanged(
                brought.as_f64().map(|status| status as u16),
            )),
            OPENED => Msg::Opened,
            MESSAGE => Msg::Message(brought.unchecked_into::<Uint8Array>().to_vec()),
            CLOSED => Msg::Link(Input::Closed),
            LINK => Msg::Link(Input::Link(brought.as_string())),
            _ => Msg::Link(Input::Timer),
        });
    });
}

/// Gives the bridge the function that takes its events: each event's number and its data.
pub(crate) fn take(taker: impl FnMut(u32, JsValue) + 'static) {
    let listener = Closure::<dyn FnMut(u32, JsValue)>::new(taker);
    boot::listen(&listener);
    // It listens as long as the page lives.
    listener.forget();
}

// The numbers of events, as in boot.js; any other number is the timer.
const SESSION: u32 = 0;
const EXCHANGED: u32 = 1;
const OPENED: u32 = 2;
const MESSAGE: u32 = 3;
const CLOSED: u32 = 4;
const LINK: u32 = 6;

/// Sets the timer.
pub(super) fn wake_at(at_ms: Option<u64>, now_ms: u64) {
    let delay_ms = at_ms.map_or(-1, |at_ms| at_ms.saturating_sub(now_ms).min(60_000) as i32);
    boot::wake(delay_ms);
}

fn session_status(answer: &JsValue) -> Option<SessionStatus> {
    let field = |name: &str| Reflect::get(answer, &JsValue::from_str(name)).ok();
    Some(SessionStatus {
        product: field("product")?.as_string().unwrap_or_default(),
        protocol: field("protocol")?.as_f64().unwrap_or_default() as u32,
        instance: field("instance")?.as_string().unwrap_or_default(),
        session: field("session")?.as_bool()?,
    })
}
