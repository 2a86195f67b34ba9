//! Measures the simulated cluster: virtual seconds for a CPU second, a virtual day, and a large cluster's memory.
//!
//! Deterministic except for the clocks: the same seeds give the same worlds. Nothing here waits; CPU time is the
//! process's own.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use watchscope_simulator::{
    Arrival, ClientGo, Config, Controller, Cut, Fault, Flow, Pause, Program, Request, Scope,
    Target, Time, WorkloadConfig, World,
};
use watchscope_tests::stage::row;
use watchscope_tests::usage::{cpu_ns, resident_kib};

/// The load: objects, writes a second, watchers of the written type, and virtual seconds.
const BUSY_OBJECTS: usize = 10_000;
const WRITES_PER_S: u64 = 1_000;
const WATCHERS: usize = 50;
const BUSY_S: u64 = 20;
const SPEED_BAR: f64 = 10.0;

/// The number of objects of the day's small cluster, at least; it has a fault an hour.
const DAY_OBJECTS: usize = 200;
const DAY_BAR_S: f64 = 5.0;

/// The objects of the large cluster, and the ten minutes of its history.
const LARGE_OBJECTS: usize = 100_000;
const LARGE_BYTES: usize = 3_000;
const LARGE_WRITES_PER_S: u64 = 100;
const LARGE_S: u64 = 600;
const MEMORY_BAR_GIB: f64 = 1.2;

fn main() -> Result<()> {
    // Memory is measured first, while the process holds nothing else.
    println!("{}", memory()?);
    println!("{}", speed()?);
    println!("{}", day()?);
    Ok(())
}

fn speed() -> Result<String> {
    let mut world = World::new(quiet(), 1);
    for number in 0..BUSY_OBJECTS {
        create(&mut world, number, 500)?;
    }
    for _ in 0..WATCHERS {
        let connection = world.connect(Flow::Immediate);
        world.send(
            connection,
            Request::get("/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true"),
        );
    }
    // The watchers get their initial events here; these are not measured.
    let mut frames = 0;
    let begun = world.now() + Duration::from_secs(5);
    read_until(&mut world, begun, &mut frames);
    ensure!(
        frames >= BUSY_OBJECTS * WATCHERS,
        "the watchers got {frames} initial events"
    );
    frames = 0;
    let cpu = cpu_s();
    for write in 0..BUSY_S * WRITES_PER_S {
        let at = begun + Duration::from_micros(write * 1_000_000 / WRITES_PER_S);
        read_until(&mut world, at, &mut frames);
        update(
            &mut world,
            (write as usize * 7_919) % BUSY_OBJECTS,
            write + 1,
        )?;
    }
    let end = begun + Duration::from_secs(BUSY_S);
    read_until(&mut world, end + Duration::from_secs(1), &mut frames);
    let spent = cpu_s() - cpu;
    let wanted = (BUSY_S * WRITES_PER_S) as usize * WATCHERS;
    ensure!(
        (wanted..wanted + 10 * WATCHERS).contains(&frames),
        "the watchers counted {frames} frames of {wanted}, bookmarks besides"
    );
    eprintln!("{frames} frames in {spent:.2} CPU s");
    // The last second, in which nothing is written, adds no virtual time to the figure.
    let speed = BUSY_S as f64 / spent;
    let verdict = if speed >= SPEED_BAR { "met" } else { "missed" };
    Ok(format!(
        "| simulator, 10,000 objects, 1,000 writes/s, 50 watchers that count frames: virtual seconds for a CPU second \
         | at least {SPEED_BAR} | {speed:.1} | {verdict} |"
    ))
}

fn day() -> Result<String> {
    let cpu = cpu_s();
    let mut world = World::new(
        Config {
            warm_up: Duration::from_secs(60),
            workload: day_workload(),
            ..Config::default()
        },
        2,
    );
    let mut number = 0;
    while objects(&world) < DAY_OBJECTS {
        create(&mut world, number, 500)?;
        number += 1;
    }
    for (resource, kind) in [
        ("pods", "Pod"),
        ("configmaps", "ConfigMap"),
        ("nodes", "Node"),
    ] {
        let informer = Program::Controller(Controller {
            version: ClientGo::minor(36),
            ..Controller::default()
        });
        world.start_client(resource, &informer, &Scope::new("v1", resource, kind));
    }
    let begun = world.now();
    for hour in 0..24_u64 {
        let fault = match hour % 4 {
            0 => Fault::Cut {
                target: Target::All,
                cut: Cut::Reset,
            },
            1 => Fault::CloseStreams {
                target: Target::All,
            },
            2 => Fault::CompactEtcd,
            _ => Fault::GoAway {
                target: Target::All,
                cut: None,
            },
        };
        world.inject(fault);
        let mut frames = 0;
        read_until(
            &mut world,
            begun + Duration::from_secs((hour + 1) * 3_600),
            &mut frames,
        );
        while world.next_client_record().is_some() {}
    }
    let spent = cpu_s() - cpu;
    eprintln!(
        "{} objects, revision {} after a day, in {spent:.2} CPU s",
        objects(&world),
        world.truth().revision()
    );
    Ok(row(
        "simulator, a virtual day of 3 nodes and 200 objects, with leases, three informers and a fault an hour: CPU",
        DAY_BAR_S,
        spent,
        "s",
    ))
}

