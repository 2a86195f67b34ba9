//! Measures 200 and 1,000 viewers of 2,000 events a second: append to receipt, missing records, an idle viewer's memory.
//!
//! The parent process is all the viewers: each checks the seqs of every segment, and acknowledges as the page does. Of
//! 200 viewers all decode every record, of 1,000 ten do: decoding is the browser's work, which no server's machine has.
//! The same program, started again, is the server: log, hub and web as `watchscope serve` puts them together, on
//! loopback. A token file gives the viewers access.
//! Both run at the same time on the same cores. Each event carries the machine's uptime at its append. So one clock
//! times each receipt, from before the writer's queue to after the reading. A viewer that does not decode knows only
//! the seqs that it received and when; the times of their appends come from one that does.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};
use watchscope::hub::LogHub;
use watchscope::log::{LogConfig, LogHandle};
use watchscope::origin::AllowedHosts;
use watchscope::session::{Sessions, TokenFile};
use watchscope::web::{EmbeddedPage, Limits, PageSource, Policy, WebConfig, router, serve};
use watchscope_model::event::{Change, WatchStarted};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Event, Object, StreamId, Uid};
use watchscope_tests::stage::verdict;
use watchscope_tests::usage::resident_kib;
use watchscope_tests::viewer::{Decoding, Delivery, Viewer};

/// How many viewers there are, how many of them decode, and the bar of the 99th percentile in ms.
const CROWDS: [Crowd; 2] = [
    Crowd {
        viewers: 200,
        decoding: 200,
        p99_ms: 40.0,
    },
    Crowd {
        viewers: 1_000,
        decoding: 10,
        p99_ms: 60.0,
    },
];
const EVENTS_PER_S: u64 = 2_000;
const OBJECTS: u64 = 5_000;
const WARM_UP: Duration = Duration::from_secs(5);
const MEASURED: Duration = Duration::from_secs(30);
/// The longest wait that the histogram of waits tells from longer ones, and the width of its steps, in µs.
const LONGEST_US: u64 = 10_000_000;
const STEP_US: u64 = 100;

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
    for crowd in CROWDS {
        fan_out(&token_file, crowd).await?;
    }
    idle_memory(&token_file).await
}

/// The viewers of one measurement.
#[derive(Clone, Copy)]
struct Crowd {
    viewers: usize,
    decoding: usize,
    p99_ms: f64,
}

