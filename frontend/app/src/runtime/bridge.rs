//! Carries out what the connection asks for: requests, the socket, the timer.
//!
//! They are boot.js's, which begins with them while the page's module compiles; here is what it offers, and where it
//! tells what came of it.

use js_sys::{Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::core::msg::Msg;
use crate::source::connection::{Input, SessionStatus};

/// Tabs tell each other through this key that the browser has a session; its value says when.
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
        /// Tells from now on what happens: its number, and what it brought.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(super) fn listen(page: &Closure<dyn FnMut(u32, JsValue)>);
        /// The secret of the link the page was opened with; it is gone from the address bar. None before the server is
        /// known to be watchscope: then it is told.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn link() -> Option<String>;
        /// Whether the address names a place.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn names() -> bool;
        /// Asks `GET session`.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn ask();
        /// Asks `POST session` with a link's secret.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn exchange(secret: &str);
        /// Opens a socket; nothing more is told of the one before.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn open();
        /// Sends a message; a socket that is closing drops it, and `Closed` follows.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn send(bytes: &[u8]);
        /// Closes the socket; nothing more is told of it.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn close();
        /// Has the address bar name a place by a fragment without its `#`; a new one can be come back from.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn place(fragment: &str, is_new: bool);
        /// The answer to a request for the body of a change: `EPOCH.SEQ`.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn object(name: &str) -> Promise;
        /// The notes of persons in a file that is open, as a recording writes them. Fails where a server has them.
        #[wasm_bindgen(js_namespace = watchscopeWay, catch)]
        pub(crate) fn notes() -> Result<Promise, JsValue>;
        /// Offers to open files and to export.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(crate) fn offer() -> Promise;
        /// Opens the export dialog over what can be exported; it asks for the frames between two times, in
        /// microseconds. Fails before it was offered.
        #[wasm_bindgen(js_namespace = watchscopeWay, catch)]
        pub(crate) fn export(
            facts: &Object,
            hand: &Closure<dyn Fn(f64, f64) -> Promise>,
        ) -> Result<(), JsValue>;
        /// Shows charts; else as [`export`].
        #[wasm_bindgen(js_namespace = watchscopeWay, catch)]
        pub(crate) fn charts(
            facts: &Object,
            hand: &Closure<dyn Fn(f64, f64) -> Promise>,
        ) -> Result<(), JsValue>;
        /// Sets the one timer, in milliseconds from now; never, if negative.
        #[wasm_bindgen(js_namespace = watchscopeWay)]
        pub(super) fn wake(delay_ms: i32);
    }
}

pub(crate) use self::boot::{
    ask, charts, close, exchange, export, link, names, notes, object, offer, open, place, send,
};

/// Puts into the connection whatever boot.js tells.
pub(crate) fn listen(send: fn(Msg)) {
    let told = Closure::<dyn FnMut(u32, JsValue)>::new(move |what: u32, brought: JsValue| {
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
    boot::listen(&told);
    // It is heard as long as the page lives.
    told.forget();
}

// What is told, as in boot.js; what is left is the timer.
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
