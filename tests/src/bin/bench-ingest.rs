//! Measures the CPU per event from a loopback server into the log, against that of kube-rs' watcher.
//!
//! The parent serves an empty list and then a watch of events over 1,000 objects made from `fixtures/`.
//! Each event is a chunk, as from a kube-apiserver (`event_server.rs`).
//! The same program, started again, reads it: as watchscope (probe, log, bodies), for one shape with a history too, as
//! kube-rs' `watcher`, which only counts, and as the floor, which copies the bytes once and reads nothing in them.
//!
//! The processor time of the reader's whole process counts, in user mode and in the kernel. Each reader runs over a
//! short and a long stream. The difference of both is the cost of the events between them, so start-up is excluded. All
//! readers of a stream must report the same count and last resourceVersion.
//!
//! Then 60 watches are read at once, over TLS: by watchscope as streams of one HTTP/2 connection, by kube-rs over 60
//! connections, because it speaks HTTP/1.1.
//!
//! The last rows are of an everyday rate, one event each 10 ms, and of the program itself: `watch -o jsonl` at that
//! rate, and its memory after as many changes as an hour has at 27 a second.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::io::{BufRead as _, BufReader, PipeReader, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PartialObjectMeta;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Config, ResourceExt as _};
use watchscope::transport::Protocols;
use watchscope_tests::event_server::{EventServer, LISTED, Load};
use watchscope_tests::reading::{Kept, Reading as Watching, at, kubeconfig};
use watchscope_tests::usage::{CpuTime, cpu_ns_of, numbers_of_child, resident_kib};
use watchscope_tests::{Watchscope, WatchscopeBinary};

/// The bytes of objects in the short stream: more than twice the bodies that memory holds. Until then the allocator
/// takes new pages. The events after them have the cost of a log that has run for long.
const SHORT_BYTES: u64 = 384 << 20;
/// The runs of each reader; the least CPU counts, since other programs of a shared machine only add to it.
const RUNS: usize = 5;
/// The most CPU of an event with a history, as a multiple of the CPU without one.
const HISTORY_BAR: f64 = 1.08;
/// The time between two events of an everyday rate, and the events of its short stream.
const PAUSE: Duration = Duration::from_millis(10);
const FEW: u64 = 200;
/// The runs of each reader of an everyday rate.
const PACED_RUNS: usize = 3;
/// The watches that are read at once.
const WATCHES: u64 = 60;
/// The runs of each reader of many watches.
const SHARED_RUNS: usize = 3;
/// The changes of an hour at 27 a second.
const HOUR: u64 = 97_200;
/// The most memory in MiB after them.
const HOUR_BAR_MIB: f64 = 40.0;

/// The objects of a measurement.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// An object with `NAME`, `UID` and `"RV"` where events differ.
    object: &'static str,
    /// Whether only metadata is requested and served.
    is_metadata: bool,
    /// Whether a history is measured too.
    with_history: bool,
    /// The most CPU of an event, as a share of that of kube-rs.
    bar: f64,
    /// The same for 60 watches over TLS, if they are measured.
    shared_bar: Option<f64>,
}

const APPLIED_POD: &str = include_str!("../../fixtures/pod.json");
const SHAPES: [Shape; 4] = [
    Shape {
        name: "pods that kubectl applied",
        object: APPLIED_POD,
        is_metadata: false,
        with_history: true,
        bar: 0.20,
        shared_bar: None,
    },
    Shape {
        name: "pods of a ReplicaSet",
        object: include_str!("../../fixtures/owned-pod.json"),
        is_metadata: false,
        with_history: false,
        bar: 0.20,
        shared_bar: Some(0.30),
    },
    Shape {
        name: "metadata that kubectl applied",
        object: APPLIED_POD,
        is_metadata: true,
        with_history: false,
        bar: 0.33,
        shared_bar: None,
    },
    Shape {
        name: "metadata of a ReplicaSet's pods",
        object: include_str!("../../fixtures/metadata.json"),
        is_metadata: true,
        with_history: false,
        bar: 0.33,
        shared_bar: Some(0.45),
    },
];

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(measure()),
        ["serve", shape, events] => runtime.block_on(serve_for_a_profiler(shape, events)),
        ["floor", _, url, _] => read_as_floor(url),
        [reader, kind, url, events] => {
            let (events, is_metadata) = (events.parse()?, kind == "metadata");
            match (reader, is_metadata) {
                ("watchscope", _) => {
                    runtime.block_on(read_as_watchscope(url, events, is_metadata, false))
                }
                ("threads", _) => {
                    let threads = tokio::runtime::Builder::new_multi_thread()
                        .enable_all()
                        .build()?;
                    threads.block_on(read_as_watchscope(url, events, is_metadata, false))
                }
                ("history", _) => {
                    runtime.block_on(read_as_watchscope(url, events, is_metadata, true))
                }
                ("kube", false) => runtime.block_on(read_as_kube::<Pod>(url, events)),
                ("kube", true) => {
                    runtime.block_on(read_as_kube::<PartialObjectMeta<Pod>>(url, events))
                }
                _ => bail!("unknown reader {reader:?}"),
            }
        }
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

