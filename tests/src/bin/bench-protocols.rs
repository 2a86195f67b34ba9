//! Measures HTTP/2 against HTTP/1.1: CPU per event of 60 watches, from a loopback server into the log.
//!
//! The parent serves 60 kinds without TLS, whose cost would be the same on both sides, and modifies their objects in
//! turn. The same program, started again, reads them as watchscope does: over 60 connections of HTTP/1.1, then as 60
//! streams of one connection of HTTP/2. Only the reader's own CPU time counts, from the first request to the last
//! event.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use anyhow::{Result, bail};
use watchscope::transport::Protocols;
use watchscope_tests::Feeder;
use watchscope_tests::reading::{Reading, at};
use watchscope_tests::usage::{cpu_ns, numbers_of_child};

const WATCHES: usize = 60;
const OBJECTS: u32 = 50;
const EVENTS: u64 = 600_000;
/// The runs of each protocol; the least CPU counts, since other programs of a shared machine only add to it.
const RUNS: usize = 3;
/// The most CPU of an event over HTTP/2, as a multiple of that over HTTP/1.1.
const BAR: f64 = 1.2;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => runtime.block_on(measure()),
        ["read", "1", url] => runtime.block_on(read(url, Protocols::Http1)),
        ["read", "2", url] => runtime.block_on(read(url, Protocols::Http2)),
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

async fn measure() -> Result<()> {
    let (mut one, mut two) = (u64::MAX, u64::MAX);
    for _ in 0..RUNS {
        one = one.min(cost("1").await?);
        two = two.min(cost("2").await?);
    }
    let per_event = |cpu_ns: u64| cpu_ns as f64 / EVENTS as f64 / 1_000.0;
    let ratio = two as f64 / one as f64;
    println!(
        "| CPU per event of {WATCHES} watches, HTTP/2 / HTTP/1.1 | at most {BAR:.1} | {ratio:.2} ({:.1} µs / {:.1} µs) | {} |",
        per_event(two),
        per_event(one),
        if ratio <= BAR { "met" } else { "missed" }
    );
    Ok(())
}

/// Returns the CPU time in ns of a reader that speaks this major version of HTTP.
async fn cost(version: &str) -> Result<u64> {
    let feeder = Feeder::start(&[OBJECTS; WATCHES]).await?;
    let arguments = ["read", version, feeder.origin()];
    let feed = feeder.modify_in_turn(EVENTS);
    let ((), numbers) = tokio::try_join!(feed, numbers_of_child(&arguments))?;
    let [cpu_ns] = numbers[..] else {
        bail!("the reader said {numbers:?}")
    };
    Ok(cpu_ns)
}

async fn read(url: &str, protocols: Protocols) -> Result<()> {
    let began = cpu_ns();
    let resources: Vec<String> = (0..WATCHES)
        .map(|number| format!("widgets-{number:02}"))
        .collect();
    let reading = Reading {
        source: at(url)?,
        resources: &resources,
        metadata_only: false,
        protocols,
        history: None,
    };
    reading.until(EVENTS, |_| {}).await?;
    println!("{}", cpu_ns() - began);
    Ok(())
}
