//! One viewer's WebSocket: it moves whole messages between the viewer and the hub, and enforces the bounds.
//!
//! | Bound | What happens at it |
//! |---|---|
//! | message from the viewer: 64 KiB | close 1009 |
//! | messages from the viewer, pings included: 1,000 in a second | close 1008 |
//! | first message: within 10 s | close 1008 |
//! | bytes waiting to be written: one message and the write buffer | the hub is not asked for more |
//! | no byte taken by the viewer for 10 s | the connection ends (`stream.rs`) |
//! | the grant is revoked | close 1008 |
//!
//! Compression is never negotiated, so nothing needs to be inflated.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use watchscope_model::wire::MAX_MESSAGE_BYTES;

use crate::hub::api::{Close, Outgoing, Viewer};

/// The number of messages within one second, pings included, that closes the socket.
pub const MAX_MESSAGES_PER_S: u32 = 1000;
/// The time in which a viewer must say hello.
pub const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// The time for the closing handshake.
const CLOSE_DEADLINE: Duration = Duration::from_millis(900);
/// The bytes that are read at once. Hellos and acknowledgements are small, and each idle viewer costs one such buffer.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Small messages are written together up to this number of bytes; larger ones are sent in fragments of it. The write buffer
/// keeps its largest size, so each idle viewer costs this much too.
const FRAGMENT_BYTES: usize = 16 * 1024;
/// Room for the messages that are written together, one more fragment, and the answer to a ping.
const MAX_WRITE_BUFFER_BYTES: usize = 2 * FRAGMENT_BYTES + 1024;
/// The most messages taken from the hub before a flush.
const MAX_BATCH: usize = 64;
/// The most bytes of a reason that fit into a close frame (RFC 6455 section 5.5).
const MAX_REASON_BYTES: usize = 123;

const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED_DATA: u16 = 1003;
const INVALID_DATA: u16 = 1007;
const POLICY: u16 = 1008;
const TOO_BIG: u16 = 1009;

/// The bounds of the socket's own buffers. Some defaults of the library are large, and some are missing.
pub(super) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(FRAGMENT_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
}

/// A WebSocket, or a substitute in a test.
pub(super) trait Socket:
    Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Unpin
{
}

impl<S> Socket for S where
    S: Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Unpin
{
}

/// Serves one viewer until it leaves, exceeds a bound, or loses its grant. `opening` is released at the first message.
pub(super) async fn run<S, V, P>(
    mut socket: S,
    mut viewer: V,
    revoked: impl Future<Output = ()>,
    opening: P,
) where
    S: Socket,
    V: Viewer,
{
    let served = serve(&mut socket, &mut viewer, opening);
    let end = tokio::select! {
        biased;
        () = revoked => End::Say(policy("the session was revoked")),
        end = served => end,
    };
    drop(viewer);
    match end {
        End::Gone => {}
        // The viewer closed. Reading on sends the answer to its close.
        End::Answer => drop(timeout(CLOSE_DEADLINE, drain(&mut socket)).await),
        End::Say(close) => drop(timeout(CLOSE_DEADLINE, say_goodbye(&mut socket, close)).await),
    }
}

/// How a socket ends.
enum End {
    /// The connection has ended.
    Gone,
    /// The viewer closed, and gets an answer.
    Answer,
    /// The server closes.
    Say(Close),
}

