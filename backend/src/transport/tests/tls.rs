//! TLS: its facts, its failures and its ends.

use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::authority::{Authority, Identity, tls_target};
use super::harness::{CHUNKED, chunk, connector, get, listen, read_head, reset, write};
use crate::transport::{BodyEnd, DialError, SendError, TlsFailure};

pub(super) async fn accept_tls(
    listener: &TcpListener,
    config: Arc<ServerConfig>,
) -> TlsStream<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    TlsAcceptor::from(config).accept(stream).await.unwrap()
}

/// Opens a connection to a server that shows `identity`. Returns the failure.
async fn failure(authority: &Authority, identity: Identity) -> TlsFailure {
    let (listener, port) = listen().await;
    let config = authority.server_config(identity, false);
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = TlsAcceptor::from(config).accept(stream).await;
    });
    let error = connector(tls_target(port, authority))
        .open()
        .await
        .unwrap_err();
    server.await.unwrap();
    match error {
        DialError::Tls { server, failure } => {
            assert_eq!(server, format!("localhost:{port}"));
            failure
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_handshakes_outcome_is_known() {
    let authority = Authority::new("test authority");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.loopback(), false);
    let server = tokio::spawn(async move {
        let mut handshakes = Vec::new();
        for _ in 0..2 {
            let mut stream = accept_tls(&listener, config.clone()).await;
            read_head(&mut stream).await;
            write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            handshakes.push(stream.get_ref().1.handshake_kind());
            stream.shutdown().await.unwrap();
        }
        handshakes
    });
    let connector = connector(tls_target(port, &authority));
    for _ in 0..2 {
        let connection = connector.open().await.unwrap();
        let facts = Arc::clone(connection.facts());
        assert_eq!(
            get(connection, "/")
                .await
                .unwrap()
                .body
                .chunk()
                .await
                .unwrap(),
            None
        );
        let tls = facts.tls.as_ref().unwrap();
        assert_eq!(tls.version, "1.3");
        assert!(tls.cipher.starts_with("TLS13_AES_"), "{}", tls.cipher);
        assert_eq!(facts.alpn.as_deref(), Some("http/1.1"));
        assert!(facts.times.tls.is_some());
    }
    // The first connection must not let the second one go without a certificate.
    let full = Some(HandshakeKind::Full);
    assert_eq!(server.await.unwrap(), [full, full]);
}

#[tokio::test]
async fn an_unknown_authority_is_named_as_such() {
    let authority = Authority::new("ours");
    let failure = failure(&authority, Authority::new("another").loopback()).await;
    assert_eq!(failure, TlsFailure::UnknownAuthority);
    assert_eq!(failure.code(), "tls-unknown-authority");
}

#[tokio::test]
async fn expired_and_not_yet_valid_certificates_differ() {
    let authority = Authority::new("ours");
    let expired = authority.issue(&["localhost"], 2001, 2002);
    assert_eq!(failure(&authority, expired).await, TlsFailure::Expired);
    let early = authority.issue(&["localhost"], 2110, 2120);
    assert_eq!(failure(&authority, early).await, TlsFailure::NotYetValid);
}

#[tokio::test]
async fn a_certificate_for_other_names_lists_them() {
    let authority = Authority::new("ours");
    let failure = failure(
        &authority,
        authority.issue(&["api.example", "10.0.0.1"], 2020, 2120),
    )
    .await;
    assert_eq!(
        failure.to_string(),
        "its certificate is not for localhost but for api.example, 10.0.0.1"
    );
}

#[tokio::test]
async fn another_name_to_verify_can_be_given() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.issue(&["api.example"], 2020, 2120), false);
    let server = tokio::spawn(async move {
        accept_tls(&listener, config)
            .await
            .get_ref()
            .1
            .server_name()
            .map(str::to_owned)
    });
    let mut target = tls_target(port, &authority);
    target.tls_server_name = Some("api.example".into());
    connector(target.clone()).open().await.unwrap();
    assert_eq!(server.await.unwrap().as_deref(), Some("api.example"));
    target.tls_server_name = Some("not a name".into());
    let (_listener, target_port) = listen().await;
    target.endpoint.port = target_port;
    let error = connector(target).open().await.unwrap_err();
    assert!(
        matches!(
            error,
            DialError::Tls {
                failure: TlsFailure::BadName { .. },
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_recognised() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        write(
            &mut stream,
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent TLS to an HTTP server.\n",
        )
        .await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let error = connector(tls_target(port, &authority))
        .open()
        .await
        .unwrap_err();
    assert_eq!(error.code(), "tls-not-spoken");
    server.await.unwrap();
}

#[tokio::test]
async fn a_close_during_the_handshake_is_a_close() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let server = tokio::spawn(async move { drop(listener.accept().await.unwrap()) });
    let error = connector(tls_target(port, &authority))
        .open()
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            DialError::Tls {
                failure: TlsFailure::Closed,
                ..
            }
        ),
        "{error:?}"
    );
    server.await.unwrap();
}

