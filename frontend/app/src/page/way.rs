//! Carries out what the connection asks for: requests, the socket, the timer.
//!
//! One set of callbacks serves all sockets of the page's life; what an old socket still brings is told by its not
//! being the present one.

use js_sys::{ArrayBuffer, Promise, Reflect, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use watchscope_model::wire::PAGE_HEADER;
use web_sys::{BinaryType, Event, Headers, MessageEvent, RequestInit, Response, WebSocket, Window};

use super::engine::Handle;
use crate::source::connection::{Input, SessionStatus};

/// Tabs tell each other through this key that the browser has a session; its value says when.
pub(super) const SESSION_KEY: &str = "watchscope-session";

/// The browser's side of the connection.
#[derive(Debug)]
pub(super) struct Way {
    window: Window,
    socket: Option<WebSocket>,
    timer: Option<i32>,
    on_open: Closure<dyn FnMut(Event)>,
    on_message: Closure<dyn FnMut(MessageEvent)>,
    on_close: Closure<dyn FnMut(Event)>,
    on_timer: Closure<dyn FnMut()>,
}

impl Way {
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            socket: None,
            timer: None,
            on_open: Closure::new(move |event: Event| {
                Handle.with(|engine| {
                    if engine.way.is_present(&event) {
                        engine.opened();
                    }
                });
            }),
            on_close: Closure::new(move |event: Event| {
                Handle.with(|engine| {
                    if engine.way.is_present(&event) {
                        engine.input(Input::Closed);
                    }
                });
            }),
            on_message: Closure::new(move |event: MessageEvent| {
                let Ok(buffer) = event.data().dyn_into::<ArrayBuffer>() else {
                    return;
                };
                let bytes = Uint8Array::new(&buffer).to_vec();
                Handle.with(|engine| {
                    if engine.way.is_present(&event) {
                        engine.input(Input::Message(&bytes));
                    }
                });
            }),
            on_timer: Closure::new(move || {
                Handle.with(|engine| {
                    engine.way.timer = None;
                    engine.input(Input::Timer);
                });
            }),
        }
    }

    pub(super) fn open(&mut self) -> bool {
        self.close();
        // Relative: the page may be served behind any address.
        let Ok(socket) = WebSocket::new("ws") else {
            return false;
        };
        socket.set_binary_type(BinaryType::Arraybuffer);
        socket.set_onopen(Some(self.on_open.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(self.on_message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(self.on_close.as_ref().unchecked_ref()));
        self.socket = Some(socket);
        true
    }

    pub(super) fn close(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.set_onopen(None);
            socket.set_onmessage(None);
            socket.set_onclose(None);
            // It may be closed already.
            let _ = socket.close();
        }
    }

    pub(super) fn send(&self, bytes: &[u8]) {
        if let Some(socket) = &self.socket {
            // A socket that is closing drops it; `Closed` follows.
            let _ = socket.send_with_u8_array(bytes);
        }
    }

    pub(super) fn wake_at(&mut self, at_ms: Option<u64>, now_ms: u64) {
        if let Some(timer) = self.timer.take() {
            self.window.clear_timeout_with_handle(timer);
        }
        if let Some(at_ms) = at_ms {
            let delay_ms = at_ms.saturating_sub(now_ms).min(60_000) as i32;
            self.timer = self
                .window
                .set_timeout_with_callback_and_timeout_and_arguments_0(
                    self.on_timer.as_ref().unchecked_ref(),
                    delay_ms,
                )
                .ok();
        }
    }

    fn is_present(&self, event: &Event) -> bool {
        let target = event.current_target();
        self.socket
            .as_ref()
            .is_some_and(|socket| target.as_ref() == Some(socket.unchecked_ref()))
    }
}

/// Asks `GET session` and puts the answer in.
pub(super) fn ask_session() {
    spawn_local(async move {
        let status = session_status().await;
        Handle.with(|engine| engine.input(Input::Session(status)));
    });
}

async fn session_status() -> Option<SessionStatus> {
    let response = match asked_at_boot().await {
        Some(response) => response,
        None => fetch("session", "GET", None).await?,
    };
    if !response.ok() {
        return None;
    }
    let answer = JsFuture::from(response.json().ok()?).await.ok()?;
    let field = |name: &str| Reflect::get(&answer, &JsValue::from_str(name)).ok();
    Some(SessionStatus {
        product: field("product")?.as_string().unwrap_or_default(),
        protocol: field("protocol")?.as_f64().unwrap_or_default() as u32,
        instance: field("instance")?.as_string().unwrap_or_default(),
        session: field("session")?.as_bool()?,
    })
}

/// The answer to what boot.js asked; there is one, for the first who comes.
async fn asked_at_boot() -> Option<Response> {
    let window = web_sys::window()?;
    let name = JsValue::from_str("watchscopeSession");
    let promise: Promise = Reflect::get(&window, &name).ok()?.dyn_into().ok()?;
    Reflect::delete_property(&window, &name).ok()?;
    JsFuture::from(promise).await.ok()?.dyn_into().ok()
}

/// Exchanges a link's secret for a session and puts the answer in.
pub(super) fn exchange(secret: String) {
    spawn_local(async move {
        let response = fetch("session", "POST", Some(&secret)).await;
        let status = response.map(|response| response.status());
        Handle.with(|engine| engine.input(Input::Exchanged(status)));
    });
}

/// Asks the server.
pub(super) async fn fetch(url: &str, method: &str, bearer: Option<&str>) -> Option<Response> {
    let init = RequestInit::new();
    init.set_method(method);
    let headers = Headers::new().ok()?;
    // What reads from `/api` needs it where the browser does not say whose page fetches.
    headers.set(PAGE_HEADER, "1").ok()?;
    if let Some(secret) = bearer {
        headers
            .set("Authorization", &format!("Bearer {secret}"))
            .ok()?;
    }
    init.set_headers(&headers);
    let window = web_sys::window()?;
    JsFuture::from(window.fetch_with_str_and_init(url, &init))
        .await
        .ok()?
        .dyn_into()
        .ok()
}
