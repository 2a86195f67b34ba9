//! HTTP/2 on one connection, over the h2 crate: many streams that end together.
//!
//! ```text
//!  TLS or TCP ─► Tap ─► FrameReader ─► h2 ◄── drive: one task, reads, answers pings, sends pings after silence
//!                           │ GOAWAY, pings      └──► streams ─► Body, each read by its own task
//!                           ▼
//!                         LinkState: state of the connection ─► Listener
//! ```
//!
//! A piece of a body is a slice of h2's read buffer. The window of each stream ([`STREAM_WINDOW_BYTES`]) bounds its unread
//! bytes. The connection's window ([`CONNECTION_WINDOW_BYTES`]) bounds those of all streams together.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, RecvStream};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use super::error::{BodyEnd, SendError};
use super::facts::ConnectionFacts;
use super::frames::{Fact, FrameReader};
use super::message::{Framing, Head, MAX_HEAD_BYTES, MAX_HEAD_LINES, prepare};
use super::tap::{Ending, Io, Tap};
use super::target::Target;

/// The bytes that a server may send on a stream before we have read them.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// The bytes that it may send on all streams together.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// The bytes that are read from a connection before its streams are polled. So each stream has many events at a time, as
/// with a connection of its own, and they are still in the processor's cache. Measured with 60 busy streams: with 1 MiB an
/// event costs a tenth more, and so it does without a limit.
const BURST_BYTES: usize = 4 << 20;
/// The most bytes of a frame that we accept. Servers split their data at this size, so lists come in fewer pieces than with
/// the minimum of 16 KiB.
const MAX_FRAME_BYTES: u32 = 256 << 10;
/// The most streams of ours on a connection, even if the server allows more; kube-apiserver allows 100 to 1,000.
const MAX_STREAMS: usize = 250;
/// How many cancelled streams are remembered for their late frames, and for how long.
const MAX_RESET_STREAMS: usize = 64;
const RESET_STREAM_MEMORY: Duration = Duration::from_secs(5);
/// The silence before we ping the server, and the timeout of its answer (docs/semantics/servers.md#ping, as client-go does).
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_LIMIT: Duration = Duration::from_secs(15);

/// A share of an HTTP/2 connection: the right to one request at a time.
pub(super) struct Connection {
    facts: Arc<ConnectionFacts>,
    target: Arc<Target>,
    sender: SendRequest<Bytes>,
    link: Arc<LinkState>,
    /// Counts the shares. The listener knows by it when the last one is dropped.
    presence: mpsc::Sender<Infallible>,
    listener: Option<Listener>,
}

/// The body of a response, and its share of the connection.
pub(super) struct Body {
    connection: Connection,
    stream: RecvStream,
    bytes: u64,
    end: Option<Result<(), BodyEnd>>,
}

/// The state of a connection as a whole.
struct LinkState {
    ending: Arc<Ending>,
    seen: Mutex<Seen>,
    standing: watch::Sender<Standing>,
    /// Whether the listener has taken the last GOAWAY.
    noted: watch::Sender<bool>,
}

/// The facts from the frames.
#[derive(Clone, Copy, Debug)]
struct Seen {
    reader: FrameReader,
    /// The time of the last read, and the number of reads.
    at: Instant,
    reads: u64,
    goaway: Option<(u32, u32)>,
    /// When we sent a ping that is not answered yet.
    asked: Option<Instant>,
    /// The slowest answer so far.
    slowest_ping: Option<Duration>,
}

/// The standing of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Open,
    /// The server takes no new streams.
    Leaving {
        code: u32,
    },
    /// It has ended. Without a cause, we ended it.
    Over(Option<BodyEnd>),
}

/// An event of a connection as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The server takes no new streams.
    GoAway {
        /// The last stream of ours that the server has processed.
        last_stream: u32,
        /// The error code (RFC 9113 section 7).
        code: u32,
    },
    /// It has ended. Without a cause, the last share was dropped.
    Over(Option<BodyEnd>),
}

/// The receiver of events of a connection as a whole.
#[derive(Debug)]
pub struct Listener {
    link: Arc<LinkState>,
    standing: watch::Receiver<Standing>,
    /// The code of the GOAWAY that was returned last.
    returned_goaway: Option<u32>,
    absence: mpsc::Receiver<Infallible>,
}