/// Serves one shape, by its index, until it is killed. A profiler can then start a reader by itself.
async fn serve_for_a_profiler(shape: &str, events: &str) -> Result<()> {
    let shape = *SHAPES.get(shape.parse::<usize>()?).context("a shape")?;
    let load = shape.load(events.parse()?)?;
    let (plain, shared) = (
        EventServer::start(load.clone()).await?,
        EventServer::start_tls(load).await?,
    );
    eprintln!("watchscope {} {events}", plain.url());
    eprintln!("watchscope {} {events}", shared.kubeconfig().display());
    std::future::pending().await
}

async fn measure() -> Result<()> {
    for shape in SHAPES {
        let object_bytes = shape.load(1)?.object_bytes();
        let few = SHORT_BYTES / object_bytes as u64;
        let mut readers = vec!["watchscope", "kube", "floor"];
        readers.extend(shape.with_history.then_some("history"));
        let costs = costs(shape, few, None, &readers, RUNS).await?;
        report(shape, object_bytes, &costs);
    }
    for shape in SHAPES {
        if let Some(bar) = shape.shared_bar {
            measure_shared(shape, bar).await?;
        }
    }
    measure_paced().await?;
    measure_hour().await
}

impl Shape {
    fn load(self, events: u64) -> Result<Load> {
        Load::new(self.object, self.is_metadata, events)
    }
}

/// Measures the readers in turns over a stream of `few` events and over one of three times as many.
async fn costs(
    shape: Shape,
    few: u64,
    pause: Option<Duration>,
    readers: &[&str],
    runs: usize,
) -> Result<Vec<Cost>> {
    let mut streams = Vec::new();
    for events in [few, 3 * few] {
        let load = shape.load(events)?;
        let load = pause.map_or(load.clone(), |pause| load.with_pause(pause));
        streams.push((EventServer::start(load).await?, events));
    }
    let mut least = vec![[CpuTime::MAX; 2]; readers.len()];
    for _ in 0..runs {
        for (reader, least) in readers.iter().zip(&mut least) {
            for ((server, events), least) in streams.iter().zip(least) {
                let time = read_by(reader, shape, server.url(), *events, 1).await?;
                *least = (*least).min(time);
            }
        }
    }
    let cost = |[short, long]: [CpuTime; 2]| Cost::of(short, long, 2 * few);
    Ok(least.into_iter().map(cost).collect())
}

/// Measures both readers of 60 watches over TLS.
async fn measure_shared(shape: Shape, bar: f64) -> Result<()> {
    let object_bytes = shape.load(1)?.object_bytes();
    let few = SHORT_BYTES / object_bytes as u64 / WATCHES;
    let mut least = [[CpuTime::MAX; 2]; 2];
    let mut servers = Vec::new();
    for events in [few, 3 * few] {
        servers.push((EventServer::start_tls(shape.load(events)?).await?, events));
    }
    for _ in 0..SHARED_RUNS {
        for (reader, least) in ["watchscope", "kube"].into_iter().zip(&mut least) {
            for ((server, events), least) in servers.iter().zip(least) {
                let path = server.kubeconfig().to_str().context("a path in UTF-8")?;
                let time = read_by(reader, shape, path, *events, WATCHES).await?;
                *least = (*least).min(time);
            }
        }
    }
    let [ours, theirs] = least.map(|[short, long]| Cost::of(short, long, 2 * few * WATCHES));
    let ratio = ours.us() / theirs.us();
    println!(
        "| CPU per event of {WATCHES} watches over TLS, {}: ours over HTTP/2 / kube-rs over HTTP/1.1 | at most {bar:.2} | {ratio:.2} ({ours} / {theirs}) | {} |",
        shape.name,
        if ratio <= bar { "met" } else { "missed" }
    );
    Ok(())
}

