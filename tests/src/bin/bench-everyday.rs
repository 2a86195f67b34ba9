//! Measures everyday rates on a real kube-apiserver: CPU of a change at 10 a second, and write to viewer at 100 a second.
//!
//! The parent makes pods and writes their statuses, one at a time, over TLS. At 10 writes a second all readers watch at
//! the same time, each in a process of its own: kube-rs' `watcher`, which only counts; `serve` without audit; `watch -o
//! jsonl` into a pipe without audit, and with light audit. The processor time of all threads of a process counts, in user
//! mode and in the kernel, from before the first write until half a second after the last one.
//!
//! At 100 writes a second the parent itself watches with kube-rs, and over `serve` as a viewer. The delay of an event is
//! the time from its receipt by the watch to its receipt by the viewer.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{BufReader, PipeReader, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Config, ResourceExt as _};
use tokio::time::{sleep, sleep_until};
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Event as LogEvent, Record};
use watchscope_tests::pod_load::{Pods, STATUSES, make_namespace};
use watchscope_tests::stage::{load_average, percentile, sorted, verdict};
use watchscope_tests::usage::cpu_ns_of;
use watchscope_tests::viewer::{Decoding, Delivery, Viewer};
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, Process, Served, Watchscope, WatchscopeBinary,
};

const PODS: usize = 100;
/// The writes of a round at 10 a second, and the time between two.
const WRITES: u64 = 200;
const PAUSE: Duration = Duration::from_millis(100);
/// The rounds; the least CPU of each reader counts, since other programs of a shared machine only add to it.
const ROUNDS: usize = 3;
/// The time after the last write until the processor time is read. It includes what a reader does later.
const REST: Duration = Duration::from_millis(500);
/// The most CPU of a change, as a share of that of kube-rs: `serve`, `watch`, and `watch` with light audit.
const BARS: [f64; 3] = [0.8, 1.0, 1.2];
/// The writes at 100 a second, and the time between two.
const FAST_WRITES: u64 = 3_000;
const FAST_PAUSE: Duration = Duration::from_millis(10);
/// The most delay of a viewer after a direct watch in ms, half of all and 99 of 100.
const DELAY_BARS_MS: [f64; 2] = [5.0, 12.0];
/// What a reader of kube-rs says once it has listed.
const LISTED: u64 = 1;
/// The time in which a reader must have what was written before.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => measure().await,
        ["kube", kubeconfig] => read_as_kube(kubeconfig).await,
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

async fn measure() -> Result<()> {
    let cluster = KubeCluster::start(&KubeTools::find()?, ClusterOptions::default()).await?;
    make_namespace(&cluster).await?;
    let pods = Writer {
        pods: Pods::create(&cluster, PODS).await?,
        written: 0,
    };
    let pods = measure_cpu(&cluster, pods).await?;
    measure_delay(&cluster, pods).await
}

/// The pods, and how many of their statuses were written.
struct Writer {
    pods: Pods,
    written: usize,
}

impl Writer {
    /// Writes a status that differs from the pod's last one. Returns its resourceVersion.
    async fn write(&mut self) -> Result<u64> {
        let (pod, step) = (self.written % PODS, self.written / PODS % STATUSES);
        self.written += 1;
        self.pods.write_status(pod, step).await
    }

    /// Writes this many statuses, one each `pause`. Returns the last resourceVersion.
    async fn write_paced(&mut self, writes: u64, pause: Duration) -> Result<u64> {
        let mut next = tokio::time::Instant::now();
        let mut last = 0;
        for _ in 0..writes {
            sleep_until(next).await;
            next += pause;
            last = self.write().await?;
        }
        Ok(last)
    }
}

/// A running reader of all pods, and the newest resourceVersion that it has said.
struct Reader {
    pid: u32,
    said: Arc<AtomicU64>,
    /// The process, which ends with this value.
    _process: Box<dyn Any>,
}

