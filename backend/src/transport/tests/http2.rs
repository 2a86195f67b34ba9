//! HTTP/2: many requests on one connection, and the different ends. The tests write the server's frames byte by byte.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::authority::{Authority, tls_target};
use super::harness::{LIMIT, connector, get, listen, plain_target, reset};
use super::tls::accept_tls;
use crate::transport::{
    BodyEnd, Connection, Framing, Happening, Listener, Protocols, Response, SendError, Target,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, by its index in HPACK's table.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn goaway(last_stream: u32, code: u32) -> Vec<u8> {
    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A server with one connection.
struct Server<S> {
    stream: S,
}

impl Server<TcpStream> {
    async fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().await.unwrap();
        Server::greet(stream).await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Server<S> {
    /// Reads the client's preface and sends the server's own.
    async fn greet(mut stream: S) -> Self {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).await.unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut server = Self { stream };
        server.write(&frame(SETTINGS, 0, 0, b"")).await;
        server.write(&frame(SETTINGS, ACK, 0, b"")).await;
        server
    }

    /// Closes in order: it first reads what the client still sends, since closing with unread bytes is a reset.
    async fn close(mut self) {
        self.stream.shutdown().await.unwrap();
        let _ = tokio::io::copy(&mut self.stream, &mut tokio::io::sink()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Reads frames up to one of this kind. Returns its stream and payload.
    async fn until(&mut self, kind: u8) -> (u32, Vec<u8>) {
        loop {
            let mut header = [0; 9];
            self.stream.read_exact(&mut header).await.unwrap();
            let [a, b, c, found, _, d, e, f, g] = header;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.stream.read_exact(&mut payload).await.unwrap();
            if found == kind {
                return (u32::from_be_bytes([d, e, f, g]), payload);
            }
        }
    }

    /// Waits for a request. Answers with a head and the beginning of a body.
    async fn answer(&mut self, text: &str) -> u32 {
        let (stream, _) = self.until(HEADERS).await;
        self.write(&frame(HEADERS, END_HEADERS, stream, OK)).await;
        self.write(&frame(DATA, 0, stream, text.as_bytes())).await;
        stream
    }
}

fn target(port: u16) -> Target {
    Target {
        protocols: Protocols::Http2,
        ..plain_target(port)
    }
}

async fn open(port: u16) -> Connection {
    connector(target(port)).open().await.unwrap()
}

async fn next(response: &mut Response) -> Result<Option<Bytes>, BodyEnd> {
    tokio::time::timeout(LIMIT, response.body.chunk())
        .await
        .expect("the body continues or ends in time")
}

/// Opens a connection and reads "one" of a body. Then runs `act` on the server, and returns how the body ended.
async fn end_after<F, Fut>(act: F) -> BodyEnd
where
    F: FnOnce(Server<TcpStream>, u32) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let (listener, port) = listen().await;
    let (was_read, has_read) = oneshot::channel();
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let stream = server.answer("one").await;
        has_read.await.unwrap();
        act(server, stream).await;
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert_eq!(next(&mut response).await.unwrap().unwrap(), "one");
    was_read.send(()).unwrap();
    let end = loop {
        match next(&mut response).await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the body ended in order"),
            Err(end) => break end,
        }
    };
    assert_eq!(
        next(&mut response).await,
        Err(end.clone()),
        "each further call returns the end again"
    );
    server.await.unwrap();
    end
}

#[tokio::test]
async fn requests_share_a_connection_and_their_streams_are_numbered() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let first = server.answer("one").await;
        let second = server.answer("two").await;
        for stream in [second, first] {
            server.write(&frame(DATA, END_STREAM, stream, b"!")).await;
        }
        server
    });
    let connection = open(port).await;
    let share = connection.share().unwrap();
    let mut one = get(connection, "/one").await.unwrap();
    let mut two = get(share, "/two").await.unwrap();
    assert_eq!((one.stream, two.stream), (Some(1), Some(3)));
    assert_eq!((one.status.as_u16(), one.framing), (200, Framing::Frames));
    assert!(Arc::ptr_eq(one.body.facts(), two.body.facts()));
    for (response, text) in [(&mut one, "one"), (&mut two, "two")] {
        assert_eq!(next(response).await.unwrap().unwrap(), text);
        assert_eq!(next(response).await.unwrap().unwrap(), "!");
        assert_eq!(next(response).await.unwrap(), None);
        assert_eq!(response.body.bytes(), 4);
    }
    let kept = one.body.into_connection().await.unwrap();
    assert!(kept.is_shared() && kept.share().is_some());
    drop(server.await.unwrap());
}

