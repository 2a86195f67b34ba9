//! A server whose every byte the test writes.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::transport::{
    Connection, Connector, DialLimits, Endpoint, Protocols, Response, SendError, Target,
};

/// A timeout: long enough for anything on loopback, short enough for a failing test.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Opens a listener on a free port. Returns it with the port.
pub(crate) async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Makes a target without TLS on loopback.
pub(crate) fn plain_target(port: u16) -> Target {
    let endpoint =
        Endpoint::from_uri(&format!("http://127.0.0.1:{port}").parse().unwrap()).unwrap();
    Target {
        endpoint,
        pin: None,
        proxy: None,
        tls: None,
        tls_server_name: None,
        protocols: Protocols::default(),
    }
}

/// Makes a connector with default limits.
pub(crate) fn connector(target: Target) -> Connector {
    Connector::new(target, DialLimits::default())
}

/// Opens a connection without TLS to a port.
pub(crate) async fn open(port: u16) -> Connection {
    connector(plain_target(port)).open().await.unwrap()
}

/// Sends GET `path` and waits for the head.
pub(crate) async fn get(connection: Connection, path: &str) -> Result<Response, SendError> {
    let request = Request::get(path).body(Bytes::new()).unwrap();
    connection.send(request, LIMIT).await
}

/// Reads the head of one request; it is empty if the client closed instead.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

/// Accepts a connection and reads the head of a request.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let head = read_head(&mut stream).await;
    (stream, head)
}

/// Writes and flushes.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &str) {
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// The head of a 200 with a chunked body.
pub(crate) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Makes one HTTP chunk.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Closes with a TCP reset.
pub(crate) fn reset(stream: TcpStream) {
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(stream);
}