impl Listener {
    /// Waits for the next event; the last one is [`Happening::Over`]. A further call states that the event before was
    /// logged. Cancel safe.
    pub async fn next(&mut self) -> Happening {
        loop {
            let goaway = self.link.seen().goaway;
            if let Some((last_stream, code)) = goaway
                && self.returned_goaway.replace(code) != Some(code)
            {
                return Happening::GoAway { last_stream, code };
            }
            if goaway.is_some() {
                self.link.noted.send_replace(true);
            }
            if let Standing::Over(end) = &*self.standing.borrow_and_update() {
                return Happening::Over(end.clone());
            }
            // The sender lives in the connection's state, which is held here.
            let _ = self.standing.changed().await;
        }
    }

    /// The slowest answer of the server to a ping of ours so far; none without an answered ping.
    pub fn slowest_ping(&self) -> Option<Duration> {
        self.link.seen().slowest_ping
    }

    /// Waits until all shares are dropped.
    pub async fn all_left(&mut self) {
        while self.absence.recv().await.is_some() {}
    }
}

/// Once the listener is dropped, nobody waits for it.
impl Drop for Listener {
    fn drop(&mut self) {
        self.link.noted.send_replace(true);
    }
}

impl Connection {
    pub(super) async fn start(
        io: Box<dyn Io>,
        mut facts: ConnectionFacts,
        target: Arc<Target>,
    ) -> Result<Self, h2::Error> {
        facts.alpn.get_or_insert_with(|| "h2".to_owned());
        let (tap, ending) = Tap::new(io);
        let link = Arc::new(LinkState {
            ending,
            seen: Mutex::new(Seen {
                reader: FrameReader::default(),
                at: Instant::now(),
                reads: 0,
                goaway: None,
                asked: None,
                slowest_ping: None,
            }),
            standing: watch::Sender::new(Standing::Open),
            noted: watch::Sender::new(false),
        });
        let watched = Watched {
            tap,
            link: Arc::clone(&link),
            burst_bytes: 0,
        };
        let (sender, driver) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(MAX_FRAME_BYTES)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .max_concurrent_reset_streams(MAX_RESET_STREAMS)
            .reset_stream_duration(RESET_STREAM_MEMORY)
            .enable_push(false)
            .handshake(watched)
            .await?;
        // It yields by itself, because the runtime's budget would make it yield more often.
        tokio::spawn(unconstrained(drive(driver, Arc::clone(&link))));
        let (presence, absence) = mpsc::channel(1);
        let listener = Listener {
            standing: link.standing.subscribe(),
            link: Arc::clone(&link),
            returned_goaway: None,
            absence,
        };
        Ok(Self {
            facts: Arc::new(facts),
            target,
            sender,
            link,
            presence,
            listener: Some(listener),
        })
    }