#[tokio::test]
async fn over_tls_the_server_chooses_and_may_be_forced_to_http1() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let mut config = (*authority.server_config(authority.loopback(), false)).clone();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let server = tokio::spawn(async move {
        let stream = accept_tls(&listener, Arc::clone(&config)).await;
        let mut server = Server::greet(stream).await;
        let stream = server.answer("one").await;
        server.write(&frame(DATA, END_STREAM, stream, b"")).await;
        (server, accept_tls(&listener, config).await)
    });
    let connection = connector(tls_target(port, &authority))
        .open()
        .await
        .unwrap();
    assert_eq!(connection.facts().alpn.as_deref(), Some("h2"));
    let response = get(connection, "/").await.unwrap();
    let (whole, kept) = response.body.collect(10, LIMIT).await.unwrap();
    assert_eq!((whole.as_ref(), kept.is_some()), (&b"one"[..], true));

    let forced = Target {
        protocols: Protocols::Http1,
        ..tls_target(port, &authority)
    };
    let connection = connector(forced).open().await.unwrap();
    assert_eq!(connection.facts().alpn.as_deref(), Some("http/1.1"));
    assert!(!connection.is_shared() && connection.share().is_none());
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_close_between_frames_is_an_eof() {
    let end = end_after(async |server, _| server.close().await).await;
    assert_eq!(
        end,
        BodyEnd::Eof {
            is_unclean_tls: false
        }
    );
}

#[tokio::test]
async fn a_close_inside_a_frame_concerns_only_the_stream_of_that_frame() {
    let end = end_after(async |mut server, stream| {
        let torn = frame(DATA, 0, stream, b"half of this");
        server.write(&torn[..15]).await;
        server.close().await;
    })
    .await;
    assert_eq!(end, BodyEnd::EofInFrame);
    let end = end_after(async |mut server, stream| {
        let torn = frame(DATA, 0, stream + 2, b"half of another's");
        server.write(&torn[..15]).await;
        server.close().await;
    })
    .await;
    assert_eq!(end.cause(), "eof");
}

#[tokio::test]
async fn a_tcp_reset_differs_from_a_close() {
    let end = end_after(async |server, _| reset(server.stream)).await;
    assert_eq!(end.cause(), "tcp-reset", "{end}");
}

#[tokio::test]
async fn a_reset_stream_has_its_code_and_the_connection_continues() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let first = server.answer("one").await;
        server
            .write(&frame(RST_STREAM, 0, first, &11_u32.to_be_bytes()))
            .await;
        let second = server.answer("two").await;
        server.write(&frame(DATA, END_STREAM, second, b"")).await;
        server
    });
    let connection = open(port).await;
    let share = connection.share().unwrap();
    let mut one = get(connection, "/").await.unwrap();
    let end = loop {
        match next(&mut one).await {
            Ok(_) => {}
            Err(end) => break end,
        }
    };
    assert_eq!(end, BodyEnd::Reset { code: 11 });
    assert_eq!(
        end.to_string(),
        "the server reset the stream (ENHANCE_YOUR_CALM)"
    );
    let two = get(share, "/").await.unwrap();
    let (whole, kept) = two.body.collect(10, LIMIT).await.unwrap();
    assert_eq!((whole.as_ref(), kept.is_some()), (&b"two"[..], true));
    drop(server.await.unwrap());
}

