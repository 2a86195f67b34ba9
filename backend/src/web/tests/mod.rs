//! Attacks on the data port, sent as raw HTTP over sockets. Row numbers are those of the attack table (security reference,
//! A2).

use std::collections::VecDeque;
use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use watchscope_model::{Seq, Time};

use super::page::tests::SHORT;
use super::{Limits, PageSource, Policy, Refusal, Refusals, Traffic, WebConfig, router, serve};
use crate::hub::api::{
    BadPosition, Close, Hub, JsonLines, NotesForm, ObjectError, Outgoing, SearchError,
    SearchRequest, SessionId, Viewer,
};
use crate::origin::{AllowedHosts, Scheme};
use crate::session::{LINK_LIFETIME, Sessions, TokenFile};

mod crossing;
mod flooding;
mod guessing;
mod searching;
mod talking;

/// The content of the token file in these tests.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// A text that only requests with a session may see. It is also hostile.
const CANARY: &str = r#"{"name":"<script>alert(1)</script>","note":"canary-7f3a"}"#;
/// The time for things that should happen at once. It is shorter than every deadline, so that no deadline can hide a
/// failure.
const PATIENCE: Duration = Duration::from_secs(8);

/// A hub that echoes, floods or closes on command.
#[derive(Clone)]
struct FakeHub {
    said: broadcast::Sender<Bytes>,
}

impl Hub for FakeHub {
    type Viewer = FakeViewer;

    fn viewer(&self, _: SessionId) -> FakeViewer {
        FakeViewer {
            outbox: VecDeque::new(),
            floods: false,
            said: self.said.clone(),
        }
    }

    fn records(&self, since: Option<&str>) -> Result<JsonLines, BadPosition> {
        match since {
            Some("flood") => Ok(stream::repeat_with(|| Bytes::from(vec![b'x'; 64 * 1024])).boxed()),
            None | Some("e.1") => {
                let first = stream::once(async { Bytes::from(format!("{CANARY}\n")) });
                Ok(first.chain(stream::pending()).boxed())
            }
            Some(position) => Err(BadPosition {
                position: position.to_owned(),
            }),
        }
    }

    fn state(&self) -> JsonLines {
        stream::once(async { Bytes::from(format!("{CANARY}\n")) }).boxed()
    }

    async fn notes(&self, _: NotesForm) -> Bytes {
        Bytes::from(format!("{CANARY}\n"))
    }

    fn search(&self, _: SessionId, request: SearchRequest) -> Result<JsonLines, SearchError> {
        match &*request.query {
            "stays" => {
                let dropped = DroppedSearch(self.said.clone());
                let first = stream::once(async { Bytes::from(format!("{CANARY}\n")) });
                let rest = stream::pending().inspect(move |_: &Bytes| {
                    let _ = &dropped;
                });
                Ok(first.chain(rest).boxed())
            }
            "kept" => Err(SearchError::NotKept {
                from: watchscope_search::KeptFrom {
                    epoch: "e".into(),
                    seq: Seq(7),
                    at: Time(0),
                },
            }),
            query => {
                let line = format!("{query:?} {:?} {:?}\n", request.log, request.before);
                Ok(stream::once(async { Bytes::from(line) }).boxed())
            }
        }
    }

    async fn object(&self, epoch: &str, seq: u64) -> Result<Bytes, ObjectError> {
        match (epoch, seq) {
            ("e", 7) => Ok(Bytes::from_static(CANARY.as_bytes())),
            ("e", ..7) => Err(ObjectError::Gone),
            _ => Err(ObjectError::Unknown),
        }
    }
}

/// Says so when it is dropped.
struct DroppedSearch(broadcast::Sender<Bytes>);

impl Drop for DroppedSearch {
    fn drop(&mut self) {
        let _ = self.0.send(Bytes::from_static(b"dropped"));
    }
}

struct FakeViewer {
    outbox: VecDeque<Outgoing>,
    floods: bool,
    said: broadcast::Sender<Bytes>,
}

impl Viewer for FakeViewer {
    fn receive(&mut self, message: Bytes) -> Result<(), Close> {
        let _ = self.said.send(message.clone());
        match message.as_ref() {
            b"flood" => self.floods = true,
            b"close" => self.outbox.push_back(Outgoing::Close(Close {
                code: 1013,
                reason: "later".to_owned(),
            })),
            b"refuse" => {
                return Err(Close {
                    code: 4000,
                    reason: "é".repeat(100),
                });
            }
            _ => self.outbox.push_back(Outgoing::Message(message)),
        }
        Ok(())
    }

    fn ready(&mut self) -> Option<Outgoing> {
        let flood = || Outgoing::Message(Bytes::from_static(&[7; 64 * 1024]));
        self.outbox.pop_front().or_else(|| self.floods.then(flood))
    }

    async fn next(&mut self) -> Outgoing {
        match self.ready() {
            Some(outgoing) => outgoing,
            None => pending().await,
        }
    }
}

/// A running data port.
struct World {
    address: SocketAddr,
    sessions: Sessions,
    refusals: Arc<Refusals>,
    traffic: Arc<Traffic>,
    hub: FakeHub,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    _token_file: tempfile::NamedTempFile,
}

