//! Measures the CPU per event from a loopback server into the log, against that of kube-rs' watcher.
//!
//! The parent serves an empty list and then a watch of 100,000 events over 1,000 pods made from `fixtures/pod.json`.
//! Each event is a chunk, as from a kube-apiserver.
//! The same program, started again, reads it: once as watchscope (probe, log, bodies), once with a history too, and
//! once as kube-rs' `watcher`. The last one only counts. The reader's own CPU time counts, from the first request to
//! the last event. All must report the same count and last resourceVersion.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

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
use watchscope_tests::usage::{cpu_ns, numbers_of_child};

const EVENTS: u64 = 100_000;
const PODS: u64 = 1_000;
/// The runs of each reader; the least CPU counts, since other programs of a shared machine only add to it.
const RUNS: usize = 5;
/// The most CPU of an event with a history, as a multiple of the CPU without one.
const HISTORY_BAR: f64 = 1.08;
const POD: &str = include_str!("../../fixtures/pod.json");
/// The resourceVersion of the last event; readers stop there.
const LAST: u64 = 1_000 + EVENTS;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(measure()),
        ["watchscope", shape, url] => {
            runtime.block_on(read_as_watchscope(url, shape == "metadata", false))
        }
        ["history", shape, url] => {
            runtime.block_on(read_as_watchscope(url, shape == "metadata", true))
        }
        ["kube", "whole", url] => runtime.block_on(read_as_kube::<Pod>(url)),
        ["kube", "metadata", url] => runtime.block_on(read_as_kube::<PartialObjectMeta<Pod>>(url)),
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

/// The report of a reader: events, last resourceVersion, CPU in ns.
#[derive(Clone, Copy, Debug)]
struct Reading {
    events: u64,
    last: u64,
    cpu_ns: u64,
}

async fn measure() -> Result<()> {
    for (shape, bar) in [("whole", 1.0 / 3.0), ("metadata", 0.5)] {
        let (url, mean_bytes) = serve(shape == "metadata").await?;
        let (mut ours, mut theirs, mut kept) = (u64::MAX, u64::MAX, u64::MAX);
        for _ in 0..RUNS {
            let readers = [
                ("watchscope", &mut ours),
                ("kube", &mut theirs),
                ("history", &mut kept),
            ];
            for (reader, best) in readers {
                let reading = run_reader(reader, shape, &url).await?;
                ensure!(
                    (reading.events, reading.last) == (EVENTS, LAST),
                    "{reader} counted {} events up to {}, {EVENTS} up to {LAST} were sent",
                    reading.events,
                    reading.last
                );
                *best = (*best).min(reading.cpu_ns);
            }
        }
        let per_event = |cpu_ns: u64| cpu_ns as f64 / EVENTS as f64 / 1_000.0;
        let ratio = ours as f64 / theirs as f64;
        println!(
            "| CPU per event, {shape} objects of {mean_bytes} B, ours / kube-rs | at most {bar:.2} | {ratio:.2} ({:.1} µs / {:.1} µs) | {} |",
            per_event(ours),
            per_event(theirs),
            if ratio <= bar { "met" } else { "missed" }
        );
        if shape == "metadata" {
            continue;
        }
        let ratio = kept as f64 / ours as f64;
        println!(
            "| CPU per event, {shape} objects, with a history on disk / without | at most {HISTORY_BAR} | {ratio:.3} ({:.2} µs more) | {} |",
            per_event(kept) - per_event(ours),
            if ratio <= HISTORY_BAR {
                "met"
            } else {
                "missed"
            }
        );
    }
    Ok(())
}

async fn run_reader(reader: &str, shape: &str, url: &str) -> Result<Reading> {
    let numbers = numbers_of_child(&[reader, shape, url]).await?;
    let [events, last, cpu_ns] = numbers[..] else {
        bail!("the reader said {numbers:?}")
    };
    Ok(Reading {
        events,
        last,
        cpu_ns,
    })
}

fn report(events: u64, last: u64, began_ns: u64) {
    println!("{events} {last} {}", cpu_ns() - began_ns);
}