#[tokio::test]
async fn after_a_goaway_open_streams_continue_and_no_new_ones_begin() {
    let (listener, port) = listen().await;
    let (was_read, has_read) = oneshot::channel();
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let stream = server.answer("one").await;
        server.write(&goaway((1 << 31) - 1, 0)).await;
        // The second GOAWAY of a graceful end is no event.
        server.write(&goaway(stream, 0)).await;
        has_read.await.unwrap();
        server.write(&frame(DATA, END_STREAM, stream, b"two")).await;
        server
    });
    let mut connection = open(port).await;
    let mut listener = connection.listen().unwrap();
    assert!(connection.listen().is_none(), "there is one listener");
    let mut idle = connection.share().unwrap();
    let mut response = get(connection, "/").await.unwrap();
    assert_eq!(
        listener.next().await,
        Happening::GoAway {
            last_stream: (1 << 31) - 1,
            code: 0
        }
    );
    assert_eq!(idle.ended().await, BodyEnd::GoAway { code: 0 });
    assert!(idle.share().is_none());
    assert_eq!(get(idle, "/").await.unwrap_err(), SendError::Stale);
    was_read.send(()).unwrap();
    assert_eq!(next(&mut response).await.unwrap().unwrap(), "one");
    assert_eq!(next(&mut response).await.unwrap().unwrap(), "two");
    assert_eq!(next(&mut response).await.unwrap(), None);
    let end = response.body.into_connection().await.unwrap_err();
    assert_eq!(end, BodyEnd::GoAway { code: 0 });
    assert_eq!(listener.next().await, Happening::Over(Some(end)));
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_goaway_with_an_error_or_past_a_stream_ends_it() {
    let end = end_after(async |mut server, _| {
        server.write(&goaway(0, 0)).await;
        server.close().await;
    })
    .await;
    assert_eq!(end, BodyEnd::GoAway { code: 0 });
    let end = end_after(async |mut server, stream| {
        server.write(&goaway(stream, 2)).await;
        server.close().await;
    })
    .await;
    assert_eq!(end, BodyEnd::GoAway { code: 2 });
}

#[tokio::test]
async fn a_second_goaway_with_an_error_is_a_second_event() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let stream = server.answer("one").await;
        server.write(&goaway((1 << 31) - 1, 0)).await;
        server.write(&goaway(stream, 11)).await;
        server.close().await;
    });
    let mut connection = open(port).await;
    let mut listener = connection.listen().unwrap();
    let mut response = get(connection, "/").await.unwrap();
    let mut codes = Vec::new();
    while let Happening::GoAway { code, .. } = listener.next().await {
        codes.push(code);
    }
    while let Ok(Some(_)) = next(&mut response).await {}
    assert_eq!(codes.last(), Some(&11), "{codes:?}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_cut_after_a_goaway_is_an_eof() {
    let end = end_after(async |mut server, stream| {
        server.write(&goaway(stream, 0)).await;
        server.close().await;
    })
    .await;
    assert_eq!(end.cause(), "eof", "{end}");
}

#[tokio::test]
async fn bytes_that_are_not_http2_are_a_decode_error() {
    let end = end_after(async |mut server, stream| {
        // A window update of zero is a protocol error.
        server.write(&frame(8, 0, stream, &[0; 4])).await;
        server.write(&frame(DATA, 0, 0, b"of no stream")).await;
        server.until(GOAWAY).await;
    })
    .await;
    assert_eq!(end.cause(), "decode", "{end}");
}

#[tokio::test]
async fn dropping_a_body_resets_its_stream_and_keeps_the_connection() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let stream = server.answer("one").await;
        let (cancelled, why) = server.until(RST_STREAM).await;
        assert_eq!((cancelled, &why[..]), (stream, &[0, 0, 0, 8][..]));
        server.until(GOAWAY).await;
    });
    let mut connection = open(port).await;
    let mut listener = connection.listen().unwrap();
    let share = connection.share().unwrap();
    let response = get(connection, "/").await.unwrap();
    drop(response);
    assert!(share.share().is_some(), "the connection is still open");
    drop(share);
    assert_eq!(listener.next().await, Happening::Over(None));
    listener.all_left().await;
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_has_room_for_as_many_streams_as_the_server_allows() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut server = Server { stream };
        // The server allows two streams at a time.
        server
            .write(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 2]))
            .await;
        let mut preface = [0; 24];
        server.stream.read_exact(&mut preface).await.unwrap();
        let stream = server.answer("").await;
        server.write(&frame(DATA, END_STREAM, stream, b"")).await;
        server
    });
    let connection = open(port).await;
    let response = get(connection, "/").await.unwrap();
    let (_, kept) = response.body.collect(0, LIMIT).await.unwrap();
    let keeper = kept.unwrap();
    let first = keeper.share().unwrap();
    let second = keeper.share().unwrap();
    assert!(keeper.share().is_none(), "both streams are taken");
    drop((first, second));
    assert!(keeper.share().is_some());
    drop(server.await.unwrap());
}

#[tokio::test]
async fn silence_that_outlasts_a_ping_ends_the_connection() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        server.answer("one").await;
        server.until(PING).await;
        server
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert_eq!(next(&mut response).await.unwrap().unwrap(), "one");
    // Paused time advances while nothing else happens.
    tokio::time::pause();
    let end = response.body.chunk().await.unwrap_err();
    assert_eq!(
        end,
        BodyEnd::Silent {
            limit: Duration::from_secs(45)
        }
    );
    drop(server.await.unwrap());
}

