//! Opening a connection: resolve, connect, proxy, TLS. Each step is timed, has a timeout, and is named in errors.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ProtocolVersion};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::connection::{Connection, Spoken};
use super::error::{DialError, TlsFailure};
use super::facts::{ConnectionFacts, DialTimes, TlsFacts};
use super::proxy;
use super::tap::Io;
use super::target::{Protocols, ProxyScheme, Target, authority, server_name};
use super::{http1, http2};

/// The most addresses of a name that are tried; further ones are ignored.
const MAX_ADDRESSES: usize = 8;

/// The head start of an address over the next one (RFC 8305 section 5 recommends 250 ms).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// The silence before the first keepalive probe, as client-go's dialer has it. Then a probe follows every 15 s, and after 3
/// unanswered ones the kernel gives the connection up. So a half-open connection ends after about 75 s. The receive buffer
/// is left to the kernel, which grows it as needed; setting it would fix its size.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;

/// The timeouts of the steps of opening a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialLimits {
    /// Resolving and connecting together.
    pub connect: Duration,
    /// The exchange with a proxy, including its TLS.
    pub proxy: Duration,
    /// The TLS handshake with the server.
    pub tls: Duration,
}

impl Default for DialLimits {
    fn default() -> Self {
        let ten_seconds = Duration::from_secs(10);
        Self {
            connect: ten_seconds,
            proxy: ten_seconds,
            tls: ten_seconds,
        }
    }
}

/// Opens connections to one target. Cheap to clone; it holds no connection itself.
#[derive(Clone, Debug)]
pub struct Connector {
    target: Arc<Target>,
    limits: DialLimits,
    /// The target's TLS settings with the protocols offered to the server, and with those offered to a proxy.
    server_tls: Option<Arc<ClientConfig>>,
    proxy_tls: Option<Arc<ClientConfig>>,
}

impl Connector {
    /// Makes a connector to a target.
    pub fn new(target: Target, limits: DialLimits) -> Self {
        let offering = |protocols: Protocols| {
            let mut settings = ClientConfig::clone(target.tls.as_ref()?);
            settings.alpn_protocols = protocols.alpn();
            // client-go also disables resumption. A resumed session shows no certificate, so an untrusted authority would go
            // unnoticed.
            settings.resumption = Resumption::disabled();
            Some(Arc::new(settings))
        };
        Self {
            server_tls: offering(target.protocols),
            // CONNECT is sent in HTTP/1.1.
            proxy_tls: offering(Protocols::Http1),
            target: Arc::new(target),
            limits,
        }
    }

    /// Returns a connector that uses only this address of the endpoint.
    pub fn pinned(&self, pin: SocketAddr) -> Self {
        let target = Target {
            pin: Some(pin),
            ..Target::clone(&self.target)
        };
        Self {
            target: Arc::new(target),
            ..self.clone()
        }
    }

    /// The target of its connections.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether several requests may be able to share a connection of this target.
    pub fn may_share(&self) -> bool {
        let is_tls = self.target.endpoint.is_tls;
        let alpn = is_tls.then_some("h2");
        self.target.protocols.speaks_http2(alpn, is_tls)
    }

    /// Opens one connection. Dropping the future closes everything that it opened.
    pub async fn open(&self) -> Result<Connection, DialError> {
        let target = &*self.target;
        let endpoint = &target.endpoint;
        let mut times = DialTimes::default();
        let (host, port) = match &target.proxy {
            Some(proxy) => (proxy.host.clone(), proxy.port),
            None => target.address(),
        };
        let tcp = self.connect_tcp(&host, port, &mut times).await?;
        let unreachable = |source| DialError::Unreachable {
            address: target.authority(),
            source,
        };
        let local = tcp.local_addr().map_err(unreachable)?;
        let remote = tcp.peer_addr().map_err(unreachable)?;

        let io: Box<dyn Io> = match &target.proxy {
            None => Box::new(tcp),
            Some(_) => {
                let started = Instant::now();
                let io = self.pass_proxy(tcp).await?;
                times.proxy = Some(started.elapsed());
                io
            }
        };
        let mut tls_facts = None;
        let mut alpn = None;
        let io = if endpoint.is_tls {
            let started = Instant::now();
            let name = target.tls_server_name.as_deref().unwrap_or(&endpoint.host);
            let stream = handshake(
                io,
                &target.authority(),
                name,
                self.server_tls.as_ref(),
                self.limits.tls,
            )
            .await?;
            times.tls = Some(started.elapsed());
            let (_, session) = stream.get_ref();
            alpn = session
                .alpn_protocol()
                .map(|name| String::from_utf8_lossy(name).into_owned());
            tls_facts = Some(TlsFacts {
                version: match session.protocol_version() {
                    Some(ProtocolVersion::TLSv1_3) => "1.3",
                    _ => "1.2",
                },
                cipher: session
                    .negotiated_cipher_suite()
                    .map(|suite| format!("{:?}", suite.suite()))
                    .unwrap_or_default(),
            });
            Box::new(stream)
        } else {
            io
        };
        let facts = ConnectionFacts {
            server: target.authority(),
            local,
            remote,
            proxy: target.proxy.as_ref().map(ToString::to_string),
            tls: tls_facts,
            alpn,
            times,
        };
        let alpn = facts.alpn.as_deref();
        let target = Arc::clone(&self.target);
        if !target.protocols.speaks_http2(alpn, endpoint.is_tls) {
            let connection = http1::Connection::start(io, facts, target).await;
            return Ok(Connection(Spoken::Http1(Box::new(connection))));
        }
        // The preface and our settings are written. The server's settings come with the first answer.
        match http2::Connection::start(io, facts, target).await {
            Ok(connection) => Ok(Connection(Spoken::Http2(connection))),
            Err(error) => Err(unreachable(io::Error::other(error))),
        }
    }

