//! The different ends of a body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, join, sink};
use tokio::sync::oneshot;

use super::harness::{CHUNKED, accept, chunk, get, listen, open, read_head, reset, write};
use crate::transport::tap::Tap;
use crate::transport::{Body, BodyEnd, CollectError, Framing};

async fn read_to_end(body: &mut Body) -> (String, Result<(), BodyEnd>) {
    let mut text = String::new();
    loop {
        match body.chunk().await {
            Ok(Some(bytes)) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
            Ok(None) => return (text, Ok(())),
            Err(end) => return (text, Err(end)),
        }
    }
}

/// Serves one answer as text, then closes. Returns the body and end that the client sees.
async fn answered(answer: String) -> (String, Result<(), BodyEnd>, Framing) {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, &answer).await;
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    let (text, end) = read_to_end(&mut response.body).await;
    assert_eq!(
        response.body.chunk().await,
        end.clone().map(|()| None),
        "each further call returns the end again"
    );
    server.await.unwrap();
    (text, end, response.framing)
}

#[tokio::test]
async fn a_chunked_body_with_its_last_chunk_ends_orderly() {
    let answer = format!("{CHUNKED}{}{}0\r\n\r\n", chunk("one\n"), chunk("two\n"));
    assert_eq!(
        answered(answer).await,
        ("one\ntwo\n".into(), Ok(()), Framing::Chunked)
    );
}

/// A stream whose reads fail with this error.
struct Failing(io::ErrorKind);

impl AsyncRead for Failing {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(self.0.into()))
    }
}

#[tokio::test]
async fn a_connection_that_the_system_gives_up_is_not_reset() {
    let kinds = [
        (io::ErrorKind::TimedOut, "idle-timeout"),
        (io::ErrorKind::HostUnreachable, "idle-timeout"),
        (io::ErrorKind::NetworkUnreachable, "idle-timeout"),
        (io::ErrorKind::ConnectionReset, "tcp-reset"),
    ];
    for (kind, cause) in kinds {
        let (mut tap, ending) = Tap::new(Box::new(join(Failing(kind), sink())));
        assert_eq!(tap.read(&mut [0]).await.unwrap_err().kind(), kind);
        assert_eq!(ending.get().unwrap().cause(), cause);
    }
}

#[tokio::test]
async fn a_close_between_chunks_is_an_eof() {
    let (text, end, _) = answered(format!("{CHUNKED}{}", chunk("one\n"))).await;
    assert_eq!(
        (text.as_str(), end),
        (
            "one\n",
            Err(BodyEnd::Eof {
                is_unclean_tls: false
            })
        )
    );
}

#[tokio::test]
async fn a_torn_chunk_is_an_eof_after_its_received_part() {
    let (text, end, _) = answered(format!("{CHUNKED}{}20\r\n{{\"type\":", chunk("one\n"))).await;
    assert_eq!(
        (text.as_str(), end),
        (
            "one\n{\"type\":",
            Err(BodyEnd::Eof {
                is_unclean_tls: false
            })
        )
    );
}

#[tokio::test]
async fn a_body_shorter_than_its_content_length_is_an_eof() {
    let (text, end, framing) =
        answered("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort".into()).await;
    assert_eq!((text.as_str(), framing), ("short", Framing::Length(10)));
    assert_eq!(
        end,
        Err(BodyEnd::Eof {
            is_unclean_tls: false
        })
    );
}

#[tokio::test]
async fn bytes_after_the_stated_length_of_a_body_are_not_http() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(
            &mut stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort of the truth",
        )
        .await;
        stream
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert_eq!(
        read_to_end(&mut response.body).await,
        ("short".to_owned(), Ok(()))
    );
    let end = response.body.into_connection().await.unwrap_err();
    assert_eq!(end.cause(), "decode", "{end}");
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_body_without_length_ends_with_its_connection_as_its_framing_states() {
    let (text, end, framing) = answered("HTTP/1.0 200 OK\r\n\r\nall of it".into()).await;
    assert_eq!(
        (text.as_str(), end, framing),
        ("all of it", Ok(()), Framing::UntilClose)
    );
}

#[tokio::test]
async fn a_bad_chunk_size_is_not_http() {
    let (text, end, _) = answered(format!("{CHUNKED}{}zz\r\noops\r\n", chunk("one\n"))).await;
    assert_eq!(text, "one\n");
    assert_eq!(end.unwrap_err().cause(), "decode");
}

#[tokio::test]
async fn an_endless_chunk_size_is_not_http() {
    let (_, end, _) = answered(format!("{CHUNKED}{}\r\n", "f".repeat(100))).await;
    assert_eq!(end.unwrap_err().cause(), "decode");
}

