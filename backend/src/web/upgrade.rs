//! The opening handshake of a WebSocket (RFC 6455 section 4.2).
//!
//! axum's own socket cannot send a message in fragments. So a whole message of 64 KiB would leave that much memory in the
//! write buffer of every idle viewer.

use std::future::Future;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{Method, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The length of a key: sixteen bytes in base64.
const KEY_CHARS: usize = 24;
/// The only version of the protocol.
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// A well-formed request for a WebSocket that was not answered yet.
pub(super) struct Upgrade {
    accept: HeaderValue,
    on_upgrade: OnUpgrade,
}

impl Upgrade {
    /// Makes the answer that switches protocols. `talk` gets the socket once the answer is sent. No extension is ever agreed
    /// to.
    pub(super) fn answer<T, F>(self, config: WebSocketConfig, talk: T) -> Response
    where
        T: FnOnce(WebSocketStream<TokioIo<Upgraded>>) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let on_upgrade = self.on_upgrade;
        // The task lives as long as its connection, whose own task waits for the stream to come back.
        tokio::spawn(async move {
            if let Ok(upgraded) = on_upgrade.await {
                let stream = TokioIo::new(upgraded);
                talk(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await)
                    .await;
            }
        });
        let headers = [
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, self.accept),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        if parts.method != Method::GET || !names(&parts.headers, &UPGRADE, "websocket") {
            let headers = [(CONNECTION, "upgrade"), (UPGRADE, "websocket")];
            return Err((
                StatusCode::UPGRADE_REQUIRED,
                headers,
                "a WebSocket is served here\n",
            )
                .into_response());
        }
        if parts.headers.get(SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
            let headers = [(SEC_WEBSOCKET_VERSION, VERSION)];
            return Err((
                StatusCode::UPGRADE_REQUIRED,
                headers,
                "version 13 is spoken here\n",
            )
                .into_response());
        }
        let key = parts
            .headers
            .get(SEC_WEBSOCKET_KEY)
            .filter(|key| key.len() == KEY_CHARS);
        let on_upgrade = parts.extensions.remove::<OnUpgrade>();
        match (key, on_upgrade) {
            (Some(key), Some(on_upgrade)) if names(&parts.headers, &CONNECTION, "upgrade") => {
                let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()))
                    .expect("base64 makes a header");
                Ok(Self { accept, on_upgrade })
            }
            _ => Err((StatusCode::BAD_REQUEST, "not a WebSocket handshake\n").into_response()),
        }
    }
}

/// Whether one of the comma-separated values of that header is this token.
fn names(headers: &HeaderMap, header: &HeaderName, token: &str) -> bool {
    let values = headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(token))
}