async fn fan_out(token_file: &Path, crowd: Crowd) -> Result<()> {
    let Crowd {
        viewers: count,
        decoding,
        p99_ms: bar_ms,
    } = crowd;
    let server = Server::start(token_file, EVENTS_PER_S).await?;
    let stage = Arc::new(Stage::default());
    let mut viewers = JoinSet::new();
    for place in 0..count {
        let viewer = server.viewer(place < decoding).await?;
        viewers.spawn(watch(viewer, Arc::clone(&stage)));
    }
    while stage.joined.load(Ordering::Relaxed) < count {
        ensure!(viewers.try_join_next().is_none(), "a viewer left early");
        sleep(Duration::from_millis(10)).await;
    }
    sleep(WARM_UP).await;
    stage.is_measuring.store(true, Ordering::Relaxed);
    let before = server.used()?;
    sleep(MEASURED).await;
    let used = server.used()?.since(&before);
    stage.is_over.store(true, Ordering::Relaxed);
    let (mut receipts, mut made_us, mut holes) = (Vec::new(), BTreeMap::new(), 0);
    while let Some(seen) = viewers.join_next().await {
        let seen = seen??;
        receipts.extend(seen.receipts);
        made_us.extend(seen.made_us);
        holes += seen.holes;
    }
    let waits = Waits::of(&receipts, &made_us);
    let expected = count as u64 * EVENTS_PER_S * MEASURED.as_secs();
    let received = waits.total();
    ensure!(
        received > expected * 95 / 100,
        "only {received} of about {expected} receipts: the producer could not keep its pace"
    );
    eprintln!(
        "{received} receipts; ms at p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, worst {:.1}",
        waits.at_ms(0.5),
        waits.at_ms(0.9),
        waits.at_ms(0.99),
        waits.at_ms(0.999),
        waits.at_ms(1.0)
    );
    let p99 = waits.at_ms(0.99);
    let decoders = match decoding == count {
        true => String::new(),
        false => format!(", {decoding} of them decode"),
    };
    println!(
        "| {count} viewers{decoders}, of {EVENTS_PER_S} events/s, append to receipt, p99 | at most {bar_ms:.0} ms | \
         {p99:.1} ms ({used}) | {} |",
        verdict(p99 <= bar_ms)
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
            let viewer = server.viewer(true).await?;
            viewers.spawn(watch(viewer, Arc::clone(&stage)));
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

    async fn viewer(&self, is_decoding: bool) -> Result<Viewer> {
        let decoding = match is_decoding {
            true => Decoding::All,
            false => Decoding::Headers,
        };
        Viewer::connect(self.address, &format!("Bearer {TOKEN}"), decoding).await
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

/// What one viewer received while it was measured.
#[derive(Default)]
struct Seen {
    receipts: Vec<Receipt>,
    /// When the events of these seqs were appended, as this viewer decoded it; empty for one that does not decode.
    made_us: Vec<(u64, u64)>,
    holes: u64,
}

/// The receipt of a segment.
#[derive(Clone, Copy)]
struct Receipt {
    /// The seqs of its records.
    first: u64,
    end: u64,
    /// The machine's uptime once it was read.
    at_us: u64,
}

/// A histogram of waits in steps of [`STEP_US`]; the last step also counts all longer ones.
struct Waits(Vec<u64>);

impl Waits {
    /// Counts the wait of each record at each viewer. A record counts if its append is known, so those of the edges of
    /// the measurement, which no decoding viewer saw, do not.
    fn of(receipts: &[Receipt], made_us: &BTreeMap<u64, u64>) -> Self {
        let mut steps = vec![0; (LONGEST_US / STEP_US) as usize + 1];
        let first = made_us.first_key_value().map_or(0, |(seq, _)| *seq);
        let end = made_us.last_key_value().map_or(0, |(seq, _)| *seq + 1);
        let mut of_seq = vec![None; (end - first) as usize];
        for (seq, made_us) in made_us {
            of_seq[(seq - first) as usize] = Some(*made_us);
        }
        for receipt in receipts {
            for seq in receipt.first.max(first)..receipt.end.min(end) {
                if let Some(made_us) = of_seq[(seq - first) as usize] {
                    let step = receipt.at_us.saturating_sub(made_us).min(LONGEST_US) / STEP_US;
                    steps[step as usize] += 1;
                }
            }
        }
        Self(steps)
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the wait in ms that this share of all does not exceed.
    fn at_ms(&self, share: f64) -> f64 {
        let wanted = (self.total() as f64 * share).ceil() as u64;
        let mut counted = 0;
        let step = self.0.iter().position(|count| {
            counted += count;
            counted >= wanted
        });
        (step.unwrap_or(0) as u64 + 1) as f64 * STEP_US as f64 / 1e3
    }
}

/// Runs a viewer until the measurement is over.
async fn watch(mut viewer: Viewer, stage: Arc<Stage>) -> Result<Seen> {
    let mut seen = Seen::default();
    while !stage.is_over.load(Ordering::Relaxed) {
        match viewer.next().await? {
            Delivery::Joined => drop(stage.joined.fetch_add(1, Ordering::Relaxed)),
            Delivery::Moved(records) => seen.holes += records,
            Delivery::Segment { .. } if !stage.is_measuring.load(Ordering::Relaxed) => {}
            Delivery::Segment {
                first,
                end,
                records,
            } => {
                seen.receipts.push(Receipt {
                    first: first.0,
                    end: end.0,
                    at_us: uptime_us(),
                });
                for record in records {
                    if let Event::Change(change) = &record.event {
                        let made_us = change.bytes.context("when it was made")?;
                        seen.made_us.push((record.seq.0, made_us));
                    }
                }
            }
        }
    }
    Ok(seen)
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