fn memory() -> Result<String> {
    let before = resident_kib("self")?;
    let mut config = quiet();
    // The history keeps all ten minutes: the first compaction comes after them.
    config.etcd.compaction_interval = Duration::from_secs(LARGE_S);
    let mut world = World::new(config, 3);
    for number in 0..LARGE_OBJECTS {
        create(&mut world, number, LARGE_BYTES)?;
    }
    let connection = world.connect(Flow::Immediate);
    world.send(
        connection,
        Request::get("/api/v1/configmaps?watch=1&resourceVersion=0"),
    );
    let begun = world.now();
    let mut frames = 0;
    for write in 0..LARGE_S * LARGE_WRITES_PER_S {
        let at = begun + Duration::from_micros(write * 1_000_000 / LARGE_WRITES_PER_S);
        read_until(&mut world, at, &mut frames);
        update(
            &mut world,
            (write as usize * 7_919) % LARGE_OBJECTS,
            write + 1,
        )?;
    }
    ensure!(objects(&world) >= LARGE_OBJECTS, "all objects live");
    let kib = resident_kib("self")?.saturating_sub(before);
    Ok(row(
        "simulator, 100,000 objects of 3 kB with ten minutes of history at 100 writes/s: memory",
        MEMORY_BAR_GIB,
        kib as f64 / f64::from(1 << 20),
        "GiB",
    ))
}

/// Returns the options of a cluster where nothing happens by itself.
fn quiet() -> Config {
    Config::bare()
}

/// Returns a workload of leases, and at intervals a rollout, a change of scale, a job and other objects.
fn day_workload() -> WorkloadConfig {
    WorkloadConfig {
        rollout_every: Some(Duration::from_secs(3_600)),
        scale_every: Some(Duration::from_secs(1_800)),
        configmap_every: Some(Duration::from_secs(60)),
        temporary_every: Some(Duration::from_secs(300)),
        job_every: Some(Duration::from_secs(900)),
        custom_every: Some(Duration::from_secs(300)),
        ..WorkloadConfig::default()
    }
}

/// Runs the world until `until` and adds the lines that arrive; each frame is a line.
fn read_until(world: &mut World, until: Time, frames: &mut usize) {
    while world.run_until(until) == Pause::Deliveries {
        while let Some(delivery) = world.next_delivery() {
            if let Arrival::Chunk { bytes, .. } = delivery.arrival {
                *frames += memchr::memchr_iter(b'\n', &bytes).count();
            }
        }
    }
}

fn create(world: &mut World, number: usize, bytes: usize) -> Result<()> {
    let request = Request::new("POST", "/api/v1/namespaces/default/configmaps");
    answered(world, &request.json(&map(number, bytes)), 201)
}

/// Writes a value that the object has not had; the first write is 1.
fn update(world: &mut World, number: usize, write: u64) -> Result<()> {
    let path = format!("/api/v1/namespaces/default/configmaps/map-{number}");
    let patch = json!({"data": {"write": write.to_string()}});
    let mut request = Request::new("PATCH", &path).json(&patch);
    request.headers = vec![("content-type".into(), "application/merge-patch+json".into())];
    answered(world, &request, 200)
}

fn answered(world: &mut World, request: &Request, status: u16) -> Result<()> {
    let answer = world.call(request);
    ensure!(
        answer.head.status == status,
        "{} {} was answered {}: {}",
        request.method,
        request.path,
        answer.head.status,
        answer.json()
    );
    Ok(())
}

/// Returns a configmap of about `bytes` bytes.
fn map(number: usize, bytes: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": format!("map-{number}"), "namespace": "default"},
        "data": {"write": "0", "text": "x".repeat(bytes.saturating_sub(400))},
    })
}

/// Returns the number of objects of every kind that the day's workload creates.
fn objects(world: &World) -> usize {
    let kinds = [
        "pods",
        "configmaps",
        "nodes",
        "services",
        "namespaces",
        "deployments.apps",
        "replicasets.apps",
        "jobs.batch",
        "leases.coordination.k8s.io",
    ];
    kinds
        .iter()
        .map(|kind| world.truth().objects(kind, "").len())
        .sum()
}

fn cpu_s() -> f64 {
    cpu_ns() as f64 / 1e9
}
