//! A client of HTTP/2: it gets many answers at a time, over h2's server connection.
//!
//! ```text
//!  h2 ──accept──► take (reads a request whole) ──► converse ──asks──► pump
//!   ▲                                                  │ ◄─parcels─
//!   └──data, end, reset── write (one task an answer) ◄─┘
//! ```

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response, StatusCode, header};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use watchscope_simulator::{self as sim, ConnectionId, Cut, Head, RequestId};

use super::exchange::{
    ENDED, FIRST_WORD_LIMIT, MAX_BODY_BYTES, SharedStream, TOO_LARGE, head_of, judge,
    reset_on_close, simulated,
};
use super::pump::{Ask, Parcel, Pump};

/// The most streams that a client may have open at once; Go's server allows as many.
const MAX_STREAMS: u32 = 250;
/// The most bytes in the head of a request.
const MAX_HEAD_BYTES: u32 = 64 << 10;
/// The most parts of an answer that may wait for their stream. The stream's window in the simulated cluster allows fewer
/// watch frames than this.
const PARTS: usize = 4_096;
/// The time that a cut waits for earlier bytes to leave, and then for the client to close as well.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// A request that was read completely.
struct Asked {
    request: sim::Request,
    respond: SendResponse<Bytes>,
}

/// A part of an answer.
enum Part {
    Head(Head),
    Chunk(Bytes),
    End,
    Reset(u32),
}

/// The open rest of an answer whose connection is about to be cut. It is kept, since dropping it would send a reset to the
/// client.
type Rest = Option<(SendResponse<Bytes>, Option<SendStream<Bytes>>)>;

/// Serves one connection to its end.
pub(super) async fn converse(
    stream: Arc<TcpStream>,
    pump: Pump,
    connection: ConnectionId,
    mut deliveries: mpsc::Receiver<Parcel>,
) {
    let handshake = h2::server::Builder::new()
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES)
        .handshake(SharedStream(Arc::clone(&stream)));
    let Ok(Ok(mut http)) = timeout(FIRST_WORD_LIMIT, handshake).await else {
        return;
    };
    let (read, mut asked) = mpsc::channel(MAX_STREAMS as usize);
    let mut readers = JoinSet::new();
    let mut writers: JoinSet<Rest> = JoinSet::new();
    let mut answers: BTreeMap<RequestId, mpsc::Sender<Part>> = BTreeMap::new();
    let cut = loop {
        let parcel = tokio::select! {
            accepted = http.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    while readers.try_join_next().is_some() {}
                    readers.spawn(take(request, respond, read.clone()));
                    continue;
                }
                Some(Err(_)) | None => return,
            },
            Some(Asked { request, respond }) = asked.recv() => {
                let (reply, id) = oneshot::channel();
                let id = if pump.ask(Ask::Send(connection, request, reply)).await {
                    id.await.ok()
                } else {
                    None
                };
                match id {
                    Some(id) => {
                        let (sender, parts) = mpsc::channel(PARTS);
                        answers.insert(id, sender);
                        while writers.try_join_next().is_some() {}
                        writers.spawn(write(id, respond, parts, pump.clone()));
                    }
                    None => plain(respond, StatusCode::SERVICE_UNAVAILABLE, ENDED),
                }
                continue;
            }
            parcel = deliveries.recv() => parcel,
        };
        let (of, part) = match parcel {
            Some(Parcel::Head(of, head)) => {
                let is_last = |(name, value): &(String, String)| {
                    name == "connection" && value.eq_ignore_ascii_case("close")
                };
                if head.headers.iter().any(is_last) {
                    // HTTP/1.1 announces a last answer with this header. Go's server also translates it to GOAWAY.
                    http.graceful_shutdown();
                }
                (of, Part::Head(head))
            }
            Some(Parcel::Chunk(of, bytes)) => (of, Part::Chunk(bytes)),
            Some(Parcel::End(of)) => (of, Part::End),
            Some(Parcel::Reset(of, code)) => (of, Part::Reset(code)),
            Some(Parcel::GoAway) => {
                http.graceful_shutdown();
                continue;
            }
            Some(Parcel::Closed(cut)) => break cut,
            Some(Parcel::Refused) | None => break Cut::Reset,
        };
        let is_last = matches!(part, Part::End | Part::Reset(_));
        let Some(answer) = answers.get(&of) else {
            continue;
        };
        // A full queue belongs to a client that takes nothing. Its stream's window should have stopped the simulated cluster
        // long before.
        let is_full = matches!(
            answer.try_send(part),
            Err(mpsc::error::TrySendError::Full(_))
        );
        if is_last || answer.is_closed() {
            answers.remove(&of);
        }
        if is_full {
            break Cut::Reset;
        }
    };
    // Bytes sent before the cut leave first.
    drop(answers);
    let mut rests = Vec::new();
    let leave = async {
        loop {
            tokio::select! {
                rest = writers.join_next() => match rest {
                    Some(rest) => rests.push(rest),
                    None => return,
                },
                accepted = http.accept() => if !matches!(accepted, Some(Ok(_))) { return },
            }
        }
    };
    let _ = timeout(CUT_LIMIT, leave).await;
    poll_fn(|cx| Poll::Ready(http.poll_accept(cx).is_ready())).await;
    match cut {
        Cut::Reset => reset_on_close(&stream),
        Cut::Eof => {
            let _ = rustix::net::shutdown(&*stream, rustix::net::Shutdown::Write);
            // Closing with unread bytes would be a reset.
            let _ = timeout(CUT_LIMIT, drain(&stream)).await;
        }
    }
    drop(http);
}

