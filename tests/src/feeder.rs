//! An apiserver on loopback for benchmarks: made-up kinds, a list of each, and a stream of each. It streams the events
//! that its caller queues, one by one, over HTTP/1.1 or HTTP/2 without TLS. It serves only the requests that watchscope
//! sends in these benchmarks.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::uri::PathAndQuery;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::loopback::{next_target, send};

/// The most events of a kind that wait for its stream. Above it [`Feeder::modify`] waits.
const QUEUE: usize = 4_096;
/// Bytes that one write gathers before it goes out; the last event may exceed them.
const WRITE_BYTES: usize = 256 << 10;
/// The first bytes of a client that speaks HTTP/2 with prior knowledge (RFC 9113, 3.4).
const PREFACE: &[u8; 14] = b"PRI * HTTP/2.0";
/// The most streams of a connection, as many as a kube-apiserver allows. A client opens no further one.
const MAX_STREAMS: u32 = 250;

/// The apiserver; it accepts no connection after this is dropped.
#[derive(Debug)]
pub struct Feeder {
    origin: String,
    shared: Arc<Shared>,
    queues: Vec<mpsc::Sender<Modified>>,
    accepting: JoinHandle<()>,
}

/// The answer to a request.
enum Asked {
    /// The stream of a kind.
    Watch(usize),
    /// A status and a body.
    Answer(u16, String),
}

/// An event that waits for its stream.
#[derive(Debug)]
struct Modified {
    object: u32,
    /// Its version. `None` takes the next one when the event is sent, so that a list in between is older.
    version: Option<u64>,
}

#[derive(Debug)]
struct Shared {
    kinds: Vec<Kind>,
    version: AtomicU64,
}

#[derive(Debug)]
struct Kind {
    /// Its name in the plural: `widgets-03`.
    name: String,
    objects: u32,
    queue: Mutex<mpsc::Receiver<Modified>>,
}

