//! What can go wrong on a connection, one variant per thing, each a sentence for the user.

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
        /// What the resolver said.
        source: io::Error,
    },
    /// Nothing listens there, or a firewall says so.
    #[error("{address} refused the connection")]
    Refused {
        /// The last address tried.
        address: String,
    },
    /// A step took longer than its limit.
    #[error("no answer from {address} within {} s while {step}", limit.as_secs_f64())]
    Timeout {
        /// What was dialled.
        address: String,
        /// What was going on, as in "while …".
        step: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// Any other failure of the network.
    #[error("{address} cannot be reached: {source}")]
    Unreachable {
        /// The last address tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("TLS with {server} failed: {failure}")]
    Tls {
        /// `host:port` of the server (or proxy).
        server: String,
        /// Why.
        failure: TlsFailure,
    },
    /// The proxy did not let us through.
    #[error("the proxy {proxy} did not connect to {server}: {failure}")]
    Proxy {
        /// The proxy, without its password.
        proxy: String,
        /// `host:port` asked for.
        server: String,
        /// Why.
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

    /// Whether fresh credentials and TLS settings may cure it: a CA that was rotated, or a client
    /// certificate the server no longer takes.
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
    /// The chain ends in no authority we trust.
    #[error(
        "its certificate is signed by an authority that is not trusted; check certificate-authority in the kubeconfig"
    )]
    UnknownAuthority,
    /// The server's certificate is past its time.
    #[error("its certificate has expired; check the server's certificate and this machine's clock")]
    Expired,
    /// The server's certificate is before its time.
    #[error("its certificate is not valid yet; check this machine's clock")]
    NotYetValid,
    /// The certificate is for other names.
    #[error(
        "its certificate is not for {expected} but for {}",
        presented_text(presented)
    )]
    NameMismatch {
        /// The name asked for.
        expected: String,
        /// The certificate's names.
        presented: Vec<String>,
    },
    /// Anything else about the server's certificate.
    #[error("its certificate was rejected: {detail}")]
    Certificate {
        /// What was wrong.
        detail: String,
    },
    /// The server did not like ours.
    #[error("the server rejected the client certificate ({alert})")]
    ClientCertificate {
        /// The TLS alert.
        alert: String,
    },
    /// What answers does not speak TLS.
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
    /// Anything else.
    #[error("{detail}")]
    Other {
        /// What the TLS library said.
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

/// Why a proxy did not let us through.
#[derive(Debug, thiserror::Error)]
pub enum ProxyFailure {
    /// It answered CONNECT with something else than 2xx.
    #[error("it answered {status}")]
    Status {
        /// The status line's code and reason.
        status: String,
    },
    /// It wants a user and password, or others.
    #[error("it refused the user and password (or their absence)")]
    Credentials,
    /// It speaks something else.
    #[error("its answer is not that of a proxy of this kind")]
    Protocol,
    /// It closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// SOCKS5's own refusals.
    #[error("it answered: {detail}")]
    Socks {
        /// The reply's meaning.
        detail: String,
    },
    /// The network between us and it failed.
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Why a response never began. The connection is gone in every case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The server had closed the (idle) connection before the request was written: safe to send
    /// again on a new one.
    #[error("the server had already closed the connection")]
    Stale,
    /// The connection ended before the response's head was complete.
    #[error("{0}, before it answered")]
    Ended(#[source] BodyEnd),
    /// No complete head within the caller's limit.
    #[error("no response headers within {} s", limit.as_secs_f64())]
    HeaderTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The head is not one of HTTP, or has too many bytes or lines.
    #[error(
        "the response's headers are malformed, or more than {max_bytes} bytes or {max_lines} lines: {detail}"
    )]
    BadHead {
        /// What the parser said.
        detail: String,
        /// Limit in bytes.
        max_bytes: usize,
        /// Limit in lines.
        max_lines: usize,
    },
    /// The request itself cannot be sent.
    #[error("the request for {path} is not one that can be sent: {detail}")]
    BadRequest {
        /// Its path.
        path: String,
        /// What is wrong.
        detail: String,
    },
}

/// Why a body ended in another way than by its orderly end. A local cancel is not among them:
/// the one who drops a [`Body`](super::Body) knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyEnd {
    /// The connection was closed without the body's end. Whether inside a frame is for the reader
    /// of frames to say.
    #[error("the server closed the connection{}", if *is_unclean_tls { " without ending TLS" } else { "" })]
    Eof {
        /// TLS was not ended by a close_notify: the process died, or someone in between cut it.
        is_unclean_tls: bool,
    },
    /// TCP reset.
    #[error("the connection was reset ({detail})")]
    TcpReset {
        /// What the system said.
        detail: String,
    },
    /// Nothing was acknowledged any more, and the kernel gave the connection up (keepalive, routing).
    #[error("the server did not answer any more, and the connection was given up ({detail})")]
    GivenUp {
        /// What the system said.
        detail: String,
    },
    /// TLS failed: a fatal alert or a record that does not verify. With TLS 1.3 a server rejects
    /// our certificate only now, after the handshake.
    #[error("TLS failed: {failure}")]
    Tls {
        /// Why.
        failure: TlsFailure,
    },
    /// The connection was closed inside an HTTP/2 frame of this body; what came of the frame is lost.
    #[error("the server closed the connection inside a frame")]
    EofInFrame,
    /// The server ended this stream, and not the connection (HTTP/2 RST_STREAM).
    #[error("the server reset the stream ({})", code_name(*code))]
    Reset {
        /// Why (RFC 9113 section 7).
        code: u32,
    },
    /// The server takes no more streams on the connection, and this one not either (HTTP/2 GOAWAY).
    #[error("the server told the connection to go away ({})", code_name(*code))]
    GoAway {
        /// Why (RFC 9113 section 7).
        code: u32,
    },
    /// Nothing came for long, and a question whether the server lives was not answered (HTTP/2 PING).
    #[error("nothing came for {} s, not even an answer to a ping", limit.as_secs())]
    Silent {
        /// How long.
        limit: Duration,
    },
    /// What came is not HTTP: a bad chunk size, a malformed head or frame.
    #[error("the server sent something that is not HTTP: {detail}")]
    Malformed {
        /// What the parser said.
        detail: String,
    },
}

impl SendError {
    /// Whether fresh credentials and TLS settings may cure it.
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
    /// The cause as `stream.ended` names it (`eof` becomes `eof-in-frame` where a frame was open).
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

/// Why a body could not be read as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// It did not end orderly.
    #[error("{0}, in the middle of its answer")]
    Ended(#[source] BodyEnd),
    /// It is larger than the caller allows.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It did not end within the caller's limit.
    #[error("the answer did not end within {} s", limit.as_secs_f64())]
    Timeout {
        /// The limit.
        limit: Duration,
    },
}

/// rustls presents names as `DnsName("x")` or `IpAddress(127.0.0.1)`.
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

/// An HTTP/2 error code by its name, as in `NO_ERROR`; by its number where it has none.
fn code_name(code: u32) -> String {
    format!("{:?}", h2::Reason::from(code))
}
