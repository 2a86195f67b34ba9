//! Measures 200 viewers of 2,000 events a second: append to receipt, missing records, memory of an idle viewer.
//!
//! The parent process is all the viewers: each decodes every record, checks its seq, and acknowledges as the page does.
//! The same program, started again, is the server: log, hub and web as `watchscope serve` puts them together, on
//! loopback. A token file gives the viewers access.
//! Both run at the same time on the same cores. Each event carries the machine's uptime at its append. So one clock
//! times each receipt, from before the writer's queue to after the decoding.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use watchscope::hub::LogHub;
use watchscope::log::{LogConfig, LogHandle};
use watchscope::origin::AllowedHosts;
use watchscope::session::{Sessions, TokenFile};
use watchscope::web::{EmbeddedPage, Limits, PageSource, Policy, WebConfig, router, serve};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::event::{Change, WatchStarted};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::wire::{
    ACKNOWLEDGE_BYTES, ACKNOWLEDGE_MS, Acknowledge, ClientMessage, Hello, Joiner, PROTOCOL_VERSION,
    ServerMessage, decode_server, encode_client,
};
use watchscope_model::{Event, Object, Seq, StreamId, Uid};
use watchscope_tests::usage::resident_kib;

const VIEWERS: usize = 200;
const EVENTS_PER_S: u64 = 2_000;
const OBJECTS: u64 = 5_000;
const WARM_UP: Duration = Duration::from_secs(5);
const MEASURED: Duration = Duration::from_secs(30);
const BAR_P99_MS: f64 = 40.0;

const FEW_IDLE: usize = 100;
const MANY_IDLE: usize = 1_100;
const BAR_IDLE_KIB: f64 = 64.0;
/// How long idle viewers rest before the server's memory is read.
const SETTLE: Duration = Duration::from_secs(5);

const TOKEN: &str = "bench-fanout-token-of-thirty-two-or-more-characters";

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(measure()),
        ["serve", token_file, rate] => {
            runtime.block_on(run_server(Path::new(token_file), rate.parse()?))
        }
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

async fn measure() -> Result<()> {
    raise_open_files();
    let folder = tempfile::tempdir()?;
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, TOKEN)?;
    fan_out(&token_file).await?;
    idle_memory(&token_file).await
}

async fn fan_out(token_file: &Path) -> Result<()> {
    let server = Server::start(token_file, EVENTS_PER_S).await?;
    let stage = Arc::new(Stage::default());
    let mut viewers = JoinSet::new();
    for _ in 0..VIEWERS {
        let socket = connect(server.address).await?;
        viewers.spawn(watch(socket, Arc::clone(&stage)));
    }
    while stage.joined.load(Ordering::Relaxed) < VIEWERS {
        ensure!(viewers.try_join_next().is_none(), "a viewer left early");
        sleep(Duration::from_millis(10)).await;
    }
    sleep(WARM_UP).await;
    stage.is_measuring.store(true, Ordering::Relaxed);
    let before = server.used()?;
    sleep(MEASURED).await;
    let used = server.used()?.since(&before);
    stage.is_over.store(true, Ordering::Relaxed);
    let (mut waits_us, mut holes) = (Vec::new(), 0);
    while let Some(seen) = viewers.join_next().await {
        let seen = seen??;
        waits_us.extend(seen.waits_us);
        holes += seen.holes;
    }
    waits_us.sort_unstable();
    let expected = VIEWERS as u64 * EVENTS_PER_S * MEASURED.as_secs();
    let received = waits_us.len() as u64;
    ensure!(
        received > expected * 95 / 100,
        "only {received} of about {expected} receipts: the producer could not keep its pace"
    );
    let at = |share: f64| f64::from(waits_us[(waits_us.len() as f64 * share) as usize]) / 1e3;
    eprintln!(
        "{received} receipts; ms at p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, worst {:.1}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        f64::from(waits_us[waits_us.len() - 1]) / 1e3
    );
    let p99 = at(0.99);
    println!(
        "| {VIEWERS} viewers of {EVENTS_PER_S} events/s, append to receipt, p99 | at most {BAR_P99_MS:.0} ms | \
         {p99:.1} ms ({used}) | {} |",
        verdict(p99 <= BAR_P99_MS)
    );
    println!(
        "| the same, records missing at any viewer | 0 | {holes} | {} |",
        verdict(holes == 0)
    );
    Ok(())
}