    pub(super) fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.facts
    }

    pub(super) fn listen(&mut self) -> Option<Listener> {
        self.listener.take()
    }

    pub(super) fn share(&self) -> Option<Self> {
        let most = self.sender.current_max_send_streams().min(MAX_STREAMS);
        let has_room = self.presence.strong_count() <= most;
        let is_open = *self.link.standing.borrow() == Standing::Open;
        (is_open && has_room).then(|| Self {
            facts: Arc::clone(&self.facts),
            target: Arc::clone(&self.target),
            sender: self.sender.clone(),
            link: Arc::clone(&self.link),
            presence: self.presence.clone(),
            listener: None,
        })
    }

    pub(super) async fn send(self, request: Request<Bytes>) -> Result<(Head, Body), SendError> {
        let request = prepare(request, &self.target.endpoint, true)?;
        if *self.link.standing.borrow() != Standing::Open {
            return Err(SendError::Stale);
        }
        let mut sender = self
            .sender
            .clone()
            .ready()
            .await
            .map_err(|_| SendError::Stale)?;
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let is_bodyless = body.is_empty();
        let sent = sender.send_request(Request::from_parts(parts, ()), is_bodyless);
        let (answer, mut upload) = match sent {
            Ok(sent) => sent,
            Err(error) if error.is_io() || error.is_go_away() => return Err(SendError::Stale),
            Err(error) => {
                let detail = error.to_string();
                return Err(SendError::BadRequest { path, detail });
            }
        };
        let stream = answer.stream_id().as_u32();
        if !is_bodyless {
            // An answer may come before the whole request is read, so the answer reports a failure here.
            let _ = upload.send_data(body, true);
        }
        let (parts, body) = match answer.await {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(self.refusal(&error, stream)),
        };
        if parts.headers.len() > MAX_HEAD_LINES {
            return Err(bad_head("it has too many lines".to_owned()));
        }
        let head = Head {
            status: parts.status,
            headers: parts.headers,
            framing: Framing::Frames,
            stream: Some(stream),
        };
        let body = Body {
            connection: self,
            stream: body,
            bytes: 0,
            end: None,
        };
        Ok((head, body))
    }

    pub(super) async fn ended(&mut self) -> BodyEnd {
        let mut standing = self.link.standing.subscribe();
        loop {
            if let Some(end) = self.end_of_use(&standing.borrow_and_update()) {
                return end;
            }
            let _ = standing.changed().await;
        }
    }

    /// Returns why no more requests can be sent.
    fn end_of_use(&self, standing: &Standing) -> Option<BodyEnd> {
        match standing {
            Standing::Open => None,
            Standing::Leaving { code } => Some(BodyEnd::GoAway { code: *code }),
            Standing::Over(Some(end)) => Some(end.clone()),
            Standing::Over(None) => Some(self.link.end(None)),
        }
    }

    /// Returns why there is no answer.
    fn refusal(&self, error: &h2::Error, stream: u32) -> SendError {
        if error.is_library() {
            return bad_head(error.to_string());
        }
        SendError::Ended(self.cause(error, stream))
    }

    /// Returns why a stream ended, as seen on the wire.
    fn cause(&self, error: &h2::Error, stream: u32) -> BodyEnd {
        let code = error.reason().map_or(0, u32::from);
        if error.is_remote() && error.is_reset() {
            return BodyEnd::Reset { code };
        }
        if error.is_remote() && error.is_go_away() {
            return BodyEnd::GoAway { code };
        }
        if error.is_library() {
            return BodyEnd::Malformed {
                detail: error.to_string(),
            };
        }
        let standing = self.link.standing.borrow().clone();
        match standing {
            Standing::Over(Some(end @ (BodyEnd::Silent { .. } | BodyEnd::Malformed { .. }))) => end,
            _ => self.link.end(Some(stream)),
        }
    }
}

impl Body {
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyEnd> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyEnd>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(|()| None));
            }
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(piece)) => {
                    // Released capacity lets the server send more. An error means that the stream has ended, which the next
                    // poll returns.
                    let _ = self.stream.flow_control().release_capacity(piece.len());
                    if !piece.is_empty() {
                        self.bytes += piece.len() as u64;
                        return Poll::Ready(Ok(Some(piece)));
                    }
                }
                Some(Err(error)) => {
                    let stream = self.stream.stream_id().as_u32();
                    self.end = Some(Err(self.connection.cause(&error, stream)));
                }
                None => self.end = Some(Ok(())),
            }
        }
    }

    pub(super) fn into_connection(self) -> Result<Connection, BodyEnd> {
        match self.end {
            Some(Ok(())) => {}
            Some(Err(end)) => return Err(end),
            None => {
                return Err(BodyEnd::Malformed {
                    detail: "it was left before its end".to_owned(),
                });
            }
        }
        let standing = self.connection.link.standing.borrow().clone();
        match self.connection.end_of_use(&standing) {
            None => Ok(self.connection),
            Some(end) => Err(end),
        }
    }

    pub(super) async fn settled(&mut self) {
        let link = &self.connection.link;
        if link.seen().goaway.is_some() {
            // The sender lives in the connection's state, which is held here.
            let _ = link.noted.subscribe().wait_for(|noted| *noted).await;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.connection.facts
    }
}

