//! A client of HTTP/1.1: it gets one answer after another, over hyper's server connection.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use watchscope_simulator::{ConnectionId, Cut, Head, RequestId};

use super::exchange::{
    ENDED, FIRST_WORD_LIMIT, MAX_BODY_BYTES, SharedStream, TOO_LARGE, head_of, judge,
    reset_on_close, simulated,
};
use super::pump::{Ask, Parcel, Pump};

/// Serves one connection to its end.
pub(super) async fn converse(
    stream: Arc<TcpStream>,
    pump: Pump,
    connection: ConnectionId,
    deliveries: mpsc::Receiver<Parcel>,
) {
    let shared = Arc::new(Shared {
        wire: Mutex::new(deliveries),
        state: Mutex::default(),
    });
    let (for_service, for_cut) = (Arc::clone(&shared), Arc::clone(&shared));
    let service = service_fn(move |request| {
        let (pump, shared) = (pump.clone(), Arc::clone(&for_service));
        async move { Ok::<_, Infallible>(answer(request, pump, connection, shared).await) }
    });
    let mut http = Box::pin(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(FIRST_WORD_LIMIT)
            .serve_connection(TokioIo::new(SharedStream(Arc::clone(&stream))), service),
    );
    let cut = tokio::select! {
        _ = &mut http => return,
        cut = poll_fn(|cx| for_cut.poll_cut(cx)) => cut,
    };
    if cut == Cut::Reset {
        reset_on_close(&stream);
    }
    drop(http);
}

/// The state that the connection's task and its responses share: the deliveries and the cut. One response at a time reads
/// the deliveries, as HTTP/1.1 requires; between two responses the connection's task reads them.
struct Shared {
    wire: Mutex<mpsc::Receiver<Parcel>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_answering: bool,
    cut: Option<Cut>,
    /// The waker of the connection's task.
    waker: Option<Waker>,
}

/// Marks, until dropped, that a response reads the deliveries.
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

    /// Changes the state, and wakes the connection's task to see it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Ready once the connection must be cut.
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
                // These belong to an answer whose client is gone.
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
    if let Err((status, advice)) = judge(&parts) {
        return plain(status, advice);
    }
    let limited = http_body_util::Limited::new(body, MAX_BODY_BYTES);
    let Ok(body) = limited.collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
    };
    let request = simulated(&parts, body.to_bytes());
    let answering = shared.answering();
    let (reply, id) = oneshot::channel();
    if !pump.ask(Ask::Send(connection, request, reply)).await {
        return plain(StatusCode::SERVICE_UNAVAILABLE, ENDED);
    }
    let Ok(id) = id.await else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, ENDED);
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
            Some(Parcel::Reset(of, _)) if of == id => {
                shared.cut(Cut::Eof);
                return std::future::pending().await;
            }
            Some(Parcel::Refused) | None => {
                shared.cut(Cut::Reset);
                return std::future::pending().await;
            }
            // These belong to an answer whose client is gone.
            Some(_) => {}
        }
    }
}

fn response(head: Head, body: Stream) -> Response<BoxBody<Bytes, Infallible>> {
    head_of(head).map(|()| body.boxed())
}

fn plain(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let body = http_body_util::Full::new(Bytes::from_static(text.as_bytes())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// The body of a response as the simulated cluster delivers it.
struct Stream {
    shared: Arc<Shared>,
    _answering: Answering,
    pump: Pump,
    request: RequestId,
    ended: bool,
    /// A cut that has arrived, and waits until the bytes before it have left.
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
            // hyper has flushed since the last poll, so the connection may be cut now.
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
                // HTTP/1.1 can only close the connection instead.
                Some(Parcel::Reset(of, _)) if of == self.request => Cut::Eof,
                Some(Parcel::Refused) | None => Cut::Reset,
                Some(_) => continue,
            };
            // One Pending lets hyper flush the bytes before the cut. The wake leads back here to make the cut.
            self.cut = Some(cut);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
    }
}