/// Measures an everyday rate: the readers of this program, and `watch -o jsonl`.
async fn measure_paced() -> Result<()> {
    let shape = SHAPES[1];
    let readers = ["threads", "watchscope", "kube"];
    let costs = costs(shape, FEW, Some(PAUSE), &readers, PACED_RUNS).await?;
    let [threads, ours, theirs] = &costs[..] else {
        bail!("a reader has no figure");
    };
    println!(
        "| CPU per event, {}, 100 events a second, HTTP/1.1: ours / kube-rs | no bar | {:.2} ({threads} / {theirs}); on one thread {ours} | |",
        shape.name,
        threads.us() / theirs.us()
    );
    let server = EventServer::start(shape.load(3 * FEW)?.with_pause(PAUSE)).await?;
    let mut least_ns = u64::MAX;
    for _ in 0..PACED_RUNS {
        let (watching, mut lines) = Lines::start(&server)?;
        lines = lines.up_to(LISTED + FEW).await?;
        let early_ns = cpu_ns_of(watching.pid())?;
        let _lines = lines.up_to(LISTED + 3 * FEW).await?;
        least_ns = least_ns.min(cpu_ns_of(watching.pid())? - early_ns);
    }
    let lines_us = least_ns as f64 / (2 * FEW) as f64 / 1_000.0;
    let ratio = lines_us / theirs.us();
    println!(
        "| the same rate: `watch -o jsonl` into a pipe / kube-rs, which only counts | at most 1.00 | {ratio:.2} ({lines_us:.2} µs) | {} |",
        if ratio <= 1.0 { "met" } else { "missed" }
    );
    Ok(())
}

/// Measures the memory of `watch -o jsonl` after the changes of an hour, which come as fast as it reads them.
async fn measure_hour() -> Result<()> {
    let server = EventServer::start(SHAPES[1].load(HOUR)?).await?;
    let (watching, lines) = Lines::start(&server)?;
    let lines = lines.up_to(LISTED + HOUR).await?;
    let mib = resident_kib(&watching.pid().to_string())? as f64 / 1_024.0;
    drop(lines);
    println!(
        "| memory of `watch -o jsonl` after {HOUR} changes of {}, an hour at 27 a second | at most {HOUR_BAR_MIB} MiB | {mib:.1} MiB | {} |",
        SHAPES[1].name,
        if mib <= HOUR_BAR_MIB { "met" } else { "missed" }
    );
    Ok(())
}

/// The lines of a running `watch -o jsonl`.
struct Lines(BufReader<PipeReader>);

impl Lines {
    fn start(server: &EventServer) -> Result<(Watchscope, Self)> {
        let launch =
            WatchscopeBinary::find()?.with(&["watch", "pods", "--all-namespaces", "-o", "jsonl"]);
        let (watching, pipe) = launch.kubeconfig(server.kubeconfig()).start_into_pipe()?;
        Ok((watching, Self(BufReader::new(pipe))))
    }

    /// Reads up to the line of the change at a resourceVersion.
    async fn up_to(mut self, version: u64) -> Result<Self> {
        let wanted = format!("\"resourceVersion\":\"{version}\"");
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            loop {
                line.clear();
                ensure!(self.0.read_line(&mut line)? > 0, "the lines end early");
                if line.starts_with("{\"type\":\"change\"") && line.contains(&wanted) {
                    return Ok(self);
                }
            }
        });
        reading.await?
    }
}

fn report(shape: Shape, object_bytes: usize, costs: &[Cost]) {
    let [ours, theirs, floor, with_history @ ..] = costs else {
        return;
    };
    let row = |figure: &str, ratio: f64, bar: f64, measured: &str| {
        let result = if ratio <= bar { "met" } else { "missed" };
        println!("| {figure} | at most {bar:.2} | {measured} | {result} |");
    };
    let Shape { name, bar, .. } = shape;
    let figure = format!("CPU per event, {name}, {object_bytes} B an object: ours / kube-rs");
    let ratio = ours.us() / theirs.us();
    row(
        &figure,
        ratio,
        bar,
        &format!("{ratio:.2} ({ours} / {theirs})"),
    );
    println!(
        "| the floor: reading these bytes and copying them once | no bar | {floor}; ours is {:.1} times that | |",
        ours.us() / floor.us()
    );
    for kept in with_history {
        let figure = format!("CPU per event, {name}: with a history on disk / without");
        let (ratio, more) = (kept.us() / ours.us(), kept.us() - ours.us());
        row(
            &figure,
            ratio,
            HISTORY_BAR,
            &format!("{ratio:.3} ({more:.2} µs more)"),
        );
    }
}

/// The processor time of one event in ns.
struct Cost {
    cpu_ns: f64,
    kernel_ns: f64,
}

impl Cost {
    /// The cost of an event, from the CPU of the short stream and of the long one, which has `more` events more.
    fn of(short: CpuTime, long: CpuTime, more: u64) -> Self {
        let each = |ns: fn(CpuTime) -> u64| (ns(long) as f64 - ns(short) as f64) / more as f64;
        Self {
            cpu_ns: each(|time| time.total_ns),
            kernel_ns: each(|time| time.kernel_ns),
        }
    }