impl LinkState {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the bytes of a read.
    fn read(&self, bytes: &[u8]) {
        let mut leaving = None;
        let mut seen = self.seen();
        seen.at = Instant::now();
        seen.reads += 1;
        let mut goaway = seen.goaway;
        let mut is_answered = false;
        seen.reader = seen.reader.read(bytes, |fact| match fact {
            // A graceful end sends GOAWAY twice, the second time with the last stream. Only the first is an event.
            Fact::GoAway { last_stream, code }
                if goaway.is_none_or(|(_, before)| before != code) =>
            {
                goaway = Some((last_stream, code));
                leaving = Some(code);
            }
            Fact::Ping { is_ack } => is_answered |= is_ack,
            Fact::GoAway { .. } | Fact::Reset { .. } => {}
        });
        seen.goaway = goaway;
        if is_answered && let Some(asked) = seen.asked.take() {
            seen.slowest_ping = seen.slowest_ping.max(Some(seen.at - asked));
        }
        drop(seen);
        if let Some(code) = leaving {
            self.noted.send_replace(false);
            self.standing.send_if_modified(|standing| {
                let is_there = !matches!(standing, Standing::Over(_));
                if is_there {
                    *standing = Standing::Leaving { code };
                }
                is_there
            });
        }
    }

    /// Returns how the connection ended, as seen on the wire; for a stream, whether inside one of its frames.
    fn end(&self, stream: Option<u32>) -> BodyEnd {
        let seen = *self.seen();
        match (self.ending.get(), seen.goaway) {
            (Some(BodyEnd::Eof { .. }) | None, Some((_, code))) if code != 0 => {
                BodyEnd::GoAway { code }
            }
            (Some(BodyEnd::Eof { .. }), _) if stream.is_some() && seen.reader.torn() == stream => {
                BodyEnd::EofInFrame
            }
            (Some(end), _) => end,
            (None, Some((_, code))) => BodyEnd::GoAway { code },
            (None, None) => BodyEnd::Eof {
                is_unclean_tls: false,
            },
        }
    }
}

/// Reads and writes for all streams, pings the server after silence, and notes how the connection ended.
async fn drive(mut driver: h2::client::Connection<Watched>, link: Arc<LinkState>) {
    let mut pings = driver.ping_pong();
    // When we sent a ping, and the number of reads by then.
    let mut asked: Option<(Instant, u64)> = None;
    let end = loop {
        let due = match asked {
            None => link.seen().at + PING_AFTER,
            Some((at, _)) => at + PING_LIMIT,
        };
        tokio::select! {
            result = &mut driver => break match result {
                Err(error) if error.is_library() => Some(BodyEnd::Malformed { detail: error.to_string() }),
                _ if link.ending.get().is_none() && link.seen().goaway.is_none() => None,
                _ => Some(link.end(None)),
            },
            () = tokio::time::sleep_until(due) => {}
        }
        let seen = *link.seen();
        match asked {
            Some((_, reads)) if seen.reads == reads => {
                break Some(BodyEnd::Silent {
                    limit: PING_AFTER + PING_LIMIT,
                });
            }
            Some(_) => asked = None,
            None if seen.at.elapsed() >= PING_AFTER => {
                let now = Instant::now();
                // An error means that the last ping's answer was not taken yet, so the answer has come.
                if let Some(pings) = &mut pings
                    && pings.send_ping(Ping::opaque()).is_ok()
                {
                    link.seen().asked = Some(now);
                }
                asked = Some((now, seen.reads));
            }
            None => {}
        }
        // Taking the answer makes room for the next ping.
        if let Some(pings) = &mut pings {
            let _ = poll_fn(|cx| Poll::Ready(pings.poll_pong(cx))).await;
        }
    };
    // Streams learn of the end when the driver is dropped, and read the cause here.
    link.standing.send_replace(Standing::Over(end));
    drop(driver);
}

fn bad_head(detail: String) -> SendError {
    SendError::BadHead {
        detail,
        max_bytes: MAX_HEAD_BYTES,
        max_lines: MAX_HEAD_LINES,
    }
}

/// Passes bytes through, and shows them to the frame reader. After [`BURST_BYTES`] it returns none until the tasks that they
/// woke were polled.
struct Watched {
    tap: Tap,
    link: Arc<LinkState>,
    /// Bytes read since it last had to wait.
    burst_bytes: usize,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.burst_bytes >= BURST_BYTES {
            self.burst_bytes = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let filled_before = buffer.filled().len();
        let result = Pin::new(&mut self.tap).poll_read(cx, buffer);
        let new = &buffer.filled()[filled_before..];
        if new.is_empty() {
            self.burst_bytes = 0;
        } else {
            self.burst_bytes += new.len();
            self.link.read(new);
        }
        result
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tap).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tap).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tap).poll_shutdown(cx)
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LinkState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkState")
            .field("standing", &*self.standing.borrow())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("bytes", &self.bytes)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