#[tokio::test]
async fn a_handshake_that_gets_no_answer_times_out() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let (greeted, has_greeted) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        greeted.send(()).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let opening = tokio::spawn(async move {
        connector(tls_target(port, &authority))
            .open()
            .await
            .map(drop)
    });
    has_greeted.await.unwrap();
    tokio::time::pause();
    let error = opening.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("no answer from localhost:{port} within 10 s while waiting for the TLS handshake")
    );
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate_says_so_before_it_answers() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.loopback(), true);
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        assert!(TlsAcceptor::from(config).accept(stream).await.is_err());
    });
    let error = match connector(tls_target(port, &authority)).open().await {
        Ok(connection) => get(connection, "/").await.unwrap_err(),
        Err(error) => panic!("TLS 1.3 completes on our side first: {error}"),
    };
    assert!(error.may_be_cured_by_new_credentials(), "{error:?}");
    assert_eq!(
        error.to_string(),
        "TLS failed: the server rejected the client certificate (CertificateRequired), before it answered"
    );
    server.await.unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_presented() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.loopback(), true);
    let server = tokio::spawn(async move {
        let stream = accept_tls(&listener, config).await;
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    });
    let identity = authority.issue(&["viewer"], 2020, 2120);
    let shown = identity.chain[0].clone();
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let settings = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_client_auth_cert(identity.chain, identity.key)
        .unwrap();
    let mut target = tls_target(port, &authority);
    target.tls = Some(Arc::new(settings));
    let connection = connector(target).open().await.unwrap();
    assert_eq!(connection.facts().alpn.as_deref(), Some("http/1.1"));
    assert_eq!(server.await.unwrap(), shown);
}

enum Close {
    Notified,
    Unnotified,
    Reset,
    Garbage,
}

/// Returns how a chunked body over TLS ends when its connection is closed in this way.
async fn end_after(close: Close) -> BodyEnd {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.loopback(), false);
    let (was_read, has_read) = oneshot::channel();
    let server = tokio::spawn(async move {
        let mut stream = accept_tls(&listener, config).await;
        read_head(&mut stream).await;
        write(&mut stream, &format!("{CHUNKED}{}", chunk("one\n"))).await;
        has_read.await.unwrap();
        match close {
            Close::Notified => stream.shutdown().await.unwrap(),
            Close::Unnotified => drop(stream.into_inner().0),
            Close::Reset => reset(stream.into_inner().0),
            Close::Garbage => {
                write(
                    &mut stream.into_inner().0,
                    "\x17\x03\x03\x00\x20 thirty-two bytes nobody sealed.",
                )
                .await
            }
        }
    });
    let connection = connector(tls_target(port, &authority))
        .open()
        .await
        .unwrap();
    let mut response = get(connection, "/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "one\n");
    was_read.send(()).unwrap();
    let end = response.body.chunk().await.unwrap_err();
    server.await.unwrap();
    end
}

#[tokio::test]
async fn the_ends_of_a_body_over_tls_differ() {
    assert_eq!(
        end_after(Close::Notified).await,
        BodyEnd::Eof {
            is_unclean_tls: false
        }
    );
    let unclean = end_after(Close::Unnotified).await;
    assert_eq!(
        unclean,
        BodyEnd::Eof {
            is_unclean_tls: true
        }
    );
    assert_eq!(
        unclean.to_string(),
        "the server closed the connection without ending TLS"
    );
    assert_eq!(end_after(Close::Reset).await.cause(), "tcp-reset");
    assert_eq!(end_after(Close::Garbage).await.cause(), "tls");
}

#[tokio::test]
async fn settings_can_be_missing_without_a_panic() {
    let authority = Authority::new("ours");
    let (_listener, port) = listen().await;
    let mut target = tls_target(port, &authority);
    target.tls = None;
    assert_eq!(connector(target).open().await.unwrap_err().code(), "tls");
}

#[tokio::test]
async fn waiting_for_an_answer_over_tls_can_time_out() {
    let authority = Authority::new("ours");
    let (listener, port) = listen().await;
    let config = authority.server_config(authority.loopback(), false);
    let (asked, was_asked) = oneshot::channel();
    let server = tokio::spawn(async move {
        let mut stream = accept_tls(&listener, config).await;
        read_head(&mut stream).await;
        asked.send(()).unwrap();
        read_head(&mut stream).await;
    });
    let connection = connector(tls_target(port, &authority))
        .open()
        .await
        .unwrap();
    let sending = tokio::spawn(get(connection, "/"));
    was_asked.await.unwrap();
    tokio::time::pause();
    let error = sending.await.unwrap().unwrap_err();
    assert_eq!(
        error,
        SendError::HeaderTimeout {
            limit: Duration::from_secs(20)
        }
    );
    server.await.unwrap();
}
