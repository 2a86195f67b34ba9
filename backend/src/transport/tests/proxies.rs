//! Connections through proxies.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::authority::{Authority, tls_target};
use super::harness::{accept, connector, get, listen, plain_target, read_head, write};
use crate::transport::{DialError, Proxy, ProxyFailure, Target};

fn through(target: Target, proxy: &str) -> Target {
    Target {
        proxy: Some(Proxy::parse(proxy).unwrap()),
        ..target
    }
}

/// Answers one request with the request line.
async fn serve_once(listener: TcpListener) {
    let (mut stream, head) = accept(&listener).await;
    let line = head.lines().next().unwrap();
    write(
        &mut stream,
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        ),
    )
    .await;
}

async fn tunnel(mut client: TcpStream, port: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

#[tokio::test]
async fn an_http_proxy_is_asked_to_connect() {
    let (server, server_port) = listen().await;
    let (proxy, proxy_port) = listen().await;
    let serving = tokio::spawn(serve_once(server));
    let proxying = tokio::spawn(async move {
        let (mut stream, head) = accept(&proxy).await;
        write(
            &mut stream,
            "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n",
        )
        .await;
        tunnel(stream, server_port).await;
        head
    });
    let target = through(
        plain_target(server_port),
        &format!("http://me:secret@127.0.0.1:{proxy_port}"),
    );
    let connection = connector(target).open().await.unwrap();
    let facts = connection.facts().clone();
    assert_eq!(facts.remote.port(), proxy_port);
    assert_eq!(facts.proxy, Some(format!("http://127.0.0.1:{proxy_port}")));
    assert!(facts.times.proxy.is_some());
    let mut body = get(connection, "/api").await.unwrap().body;
    assert_eq!(body.chunk().await.unwrap().unwrap(), "GET /api HTTP/1.1");
    drop(body);
    serving.await.unwrap();
    assert_eq!(
        proxying.await.unwrap(),
        format!(
            "CONNECT 127.0.0.1:{server_port} HTTP/1.1\r\nHost: 127.0.0.1:{server_port}\r\n\
             Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n"
        )
    );
}

#[tokio::test]
async fn tls_to_the_server_goes_through_tls_to_the_proxy() {
    let authority = Authority::new("ours");
    let (server, server_port) = listen().await;
    let (proxy, proxy_port) = listen().await;
    let proxy_config = authority.server_config(authority.loopback(), false);
    let server_config = authority.server_config(authority.loopback(), false);
    let serving = tokio::spawn(async move {
        let (stream, _) = server.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(server_config)
            .accept(stream)
            .await
            .unwrap();
        read_head(&mut stream).await;
        write(
            &mut stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        )
        .await;
        stream.shutdown().await.unwrap();
    });
    let proxying = tokio::spawn(async move {
        let (stream, _) = proxy.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(proxy_config)
            .accept(stream)
            .await
            .unwrap();
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\n\r\n").await;
        let mut server = TcpStream::connect(("127.0.0.1", server_port))
            .await
            .unwrap();
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    });
    let target = through(
        tls_target(server_port, &authority),
        &format!("https://127.0.0.1:{proxy_port}"),
    );
    let connection = connector(target).open().await.unwrap();
    assert_eq!(connection.facts().tls.as_ref().unwrap().version, "1.3");
    let mut body = get(connection, "/").await.unwrap().body;
    assert_eq!(body.chunk().await.unwrap().unwrap(), "ok");
    drop(body);
    serving.await.unwrap();
    proxying.await.unwrap();
}

/// Returns why no connection through that proxy was opened.
async fn refused_through(proxy: &str) -> DialError {
    let target = through(plain_target(6443), proxy);
    connector(target).open().await.unwrap_err()
}

fn is_no_proxy(error: &DialError) -> bool {
    let DialError::Proxy { failure, .. } = error else {
        return false;
    };
    matches!(failure, ProxyFailure::Protocol)
}

/// Returns the error for this answer of an HTTP proxy.
async fn refusal(answer: &'static str) -> DialError {
    let (proxy, proxy_port) = listen().await;
    let proxying = tokio::spawn(async move {
        let (mut stream, _) = accept(&proxy).await;
        let _ = stream.write_all(answer.as_bytes()).await;
    });
    let error = refused_through(&format!("http://127.0.0.1:{proxy_port}")).await;
    proxying.await.unwrap();
    assert_eq!(error.code(), "proxy");
    error
}

#[tokio::test]
async fn a_proxys_other_answer_is_in_the_error() {
    let text = refusal("HTTP/1.1 403 Forbidden by policy\r\nContent-Length: 0\r\n\r\n")
        .await
        .to_string();
    assert!(text.starts_with("the proxy http://127.0.0.1:"), "{text}");
    assert!(
        text.ends_with(" did not connect to 127.0.0.1:6443: it answered 403 Forbidden by policy"),
        "{text}"
    );
    for (answer, is_expected) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            (|it| matches!(it, ProxyFailure::Credentials)) as fn(_) -> bool,
        ),
        ("", |it| matches!(it, ProxyFailure::Closed)),
        ("HTTP/1.1 200 OK\r\nVia:", |it| {
            matches!(it, ProxyFailure::Closed)
        }),
        ("220 mail.example ESMTP\r\n\r\n", |it| {
            matches!(it, ProxyFailure::Protocol)
        }),
        ("\u{fffd}\r\n\r\n", |it| {
            matches!(it, ProxyFailure::Protocol)
        }),
    ] {
        match refusal(answer).await {
            DialError::Proxy { failure, .. } => assert!(is_expected(failure), "{answer:?}"),
            other => panic!("{answer:?}: {other}"),
        }
    }
}

