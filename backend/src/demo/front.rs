//! The simulated apiserver on sockets: HTTP/1.1 around the world's structured messages.
//!
//! Its own listener over hyper's server connection, since it must be able to reset a connection, to end one without
//! the body's end, and to leave a frame torn.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use watchscope_simulator::{self as sim, ConnectionId, Cut, Head, RequestId};

use super::pump::{Ask, Parcel, Pump, Wire};
use crate::web::hosts::AllowedHosts;
use crate::web::judge_names;

/// Largest request body taken; an apiserver takes 3 MiB.
const MAX_BODY_BYTES: usize = 3 << 20;
/// Connections served at once; the next waits in the kernel's queue.
const MAX_CONNECTIONS: usize = 512;
/// For the head of a request on a fresh connection, and for the wait between two.
const HEADER_DEADLINE: Duration = Duration::from_secs(120);

/// Serves the world behind `pump` until dropped.
pub(super) async fn serve(listener: TcpListener, pump: Pump) {
    let seats = Arc::new(tokio::sync::Semaphore::new(MAX_CONNECTIONS));
    let mut conversations = tokio::task::JoinSet::new();
    loop {
        let seat = Arc::clone(&seats).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        while conversations.try_join_next().is_some() {}
        let pump = pump.clone();
        conversations.spawn(async move {
            converse(stream, pump).await;
            drop(seat);
        });
    }
}

/// One connection, from accept to its end.
async fn converse(stream: TcpStream, pump: Pump) {
    let _ = stream.set_nodelay(true);
    let (reply, wire) = oneshot::channel();
    if !pump.ask(Ask::Connect(reply)).await {
        return;
    }
    let Ok(Wire {
        connection,
        deliveries,
    }) = wire.await
    else {
        return;
    };
    let _closes = CloseOnDrop {
        pump: pump.clone(),
        connection,
    };
    let shared = Arc::new(Shared {
        wire: Mutex::new(deliveries),
        state: Mutex::default(),
    });
    let (for_service, for_cut) = (Arc::clone(&shared), Arc::clone(&shared));
    let service = service_fn(move |request| {
        let (pump, shared) = (pump.clone(), Arc::clone(&for_service));
        async move { Ok::<_, Infallible>(answer(request, pump, connection, shared).await) }
    });
    // The stream is kept in reach, so that it can be reset rather than closed.
    let stream = Arc::new(stream);
    let mut http = Box::pin(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_DEADLINE)
            .serve_connection(TokioIo::new(SharedStream(Arc::clone(&stream))), service),
    );
    let cut = tokio::select! {
        _ = &mut http => return,
        cut = poll_fn(|cx| for_cut.poll_cut(cx)) => cut,
    };
    if cut == Cut::Reset {
        // With no lingering, closing sends RST instead of FIN.
        let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
    }
    drop(http);
}

/// What the connection's task and its responses share: the deliveries, read by one response at a time, as HTTP/1.1
/// has it, or by the connection's task between two; and the cut.
struct Shared {
    wire: Mutex<mpsc::Receiver<Parcel>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_answering: bool,
    cut: Option<Cut>,
    /// The connection's task.
    waker: Option<Waker>,
}

/// Marks that a response reads the deliveries, until dropped.
struct Answering(Arc<Shared>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.change(|state| state.is_answering = false);
    }
}

impl Shared {
    fn poll_parcel(&self, cx: &mut Context<'_>) -> Poll<Option<Parcel>> {
        self.wire
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .poll_recv(cx)
    }

    fn cut(&self, cut: Cut) {
        self.change(|state| state.cut = Some(cut));
    }

    fn answering(self: &Arc<Self>) -> Answering {
        self.change(|state| state.is_answering = true);
        Answering(Arc::clone(self))
    }

    /// Changes the state and lets the connection's task look at it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Ready once the connection is to be cut.
    fn poll_cut(&self, cx: &mut Context<'_>) -> Poll<Cut> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waker = Some(cx.waker().clone());
        loop {
            if let Some(cut) = state.cut {
                return Poll::Ready(cut);
            }
            if state.is_answering {
                return Poll::Pending;
            }
            match std::task::ready!(self.poll_parcel(cx)) {
                Some(Parcel::Closed(cut)) => state.cut = Some(cut),
                Some(Parcel::Refused) | None => state.cut = Some(Cut::Reset),
                // What is left of an answer that its client gave up.
                Some(_) => {}
            }
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    pump: Pump,
    connection: ConnectionId,
    shared: Arc<Shared>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = judge_names(&AllowedHosts::loopback(), &parts.uri, &parts.headers) {
        return plain(refusal.status(), refusal.advice());
    }
    let limited = http_body_util::Limited::new(body, MAX_BODY_BYTES);
    let Ok(body) = limited.collect().await else {
        return plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request body is larger than 3 MiB\n",
        );
    };
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let request = sim::Request {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body: body.to_bytes(),
    };
    let answering = shared.answering();
    let (reply, id) = oneshot::channel();
    if !pump.ask(Ask::Send(connection, request, reply)).await {
        return plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the simulated cluster has ended\n",
        );
    }
    let Ok(id) = id.await else {
        return plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the simulated cluster has ended\n",
        );
    };
    loop {
        match poll_fn(|cx| shared.poll_parcel(cx)).await {
            Some(Parcel::Head(of, head)) if of == id => {
                let body = Stream {
                    shared,
                    _answering: answering,
                    pump,
                    request: id,
                    ended: false,
                    cut: None,
                };
                return response(head, body);
            }
            Some(Parcel::Closed(cut)) => {
                shared.cut(cut);
                return std::future::pending().await;
            }
            Some(Parcel::Refused) | None => {
                shared.cut(Cut::Reset);
                return std::future::pending().await;
            }
            // What is left of an answer that its client gave up.
            Some(_) => {}
        }
    }
}

fn response(head: Head, body: Stream) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(body.boxed());
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let body = http_body_util::Full::new(Bytes::from_static(text.as_bytes())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// A response's body as the world delivers it.
struct Stream {
    shared: Arc<Shared>,
    _answering: Answering,
    pump: Pump,
    request: RequestId,
    ended: bool,
    /// A cut that has arrived and waits for what was written before it to leave.
    cut: Option<Cut>,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(cut) = self.cut {
            // hyper has flushed since the last poll; now the connection may go.
            self.shared.cut(cut);
            return Poll::Pending;
        }
        loop {
            let shared = Arc::clone(&self.shared);
            let cut = match std::task::ready!(shared.poll_parcel(cx)) {
                Some(Parcel::Chunk(of, bytes)) if of == self.request => {
                    self.pump.ask_now(Ask::Consume(of, bytes.len()));
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Parcel::End(of)) if of == self.request => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Some(Parcel::Closed(cut)) => cut,
                Some(Parcel::Refused) | None => Cut::Reset,
                Some(_) => continue,
            };
            // Pending once lets hyper flush the bytes before the cut; the wake brings us back to make it.
            self.cut = Some(cut);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
    }
}

/// Tells the world when a client has gone.
struct CloseOnDrop {
    pump: Pump,
    connection: ConnectionId,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.pump.ask_now(Ask::Close(self.connection));
    }
}

/// A TCP stream that is shared with whoever may reset it.
struct SharedStream(Arc<TcpStream>);

impl tokio::io::AsyncRead for SharedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        loop {
            std::task::ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl tokio::io::AsyncWrite for SharedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        loop {
            std::task::ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(
            rustix::net::shutdown(&*self.0, rustix::net::Shutdown::Write).map_err(Into::into),
        )
    }
}
