//! Connections that can be opened, and those that cannot.

use std::time::Duration;

#[cfg(target_os = "linux")]
use tokio::net::{TcpSocket, TcpStream};

use super::harness::{connector, listen, open, plain_target};
use crate::transport::{Connector, Endpoint};

fn at(url: &str) -> Connector {
    let mut target = plain_target(1);
    target.endpoint = Endpoint::from_uri(&url.parse().unwrap()).unwrap();
    connector(target)
}

#[tokio::test]
async fn an_open_connection_knows_its_ends() {
    let (listener, port) = listen().await;
    let connection = open(port).await;
    let (_, client) = listener.accept().await.unwrap();
    let facts = connection.facts();
    assert_eq!(
        (facts.local, facts.remote),
        (client, listener.local_addr().unwrap())
    );
    assert_eq!(facts.server, format!("127.0.0.1:{port}"));
    assert_eq!(
        (&facts.proxy, &facts.tls, &facts.alpn),
        (&None, &None, &None)
    );
    assert_eq!((facts.times.proxy, facts.times.tls), (None, None));
    assert!(facts.times.connect > Duration::ZERO);
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let (listener, port) = listen().await;
    drop(listener);
    let error = connector(plain_target(port)).open().await.unwrap_err();
    assert_eq!(error.code(), "refused");
    assert_eq!(
        error.to_string(),
        format!("127.0.0.1:{port} refused the connection")
    );
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    // Most systems also give localhost an IPv6 address. The listener is on IPv4 only.
    let (listener, port) = listen().await;
    let connection = at(&format!("http://localhost:{port}"))
        .open()
        .await
        .unwrap();
    assert_eq!(connection.facts().remote, listener.local_addr().unwrap());
    assert!(connection.facts().times.connect < Duration::from_secs(5));
}

#[tokio::test]
async fn a_name_without_address_is_not_resolved() {
    // RFC 6761 section 6.4: no name below .invalid exists. An empty label fails without a query.
    for host in ["no-such-host.invalid", "a..b"] {
        let error = at(&format!("http://{host}:6443")).open().await.unwrap_err();
        assert_eq!(error.code(), "dns", "{error}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("the name {host} could not be resolved: ")),
            "{error}"
        );
    }
}

/// Linux drops further SYNs to a listener whose accept queue is full. A firewall that drops packets looks the same.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_that_does_not_answer_times_out() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let port = listener.local_addr().unwrap().port();
    let _fills_the_queue = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    tokio::time::pause();
    let error = connector(plain_target(port)).open().await.unwrap_err();
    assert_eq!(error.code(), "timeout");
    assert_eq!(
        error.to_string(),
        format!("no answer from 127.0.0.1:{port} within 10 s while connecting")
    );
}
