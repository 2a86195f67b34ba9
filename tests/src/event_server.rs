//! An apiserver of watch streams with many events, made as fast as they are read. Benchmarks read it in processes of
//! their own.
//!
//! It speaks HTTP/1.1 in the clear, or TLS with HTTP/2 and HTTP/1.1. Each watch gets the same events, whatever its path;
//! each event is a chunk or at least a DATA frame of its own, as from a kube-apiserver. It runs in a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use h2::SendStream;
use http::{Request, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::loopback::{next_target, self_signed, send, write_kubeconfig};

/// The resourceVersion of each list. That of an event is its number more.
pub const LISTED: u64 = 1_000;
/// The number of objects; the events of a stream go through them in turn.
const OBJECTS: u64 = 1_000;
/// The resources `pods-00`, `pods-01` and so on. They have Pods, like `pods`.
const MORE_RESOURCES: usize = 60;
/// The bytes of events that are written at once over HTTP/1.1, and the most bytes of one event.
const BATCH_BYTES: usize = 1 << 20;
const EVENT_BYTES: usize = 16 << 10;

/// The events of each stream.
#[derive(Clone, Debug)]
pub struct Load {
    template: Template,
    is_metadata: bool,
    events: u64,
    pause: Option<Duration>,
}

impl Load {
    /// Streams of `events` events. `object` is the JSON of a Pod with `NAME`, `UID` and `"RV"` where events differ. With
    /// `is_metadata`, only its metadata is served.
    ///
    /// # Errors
    /// If the object is not JSON, or lacks one of these places.
    pub fn new(object: &str, is_metadata: bool, events: u64) -> Result<Self> {
        Ok(Self {
            template: Template::new(object, is_metadata)?,
            is_metadata,
            events,
            pause: None,
        })
    }

    /// The same with a pause after each event.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Self {
        Self {
            pause: Some(pause),
            ..self
        }
    }

    /// The bytes of an object.
    #[must_use]
    pub fn object_bytes(&self) -> usize {
        self.template.object(1).len()
    }

    /// The document of an event, with its line feed.
    fn frame(&self, number: u64) -> String {
        let kind = if number <= OBJECTS {
            "ADDED"
        } else {
            "MODIFIED"
        };
        let object = self.template.object(number);
        format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
    }

    /// The body of a list, or of a part of discovery.
    fn body(&self, path: &str) -> String {
        let resource = |name: String| json!({"name": name, "singularName": "pod", "namespaced": true, "kind": "Pod", "verbs": ["get", "list", "watch"]});
        let (kind, version) = if self.is_metadata {
            ("PartialObjectMetadataList", "meta.k8s.io/v1")
        } else {
            ("PodList", "v1")
        };
        match path {
            "/version" => json!({"gitVersion": "v1.36.3", "major": "1", "minor": "36", "platform": "linux/amd64", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": ""}),
            "/api" => json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
            "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
            "/api/v1" => {
                let more = (0..MORE_RESOURCES).map(|number| format!("pods-{number:02}"));
                let resources: Vec<Value> =
                    std::iter::once("pods".to_owned()).chain(more).map(resource).collect();
                json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources})
            }
            _ => json!({"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": LISTED.to_string()}, "items": []}),
        }
        .to_string()
    }
}

/// A running server.
#[derive(Debug)]
pub struct EventServer {
    url: String,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl EventServer {
    /// Serves HTTP/1.1 in the clear.
    ///
    /// # Errors
    /// If no port is free, or no file can be written.
    pub async fn start(load: Load) -> Result<Self> {
        Self::listen(load, None).await
    }

    /// Serves HTTP/2 and HTTP/1.1 over TLS, with a new certificate.
    ///
    /// # Errors
    /// As [`EventServer::start`].
    pub async fn start_tls(load: Load) -> Result<Self> {
        let (mut config, certificate) = self_signed("127.0.0.1")?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(config));
        Self::listen(load, Some((tls, certificate))).await
    }

    async fn listen(load: Load, tls: Option<(TlsAcceptor, String)>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr()?);
        let mut cluster = json!({"server": url});
        if let Some((_, authority)) = &tls {
            cluster["certificate-authority-data"] = STANDARD.encode(authority).into();
        }
        let folder = tempfile::tempdir()?;
        let kubeconfig = write_kubeconfig(folder.path(), "events", &cluster)?;
        let tls = tls.map(|(acceptor, _)| acceptor);
        let listener = listener.into_std()?;
        std::thread::spawn(move || accept_all(listener, tls, Arc::new(load)));
        Ok(Self {
            url,
            kubeconfig,
            _folder: folder,
        })
    }

    /// `http://127.0.0.1:PORT`, or with `https`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig for the server.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

