//! The errors of a connection. Each variant is one kind of failure, and its text is a sentence for the user.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The name has no address.
    #[error("the name {host} could not be resolved: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// Nothing listens there, or a firewall refuses.
    #[error("{address} refused the connection")]
    Refused {
        /// The last address that was tried.
        address: String,
    },
    /// A step exceeded its timeout.
    #[error("no answer from {address} within {} s while {step}", limit.as_secs_f64())]
    Timeout {
        /// The address that was dialled.
        address: String,
        /// The step, as in "while …".
        step: &'static str,
        /// The timeout.
        limit: Duration,
    },
    /// Any other failure of the network.
    #[error("{address} cannot be reached: {source}")]
    Unreachable {
        /// The last address that was tried.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("TLS with {server} failed: {failure}")]
    Tls {
        /// `host:port` of the server (or proxy).
        server: String,
        /// The reason.
        failure: TlsFailure,
    },
    /// The proxy did not make the connection.
    #[error("the proxy {proxy} did not connect to {server}: {failure}")]
    Proxy {
        /// The proxy, without its password.
        proxy: String,
        /// The requested `host:port`.
        server: String,
        /// The reason.
        failure: ProxyFailure,
    },
}

impl DialError {
    /// A short stable word for events and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Resolve { .. } => "dns",
            Self::Refused { .. } => "refused",
            Self::Timeout { .. } => "timeout",
            Self::Unreachable { .. } => "unreachable",
            Self::Tls { failure, .. } => failure.code(),
            Self::Proxy { .. } => "proxy",
        }
    }

    /// Whether new credentials and TLS settings may help: after a CA was rotated, or if the server no longer accepts the
    /// client certificate.
    pub fn may_be_cured_by_new_credentials(&self) -> bool {
        matches!(
            self,
            Self::Tls {
                failure: TlsFailure::UnknownAuthority | TlsFailure::ClientCertificate { .. },
                ..
            }
        )
    }

    pub(crate) fn from_connect(address: String, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused { address },
            _ => Self::Unreachable { address, source },
        }
    }
}

/// Why a TLS handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    /// The chain ends in no trusted authority.
    #[error(
        "its certificate is signed by an authority that is not trusted; check certificate-authority in the kubeconfig"
    )]
    UnknownAuthority,
    /// The server's certificate has expired.
    #[error("its certificate has expired; check the server's certificate and this machine's clock")]
    Expired,
    /// The server's certificate is not valid yet.
    #[error("its certificate is not valid yet; check this machine's clock")]
    NotYetValid,
    /// The certificate is for other names.
    #[error(
        "its certificate is not for {expected} but for {}",
        presented_text(presented)
    )]
    NameMismatch {
        /// The name that was expected.
        expected: String,
        /// The certificate's names.
        presented: Vec<String>,
    },
    /// Another fault of the server's certificate.
    #[error("its certificate was rejected: {detail}")]
    Certificate {
        /// The fault.
        detail: String,
    },
    /// The server rejected our certificate.
    #[error("the server rejected the client certificate ({alert})")]
    ClientCertificate {
        /// The TLS alert.
        alert: String,
    },
    /// The server does not speak TLS.
    #[error("what answers there does not speak TLS; is it an http:// server?")]
    NotTls,
    /// The name to verify is neither a DNS name nor an address.
    #[error("{name} is not a name a certificate can be checked against; check tls-server-name")]
    BadName {
        /// The name.
        name: String,
    },
    /// The connection ended during the handshake.
    #[error("the connection was closed during the handshake")]
    Closed,
    /// Any other failure.
    #[error("{detail}")]
    Other {
        /// The TLS library's error.
        detail: String,
    },
}

impl TlsFailure {
    /// A short stable word for events and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownAuthority => "tls-unknown-authority",
            Self::Expired => "tls-expired",
            Self::NotYetValid => "tls-not-yet-valid",
            Self::NameMismatch { .. } => "tls-name-mismatch",
            Self::ClientCertificate { .. } => "tls-client-certificate",
            Self::NotTls => "tls-not-spoken",
            Self::Certificate { .. } | Self::BadName { .. } | Self::Closed | Self::Other { .. } => {
                "tls"
            }
        }
    }

    pub(crate) fn from_io(error: &io::Error) -> Self {
        match error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        {
            Some(tls) => Self::from_rustls(tls),
            None => match error.kind() {
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe => Self::Closed,
                _ => Self::Other {
                    detail: error.to_string(),
                },
            },
        }
    }

    pub(super) fn from_rustls(error: &rustls::Error) -> Self {
        use rustls::Error as Tls;
        match error {
            Tls::InvalidCertificate(certificate) => match certificate {
                CertificateError::UnknownIssuer => Self::UnknownAuthority,
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    Self::Expired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Self::NotYetValid
                }
                CertificateError::NotValidForNameContext {
                    expected,
                    presented,
                } => Self::NameMismatch {
                    expected: expected.to_str().into_owned(),
                    presented: presented.iter().map(|name| plain_name(name)).collect(),
                },
                other => Self::Certificate {
                    detail: other.to_string(),
                },
            },
            Tls::AlertReceived(
                alert @ (AlertDescription::BadCertificate
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateRequired
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::AccessDenied),
            ) => Self::ClientCertificate {
                alert: format!("{alert:?}"),
            },
            Tls::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            other => Self::Other {
                detail: other.to_string(),
            },
        }
    }
}

