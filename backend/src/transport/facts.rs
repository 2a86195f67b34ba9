//! What is known about an open connection.

use std::net::SocketAddr;
use std::time::Duration;

/// The facts of one connection, complete once it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// `host:port` of the server as asked for.
    pub server: String,
    /// Our end of the TCP connection.
    pub local: SocketAddr,
    /// The other end of the TCP connection: the server's, or the proxy's where there is one.
    pub remote: SocketAddr,
    /// The proxy gone through, without its password.
    pub proxy: Option<String>,
    /// TLS with the server; absent on plain HTTP.
    pub tls: Option<TlsFacts>,
    /// The application protocol: what the server chose, or `h2` where that was known beforehand; absent where it chose
    /// none (then HTTP/1.1).
    pub alpn: Option<String>,
    /// How long each step took.
    pub times: DialTimes,
}

/// The outcome of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite's IANA name.
    pub cipher: String,
}

/// How long each step of opening took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DialTimes {
    /// Name to addresses.
    pub resolve: Duration,
    /// The TCP handshake (to the proxy where there is one), earlier addresses' attempts included.
    pub connect: Duration,
    /// Through the proxy, where there is one.
    pub proxy: Option<Duration>,
    /// The TLS handshake with the server.
    pub tls: Option<Duration>,
}