/// Accepts connections until the process ends.
fn accept_all(listener: std::net::TcpListener, tls: Option<TlsAcceptor>, load: Arc<Load>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async move {
        let Ok(listener) = TcpListener::from_std(listener) else {
            return;
        };
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, load) = (tls.clone(), Arc::clone(&load));
            tokio::spawn(async move {
                // A reader closes its connection once it has the last event.
                let _ = async {
                    stream.set_nodelay(true)?;
                    let Some(tls) = tls else {
                        return converse(stream, &load).await;
                    };
                    let stream = tls.accept(stream).await?;
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        converse_http2(stream, load).await
                    } else {
                        converse(stream, &load).await
                    }
                }
                .await;
            });
        }
    });
}

async fn converse(stream: impl AsyncRead + AsyncWrite, load: &Load) -> Result<()> {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(asked) = next_target(&mut lines).await? {
        if asked.contains("watch=") {
            write_events(&mut write, load).await?;
            if asked.contains("floor=") {
                return Ok(());
            }
            // The stream stays open, as a watch does, until the reader closes it.
            return std::future::pending().await;
        }
        let body = load.body(asked.split('?').next().unwrap_or_default());
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        write.write_all((head + body.as_str()).as_bytes()).await?;
        write.flush().await?;
    }
    Ok(())
}

async fn write_events(write: &mut (impl AsyncWrite + Unpin), load: &Load) -> Result<()> {
    write.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    write.flush().await?;
    let mut batch = Vec::with_capacity(BATCH_BYTES);
    for number in 1..=load.events {
        let frame = load.frame(number);
        batch.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
        if load.pause.is_some() || batch.len() > BATCH_BYTES - EVENT_BYTES {
            write.write_all(&batch).await?;
            write.flush().await?;
            batch.clear();
        }
        if let Some(pause) = load.pause {
            tokio::time::sleep(pause).await;
        }
    }
    write.write_all(&batch).await?;
    write.flush().await?;
    Ok(())
}

async fn converse_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    load: Arc<Load>,
) -> Result<()> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(asked) = connection.accept().await {
        let (request, mut respond) = asked?;
        let load = Arc::clone(&load);
        let head = Response::builder().header("content-type", "application/json");
        let body = respond.send_response(head.body(())?, false)?;
        // A reader resets a stream that it wants no more.
        tokio::spawn(async move { answer_http2(&request, body, &load).await });
    }
    Ok(())
}

async fn answer_http2(
    request: &Request<h2::RecvStream>,
    mut body: SendStream<Bytes>,
    load: &Load,
) -> Result<()> {
    let uri = request.uri();
    if !uri.query().unwrap_or_default().contains("watch=") {
        send(&mut body, load.body(uri.path()).into()).await?;
        return Ok(body.send_data(Bytes::new(), true)?);
    }
    for number in 1..=load.events {
        send(&mut body, load.frame(number).into()).await?;
        if let Some(pause) = load.pause {
            tokio::time::sleep(pause).await;
        }
    }
    std::future::pending().await
}

/// An object, cut where events differ: at name, uid and resourceVersion.
#[derive(Clone, Debug)]
struct Template {
    name: String,
    uid: String,
    version: String,
    rest: String,
}

impl Template {
    fn new(object: &str, is_metadata: bool) -> Result<Self> {
        let mut object: Value = serde_json::from_str(object)?;
        if is_metadata {
            object = json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            });
            // The applied pod's only annotation repeats the whole specification, so it goes. A real server would send it.
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.clear();
            }
        }
        let text = object.to_string();
        let (name, text) = text.split_once("NAME").context("the name's place")?;
        let (uid, text) = text.split_once("UID").context("the uid's place")?;
        let (version, rest) = text.split_once("\"RV\"").context("the version's place")?;
        Ok(Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
            version: version.to_owned(),
            rest: rest.to_owned(),
        })
    }

    fn object(&self, number: u64) -> String {
        let (of_all, version) = (number % OBJECTS, LISTED + number);
        let Self {
            name,
            uid,
            version: before,
            rest,
        } = self;
        format!(
            "{name}checkout-{of_all:05}{uid}6f1d3c0a-9b7e-4c5d-8a21-{of_all:012x}{before}\"{version}\"{rest}"
        )
    }
}
