//! Measures the CPU per event from a loopback server into the log, against that of kube-rs' watcher.
//!
//! The parent serves an empty list and then a watch of events over 1,000 objects made from `fixtures/`.
//! Each event is a chunk, as from a kube-apiserver.
//! The same program, started again, reads it: as watchscope (probe, log, bodies), for one shape with a history too, as
//! kube-rs' `watcher`, which only counts, and as the floor, which copies the bytes once and reads nothing in them.
//!
//! The processor time of the reader's whole process counts, in user mode and in the kernel. Each reader runs over a
//! short and a long stream. The difference of both is the cost of the events between them, so start-up is excluded. All
//! readers of a stream must report the same count and last resourceVersion.
//!
//! The last rows are of an everyday rate: one event each 10 ms. watchscope reads it on one thread, and on the threads that
//! its program has.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::io::{Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Config, ResourceExt as _};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use watchscope::transport::Protocols;
use watchscope_tests::reading::{Kept, Reading as Watching, at};
use watchscope_tests::usage::{CpuTime, numbers_of_child};

/// The bytes of objects in the short stream: more than twice the bodies that memory holds. Until then the allocator
/// takes new pages. The events after them have the cost of a log that has run for long.
const SHORT_BYTES: u64 = 384 << 20;
const OBJECTS: u64 = 1_000;
/// The runs of each reader; the least CPU counts, since other programs of a shared machine only add to it.
const RUNS: usize = 5;
/// The most CPU of an event with a history, as a multiple of the CPU without one.
const HISTORY_BAR: f64 = 1.08;
/// The time between two events of an everyday rate, and the events of its short stream.
const PAUSE: Duration = Duration::from_millis(10);
const FEW: u64 = 200;
/// The runs of each reader of an everyday rate.
const PACED_RUNS: usize = 3;
/// The resourceVersion of the list.
const LISTED: u64 = 1_000;

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
}

const APPLIED_POD: &str = include_str!("../../fixtures/pod.json");
const SHAPES: [Shape; 4] = [
    Shape {
        name: "pods that kubectl applied",
        object: APPLIED_POD,
        is_metadata: false,
        with_history: true,
        bar: 0.20,
    },
    Shape {
        name: "pods of a ReplicaSet",
        object: include_str!("../../fixtures/owned-pod.json"),
        is_metadata: false,
        with_history: false,
        bar: 0.20,
    },
    Shape {
        name: "metadata that kubectl applied",
        object: APPLIED_POD,
        is_metadata: true,
        with_history: false,
        bar: 0.33,
    },
    Shape {
        name: "metadata of a ReplicaSet's pods",
        object: include_str!("../../fixtures/metadata.json"),
        is_metadata: true,
        with_history: false,
        bar: 0.33,
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
    let served = serve(shape, events.parse()?, None).await?;
    eprintln!("watchscope {} {events}", served.url);
    std::future::pending().await
}

async fn measure() -> Result<()> {
    for shape in SHAPES {
        let object_bytes = Template::new(shape)?.object(1).len();
        let few = SHORT_BYTES / object_bytes as u64;
        let mut readers = vec!["watchscope", "kube", "floor"];
        readers.extend(shape.with_history.then_some("history"));
        let costs = costs(shape, few, None, &readers, RUNS).await?;
        report(shape, object_bytes, &costs);
    }
    let readers = ["threads", "watchscope", "kube"];
    let costs = costs(SHAPES[1], FEW, Some(PAUSE), &readers, PACED_RUNS).await?;
    let [threads, ours, theirs] = &costs[..] else {
        bail!("a reader has no figure");
    };
    println!(
        "| CPU per event, pods of a ReplicaSet, 100 events a second, HTTP/1.1: ours / kube-rs | no bar | {:.2} ({threads} / {theirs}); on one thread {ours} | |",
        threads.us() / theirs.us()
    );
    Ok(())
}

/// Measures the readers in turns over a stream of `few` events and over one of three times as many.
async fn costs(
    shape: Shape,
    few: u64,
    pause: Option<Duration>,
    readers: &[&str],
    runs: usize,
) -> Result<Vec<Cost>> {
    let short = serve(shape, few, pause).await?;
    let long = serve(shape, 3 * few, pause).await?;
    let mut least = vec![[CpuTime::MAX; 2]; readers.len()];
    for _ in 0..runs {
        for (reader, least) in readers.iter().zip(&mut least) {
            for (stream, least) in [&short, &long].into_iter().zip(least) {
                *least = (*least).min(stream.read_by(reader, shape).await?);
            }
        }
    }
    let cost = |[short, long]: [CpuTime; 2]| Cost::of(short, long, 2 * few);
    Ok(least.into_iter().map(cost).collect())
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

/// Reads through transport, probe, redaction, log and body ring; a reader of the log counts the events.
async fn read_as_watchscope(url: &str, events: u64, metadata: bool, kept: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let reading = Watching {
        source: at(url)?,
        resources: &["pods".to_owned()],
        metadata_only: metadata,
        protocols: Protocols::Http1,
        history: kept.then_some(Kept {
            folder: folder.path(),
            with_bodies: false,
        }),
    };
    let last = reading.until(events, |_| {}).await?;
    say(events, last.number().context("a number")?)
}

/// Reads with the program that watchscope is compared with: typed objects from kube-rs' watcher, counted and dropped.
async fn read_as_kube<K>(url: &str, wanted: u64) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
    K::DynamicType: Default,
{
    let client = Client::try_from(Config::new(url.parse()?))?;
    let mut stream = std::pin::pin!(watcher::watcher(
        Api::<K>::all(client),
        watcher::Config::default()
    ));
    let (mut events, mut last) = (0, 0);
    while last < LISTED + wanted {
        match stream.next().await.context("the watcher ended")?? {
            Event::Apply(object) | Event::Delete(object) => {
                events += 1;
                last = object.resource_version().context("a version")?.parse()?;
            }
            Event::Init | Event::InitApply(_) | Event::InitDone => {}
        }
    }
    say(events, last)
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

/// A server of one stream, in a thread of its own.
struct Served {
    url: String,
    events: u64,
}

impl Served {
    /// Starts a reader and returns its processor time. It fails if the reader did not read every event.
    async fn read_by(&self, reader: &str, shape: Shape) -> Result<CpuTime> {
        let kind = if shape.is_metadata {
            "metadata"
        } else {
            "whole"
        };
        let arguments = [reader, kind, &self.url, &self.events.to_string()];
        let numbers = numbers_of_child(&arguments).await?;
        let [events, last, total_ns, kernel_ns] = numbers[..] else {
            bail!("the reader said {numbers:?}")
        };
        let expected = match reader {
            "floor" => (0, 0),
            _ => (self.events, LISTED + self.events),
        };
        ensure!(
            (events, last) == expected,
            "{reader} counted {events} events up to {last}, not {expected:?}"
        );
        Ok(CpuTime {
            total_ns,
            kernel_ns,
        })
    }
}

/// Serves discovery, an empty list, and `events` events, with a pause after each if there is one.
async fn serve(shape: Shape, events: u64, pause: Option<Duration>) -> Result<Served> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let template = Template::new(shape)?;
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async move {
            let Ok(listener) = listener.into_std().and_then(TcpListener::from_std) else {
                return;
            };
            while let Ok((stream, _)) = listener.accept().await {
                let template = template.clone();
                tokio::spawn(async move {
                    // A reader closes its connection once it has the last event.
                    let _ = converse(stream, template, shape.is_metadata, (events, pause)).await;
                });
            }
        });
    });
    Ok(Served { url, events })
}

