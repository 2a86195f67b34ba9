//! Requests, and answers that never begin.

use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Request, StatusCode};
use tokio::net::TcpListener;

use super::harness::{
    LIMIT, accept, connector, get, listen, open, plain_target, read_head, reset, write,
};
use crate::transport::{BodyEnd, SendError, Target};

#[tokio::test]
async fn a_request_carries_host_identity_encoding_and_the_base_path() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, head) = accept(&listener).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        head
    });
    let mut target = plain_target(port);
    target.endpoint.base_path = "/k8s/clusters/c-1".into();
    let connection = connector(target).open().await.unwrap();
    let request = Request::get("/api/v1/pods?watch=1&labelSelector=a%3Db")
        .header("Accept", "application/json")
        .header("Accept-Encoding", "gzip")
        .header("Host", "elsewhere")
        .body(Bytes::new())
        .unwrap();
    connection.send(request, LIMIT).await.unwrap();
    let head = server.await.unwrap();
    let (first, rest) = head.split_once("\r\n").unwrap();
    assert_eq!(
        first,
        "GET /k8s/clusters/c-1/api/v1/pods?watch=1&labelSelector=a%3Db HTTP/1.1"
    );
    let mut lines: Vec<_> = rest.trim_end().split("\r\n").map(str::to_owned).collect();
    lines.sort();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        lines,
        [
            "accept-encoding: identity".to_owned(),
            "accept: application/json".to_owned(),
            format!("host: 127.0.0.1:{port}"),
            format!("user-agent: watchscope/{version}"),
        ]
    );
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        let answer =
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
        write(&mut stream, answer).await;
        read_head(&mut stream).await
    });
    let response = get(open(port).await, "/").await.unwrap();
    assert_eq!(response.status, StatusCode::FOUND);
    assert_eq!(response.headers[LOCATION], "http://127.0.0.1:1/");
    drop(response);
    assert_eq!(server.await.unwrap(), "", "no further request came");
}

#[tokio::test]
async fn a_body_is_sent_with_its_length() {
    use tokio::io::AsyncReadExt;
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, head) = accept(&listener).await;
        let mut body = [0; 2];
        stream.read_exact(&mut body).await.unwrap();
        write(
            &mut stream,
            "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
        (head, body)
    });
    let request = Request::post("/apis")
        .body(Bytes::from_static(b"{}"))
        .unwrap();
    let response = open(port).await.send(request, LIMIT).await.unwrap();
    assert_eq!(response.status, StatusCode::CREATED);
    let (head, body) = server.await.unwrap();
    assert!(head.contains("content-length: 2\r\n"), "{head}");
    assert_eq!(&body, b"{}");
}

/// Sends one request to a server that runs `answer` on the connection after it has read the head.
async fn refused(answer: impl FnOnce(tokio::net::TcpStream) + Send + 'static) -> SendError {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (stream, _) = accept(&listener).await;
        answer(stream);
    });
    let error = get(open(port).await, "/").await.unwrap_err();
    server.await.unwrap();
    error
}

#[tokio::test]
async fn a_close_before_the_head_is_an_eof() {
    let error = refused(drop).await;
    assert_eq!(
        error,
        SendError::Ended(BodyEnd::Eof {
            is_unclean_tls: false
        })
    );
    assert_eq!(
        error.to_string(),
        "the server closed the connection, before it answered"
    );
}

#[tokio::test]
async fn a_reset_before_the_head_is_a_reset() {
    let error = refused(reset).await;
    assert!(
        matches!(error, SendError::Ended(BodyEnd::TcpReset { .. })),
        "{error}"
    );
}

/// Returns the error for the head of this answer.
async fn head_error(head: String) -> SendError {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await;
        read_head(&mut stream).await;
    });
    let error = get(open(port).await, "/").await.unwrap_err();
    server.await.unwrap();
    error
}

#[tokio::test]
async fn heads_that_are_too_long_or_not_http_are_refused() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n",
        "x".repeat(80 * 1024)
    );
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Many: x\r\n".repeat(200));
    let endless = format!("HTTP/1.1 200 OK\r\nX-Endless: {}", "x".repeat(1024 * 1024));
    for head in [
        long,
        many,
        endless,
        "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(),
    ] {
        let error = head_error(head).await;
        assert!(matches!(error, SendError::BadHead { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_head_within_the_limits_passes() {
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        let many = "X-Many: x\r\n".repeat(120);
        write(
            &mut stream,
            &format!(
                "HTTP/1.1 200 OK\r\n{many}Content-Length: 0\r\nX-Long: {}\r\n\r\n",
                "x".repeat(40_000)
            ),
        )
        .await;
    });
    let response = get(open(port).await, "/").await.unwrap();
    assert_eq!(response.headers.get_all("x-many").iter().count(), 120);
    server.await.unwrap();
}

#[tokio::test]
async fn missing_headers_time_out() {
    let (listener, port) = listen().await;
    let (seen, was_seen) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = accept(&listener).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\nX-Slow:").await;
        seen.send(()).unwrap();
        read_head(&mut stream).await
    });
    let limit = Duration::from_secs(30);
    let request = Request::get("/").body(Bytes::new()).unwrap();
    let sending = tokio::spawn(open(port).await.send(request, limit));
    was_seen.await.unwrap();
    tokio::time::pause();
    let error = sending.await.unwrap().unwrap_err();
    assert_eq!(error, SendError::HeaderTimeout { limit });
    assert_eq!(error.to_string(), "no response headers within 30 s");
    assert_eq!(server.await.unwrap(), "", "the connection is closed");
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_stale_and_has_its_cause() {
    async fn answer_then_close(listener: &TcpListener) {
        let (mut stream, _) = accept(listener).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    }
    let (listener, port) = listen().await;
    for is_waited_for in [true, false] {
        let connection = open(port).await;
        let (response, ()) = tokio::join!(get(connection, "/"), answer_then_close(&listener));
        let mut body = response.unwrap().body;
        assert_eq!(body.chunk().await.unwrap(), None);
        if let Ok(mut connection) = body.into_connection().await {
            if is_waited_for {
                assert_eq!(
                    connection.ended().await,
                    BodyEnd::Eof {
                        is_unclean_tls: false
                    }
                );
            }
            let error = get(connection, "/").await.unwrap_err();
            let is_stale = matches!(error, SendError::Stale);
            let is_ended = matches!(error, SendError::Ended(_));
            assert!(is_stale || (is_ended && !is_waited_for), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_base_path_that_cannot_be_sent_is_an_error() {
    let (_listener, port) = listen().await;
    let mut target: Target = plain_target(port);
    target.endpoint.base_path = "/with space".into();
    let connection = connector(target).open().await.unwrap();
    let error = get(connection, "/api").await.unwrap_err();
    assert!(matches!(error, SendError::BadRequest { .. }), "{error:?}");
}