#[tokio::test]
async fn a_tcp_reset_differs_from_a_close() {
    let (listener, port) = listen().await;
    let (was_read, has_read) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, &format!("{CHUNKED}{}", chunk("one\n"))).await;
        has_read.await.unwrap();
        reset(stream);
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "one\n");
    was_read.send(()).unwrap();
    let end = response.body.chunk().await.unwrap_err();
    assert_eq!(end.cause(), "tcp-reset");
    assert!(
        end.to_string().starts_with("the connection was reset ("),
        "{end}"
    );
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_orderly_end() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, first) = accept(&listener).await;
        write(
            &mut stream,
            &format!("{CHUNKED}{}0\r\n\r\n", chunk("one\n")),
        )
        .await;
        let second = read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 204 No Content\r\n\r\n").await;
        let third = read_head(&mut stream).await;
        write(
            &mut stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
        [first, second, third].map(|head| head.lines().next().unwrap_or_default().to_owned())
    });
    let mut connection = open(port).await;
    for (path, is_kept) in [("/one", true), ("/two", true), ("/three", false)] {
        let mut response = get(connection, path).await.unwrap();
        assert_eq!(read_to_end(&mut response.body).await.1, Ok(()));
        match response.body.into_connection().await {
            Ok(kept) if is_kept => connection = kept,
            Err(_) if !is_kept => break,
            other => panic!("{path}: kept {}", other.is_ok()),
        }
    }
    let heads = server.await.unwrap();
    assert_eq!(
        heads,
        [
            "GET /one HTTP/1.1",
            "GET /two HTTP/1.1",
            "GET /three HTTP/1.1"
        ]
    );
}

#[tokio::test]
async fn a_body_that_has_not_ended_returns_no_connection() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, &format!("{CHUNKED}{}", chunk("one\n"))).await;
        // The server sees the cancel as the end of the connection.
        read_head(&mut stream).await
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert!(response.body.chunk().await.unwrap().is_some());
    assert!(response.body.into_connection().await.is_err());
    assert_eq!(server.await.unwrap(), "");
}

#[tokio::test]
async fn waiting_for_a_chunk_can_be_cancelled_without_loss() {
    let (listener, port) = listen().await;
    let (go, gone) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, &format!("{CHUNKED}4\r\non")).await;
        gone.await.unwrap();
        write(&mut stream, "e\n\r\n0\r\n\r\n").await;
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "on");
    for _ in 0..3 {
        tokio::select! {
            biased;
            got = response.body.chunk() => panic!("nothing was sent, but {got:?} came"),
            () = tokio::task::yield_now() => {}
        }
    }
    go.send(()).unwrap();
    assert_eq!(
        read_to_end(&mut response.body).await,
        ("e\n".into(), Ok(()))
    );
    assert_eq!(response.body.bytes(), 4);
    server.await.unwrap();
}

#[tokio::test]
async fn a_collected_body_is_bounded() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = accept(&listener).await;
            write(
                &mut stream,
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
            )
            .await;
            read_head(&mut stream).await;
        }
    });
    let limit = super::harness::LIMIT;
    let response = get(open(port).await, "/").await.unwrap();
    let (whole, connection) = response.body.collect(10, limit).await.unwrap();
    assert_eq!(
        (whole.as_ref(), connection.is_some()),
        (&b"0123456789"[..], true)
    );
    drop(connection);
    let response = get(open(port).await, "/").await.unwrap();
    assert_eq!(
        response.body.collect(9, limit).await.unwrap_err(),
        CollectError::TooLarge { limit: 9 }
    );
    server.await.unwrap();
}

#[tokio::test]
async fn large_bodies_come_in_large_pieces_and_whole() {
    const CHUNKS: usize = 400;
    const CHUNK_BYTES: usize = 5_900;
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, CHUNKED).await;
        let mut all = String::new();
        for index in 0..CHUNKS {
            all.push_str(&chunk(&format!(
                "{index:0width$}\n",
                width = CHUNK_BYTES - 1
            )));
        }
        all.push_str("0\r\n\r\n");
        stream.write_all(all.as_bytes()).await.unwrap();
    });
    let mut response = get(open(port).await, "/").await.unwrap();
    let mut pieces = 0;
    let mut text = Vec::new();
    while let Some(piece) = response.body.chunk().await.unwrap() {
        pieces += 1;
        text.extend_from_slice(&piece);
    }
    assert_eq!(text.len(), CHUNKS * CHUNK_BYTES);
    for (index, line) in text.chunks(CHUNK_BYTES).enumerate() {
        assert_eq!(
            line,
            format!("{index:0width$}\n", width = CHUNK_BYTES - 1).as_bytes()
        );
    }
    assert!(pieces < 2 * CHUNKS, "{pieces} pieces of {CHUNKS} chunks");
    server.await.unwrap();
}
