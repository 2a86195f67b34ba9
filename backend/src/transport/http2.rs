//! HTTP/2 on one connection, over the h2 crate: many streams that share one fate.
//!
//! ```text
//!  TLS or TCP ─► Tap ─► FrameReader (looks) ─► h2 ◄── drive: one task, reads, answers pings, asks after silence
//!                           │ GOAWAY, pings      └──► streams ─► Body, each read by its own task
//!                           ▼
//!                         Line: what is known of the connection ─► Listener
//! ```
//!
//! A piece of a body is a slice of h2's read buffer. What is not read yet of a stream is bounded by its window
//! ([`STREAM_WINDOW_BYTES`]), of all streams together by the connection's ([`CONNECTION_WINDOW_BYTES`]).

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

/// What a server may send of a stream before we have read it.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// What it may send of all streams together.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// What is read of a connection before its streams get their turn. Each stream then has many events at a time, as with
/// a connection of its own, and they are still in the processor's cache: with a mebibyte an event of 60 busy streams
/// costs a tenth more, without a limit too.
const TURN_BYTES: usize = 4 << 20;
/// Largest frame taken. Servers cut what they write at this, so lists come in fewer pieces than with the 16 KiB that
/// are the least.
const MAX_FRAME_BYTES: u32 = 256 << 10;
/// Most streams of ours on a connection, however many more the server allows; kube-apiserver allows 100 to 1,000.
const MAX_STREAMS: usize = 250;
/// Streams given up are remembered for late frames of theirs: so many, for so long.
const MAX_RESET_STREAMS: usize = 64;
const RESET_STREAM_MEMORY: Duration = Duration::from_secs(5);
/// Silence after which the server is asked whether it lives, and how long it may take to answer
/// (docs/semantics/servers.md#ping, as client-go does).
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_LIMIT: Duration = Duration::from_secs(15);

/// A share of an HTTP/2 connection: the right to one request at a time.
pub(super) struct Connection {
    facts: Arc<ConnectionFacts>,
    target: Arc<Target>,
    sender: SendRequest<Bytes>,
    line: Arc<Line>,
    /// Counts the shares; the listener knows by it when the last is gone.
    presence: mpsc::Sender<Infallible>,
    listener: Option<Listener>,
}

/// A response's body, and its share of the connection.
pub(super) struct Body {
    connection: Connection,
    stream: RecvStream,
    bytes: u64,
    end: Option<Result<(), BodyEnd>>,
}

/// What is known of a connection as a whole.
struct Line {
    ending: Arc<Ending>,
    seen: Mutex<Seen>,
    standing: watch::Sender<Standing>,
    /// Whether the listener has taken note of what GOAWAY said last.
    heard: watch::Sender<bool>,
}

/// What the frames said.
#[derive(Clone, Copy, Debug)]
struct Seen {
    reader: FrameReader,
    /// When something last came, and how often something has.
    at: Instant,
    reads: u64,
    goaway: Option<(u32, u32)>,
    /// When the server was asked whether it lives, until it answers.
    asked: Option<Instant>,
    /// The longest it took to answer.
    slowest_ping: Option<Duration>,
}

/// How a connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Open,
    /// The server takes no new streams.
    Leaving {
        code: u32,
    },
    /// It is gone; without an end, by us.
    Over(Option<BodyEnd>),
}

/// Something that happened to a connection as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The server takes no new streams.
    GoAway {
        /// The last of ours it has looked at.
        last_stream: u32,
        /// Why (RFC 9113 section 7).
        code: u32,
    },
    /// It is gone; without an end, because nobody had a share any more.
    Over(Option<BodyEnd>),
}

/// Hears what happens to a connection as a whole.
#[derive(Debug)]
pub struct Listener {
    line: Arc<Line>,
    standing: watch::Receiver<Standing>,
    /// The code of the GOAWAY told last.
    told_goaway: Option<u32>,
    absence: mpsc::Receiver<Infallible>,
}

impl Listener {
    /// The next thing that happens; the last is [`Happening::Over`]. Being asked again, it takes the one before as
    /// noted. Cancelling it loses nothing.
    pub async fn next(&mut self) -> Happening {
        loop {
            let goaway = self.line.seen().goaway;
            if let Some((last_stream, code)) = goaway
                && self.told_goaway.replace(code) != Some(code)
            {
                return Happening::GoAway { last_stream, code };
            }
            if goaway.is_some() {
                self.line.heard.send_replace(true);
            }
            if let Standing::Over(end) = &*self.standing.borrow_and_update() {
                return Happening::Over(end.clone());
            }
            // The sender lives in the line, which is held here.
            let _ = self.standing.changed().await;
        }
    }

    /// The longest that the server took so far to answer a ping of ours; none where it was not asked, or never answered.
    pub fn slowest_ping(&self) -> Option<Duration> {
        self.line.seen().slowest_ping
    }

    /// Returns when all shares are gone.
    pub async fn all_left(&mut self) {
        while self.absence.recv().await.is_some() {}
    }
}