    async fn connect_tcp(
        &self,
        host: &str,
        port: u16,
        times: &mut DialTimes,
    ) -> Result<TcpStream, DialError> {
        let limit = self.limits.connect;
        let started = Instant::now();
        let timed_out = |step| DialError::Timeout {
            address: authority(host, port),
            step,
            limit,
        };
        let addresses = timeout(limit, resolve(host, port))
            .await
            .map_err(|_| timed_out("resolving its name"))??;
        times.resolve = started.elapsed();
        let left = limit.saturating_sub(times.resolve);
        let stream = timeout(left, connect_any(addresses))
            .await
            .map_err(|_| timed_out("connecting"))??;
        times.connect = started.elapsed() - times.resolve;
        Ok(stream)
    }

    async fn pass_proxy(&self, tcp: TcpStream) -> Result<Box<dyn Io>, DialError> {
        let target = &*self.target;
        let (host, port) = target.address();
        let Some(proxy) = &target.proxy else {
            return Ok(Box::new(tcp));
        };
        let failed = |failure| DialError::Proxy {
            proxy: proxy.to_string(),
            server: target.authority(),
            failure,
        };
        let limit = self.limits.proxy;
        let exchange = async {
            let mut io: Box<dyn Io> = match proxy.scheme {
                ProxyScheme::Http | ProxyScheme::Socks5 => Box::new(tcp),
                ProxyScheme::Https => {
                    let address = authority(&proxy.host, proxy.port);
                    Box::new(
                        handshake(
                            Box::new(tcp),
                            &address,
                            &proxy.host,
                            self.proxy_tls.as_ref(),
                            limit,
                        )
                        .await?,
                    )
                }
            };
            match proxy.scheme {
                ProxyScheme::Http | ProxyScheme::Https => {
                    proxy::connect_http(&mut *io, proxy, &host, port)
                        .await
                        .map_err(failed)?;
                    Ok(io)
                }
                ProxyScheme::Socks5 => proxy::connect_socks5(io, proxy, &host, port)
                    .await
                    .map_err(failed),
            }
        };
        match timeout(limit, exchange).await {
            Ok(result) => result,
            Err(_) => Err(DialError::Timeout {
                address: authority(&proxy.host, proxy.port),
                step: "asking the proxy to connect",
                limit,
            }),
        }
    }
}

async fn resolve(host: &str, port: u16) -> Result<VecDeque<SocketAddr>, DialError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(VecDeque::from([SocketAddr::new(ip, port)]));
    }
    let failed = |source| DialError::Resolve {
        host: host.to_owned(),
        source,
    };
    let found: VecDeque<_> = tokio::net::lookup_host((host, port))
        .await
        .map_err(failed)?
        .take(MAX_ADDRESSES)
        .collect();
    if found.is_empty() {
        return Err(failed(io::Error::new(
            io::ErrorKind::NotFound,
            "it has no address",
        )));
    }
    Ok(found)
}

/// Connects to the first address that answers. The next address starts when the one before has failed, or has had its head
/// start.
async fn connect_any(mut addresses: VecDeque<SocketAddr>) -> Result<TcpStream, DialError> {
    let mut attempts: JoinSet<Result<TcpStream, DialError>> = JoinSet::new();
    let mut last_error = None;
    loop {
        if let Some(address) = addresses.pop_front() {
            attempts.spawn(async move {
                let connected = connect_one(address).await;
                connected.map_err(|source| DialError::from_connect(address.to_string(), source))
            });
        }
        let finished = if addresses.is_empty() {
            attempts.join_next().await
        } else {
            match timeout(NEXT_ADDRESS_AFTER, attempts.join_next()).await {
                Ok(finished) => finished,
                Err(_) => continue,
            }
        };
        match finished {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => last_error = Some(error),
            Some(Err(join_error)) => {
                let source = io::Error::other(join_error);
                last_error = Some(DialError::Unreachable {
                    address: "the server".to_owned(),
                    source,
                });
            }
            None => {
                return Err(last_error
                    .expect("at least one address was tried, and all attempts have failed"));
            }
        }
    }
}

async fn connect_one(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_PROBES);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(stream)
}

async fn handshake(
    io: Box<dyn Io>,
    server: &str,
    name: &str,
    config: Option<&Arc<ClientConfig>>,
    limit: Duration,
) -> Result<TlsStream<Box<dyn Io>>, DialError> {
    let failed = |failure| DialError::Tls {
        server: server.to_owned(),
        failure,
    };
    let name: ServerName<'static> = server_name(name).ok_or_else(|| {
        failed(TlsFailure::BadName {
            name: name.to_owned(),
        })
    })?;
    let config = config.ok_or_else(|| {
        failed(TlsFailure::Other {
            detail: "there are no TLS settings".to_owned(),
        })
    })?;
    match timeout(
        limit,
        TlsConnector::from(Arc::clone(config)).connect(name, io),
    )
    .await
    {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(TlsFailure::from_io(&error))),
        Err(_) => Err(DialError::Timeout {
            address: server.to_owned(),
            step: "waiting for the TLS handshake",
            limit,
        }),
    }
}