#[tokio::test]
async fn an_endless_answer_of_a_proxy_is_refused() {
    let (proxy, proxy_port) = listen().await;
    let proxying = tokio::spawn(async move {
        let (mut stream, _) = accept(&proxy).await;
        while stream.write_all(&[b'x'; 1024]).await.is_ok() {}
    });
    let error = refused_through(&format!("http://127.0.0.1:{proxy_port}")).await;
    assert!(is_no_proxy(&error), "{error:?}");
    proxying.await.unwrap();
}

#[tokio::test]
async fn a_silent_proxy_times_out() {
    let (proxy, proxy_port) = listen().await;
    let (asked, was_asked) = oneshot::channel();
    let proxying = tokio::spawn(async move {
        let (mut stream, _) = accept(&proxy).await;
        asked.send(()).unwrap();
        read_head(&mut stream).await;
    });
    let target = through(
        plain_target(6443),
        &format!("http://127.0.0.1:{proxy_port}"),
    );
    let opening = tokio::spawn(async move { connector(target).open().await.map(drop) });
    was_asked.await.unwrap();
    tokio::time::pause();
    assert_eq!(
        opening.await.unwrap().unwrap_err().to_string(),
        format!(
            "no answer from 127.0.0.1:{proxy_port} within 10 s while asking the proxy to connect"
        )
    );
    proxying.await.unwrap();
}

/// A SOCKS5 proxy (RFC 1928, 1929) that demands a password, answers `reply`, and makes a tunnel if that is 0.
async fn serve_socks5(listener: TcpListener, reply: u8, port: u16) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut greeting = [0; 2];
    stream.read_exact(&mut greeting).await.unwrap();
    let mut methods = vec![0; greeting[1].into()];
    stream.read_exact(&mut methods).await.unwrap();
    assert!(methods.contains(&2), "user and password are offered");
    stream.write_all(&[5, 2]).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 1);
    let mut words = Vec::new();
    for _ in 0..2 {
        let mut word = vec![0; stream.read_u8().await.unwrap().into()];
        stream.read_exact(&mut word).await.unwrap();
        words.push(String::from_utf8(word).unwrap());
    }
    stream.write_all(&[1, 0]).await.unwrap();
    let mut command = [0; 4];
    stream.read_exact(&mut command).await.unwrap();
    assert_eq!(command, [5, 1, 0, 3], "connect to a name");
    let mut name = vec![0; stream.read_u8().await.unwrap().into()];
    stream.read_exact(&mut name).await.unwrap();
    words.push(String::from_utf8(name).unwrap());
    assert_eq!(stream.read_u16().await.unwrap(), port);
    stream
        .write_all(&[5, reply, 0, 1, 127, 0, 0, 1, 0, 0])
        .await
        .unwrap();
    if reply == 0 {
        tunnel(stream, port).await;
    }
    words.join(" ")
}

#[tokio::test]
async fn a_socks5_proxy_resolves_the_name_itself() {
    let (server, server_port) = listen().await;
    let (proxy, proxy_port) = listen().await;
    let serving = tokio::spawn(serve_once(server));
    let proxying = tokio::spawn(serve_socks5(proxy, 0, server_port));
    let mut target = through(
        plain_target(server_port),
        &format!("socks5://me:secret@127.0.0.1:{proxy_port}"),
    );
    target.endpoint.host = "only.the-proxy-knows.example".into();
    let connection = connector(target).open().await.unwrap();
    let mut body = get(connection, "/api").await.unwrap().body;
    assert_eq!(body.chunk().await.unwrap().unwrap(), "GET /api HTTP/1.1");
    drop(body);
    serving.await.unwrap();
    assert_eq!(
        proxying.await.unwrap(),
        "me secret only.the-proxy-knows.example"
    );
}

#[tokio::test]
async fn a_socks5_proxys_refusal_is_in_the_error() {
    let (proxy, proxy_port) = listen().await;
    let proxying = tokio::spawn(serve_socks5(proxy, 5, 6443));
    let mut target = through(
        plain_target(6443),
        &format!("socks5://me:secret@127.0.0.1:{proxy_port}"),
    );
    target.endpoint.host = "api.example".into();
    let error = connector(target).open().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the proxy socks5://127.0.0.1:{proxy_port} did not connect to api.example:6443: it answered: Connection refused"
        )
    );
    proxying.await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_no_socks5_proxy_is_recognised() {
    let (proxy, proxy_port) = listen().await;
    let proxying = tokio::spawn(async move {
        let (mut stream, _) = proxy.accept().await.unwrap();
        write(&mut stream, "HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let error = refused_through(&format!("socks5://127.0.0.1:{proxy_port}")).await;
    assert!(is_no_proxy(&error), "{error:?}");
    proxying.await.unwrap();
}

#[tokio::test]
async fn a_proxy_port_without_a_listener_refuses() {
    let (proxy, proxy_port) = listen().await;
    drop(proxy);
    let error = refused_through(&format!("http://127.0.0.1:{proxy_port}")).await;
    assert_eq!(
        error.to_string(),
        format!("127.0.0.1:{proxy_port} refused the connection")
    );
}