impl Feeder {
    /// Starts a server with one kind for each number; the number is the count of objects in its list.
    pub async fn start(objects: &[u32]) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let (mut kinds, mut queues) = (Vec::new(), Vec::new());
        for (number, &objects) in objects.iter().enumerate() {
            let (sender, receiver) = mpsc::channel(QUEUE);
            queues.push(sender);
            kinds.push(Kind {
                name: format!("widgets-{number:02}"),
                objects,
                queue: Mutex::new(receiver),
            });
        }
        let version = AtomicU64::new(1_000);
        let shared = Arc::new(Shared { kinds, version });
        let serving = shared.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = serving.clone();
                // A client that disconnects ends only its own connection.
                tokio::spawn(async move { drop(shared.converse(stream).await) });
            }
        });
        Ok(Self {
            origin,
            shared,
            queues,
            accepting,
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The kinds' names, as arguments of `watchscope serve`.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        let kinds = self.shared.kinds.iter();
        kinds.map(|kind| kind.name.as_str()).collect()
    }

    /// Queues `events` modifications: each kind in turn, and each object of a kind in turn.
    pub async fn modify_in_turn(&self, events: u64) -> Result<()> {
        let kinds = self.shared.kinds.len();
        for number in 0..events {
            let number = usize::try_from(number)?;
            let kind = number % kinds;
            let objects = self.shared.kinds[kind].objects;
            let object = u32::try_from(number / kinds)? % objects;
            self.modify(kind, object).await?;
        }
        Ok(())
    }

    /// Queues a modification of an object of a kind; waits while the kind's queue is full.
    pub async fn modify(&self, kind: usize, object: u32) -> Result<()> {
        self.put(kind, object, None).await
    }

    /// Like [`Self::modify`], but at a version of the caller's choice. A healthy server never sends one out of order.
    pub async fn modify_at(&self, kind: usize, object: u32, version: u64) -> Result<()> {
        self.put(kind, object, Some(version)).await
    }

    async fn put(&self, kind: usize, object: u32, version: Option<u64>) -> Result<()> {
        let sent = self.queues[kind].send(Modified { object, version }).await;
        sent.context("the feeder has ended")
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// Serves a connection: HTTP/2 if it begins with its preface, else HTTP/1.1.
    async fn converse(self: Arc<Self>, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut first = [0; PREFACE.len()];
        if stream.peek(&mut first).await? == first.len() && &first == PREFACE {
            return self.converse_http2(stream).await;
        }
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        while let Some(asked) = next_target(&mut lines).await? {
            let (status, body) = match self.asked_for(&asked) {
                Asked::Watch(kind) => return self.stream(kind, &mut write).await,
                Asked::Answer(status, body) => (status, body),
            };
            let head = format!(
                "HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            write.write_all((head + body.as_str()).as_bytes()).await?;
        }
        Ok(())
    }

    /// Serves HTTP/2 without TLS: each watch has its own stream, and each event is written by itself.
    async fn converse_http2(self: Arc<Self>, stream: TcpStream) -> Result<()> {
        let mut connection = h2::server::Builder::new()
            .max_concurrent_streams(MAX_STREAMS)
            .handshake::<_, Bytes>(stream)
            .await?;
        while let Some(request) = connection.accept().await {
            let (request, mut respond) = request?;
            let shared = self.clone();
            let asked = request
                .uri()
                .path_and_query()
                .map_or("/", PathAndQuery::as_str)
                .to_owned();
            tokio::spawn(async move {
                let asked = shared.asked_for(&asked);
                let status = match &asked {
                    Asked::Watch(_) => 200,
                    Asked::Answer(status, _) => *status,
                };
                let head = http::Response::builder()
                    .status(status)
                    .header("content-type", "application/json");
                let mut stream = respond.send_response(head.body(())?, false)?;
                match asked {
                    Asked::Watch(kind) => {
                        let mut queue = shared.kinds[kind].queue.lock().await;
                        while let Some(modified) = queue.recv().await {
                            let frame = shared.frame(kind, &modified);
                            send(&mut stream, frame.into()).await?;
                        }
                    }
                    Asked::Answer(_, body) => send(&mut stream, body.into()).await?,
                }
                stream.send_data(Bytes::new(), true)?;
                anyhow::Ok(())
            });
        }
        Ok(())
    }

    /// Returns the answer to a request for a path: discovery, a list, a watch, or 404.
    fn asked_for(&self, target: &str) -> Asked {
        let path = target.split('?').next().unwrap_or_default();
        let kind = path.rsplit('/').next().unwrap_or_default();
        let kind = self.kinds.iter().position(|known| known.name == kind);
        if let Some(kind) = kind.filter(|_| target.contains("watch=")) {
            return Asked::Watch(kind);
        }
        let body = match (path, kind) {
            (_, Some(kind)) => self.list(kind),
            ("/version", _) => r#"{"gitVersion":"v1.36.3","major":"1","minor":"36","platform":"linux/amd64","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":""}"#.to_owned(),
            ("/api", _) => r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}"#.to_owned(),
            ("/apis", _) => r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#.to_owned(),
            ("/api/v1", _) => {
                let mut resources = String::new();
                for Kind { name, .. } in &self.kinds {
                    let comma = if resources.is_empty() { "" } else { "," };
                    // Writing to a string does not fail.
                    let _ = write!(resources, r#"{comma}{{"name":"{name}","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","list","watch"]}}"#);
                }
                format!(r#"{{"kind":"APIResourceList","groupVersion":"v1","resources":[{resources}]}}"#)
            }
            _ => return Asked::Answer(404, r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#.to_owned()),
        };
        Asked::Answer(200, body)
    }

    /// Returns the next resourceVersion; each is used once.
    fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns an event as a line of JSON.
    fn frame(&self, kind: usize, modified: &Modified) -> String {
        let version = modified.version.unwrap_or_else(|| self.next_version());
        let json = object_json(kind, modified.object, version);
        format!("{{\"type\":\"MODIFIED\",\"object\":{json}}}\n")
    }

    fn list(&self, kind: usize) -> String {
        let objects = 0..self.kinds[kind].objects;
        let items = objects.map(|number| object_json(kind, number, self.next_version()));
        let items: Vec<String> = items.collect();
        let version = self.version.load(Ordering::Relaxed);
        format!(
            r#"{{"kind":"WidgetList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#,
            items.join(",")
        )
    }

    /// Serves a watch: writes the kind's queued events as they come, until the client closes.
    async fn stream(&self, kind: usize, write: &mut OwnedWriteHalf) -> Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        write.write_all(head.as_bytes()).await?;
        let mut queue = self.kinds[kind].queue.lock().await;
        let mut chunks = String::new();
        while let Some(modified) = queue.recv().await {
            let mut next = Some(modified);
            while let Some(modified) = next {
                let frame = self.frame(kind, &modified);
                let _ = write!(chunks, "{:x}\r\n{frame}\r\n", frame.len());
                next = (chunks.len() < WRITE_BYTES)
                    .then(|| queue.try_recv().ok())
                    .flatten();
            }
            write.write_all(chunks.as_bytes()).await?;
            chunks.clear();
        }
        Ok(())
    }
}

fn object_json(kind: usize, number: u32, version: u64) -> String {
    format!(
        r#"{{"kind":"Widget","apiVersion":"v1","metadata":{{"name":"checkout-7d9f6c5b8d-{number:05}","namespace":"shop","uid":"6f1d3c0a-9b7e-4c5d-8a21-{kind:04x}{number:08x}","resourceVersion":"{version}","generation":2,"creationTimestamp":"2026-11-21T08:15:04Z","labels":{{"app":"checkout"}},"managedFields":[{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-21T08:15:04Z","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:phase":{{}}}}}},"subresource":"status"}}]}},"status":{{"phase":"Running","seen":{version}}}}}"#
    )
}
