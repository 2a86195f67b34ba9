//! Tunnels through a proxy: HTTP CONNECT and SOCKS5.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_socks::TargetAddr;
use tokio_socks::tcp::Socks5Stream;

use super::error::ProxyFailure;
use super::tap::Io;
use super::target::{Proxy, authority};

/// The most bytes in the head of an answer to CONNECT; a longer head is refused.
const MAX_CONNECT_HEAD_BYTES: usize = 16 * 1024;

/// Requests a tunnel to `host:port` from an HTTP proxy. After that the stream is the tunnel.
pub(super) async fn connect_http(
    io: &mut (impl Io + ?Sized),
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), ProxyFailure> {
    let server = authority(host, port);
    let mut request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n");
    if let Some((user, password)) = &proxy.credentials {
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        request.push_str(&format!("Proxy-Authorization: Basic {encoded}\r\n"));
    }
    request.push_str("\r\n");
    io.write_all(request.as_bytes())
        .await
        .map_err(ProxyFailure::Io)?;
    io.flush().await.map_err(ProxyFailure::Io)?;

    // The head is read byte by byte, so that no byte after it is taken: those are the server's.
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_CONNECT_HEAD_BYTES {
            return Err(ProxyFailure::Protocol);
        }
        match io.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(ProxyFailure::Closed);
            }
            Err(error) => return Err(ProxyFailure::Io(error)),
        }
    }
    let status_line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let status_line = std::str::from_utf8(status_line).map_err(|_| ProxyFailure::Protocol)?;
    let status = match status_line.split_once(' ') {
        Some((version, status)) if version.starts_with("HTTP/1.") => status,
        _ => return Err(ProxyFailure::Protocol),
    };
    match status.get(..3) {
        Some(code) if code.starts_with('2') => Ok(()),
        Some("407") => Err(ProxyFailure::Credentials),
        _ => Err(ProxyFailure::Status {
            status: status.chars().take(80).collect(),
        }),
    }
}

/// Requests `host:port` from a SOCKS5 proxy, which resolves the name. After that the stream is the tunnel.
pub(super) async fn connect_socks5(
    io: Box<dyn Io>,
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<Box<dyn Io>, ProxyFailure> {
    let server = match host.parse() {
        Ok(ip) => TargetAddr::Ip(std::net::SocketAddr::new(ip, port)),
        Err(_) => TargetAddr::Domain(host.into(), port),
    };
    let connected = match &proxy.credentials {
        Some((user, password)) => {
            Socks5Stream::connect_with_password_and_socket(io, server, user, password).await
        }
        None => Socks5Stream::connect_with_socket(io, server).await,
    };
    connected.map(Socks5Stream::into_inner).map_err(|error| {
        use tokio_socks::Error as Socks;
        match error {
            Socks::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                ProxyFailure::Closed
            }
            Socks::Io(error) => ProxyFailure::Io(error),
            Socks::InvalidResponseVersion
            | Socks::InvalidReservedByte
            | Socks::UnknownAddressType => ProxyFailure::Protocol,
            Socks::NoAcceptableAuthMethods
            | Socks::UnknownAuthMethod
            | Socks::PasswordAuthFailure(_)
            | Socks::AuthorizationRequired
            | Socks::InvalidAuthValues(_) => ProxyFailure::Credentials,
            other => ProxyFailure::Socks {
                detail: other.to_string(),
            },
        }
    })
}