fn usual_limits() -> Limits {
    Limits {
        strangers: 64,
        admitted: 512,
        grace: Duration::from_millis(100),
        header_deadline: Duration::from_secs(60),
        write_deadline: Duration::from_secs(60),
        drain_deadline: Duration::from_secs(60),
    }
}

impl World {
    async fn start() -> Self {
        Self::with(usual_limits()).await
    }

    async fn with(limits: Limits) -> Self {
        Self::named(AllowedHosts::loopback(), limits).await
    }

    async fn named(hosts: AllowedHosts, limits: Limits) -> Self {
        let mut token_file = tempfile::NamedTempFile::new().unwrap();
        token_file.write_all(TOKEN.as_bytes()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sessions, refusals, traffic) = (
            Sessions::new(),
            Arc::<Refusals>::default(),
            Arc::<Traffic>::default(),
        );
        let hub = FakeHub {
            said: broadcast::Sender::new(16),
        };
        let policy = Policy {
            hosts,
            sessions: sessions.clone(),
            token_file: Some(TokenFile::open(token_file.path()).unwrap()),
        };
        let config = WebConfig {
            policy,
            page: PageSource::Embedded(SHORT),
            refusals: Arc::clone(&refusals),
        };
        let (stop, stopped) = oneshot::channel();
        let router = router(hub.clone(), config);
        let serving = tokio::spawn(serve(
            listener,
            router,
            limits,
            Arc::clone(&traffic),
            async {
                let _ = stopped.await;
            },
        ));
        Self {
            address,
            sessions,
            refusals,
            traffic,
            hub,
            stop: Some(stop),
            serving,
            _token_file: token_file,
        }
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    fn origin(&self) -> String {
        format!("http://{}", self.host())
    }

    fn secret(&self) -> String {
        let link = self
            .sessions
            .new_link(self.origin().parse().unwrap(), LINK_LIFETIME);
        link.secret.unwrap().expose().to_owned()
    }

    /// Returns the Cookie header of a fresh session.
    fn cookie(&self) -> String {
        let token = self
            .sessions
            .exchange(&self.secret(), Scheme::Http)
            .unwrap();
        format!("{}={}", self.sessions.cookie_name(), token.expose())
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes and returns the whole answer. For an upgrade or a live stream that is the head and the first bytes.
    async fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream).await
    }

    /// Sends a request with the right Host and these headers.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask_as(&self.host(), method, path, headers).await
    }

    async fn ask_as(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.raw(&request(method, path, host, headers)).await
    }

    /// Sends a request for an upgrade with the right Host and these headers.
    async fn upgrade(&self, headers: &[(&str, &str)]) -> Answer {
        let mut all = UPGRADE.to_vec();
        all.extend_from_slice(headers);
        self.ask("GET", "/ws", &all).await
    }

    /// Opens a viewer's socket, by cookie and Origin.
    async fn socket(&self) -> WebSocketStream<TcpStream> {
        self.socket_as(&self.cookie()).await.unwrap()
    }

    async fn socket_as(&self, cookie: &str) -> Result<WebSocketStream<TcpStream>, WsError> {
        let mut request = format!("ws://{}/ws", self.host())
            .into_client_request()
            .unwrap();
        request
            .headers_mut()
            .insert("origin", self.origin().parse().unwrap());
        request
            .headers_mut()
            .insert("cookie", cookie.parse().unwrap());
        tokio_tungstenite::client_async(request, self.connect().await)
            .await
            .map(|(socket, _)| socket)
    }

    async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        timeout(PATIENCE, &mut self.serving)
            .await
            .expect("the server ends")
            .unwrap();
    }
}

const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn request(method: &str, path: &str, host: &str, headers: &[(&str, &str)]) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "Connection") {
        text += "Connection: close\r\n";
    }
    text + "\r\n"
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// Returns the only value of that header. The name is in lower case, as it is sent.
    fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        values.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Reads one answer; of a live one, the head and the first chunk.
async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut text = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while !is_whole(&String::from_utf8_lossy(&text)) {
        match timeout(PATIENCE, stream.read(&mut buffer))
            .await
            .expect("an answer comes")
        {
            Ok(0) | Err(_) => break,
            Ok(read) => text.extend_from_slice(&buffer[..read]),
        }
    }
    let text = String::from_utf8_lossy(&text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let is_live = head.contains("transfer-encoding: chunked") && body.contains("canary");
    let is_bare = head.starts_with("HTTP/1.1 101") || head.starts_with("HTTP/1.1 204");
    is_bare || is_live || length.is_some_and(|length| body.len() >= length.parse().unwrap())
}

/// Waits for the server's close, within [`PATIENCE`]. Returns its code.
async fn close_code(socket: &mut WebSocketStream<TcpStream>) -> Option<u16> {
    loop {
        match timeout(PATIENCE, socket.next())
            .await
            .expect("the socket ends")
        {
            Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return None,
        }
    }
}

/// Captures the log of this thread while the guard lives.
fn captured_log() -> (Captured, tracing::subscriber::DefaultGuard) {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    (captured, tracing::subscriber::set_default(subscriber))
}

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