impl Reader {
    fn kube(cluster: &KubeCluster) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (lines, pipe) = std::io::pipe()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("kube").arg(cluster.kubeconfig());
        let process = Process::start_into("kube", command, folder.path(), pipe.into())?;
        Ok(Self {
            pid: process.pid(),
            said: said(BufReader::new(lines), |line| line.trim().parse().ok()),
            _process: Box::new((process, folder)),
        })
    }

    fn watch(cluster: &KubeCluster, audit: &str) -> Result<Self> {
        let launch = WatchscopeBinary::find()?.with(&[
            "watch",
            "pods",
            "--all-namespaces",
            "-o",
            "jsonl",
            "--audit",
            audit,
        ]);
        let (watching, pipe): (Watchscope, PipeReader) =
            launch.kubeconfig(cluster.kubeconfig()).start_into_pipe()?;
        let version = |line: &str| {
            let (_, rest) = line.split_once("\"resourceVersion\":\"")?;
            let is_change = line.starts_with("{\"type\":\"change\"");
            rest.split('"').next()?.parse().ok().filter(|_| is_change)
        };
        Ok(Self {
            pid: watching.pid(),
            said: said(BufReader::new(pipe), version),
            _process: Box::new(watching),
        })
    }

    /// Waits until the reader has said this resourceVersion or a later one.
    async fn has(&self, version: u64) -> Result<()> {
        let begun = Instant::now();
        while self.said.load(Ordering::Relaxed) < version {
            ensure!(begun.elapsed() < PATIENCE, "a reader lacks {version}");
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// Reads lines in a thread of its own. Returns the greatest resourceVersion in them.
fn said(
    mut lines: impl std::io::BufRead + Send + 'static,
    version: impl Fn(&str) -> Option<u64> + Send + 'static,
) -> Arc<AtomicU64> {
    let said = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&said);
    std::thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            if let Some(version) = version(&line) {
                told.fetch_max(version, Ordering::Relaxed);
            }
            line.clear();
        }
    });
    said
}

/// Measures all readers at 10 writes a second.
async fn measure_cpu(cluster: &KubeCluster, mut writer: Writer) -> Result<Writer> {
    let served = serve(cluster).await?;
    let readers = [
        Reader::kube(cluster)?,
        Reader::watch(cluster, "off")?,
        Reader::watch(cluster, "light")?,
    ];
    let [kube, watch, audited] = &readers;
    // A write before its list would be no event.
    kube.has(LISTED).await?;
    let processes = [kube.pid, served.watchscope.pid(), watch.pid, audited.pid];
    let times = || -> Result<Vec<u64>> { processes.into_iter().map(cpu_ns_of).collect() };
    let mut least_ns = [u64::MAX; 4];
    for _ in 0..ROUNDS {
        // The readers have listed, and their streams are open.
        let first = writer.write().await?;
        for reader in &readers {
            reader.has(first).await?;
        }
        has_record(&served, first).await?;
        let before = times()?;
        let last = writer.write_paced(WRITES, PAUSE).await?;
        sleep(REST).await;
        let after = times()?;
        for reader in &readers {
            reader.has(last).await?;
        }
        has_record(&served, last).await?;
        for ((least, before), after) in least_ns.iter_mut().zip(before).zip(after) {
            *least = (*least).min(after - before);
        }
    }
    let us = |ns: u64| ns as f64 / WRITES as f64 / 1e3;
    let [kube_us, others @ ..] = least_ns.map(us);
    let names = [
        "`serve` without audit",
        "`watch -o jsonl` without audit",
        "`watch -o jsonl` with light audit",
    ];
    for ((name, us), bar) in names.into_iter().zip(others).zip(BARS) {
        let ratio = us / kube_us;
        println!(
            "| CPU per change at 10 pod changes/s, real kube-apiserver, TLS: {name} / kube-rs | at most {bar:.1} | {ratio:.2} ({us:.0} µs / {kube_us:.0} µs) | {} |",
            verdict(ratio <= bar)
        );
    }
    Ok(writer)
}

async fn serve(cluster: &KubeCluster) -> Result<Served> {
    let launch = WatchscopeBinary::find()?.with(&[
        "serve",
        "pods",
        "--all-namespaces",
        "--no-open",
        "--audit",
        "off",
    ]);
    Served::start(launch.kubeconfig(cluster.kubeconfig())).await
}

/// Waits until the log of a server has a resourceVersion.
async fn has_record(served: &Served, version: u64) -> Result<()> {
    let wanted = version.to_string();
    let mut records = served.records().await?;
    records
        .up_to(|record| record["resourceVersion"] == *wanted)
        .await
        .context("a record of the last write")?;
    Ok(())
}