async fn idle_memory(token_file: &Path) -> Result<()> {
    let server = Server::start(token_file, 0).await?;
    let stage = Arc::new(Stage::default());
    let mut viewers = JoinSet::new();
    let mut rss_kib = Vec::new();
    for count in [FEW_IDLE, MANY_IDLE] {
        while viewers.len() < count {
            let socket = connect(server.address).await?;
            viewers.spawn(watch(socket, Arc::clone(&stage)));
        }
        while stage.joined.load(Ordering::Relaxed) < count {
            ensure!(viewers.try_join_next().is_none(), "a viewer left early");
            sleep(Duration::from_millis(10)).await;
        }
        sleep(SETTLE).await;
        rss_kib.push(server.rss_kib()?);
    }
    let mean = (rss_kib[1] - rss_kib[0]) / (MANY_IDLE - FEW_IDLE) as f64;
    eprintln!("server RSS in KiB with {FEW_IDLE} and {MANY_IDLE} idle viewers: {rss_kib:?}");
    println!(
        "| memory of one idle viewer at the server | at most {BAR_IDLE_KIB:.0} KiB | {mean:.1} KiB | {} |",
        verdict(mean <= BAR_IDLE_KIB)
    );
    Ok(())
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// The server, in a process of its own; it ends when its standard input is closed.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    async fn start(token_file: &Path, rate: u64) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(token_file)
            .arg(rate.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("its standard output")?;
        let mut line = String::new();
        timeout(
            Duration::from_secs(60),
            BufReader::new(stdout).read_line(&mut line),
        )
        .await??;
        let address = line.trim().parse().context("the server's address")?;
        Ok(Self { child, address })
    }

    fn pid(&self) -> Result<u32> {
        self.child.id().context("the server has ended")
    }

    fn used(&self) -> Result<Used> {
        Ok(Used {
            at: Instant::now(),
            server_s: cpu_s(&self.pid()?.to_string())?,
            viewers_s: cpu_s("self")?,
            machine_s: machine_cpu_s()?,
        })
    }

    fn rss_kib(&self) -> Result<f64> {
        Ok(resident_kib(&self.pid()?.to_string())? as f64)
    }
}

/// Runs log, hub and web, with a producer of `rate` events a second.
async fn run_server(token_file: &Path, rate: u64) -> Result<()> {
    let log = LogHandle::open(LogConfig::new("bench".into()))?;
    let (hub, _commands) = LogHub::new(log.clone(), "bench");
    let objects = fill(&log).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let config = WebConfig {
        policy: Policy {
            hosts: AllowedHosts::loopback(),
            sessions: Sessions::new(),
            token_file: Some(TokenFile::open(token_file)?),
        },
        page: PageSource::Embedded(EmbeddedPage::NONE),
        refusals: Arc::default(),
    };
    tokio::spawn(produce(log, objects, rate));
    println!("{address}");
    serve(
        listener,
        router(hub, config),
        Limits::of_this_process(),
        Arc::default(),
        async {
            // The parent never writes; the end of this pipe says that the parent has ended.
            let end = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
            drop(end.await);
        },
    )
    .await;
    // Sockets that are still open end with the process.
    std::process::exit(0)
}

async fn fill(log: &LogHandle) -> Result<Vec<Arc<Object>>> {
    let started = WatchStarted::plain("*/pods".into(), "", "pods");
    log.append(Event::from(started)).await?;
    let objects: Vec<Arc<Object>> = (0..OBJECTS)
        .map(|number| {
            Arc::new(Object {
                namespace: Some(format!("team-{}", number % 40).into()),
                name: format!("checkout-service-7d9f6c5b8d-{number:05}").into(),
                uid: Uid::Uuid((u128::from(number) * 0x9e37_79b9_7f4a_7c15_f39c).to_be_bytes()),
            })
        })
        .collect();
    for chunk in objects.chunks(100) {
        let events: Vec<Event> = chunk
            .iter()
            .map(|object| change(object, ChangeType::Added, 1))
            .collect();
        log.append(events).await?;
    }
    Ok(objects)
}

async fn produce(log: LogHandle, objects: Vec<Arc<Object>>, rate: u64) -> Result<()> {
    if rate == 0 {
        return std::future::pending().await;
    }
    let begun = Instant::now();
    let mut made = 0;
    let mut tick = interval(Duration::from_millis(1));
    loop {
        tick.tick().await;
        // Each event is appended alone, as a watch delivers it.
        while made < begun.elapsed().as_micros() as u64 * rate / 1_000_000 {
            made += 1;
            let object = &objects[(made * 7_919 % OBJECTS) as usize];
            log.append(change(object, ChangeType::Modified, made))
                .await?;
        }
    }
}

fn change(object: &Arc<Object>, change: ChangeType, version: u64) -> Event {
    Change {
        watch: "*/pods".into(),
        stream: Some(StreamId(1)),
        change,
        origin: Origin::Live,
        object: object.clone(),
        resource_version: (1_000_000 + version).into(),
        generation: Some(2),
        manager: Some("kubelet".into()),
        subresource: Some("status".into()),
        bytes: Some(uptime_us()),
        stray: None,
        owner: None,
    }
    .into()
}

/// The state that all viewers share.
#[derive(Default)]
struct Stage {
    joined: AtomicUsize,
    is_measuring: AtomicBool,
    is_over: AtomicBool,
}

/// The receipts and missing records of one viewer.
#[derive(Default)]
struct Seen {
    waits_us: Vec<u32>,
    holes: u64,
}

type Socket = WebSocketStream<TcpStream>;

