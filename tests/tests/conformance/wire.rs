//! HTTP/1.1 over a socket, plain or with TLS: one connection per request, and every header and frame is kept.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use watchscope_tests::patient;

/// How long an answer, or the next frame of a watch, may take; after it the call fails.
const PATIENCE: Duration = Duration::from_secs(90);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Ask {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body and its content type.
    pub(crate) fn body(mut self, content_type: &str, body: impl ToString) -> Self {
        self.body = body.to_string();
        self.header("content-type", content_type)
    }

    /// Sets a JSON body.
    pub(crate) fn json(self, body: &serde_json::Value) -> Self {
        self.body("application/json", body)
    }
}

/// Status and headers of an answer; the headers are in their order on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

/// The address of a server, and the client's identity.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    socket: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

impl Address {
    pub(crate) fn plain(socket: SocketAddr) -> Self {
        Self { socket, tls: None }
    }

    /// Returns an address with TLS, for the holder of a client certificate. All three are PEM.
    pub(crate) fn tls(
        socket: SocketAddr,
        authority: &[u8],
        certificate: &[u8],
        key: &[u8],
    ) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority)?)?;
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate)?],
                PrivateKeyDer::from_pem_slice(key)?,
            )?;
        Ok(Self {
            socket,
            tls: Some(Arc::new(config)),
        })
    }

    /// Returns an address with TLS, for a client without a certificate. The authority is PEM.
    pub(crate) fn tls_of_anybody(socket: SocketAddr, authority: &[u8]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority)?)?;
        let config = ClientConfig::builder().with_root_certificates(roots);
        Ok(Self {
            socket,
            tls: Some(Arc::new(config.with_no_client_auth())),
        })
    }

    /// Whether the server refuses a connection.
    pub(crate) async fn is_gone(&self) -> Result<bool> {
        match TcpStream::connect(self.socket).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends the head of a POST and less of its body than its length says. So the request stays pending until this is
    /// dropped.
    pub(crate) async fn half(&self, target: &str) -> Result<Half> {
        let host = self.socket;
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        );
        let tcp = TcpStream::connect(self.socket).await?;
        let mut io: Half = match &self.tls {
            None => Box::new(tcp),
            Some(config) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let name = ServerName::IpAddress(self.socket.ip().into());
                Box::new(connector.connect(name, tcp).await?)
            }
        };
        io.write_all(head.as_bytes()).await?;
        io.flush().await?;
        Ok(io)
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Stream> {
        let what = format!("{} {}", ask.method, ask.target);
        let answer = tokio::time::timeout(patient(PATIENCE), self.send_now(ask))
            .await
            .with_context(|| format!("{what} is not answered in time"))?;
        answer.context(what)
    }

    async fn send_now(&self, ask: &Ask) -> Result<Stream> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(&ask.target)
            .header("host", self.socket.to_string());
        for (name, value) in &ask.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(ask.body.clone())))?;
        let tcp = TcpStream::connect(self.socket).await?;
        tcp.set_nodelay(true)?;
        let response = match &self.tls {
            None => converse(tcp, request).await?,
            Some(config) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let name = ServerName::IpAddress(self.socket.ip().into());
                converse(connector.connect(name, tcp).await?, request).await?
            }
        };
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), value)
            })
            .collect();
        Ok(Stream {
            head: Head {
                status: response.status().as_u16(),
                headers,
            },
            body: response.into_body(),
            unread: Vec::new(),
        })
    }
}

async fn converse(
    io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}

/// An unfinished request; dropping it closes its connection.
pub(crate) type Half = Box<dyn tokio::io::AsyncWrite + Unpin + Send>;

/// An answer with an unread body; dropping it closes its connection.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) head: Head,
    body: Incoming,
    unread: Vec<u8>,
}

impl Stream {
    /// Reads all of the body; fails if the body does not end in order.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>> {
        while let Some(bytes) = self.more().await? {
            self.unread.extend_from_slice(&bytes);
        }
        Ok(self.unread)
    }

    /// Reads the next line of the body, without its end. Returns `None` once the body has ended in order.
    pub(crate) async fn line(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.unread.drain(..=end).collect();
                line.pop();
                return Ok(Some(String::from_utf8(line).context("a line is text")?));
            }
            match self.more().await? {
                Some(bytes) => self.unread.extend_from_slice(&bytes),
                None => {
                    ensure!(self.unread.is_empty(), "the body ends inside a line");
                    return Ok(None);
                }
            }
        }
    }

    async fn more(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = tokio::time::timeout(patient(PATIENCE), self.body.frame())
                .await
                .context("nothing more of the body in time")?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => bail!("the body broke: {error}"),
            }
        }
    }
}