/// Reads what a client still sends, until it closes.
async fn drain(stream: &TcpStream) {
    let mut unread = [0; 1024];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut unread) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Reads a whole request, and passes it on if it may be answered.
async fn take(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    read: mpsc::Sender<Asked>,
) {
    let (mut parts, mut upload) = request.into_parts();
    if let Some(authority) = parts.uri.authority()
        && let Ok(host) = header::HeaderValue::try_from(authority.as_str())
    {
        // HTTP/2 has this instead of the Host header.
        parts.headers.insert(header::HOST, host);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Ok(uri) = path.parse() else {
        return plain(respond, StatusCode::BAD_REQUEST, "there is no such path\n");
    };
    parts.uri = uri;
    if let Err((status, advice)) = judge(&parts) {
        return plain(respond, status, advice);
    }
    let mut body = BytesMut::new();
    while let Some(piece) = upload.data().await {
        let Ok(piece) = piece else { return };
        if body.len() + piece.len() > MAX_BODY_BYTES {
            return plain(respond, StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let _ = upload.flow_control().release_capacity(piece.len());
        body.extend_from_slice(&piece);
    }
    let request = simulated(&parts, body.freeze());
    // Without a receiver the connection has ended.
    let _ = read.send(Asked { request, respond }).await;
}

/// Writes an answer as its parts arrive. Returns the open rest if the parts stop before the answer's end.
async fn write(
    id: RequestId,
    mut respond: SendResponse<Bytes>,
    mut parts: mpsc::Receiver<Part>,
    pump: Pump,
) -> Rest {
    let mut body: Option<SendStream<Bytes>> = None;
    loop {
        let part = tokio::select! {
            part = parts.recv() => part,
            _ = poll_fn(|cx| match &mut body {
                Some(body) => body.poll_reset(cx),
                None => respond.poll_reset(cx),
            }) => {
                pump.ask(Ask::Cancel(id)).await;
                return None;
            }
        };
        let is_written = match (part, &mut body) {
            (None, _) => return Some((respond, body)),
            (Some(Part::Head(head)), None) => {
                let mut head = head_of(head);
                head.headers_mut().remove(header::CONNECTION);
                body = respond.send_response(head, false).ok();
                body.is_some()
            }
            (Some(Part::Chunk(bytes)), Some(body)) => {
                let length = bytes.len();
                let is_written = send(body, bytes).await;
                pump.ask(Ask::Consume(id, length)).await;
                is_written
            }
            (Some(Part::End), Some(body)) => {
                let _ = body.send_data(Bytes::new(), true);
                return None;
            }
            (Some(Part::Reset(code)), _) => {
                respond.send_reset(Reason::from(code));
                return None;
            }
            (Some(Part::Head(_) | Part::Chunk(_) | Part::End), _) => false,
        };
        if !is_written {
            pump.ask(Ask::Cancel(id)).await;
            return None;
        }
    }
}

/// Sends bytes as the client's window allows. Returns whether the client took them all.
async fn send(body: &mut SendStream<Bytes>, mut bytes: Bytes) -> bool {
    while !bytes.is_empty() {
        body.reserve_capacity(bytes.len());
        let Some(Ok(room)) = poll_fn(|cx| body.poll_capacity(cx)).await else {
            return false;
        };
        let piece = bytes.split_to(room.min(bytes.len()));
        if !piece.is_empty() && body.send_data(piece, false).is_err() {
            return false;
        }
    }
    true
}

fn plain(mut respond: SendResponse<Bytes>, status: StatusCode, text: &'static str) {
    let mut head = Response::new(());
    *head.status_mut() = status;
    if let Ok(mut body) = respond.send_response(head, false) {
        let _ = body.send_data(Bytes::from_static(text.as_bytes()), true);
    }
}