async fn connect(address: SocketAddr) -> Result<Socket> {
    let mut request = format!("ws://{address}/ws").into_client_request()?;
    let bearer = format!("Bearer {TOKEN}").parse()?;
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    // The library clears the whole buffer before each read. With its default of 128 KiB that would be most of a
    // viewer's work.
    let config = WebSocketConfig::default().read_buffer_size(4 << 10);
    let (mut socket, _) = client_async_with_config(request, stream, Some(config)).await?;
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    say(&mut socket, hello).await?;
    Ok(socket)
}

async fn say(socket: &mut Socket, message: impl Into<ClientMessage>) -> Result<()> {
    Ok(socket
        .send(Message::Binary(encode_client(&message.into()).into()))
        .await?)
}

/// Runs a viewer until the measurement is over.
async fn watch(mut socket: Socket, stage: Arc<Stage>) -> Result<Seen> {
    let mut page = Page::default();
    let mut acknowledge = interval(Duration::from_millis(ACKNOWLEDGE_MS));
    let (mut bytes, mut acknowledged) = (0, 0);
    while !stage.is_over.load(Ordering::Relaxed) {
        let is_due = tokio::select! {
            message = socket.next() => {
                let message = message.ok_or_else(|| anyhow!("the server has gone"))??;
                if let Message::Binary(message) = message {
                    bytes += message.len() as u64;
                    page.take(&message, &stage)?;
                }
                bytes - acknowledged >= ACKNOWLEDGE_BYTES
            }
            _ = acknowledge.tick() => bytes > acknowledged,
        };
        if is_due {
            acknowledged = bytes;
            say(&mut socket, Acknowledge { bytes }).await?;
        }
    }
    Ok(page.seen)
}

struct Page {
    joiner: Joiner,
    live: Option<ChapterReader>,
    seen: Seen,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            joiner: Joiner::new(64 << 20),
            live: None,
            seen: Seen::default(),
        }
    }
}

impl Page {
    fn take(&mut self, message: &[u8], stage: &Stage) -> Result<()> {
        let (message, data) = decode_server(message)?.context("an unknown message")?;
        match message {
            ServerMessage::Piece(piece) => {
                if let Some(whole) = self.joiner.push(&piece, data)? {
                    self.take(&whole, stage)?;
                }
            }
            ServerMessage::Snapshot(_) => {
                self.live = Some(ChapterReader::open(data)?.0);
                stage.joined.fetch_add(1, Ordering::Relaxed);
            }
            ServerMessage::Segment(_) => {
                let live = self.live.as_mut().context("a segment before a snapshot")?;
                let mut expected = live.next_seq();
                let records = live.segment(data)?;
                let now_us = uptime_us();
                let is_measuring = stage.is_measuring.load(Ordering::Relaxed);
                for record in records {
                    let record = record.context("an unknown record")?;
                    ensure!(
                        record.seq == expected,
                        "{} instead of {expected}",
                        record.seq
                    );
                    expected = Seq(expected.0 + 1);
                    if let Event::Change(change) = &record.event
                        && is_measuring
                    {
                        let made_us = change.bytes.context("when it was made")?;
                        let wait_us = u32::try_from(now_us.saturating_sub(made_us))?;
                        self.seen.waits_us.push(wait_us);
                    }
                }
            }
            ServerMessage::Moved(moved) => self.seen.holes += moved.to.0 - moved.from.0 + 1,
            ServerMessage::Bye(bye) => bail!("sent away: {}", bye.reason),
            _ => {}
        }
        Ok(())
    }
}

/// Processor time of server, viewers and machine. It shows whether other programs have distorted a figure.
struct Used {
    at: Instant,
    server_s: f64,
    viewers_s: f64,
    machine_s: f64,
}

impl Used {
    fn since(&self, before: &Self) -> String {
        let server_s = self.server_s - before.server_s;
        let viewers_s = self.viewers_s - before.viewers_s;
        let others_s = self.machine_s - before.machine_s - server_s - viewers_s;
        format!(
            "CPU in {:.0} s: server {server_s:.1} s, viewers {viewers_s:.1} s, all others {:.1} s",
            (self.at - before.at).as_secs_f64(),
            others_s.max(0.0)
        )
    }
}

/// Returns the seconds of processor time that a process and its threads have used.
fn cpu_s(process: &str) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name in parentheses, which may hold spaces. Fields 14 and 15 are user and system ticks.
    let (_, fields) = stat.rsplit_once(')').context("the name in stat")?;
    ticks_s(fields.split_whitespace().skip(11).take(2))
}

/// Returns the seconds of processor time that the machine has used, on all cores.
fn machine_cpu_s() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().context("the line of all cores")?;
    let fields = line.split_whitespace().skip(1).take(8).enumerate();
    // The fourth field is idle time, the fifth is time spent waiting for disks.
    ticks_s(
        fields
            .filter(|(place, _)| !matches!(place, 3 | 4))
            .map(|(_, field)| field),
    )
}

fn ticks_s<'a>(fields: impl Iterator<Item = &'a str>) -> Result<f64> {
    let ticks: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / rustix::param::clock_ticks_per_second() as f64)
}

fn uptime_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1_000
}

fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the system refuses, the old limit stays, and connecting reports the error.
    let _ = setrlimit(Resource::Nofile, limit);
}