/// Measures how much later a viewer has an event than a direct watch.
async fn measure_delay(cluster: &KubeCluster, mut writer: Writer) -> Result<()> {
    let served = serve(cluster).await?;
    let first = writer.write().await?;
    has_record(&served, first).await?;
    let origin = served.link.origin();
    let address = origin.trim_start_matches("http://").parse()?;
    let mut viewer = Viewer::connect(address, &Served::bearer(), Decoding::All).await?;
    ensure!(viewer.next().await? == Delivery::Joined, "no snapshot");
    let mut watched = BTreeMap::new();
    let mut viewed = BTreeMap::new();
    let mut stream = watcher::watcher(
        pods_of(cluster.kubeconfig().to_str()).await?,
        watcher::Config::default(),
    )
    .boxed();
    // The direct watch lists first.
    while !matches!(stream.next().await.context("the watch")??, Event::InitDone) {}
    let writing = tokio::spawn(async move {
        let last = writer.write_paced(FAST_WRITES, FAST_PAUSE).await;
        last.map(|last| (last, writer))
    });
    let mut writing = Some(writing);
    let mut last = u64::MAX;
    while !(watched.contains_key(&last) && viewed.contains_key(&last)) {
        tokio::select! {
            event = stream.next() => {
                if let Event::Apply(pod) = event.context("the watch ended")?? {
                    watched.insert(version_of(&pod)?, Instant::now());
                }
            }
            delivery = viewer.next() => match delivery? {
                Delivery::Segment { records, .. } => {
                    let at = Instant::now();
                    viewed.extend(records.iter().filter_map(live_version).map(|version| (version, at)));
                }
                Delivery::Moved(records) => bail!("{records} records are lost"),
                Delivery::Joined => {}
            },
            written = async { writing.as_mut().expect("it has not ended").await }, if writing.is_some() => {
                writing = None;
                last = written??.0;
            }
        }
    }
    let mut delays_ms = Vec::new();
    for (version, watched_at) in &watched {
        let viewed_at = viewed.get(version).context("the viewer lacks an event")?;
        let later = viewed_at.saturating_duration_since(*watched_at);
        let earlier = watched_at.saturating_duration_since(*viewed_at);
        delays_ms.push((later.as_secs_f64() - earlier.as_secs_f64()) * 1e3);
    }
    let delays_ms = sorted(delays_ms);
    let at = |share| percentile(&delays_ms, share);
    eprintln!(
        "{} events; viewer after watch in ms: least {:.2}, p50 {:.2}, p90 {:.2}, p99 {:.2}, worst {:.2}; load average {}",
        delays_ms.len(),
        at(0.0),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        load_average()
    );
    for ((name, share), bar) in [("p50", 0.5), ("p99", 0.99)].into_iter().zip(DELAY_BARS_MS) {
        println!(
            "| write to viewer over direct watch, 100/s, real kube-apiserver, {name} | at most +{bar:.0} ms | {:+.1} ms | {} |",
            at(share),
            verdict(at(share) <= bar)
        );
    }
    Ok(())
}

fn live_version(record: &Record) -> Option<u64> {
    match &record.event {
        LogEvent::Change(change) if change.origin == Origin::Live => {
            change.resource_version.number()
        }
        _ => None,
    }
}

fn version_of(pod: &Pod) -> Result<u64> {
    Ok(pod.resource_version().context("a version")?.parse()?)
}

async fn pods_of(kubeconfig: Option<&str>) -> Result<Api<Pod>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig.context("a path in UTF-8")?)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Api::all(Client::try_from(config)?))
}

/// Reads with the program that watchscope is compared with. It says 1 after the list, and the resourceVersions of the
/// first and the last event of a round; between them it only counts.
async fn read_as_kube(kubeconfig: &str) -> Result<()> {
    let pods = pods_of(Some(kubeconfig)).await?;
    let mut stream = watcher::watcher(pods, watcher::Config::default()).boxed();
    let mut output = std::io::stdout();
    let mut events = 0;
    while let Some(event) = stream.next().await {
        match event? {
            Event::InitDone => writeln!(output, "{LISTED}")?,
            Event::Apply(pod) => {
                if events % (WRITES + 1) == 0 || events % (WRITES + 1) == WRITES {
                    writeln!(output, "{}", version_of(&pod)?)?;
                }
                events += 1;
            }
            Event::Init | Event::InitApply(_) | Event::Delete(_) => {}
        }
    }
    bail!("the watch ended")
}
