//! The facts about an open connection.

use std::net::SocketAddr;
use std::time::Duration;

/// The facts about one connection, complete once it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// `host:port` of the server, as requested.
    pub server: String,
    /// Our end of the TCP connection.
    pub local: SocketAddr,
    /// The other end of the TCP connection: the server, or the proxy if there is one.
    pub remote: SocketAddr,
    /// The proxy that it goes through, without its password.
    pub proxy: Option<String>,
    /// TLS with the server; none on plain HTTP.
    pub tls: Option<TlsFacts>,
    /// The application protocol: the server's choice, or `h2` if that was known beforehand. None if the server chose none,
    /// which means HTTP/1.1.
    pub alpn: Option<String>,
    /// The duration of each step.
    pub times: DialTimes,
}

/// The outcome of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// The IANA name of the cipher suite.
    pub cipher: String,
}

/// The duration of each step of opening a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DialTimes {
    /// Resolving the name.
    pub resolve: Duration,
    /// The TCP handshake (with the proxy if there is one), including attempts at earlier addresses.
    pub connect: Duration,
    /// The exchange with the proxy, if there is one.
    pub proxy: Option<Duration>,
    /// The TLS handshake with the server.
    pub tls: Option<Duration>,
}