    fn us(&self) -> f64 {
        self.cpu_ns / 1_000.0
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernel_us = self.kernel_ns / 1_000.0;
        write!(f, "{:.2} µs, {kernel_us:.1} of it in the kernel", self.us())
    }
}

/// Writes what a reader has read, and the processor time of its process until now.
fn say(events: u64, last: u64) -> Result<()> {
    let CpuTime {
        total_ns,
        kernel_ns,
    } = CpuTime::of_this_process()?;
    println!("{events} {last} {total_ns} {kernel_ns}");
    Ok(())
}

/// The number of watches for a reader: one at a URL, [`WATCHES`] in the cluster of a kubeconfig.
fn watches_of(from: &str) -> u64 {
    if from.starts_with("http") { 1 } else { WATCHES }
}

/// Reads through transport, probe, redaction, log and body ring; a reader of the log counts the events.
async fn read_as_watchscope(from: &str, events: u64, metadata: bool, kept: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let watches = watches_of(from);
    let (source, protocols, resources) = if watches == 1 {
        (at(from)?, Protocols::Http1, vec!["pods".to_owned()])
    } else {
        let resources = (0..watches).map(|number| format!("pods-{number:02}"));
        let source = kubeconfig(Path::new(from));
        (source, Protocols::Negotiated, resources.collect())
    };
    let reading = Watching {
        source,
        resources: &resources,
        metadata_only: metadata,
        protocols,
        history: kept.then_some(Kept {
            folder: folder.path(),
            with_bodies: false,
        }),
    };
    let last = reading.until(events * watches, |_| {}).await?;
    say(events * watches, last.number().context("a number")?)
}

/// Reads with the program that watchscope is compared with: typed objects from kube-rs' watcher, counted and dropped.
async fn read_as_kube<K>(from: &str, events: u64) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
    K::DynamicType: Default,
{
    let watches = watches_of(from);
    let apis: Vec<Api<K>> = if watches == 1 {
        vec![Api::all(Client::try_from(Config::new(from.parse()?))?)]
    } else {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(from)?, &options).await?;
        let client = Client::try_from(config)?;
        let of = |number| Api::namespaced(client.clone(), &format!("shop-{number:02}"));
        (0..watches).map(of).collect()
    };
    let watchers = apis
        .into_iter()
        .map(|api| watcher::watcher(api, watcher::Config::default()).boxed());
    let mut stream = futures_util::stream::select_all(watchers);
    let (mut had, mut last) = (0, 0);
    while had < events * watches {
        match stream.next().await.context("the watchers ended")?? {
            Event::Apply(object) | Event::Delete(object) => {
                had += 1;
                last = object.resource_version().context("a version")?.parse()?;
            }
            Event::Init | Event::InitApply(_) | Event::InitDone => {}
        }
    }
    say(had, last)
}

/// Reads the bytes of the stream to its end, and copies them once. It counts no events.
fn read_as_floor(url: &str) -> Result<()> {
    const READ_BYTES: usize = 256 << 10;
    let mut stream = std::net::TcpStream::connect(url.trim_start_matches("http://"))?;
    stream.write_all(b"GET /api/v1/pods?watch=1&floor=1 HTTP/1.1\r\nhost: floor\r\n\r\n")?;
    let (mut buffer, mut copy) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
    loop {
        let length = stream.read(&mut buffer)?;
        copy[..length].copy_from_slice(&buffer[..length]);
        std::hint::black_box(&copy);
        if length == 0 {
            return say(0, 0);
        }
    }
}

/// Starts a reader over a stream of `events` events and returns its processor time. It fails if the reader did not read
/// every event of every watch.
async fn read_by(
    reader: &str,
    shape: Shape,
    from: &str,
    events: u64,
    watches: u64,
) -> Result<CpuTime> {
    let kind = if shape.is_metadata {
        "metadata"
    } else {
        "whole"
    };
    let arguments = [reader, kind, from, &events.to_string()];
    let numbers = numbers_of_child(&arguments).await?;
    let [had, last, total_ns, kernel_ns] = numbers[..] else {
        bail!("the reader said {numbers:?}")
    };
    let expected = match reader {
        "floor" => (0, 0),
        _ => (events * watches, LISTED + events),
    };
    ensure!(
        (had, last) == expected,
        "{reader} counted {had} events up to {last}, not {expected:?}"
    );
    Ok(CpuTime {
        total_ns,
        kernel_ns,
    })
}