/// Nobody waits for a listener that is gone.
impl Drop for Listener {
    fn drop(&mut self) {
        self.line.heard.send_replace(true);
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
        let line = Arc::new(Line {
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
            heard: watch::Sender::new(false),
        });
        let watched = Watched {
            tap,
            line: Arc::clone(&line),
            turn_bytes: 0,
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
        // It takes turns by itself: the runtime's turns are shorter.
        tokio::spawn(unconstrained(drive(driver, Arc::clone(&line))));
        let (presence, absence) = mpsc::channel(1);
        let listener = Listener {
            standing: line.standing.subscribe(),
            line: Arc::clone(&line),
            told_goaway: None,
            absence,
        };
        Ok(Self {
            facts: Arc::new(facts),
            target,
            sender,
            line,
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
        let is_open = *self.line.standing.borrow() == Standing::Open;
        (is_open && has_room).then(|| Self {
            facts: Arc::clone(&self.facts),
            target: Arc::clone(&self.target),
            sender: self.sender.clone(),
            line: Arc::clone(&self.line),
            presence: self.presence.clone(),
            listener: None,
        })
    }

    pub(super) async fn send(self, request: Request<Bytes>) -> Result<(Head, Body), SendError> {
        let request = prepare(request, &self.target.endpoint, true)?;
        if *self.line.standing.borrow() != Standing::Open {
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
            // An answer may come before the whole request is read, so a failure here is the answer's to tell.
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
        let mut standing = self.line.standing.subscribe();
        loop {
            if let Some(end) = self.end_of_use(&standing.borrow_and_update()) {
                return end;
            }
            let _ = standing.changed().await;
        }
    }

    /// Why no more requests can be sent.
    fn end_of_use(&self, standing: &Standing) -> Option<BodyEnd> {
        match standing {
            Standing::Open => None,
            Standing::Leaving { code } => Some(BodyEnd::GoAway { code: *code }),
            Standing::Over(Some(end)) => Some(end.clone()),
            Standing::Over(None) => Some(self.line.end(None)),
        }
    }

    /// Why there is no answer.
    fn refusal(&self, error: &h2::Error, stream: u32) -> SendError {
        if error.is_library() {
            return bad_head(error.to_string());
        }
        SendError::Ended(self.cause(error, stream))
    }

    /// Why a stream ended, by what was seen on the wire.
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
        let standing = self.line.standing.borrow().clone();
        match standing {
            Standing::Over(Some(end @ (BodyEnd::Silent { .. } | BodyEnd::Malformed { .. }))) => end,
            _ => self.line.end(Some(stream)),
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
                    // What was taken makes room; an error means that the stream is over, which comes next.
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
        let standing = self.connection.line.standing.borrow().clone();
        match self.connection.end_of_use(&standing) {
            None => Ok(self.connection),
            Some(end) => Err(end),
        }
    }

    pub(super) async fn settled(&mut self) {
        let line = &self.connection.line;
        if line.seen().goaway.is_some() {
            // The sender lives in the line, which is held here.
            let _ = line.heard.subscribe().wait_for(|heard| *heard).await;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.connection.facts
    }
}

impl Line {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what came.
    fn read(&self, bytes: &[u8]) {
        let mut leaving = None;
        let mut seen = self.seen();
        seen.at = Instant::now();
        seen.reads += 1;
        let mut goaway = seen.goaway;
        let mut is_answered = false;
        seen.reader = seen.reader.read(bytes, |fact| match fact {
            // A graceful end is told twice, the second time with the stream that was last; only the first is news.
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
            self.heard.send_replace(false);
            self.standing.send_if_modified(|standing| {
                let is_there = !matches!(standing, Standing::Over(_));
                if is_there {
                    *standing = Standing::Leaving { code };
                }
                is_there
            });
        }
    }

    /// How the connection ended, by what was seen of it; for a stream, whether inside a frame of it.
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

/// Reads and writes for all streams, asks the server after silence whether it lives, and notes how it ended.
async fn drive(mut driver: h2::client::Connection<Watched>, line: Arc<Line>) {
    let mut pings = driver.ping_pong();
    // When the server was asked, and how often something had come by then.
    let mut asked: Option<(Instant, u64)> = None;
    let end = loop {
        let due = match asked {
            None => line.seen().at + PING_AFTER,
            Some((at, _)) => at + PING_LIMIT,
        };
        tokio::select! {
            result = &mut driver => break match result {
                Err(error) if error.is_library() => Some(BodyEnd::Malformed { detail: error.to_string() }),
                _ if line.ending.get().is_none() && line.seen().goaway.is_none() => None,
                _ => Some(line.end(None)),
            },
            () = tokio::time::sleep_until(due) => {}
        }
        let seen = *line.seen();
        match asked {
            Some((_, reads)) if seen.reads == reads => {
                break Some(BodyEnd::Silent {
                    limit: PING_AFTER + PING_LIMIT,
                });
            }
            Some(_) => asked = None,
            None if seen.at.elapsed() >= PING_AFTER => {
                let now = Instant::now();
                // An error means that the answer to the one before has not been taken yet; it came.
                if let Some(pings) = &mut pings
                    && pings.send_ping(Ping::opaque()).is_ok()
                {
                    line.seen().asked = Some(now);
                }
                asked = Some((now, seen.reads));
            }
            None => {}
        }
        // An answer that was awaited makes room for the next question.
        if let Some(pings) = &mut pings {
            let _ = poll_fn(|cx| Poll::Ready(pings.poll_pong(cx))).await;
        }
    };
    // Streams learn of it when the driver goes, and look here for the reason.
    line.standing.send_replace(Standing::Over(end));
    drop(driver);
}

fn bad_head(detail: String) -> SendError {
    SendError::BadHead {
        detail,
        max_bytes: MAX_HEAD_BYTES,
        max_lines: MAX_HEAD_LINES,
    }
}

/// Passes bytes through and shows them to the frame reader. After a turn's worth there are none until those who were
/// woken by them have had their turn.
struct Watched {
    tap: Tap,
    line: Arc<Line>,
    /// Read since something else was last waited for.
    turn_bytes: usize,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.turn_bytes >= TURN_BYTES {
            self.turn_bytes = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let filled_before = buffer.filled().len();
        let result = Pin::new(&mut self.tap).poll_read(cx, buffer);
        let new = &buffer.filled()[filled_before..];
        if new.is_empty() {
            self.turn_bytes = 0;
        } else {
            self.turn_bytes += new.len();
            self.line.read(new);
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

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
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