/// Why a proxy did not make the connection.
#[derive(Debug, thiserror::Error)]
pub enum ProxyFailure {
    /// It answered CONNECT with a status other than 2xx.
    #[error("it answered {status}")]
    Status {
        /// The code and reason of the status line.
        status: String,
    },
    /// It demands a user and password, or others.
    #[error("it refused the user and password (or their absence)")]
    Credentials,
    /// It speaks another protocol.
    #[error("its answer is not that of a proxy of this kind")]
    Protocol,
    /// It closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// A refusal of SOCKS5.
    #[error("it answered: {detail}")]
    Socks {
        /// The meaning of the reply.
        detail: String,
    },
    /// The network between us and the proxy failed.
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Why a response never began. In every case the connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The server had closed the idle connection before the request was written. The request can be sent again on a new one.
    #[error("the server had already closed the connection")]
    Stale,
    /// The connection ended before the response's head was complete.
    #[error("{0}, before it answered")]
    Ended(#[source] BodyEnd),
    /// The head was not complete within the caller's timeout.
    #[error("no response headers within {} s", limit.as_secs_f64())]
    HeaderTimeout {
        /// The timeout.
        limit: Duration,
    },
    /// The head is not valid HTTP, or has too many bytes or lines.
    #[error(
        "the response's headers are malformed, or more than {max_bytes} bytes or {max_lines} lines: {detail}"
    )]
    BadHead {
        /// The parser's error.
        detail: String,
        /// The limit in bytes.
        max_bytes: usize,
        /// The limit in lines.
        max_lines: usize,
    },
    /// The request itself cannot be sent.
    #[error("the request for {path} is not one that can be sent: {detail}")]
    BadRequest {
        /// The path of the request.
        path: String,
        /// The fault.
        detail: String,
    },
}

/// Why a body ended other than by its orderly end. A local cancel is not among them, since the caller that drops a
/// [`Body`](super::Body) knows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyEnd {
    /// The connection was closed without the body's end. The reader of frames knows whether this was inside a frame.
    #[error("the server closed the connection{}", if *is_unclean_tls { " without ending TLS" } else { "" })]
    Eof {
        /// Whether TLS ended without a close_notify: the process died, or something in between cut the connection.
        is_unclean_tls: bool,
    },
    /// A TCP reset.
    #[error("the connection was reset ({detail})")]
    TcpReset {
        /// The system's error.
        detail: String,
    },
    /// Packets were not acknowledged any more, and the kernel gave the connection up (keepalive, routing).
    #[error("the server did not answer any more, and the connection was given up ({detail})")]
    GivenUp {
        /// The system's error.
        detail: String,
    },
    /// TLS failed: a fatal alert, or a record that does not verify. With TLS 1.3 a server rejects our certificate only now,
    /// after the handshake.
    #[error("TLS failed: {failure}")]
    Tls {
        /// The reason.
        failure: TlsFailure,
    },
    /// The connection was closed inside an HTTP/2 frame of this body. The received part of the frame is lost.
    #[error("the server closed the connection inside a frame")]
    EofInFrame,
    /// The server ended this stream but not the connection (HTTP/2 RST_STREAM).
    #[error("the server reset the stream ({})", code_name(*code))]
    Reset {
        /// The error code (RFC 9113 section 7).
        code: u32,
    },
    /// The server takes no more streams on the connection, and ended this one too (HTTP/2 GOAWAY).
    #[error("the server sent GOAWAY ({})", code_name(*code))]
    GoAway {
        /// The error code (RFC 9113 section 7).
        code: u32,
    },
    /// Nothing came for the limit, not even an answer to a ping (HTTP/2 PING).
    #[error("nothing came for {} s, not even an answer to a ping", limit.as_secs())]
    Silent {
        /// The time without a byte.
        limit: Duration,
    },
    /// The bytes are not HTTP: a bad chunk size, or a malformed head or frame.
    #[error("the server sent something that is not HTTP: {detail}")]
    Malformed {
        /// The parser's error.
        detail: String,
    },
}

impl SendError {
    /// Whether new credentials and TLS settings may help.
    pub fn may_be_cured_by_new_credentials(&self) -> bool {
        matches!(
            self,
            Self::Ended(BodyEnd::Tls {
                failure: TlsFailure::ClientCertificate { .. }
            })
        )
    }
}

impl BodyEnd {
    /// The cause as `stream.ended` names it. (`eof` becomes `eof-in-frame` if a frame was open.)
    pub fn cause(&self) -> &'static str {
        match self {
            Self::Eof { .. } => "eof",
            Self::TcpReset { .. } => "tcp-reset",
            Self::Tls { .. } => "tls",
            Self::EofInFrame => "eof-in-frame",
            Self::Reset { .. } => "rst-stream",
            Self::GoAway { .. } => "goaway",
            Self::Silent { .. } | Self::GivenUp { .. } => "idle-timeout",
            Self::Malformed { .. } => "decode",
        }
    }
}

/// Why a body could not be read completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// It did not end in order.
    #[error("{0}, in the middle of its answer")]
    Ended(#[source] BodyEnd),
    /// It is larger than the caller allows.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It did not end within the caller's timeout.
    #[error("the answer did not end within {} s", limit.as_secs_f64())]
    Timeout {
        /// The timeout.
        limit: Duration,
    },
}

/// Returns a name without rustls' form `DnsName("x")` or `IpAddress(127.0.0.1)`.
fn plain_name(name: &str) -> String {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(name);
    inner.trim_matches('"').to_owned()
}

fn presented_text(names: &[String]) -> String {
    if names.is_empty() {
        "no name at all".to_owned()
    } else {
        names.join(", ")
    }
}

/// Returns the name of an HTTP/2 error code, as `NO_ERROR`; its number if it has none.
fn code_name(code: u32) -> String {
    format!("{:?}", h2::Reason::from(code))
}