/// Returns the listener of a connection that has ended. Its server took 200 ms to answer a ping, then 50 ms.
pub(crate) async fn of_a_server_slow_to_answer_pings() -> Listener {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        server.answer("one").await;
        for delay in [200, 50] {
            let (_, payload) = server.until(PING).await;
            tokio::time::sleep(Duration::from_millis(delay)).await;
            server.write(&frame(PING, ACK, 0, &payload)).await;
        }
        server.close().await;
    });
    let mut connection = open(port).await;
    let listener = connection.listen().unwrap();
    let mut response = get(connection, "/").await.unwrap();
    assert_eq!(next(&mut response).await.unwrap().unwrap(), "one");
    assert_eq!(listener.slowest_ping(), None);
    // Paused time advances while nothing else happens.
    tokio::time::pause();
    assert!(response.body.chunk().await.is_err(), "the connection ends");
    server.await.unwrap();
    listener
}

#[tokio::test]
async fn the_time_a_server_takes_to_answer_a_ping_is_known() {
    let listener = of_a_server_slow_to_answer_pings().await;
    let slowest = listener.slowest_ping().unwrap();
    assert!((200..300).contains(&slowest.as_millis()), "{slowest:?}");
}

#[tokio::test]
async fn a_head_of_too_many_lines_or_bytes_is_refused() {
    for lines in [200, 20_000] {
        let (listener, port) = listen().await;
        let server = tokio::spawn(async move {
            let mut server = Server::accept(&listener).await;
            let (stream, _) = server.until(HEADERS).await;
            // `x: y` as literals, without an index in the table.
            let line = [0, 1, b'x', 1, b'y'];
            let head = [OK, &line.repeat(lines)].concat();
            let mut pieces = head.chunks(16_000).peekable();
            let mut kind = HEADERS;
            while let Some(piece) = pieces.next() {
                let flags = if pieces.peek().is_none() {
                    END_HEADERS
                } else {
                    0
                };
                // An error means that the client refused the bytes before.
                if server
                    .stream
                    .write_all(&frame(kind, flags, stream, piece))
                    .await
                    .is_err()
                {
                    break;
                }
                kind = 9;
            }
            server
        });
        let error = get(open(port).await, "/").await.unwrap_err();
        assert!(
            matches!(error, SendError::BadHead { .. }),
            "{lines}: {error}"
        );
        drop(server.await.unwrap());
    }
}

#[tokio::test]
async fn an_unread_body_makes_the_server_wait_and_other_streams_continue() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let first = server.answer("one").await;
        // As many bytes as the stream's window allows. More would be the server's fault.
        for _ in 0..(1 << 20) / 16_384 - 1 {
            server.write(&frame(DATA, 0, first, &[b'x'; 16_384])).await;
        }
        let second = server.answer("two").await;
        server.write(&frame(DATA, END_STREAM, second, b"")).await;
        // Reading the first piece makes room.
        loop {
            let (stream, _) = server.until(8).await;
            if stream == first {
                return server;
            }
        }
    });
    let connection = open(port).await;
    let share = connection.share().unwrap();
    let mut first = get(connection, "/").await.unwrap();
    let second = get(share, "/").await.unwrap();
    let (whole, _) = second.body.collect(10, LIMIT).await.unwrap();
    assert_eq!(whole, "two");
    let mut read = 0;
    while read < 900_000 {
        read += next(&mut first).await.unwrap().unwrap().len();
    }
    tokio::time::timeout(LIMIT, server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_with_a_body_is_sent_whole_and_names_its_server() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let mut server = Server::accept(&listener).await;
        let (stream, head) = server.until(HEADERS).await;
        let (of, body) = server.until(DATA).await;
        assert_eq!((of, &body[..]), (stream, &b"what to do"[..]));
        let answer = frame(HEADERS, END_HEADERS | END_STREAM, stream, OK);
        server.write(&answer).await;
        (server, head)
    });
    let request = Request::post("/path?query")
        .body(Bytes::from_static(b"what to do"))
        .unwrap();
    let response = open(port).await.send(request, LIMIT).await.unwrap();
    assert_eq!(response.status, 200);
    drop(server.await.unwrap());
}