async fn serve<S, V, P>(socket: &mut S, viewer: &mut V, opening: P) -> End
where
    S: Socket,
    V: Viewer,
{
    let mut hello_deadline = pin!(sleep(HELLO_DEADLINE));
    let mut opening = Some(opening);
    let mut rate = Rate::new(Instant::now());
    loop {
        tokio::select! {
            biased;
            () = &mut hello_deadline, if opening.is_some() => {
                return End::Say(policy("no hello within 10 s"));
            }
            message = socket.next() => {
                if rate.is_exceeded(Instant::now()) {
                    return End::Say(policy("too many messages in one second"));
                }
                match message {
                    None => return End::Gone,
                    Some(Err(error)) => return broken(&error),
                    Some(Ok(Message::Close(_))) => return End::Answer,
                    // The library answers pings itself, and returns frames only to callers that request them.
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Text(_))) => {
                        return End::Say(close(UNSUPPORTED_DATA, "only binary messages are spoken here"));
                    }
                    Some(Ok(Message::Binary(bytes))) => {
                        opening = None;
                        if let Err(close) = viewer.receive(bytes) {
                            return End::Say(close);
                        }
                    }
                }
            }
            outgoing = viewer.next() => {
                if let Err(end) = send_batch(socket, viewer, outgoing).await {
                    return end;
                }
            }
        }
    }
}

/// Sends one message and those that are ready after it, then flushes once. A flush costs as much as twenty messages.
async fn send_batch<S, V>(socket: &mut S, viewer: &mut V, first: Outgoing) -> Result<(), End>
where
    S: Socket,
    V: Viewer,
{
    let mut next = Some(first);
    let mut sent = 0;
    while let Some(outgoing) = next {
        match outgoing {
            Outgoing::Close(close) => return Err(End::Say(close)),
            Outgoing::Message(bytes) => feed(socket, bytes).await.map_err(|_| End::Gone)?,
        }
        sent += 1;
        next = if sent < MAX_BATCH {
            viewer.ready()
        } else {
            None
        };
    }
    socket.flush().await.map_err(|_| End::Gone)
}

/// Feeds one message, in fragments if it is larger than [`FRAGMENT_BYTES`].
async fn feed<S: Socket>(socket: &mut S, mut message: Bytes) -> Result<(), Error> {
    if message.len() <= FRAGMENT_BYTES {
        return socket.feed(Message::Binary(message)).await;
    }
    let mut data = Data::Binary;
    loop {
        let fragment = message.split_to(message.len().min(FRAGMENT_BYTES));
        let is_last = message.is_empty();
        socket
            .feed(Message::Frame(Frame::message(
                fragment,
                OpCode::Data(data),
                is_last,
            )))
            .await?;
        if is_last {
            return Ok(());
        }
        data = Data::Continue;
    }
}

/// Returns the end for a viewer whose message cannot be read.
fn broken(error: &Error) -> End {
    match error {
        Error::Capacity(_) => End::Say(close(TOO_BIG, "no message may exceed 64 KiB")),
        Error::Utf8(_) => End::Say(close(INVALID_DATA, "text that is not UTF-8")),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Error::Protocol(_) => End::Say(close(PROTOCOL_ERROR, "not a WebSocket frame")),
        _ => End::Gone,
    }
}

async fn say_goodbye<S: Socket>(socket: &mut S, close: Close) {
    let mut cut = close.reason.len().min(MAX_REASON_BYTES);
    while !close.reason.is_char_boundary(cut) {
        cut -= 1;
    }
    let reason = Utf8Bytes::from(&close.reason[..cut]);
    let code = CloseCode::from(close.code);
    if socket
        .send(Message::Close(Some(CloseFrame { code, reason })))
        .await
        .is_ok()
    {
        drain(socket).await;
    }
}

/// Reads until the other side has ended, and ignores what it still sends.
async fn drain<S: Socket>(socket: &mut S) {
    while let Some(Ok(_)) = socket.next().await {}
}

fn policy(reason: &str) -> Close {
    close(POLICY, reason)
}

fn close(code: u16, reason: &str) -> Close {
    Close {
        code,
        reason: reason.to_owned(),
    }
}

/// The number of messages in the current second. A second begins with the first message after the last one ended.
struct Rate {
    since: Instant,
    count: u32,
}

impl Rate {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            count: 0,
        }
    }

    fn is_exceeded(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self::new(now);
        }
        self.count += 1;
        self.count >= MAX_MESSAGES_PER_S
    }
}