/// Reads through transport, probe, redaction, log and body ring; a reader of the log counts the events.
async fn read_as_watchscope(url: &str, metadata: bool, with_history: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let began = cpu_ns();
    let reading = Watching {
        source: at(url)?,
        resources: &["pods".to_owned()],
        metadata_only: metadata,
        protocols: Protocols::Http1,
        history: with_history.then_some(Kept {
            folder: folder.path(),
            with_bodies: false,
        }),
    };
    let last = reading.until(EVENTS, |_| {}).await?;
    report(EVENTS, last.number().context("a number")?, began);
    Ok(())
}

/// Reads with the program that watchscope is compared with: typed objects from kube-rs' watcher, counted and dropped.
async fn read_as_kube<K>(url: &str) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
    K::DynamicType: Default,
{
    let began = cpu_ns();
    let client = Client::try_from(Config::new(url.parse()?))?;
    let mut stream = std::pin::pin!(watcher::watcher(
        Api::<K>::all(client),
        watcher::Config::default()
    ));
    let (mut events, mut last) = (0, 0);
    while last < LAST {
        match stream.next().await.context("the watcher ended")?? {
            Event::Apply(object) | Event::Delete(object) => {
                events += 1;
                last = object.resource_version().context("a version")?.parse()?;
            }
            Event::Init | Event::InitApply(_) | Event::InitDone => {}
        }
    }
    report(events, last, began);
    Ok(())
}

/// Serves discovery, an empty list, and the events. Returns the server's URL and the size in bytes of an event's
/// object.
async fn serve(metadata: bool) -> Result<(String, usize)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let template = Template::new(metadata)?;
    let mean_bytes = template.object(1).len();
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
                    let _ = converse(stream, template, metadata).await;
                });
            }
        });
    });
    Ok((url, mean_bytes))
}

async fn converse(stream: TcpStream, template: Template, metadata: bool) -> Result<()> {
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
            return stream_events(&mut write, &template).await;
        }
        let kind = if metadata {
            ("PartialObjectMetadataList", "meta.k8s.io/v1")
        } else {
            ("PodList", "v1")
        };
        let body = match asked.split('?').next().unwrap_or_default() {
            "/version" => r#"{"gitVersion":"v1.36.3","major":"1","minor":"36","platform":"linux/amd64","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":""}"#.to_owned(),
            "/api" => r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}"#.to_owned(),
            "/apis" => r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#.to_owned(),
            "/api/v1" => r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}"#.to_owned(),
            _ => format!(r#"{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"1000"}},"items":[]}}"#, kind.0, kind.1),
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
) -> Result<()> {
    write.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let mut batch = Vec::with_capacity(1 << 20);
    for number in 1..=EVENTS {
        let object = template.object(number);
        let kind = if number <= PODS { "ADDED" } else { "MODIFIED" };
        let frame = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        batch.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
        if batch.len() > (1 << 20) - (16 << 10) {
            write.write_all(&batch).await?;
            batch.clear();
        }
    }
    write.write_all(&batch).await?;
    write.flush().await?;
    // The stream stays open, as a watch does, until the reader closes it.
    std::future::pending().await
}

/// The fixture, cut where events differ: at name, uid and resourceVersion.
#[derive(Clone)]
struct Template {
    name: String,
    uid: String,
    version: String,
    rest: String,
}

impl Template {
    fn new(metadata: bool) -> Result<Self> {
        let mut pod: serde_json::Value = serde_json::from_str(POD)?;
        if metadata {
            pod = serde_json::json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": pod["metadata"],
            });
            // The fixture's only annotation repeats the whole specification, so it goes. A real server would send it.
            if let Some(annotations) = pod["metadata"]["annotations"].as_object_mut() {
                annotations.clear();
            }
        }
        let text = pod.to_string();
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
        let (pod, version) = (number % PODS, 1_000 + number);
        let Self {
            name,
            uid,
            version: before,
            rest,
        } = self;
        format!(
            "{name}checkout-{pod:05}{uid}6f1d3c0a-9b7e-4c5d-8a21-{pod:012x}{before}\"{version}\"{rest}"
        )
    }
}