async fn converse(
    stream: TcpStream,
    template: Template,
    is_metadata: bool,
    events: (u64, Option<Duration>),
) -> Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut target = String::new();
    while let Some(line) = lines.next_line().await? {
        if target.is_empty() {
            target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
        if !line.is_empty() {
            continue;
        }
        let asked = std::mem::take(&mut target);
        if asked.contains("watch=") {
            stream_events(&mut write, &template, events).await?;
            if asked.contains("floor=") {
                return Ok(());
            }
            // The stream stays open, as a watch does, until the reader closes it.
            return std::future::pending().await;
        }
        let kind = if is_metadata {
            ("PartialObjectMetadataList", "meta.k8s.io/v1")
        } else {
            ("PodList", "v1")
        };
        let body = match asked.split('?').next().unwrap_or_default() {
            "/version" => r#"{"gitVersion":"v1.36.3","major":"1","minor":"36","platform":"linux/amd64","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":""}"#.to_owned(),
            "/api" => r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}"#.to_owned(),
            "/apis" => r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#.to_owned(),
            "/api/v1" => r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}"#.to_owned(),
            _ => format!(r#"{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{LISTED}"}},"items":[]}}"#, kind.0, kind.1),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        write.write_all((head + body.as_str()).as_bytes()).await?;
    }
    Ok(())
}

async fn stream_events(
    write: &mut (impl tokio::io::AsyncWrite + Unpin),
    template: &Template,
    (events, pause): (u64, Option<Duration>),
) -> Result<()> {
    write.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let mut batch = Vec::with_capacity(1 << 20);
    for number in 1..=events {
        let object = template.object(number);
        let kind = if number <= OBJECTS {
            "ADDED"
        } else {
            "MODIFIED"
        };
        let frame = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        batch.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
        if pause.is_some() || batch.len() > (1 << 20) - (16 << 10) {
            write.write_all(&batch).await?;
            batch.clear();
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
    write.write_all(&batch).await?;
    write.flush().await?;
    Ok(())
}

/// An object, cut where events differ: at name, uid and resourceVersion.
#[derive(Clone)]
struct Template {
    name: String,
    uid: String,
    version: String,
    rest: String,
}

impl Template {
    fn new(shape: Shape) -> Result<Self> {
        let mut object: serde_json::Value = serde_json::from_str(shape.object)?;
        if shape.is_metadata {
            object = serde_json::json!({
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
