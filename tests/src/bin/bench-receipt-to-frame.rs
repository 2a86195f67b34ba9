//! Measures the time from receipt at the server to the frame after the record is drawn (Chromium without GPU).
//!
//! A loopback apiserver sends events one at a time; watchscope, and the page in Chromium, run on the same machine. The
//! time of receipt is the record's `at`; a frame's time is the page's, see [`Tab::with_frame_times`].
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person, and compares with the wall clock"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, sleep_until};
use watchscope_tests::stage::{
    CLOCKS_MS, Stage, Tab, at_ms, load_average, percentile, row, sorted, wall_clock_ms,
};

/// The objects of each watch.
const OBJECTS: [u32; 8] = [20; 8];
const SINGLE: u64 = 1_000;
/// The interval between two single events in ms. It varies, so that no phase of the browser's frames is favoured.
const SINGLE_EVERY_MS: std::ops::Range<u64> = 60..120;
const RATE: u64 = 500;
const RATE_FOR: Duration = Duration::from_secs(30);
/// The number of first events at that rate that are not counted.
const WARM_UP: u64 = RATE;
const BAR_P50_MS: [f64; 2] = [35.0, 45.0];
const BAR_P99_MS: f64 = 80.0;
#[tokio::main]
async fn main() -> Result<()> {
    let stage = Stage::start(&OBJECTS).await?;
    let tab = Tab::with_frame_times(&stage).await?;
    let names = ["1,000 single events", "500 events/s"];

    let mut sent = Vec::new();
    let first = stage.head().await? + 1;
    let mut next = Instant::now();
    for number in 0..SINGLE {
        let spread = SINGLE_EVERY_MS.end - SINGLE_EVERY_MS.start;
        next += Duration::from_millis(SINGLE_EVERY_MS.start + number * 37 % spread);
        sleep_until(next).await;
        send(&stage, number, &mut sent).await?;
    }
    report(&stage, &tab, names[0], first, &sent, BAR_P50_MS[0]).await?;

    sent.clear();
    let first = stage.head().await? + 1;
    let begun = Instant::now();
    for number in 0..RATE * RATE_FOR.as_secs() {
        sleep_until(begun + Duration::from_micros(number * 1_000_000 / RATE)).await;
        send(&stage, number, &mut sent).await?;
    }
    sent.drain(..WARM_UP as usize);
    report(
        &stage,
        &tab,
        names[1],
        first + WARM_UP,
        &sent,
        BAR_P50_MS[1],
    )
    .await
}

async fn send(stage: &Stage, number: u64, sent: &mut Vec<f64>) -> Result<()> {
    let kind = (number % 8) as usize;
    sent.push(wall_clock_ms()?);
    stage.feeder.modify(kind, (number * 7 % 20) as u32).await
}

/// Compares the times of the records from `first` on with those of the frames, and prints the figures.
async fn report(
    stage: &Stage,
    tab: &Tab,
    name: &str,
    first: u64,
    sent: &[f64],
    bar_p50: f64,
) -> Result<()> {
    let last = first + sent.len() as u64 - 1;
    let frames = tab.frames_up_to(last).await?;
    let mut records = stage.served.records().await?;
    let all = records.up_to(|record| record["seq"] == last).await?;
    let (mut waits, mut receipts) = (Vec::new(), Vec::new());
    for (record, sent) in all[all.len() - sent.len()..].iter().zip(sent) {
        ensure!(record["type"] == "change", "{record}");
        let at = at_ms(record)?;
        let seq = record["seq"].as_u64().context("a seq")?;
        waits.push(frames.after(seq)? - at);
        receipts.push(at - sent);
    }
    let (waits, receipts) = (sorted(waits), sorted(receipts));
    ensure!(
        receipts[0] > -CLOCKS_MS,
        "the server received an event {} ms before it was sent",
        -receipts[0]
    );
    let at = |share| percentile(&waits, share);
    eprintln!(
        "{name}: {} records, ms: least {:.1}, p50 {:.1}, p90 {:.1}, p99 {:.1}, worst {:.1}; sent to receipt p50 {:.2}, \
         p99 {:.1}; load average {}",
        waits.len(),
        at(0.0),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        percentile(&receipts, 0.5),
        percentile(&receipts, 0.99),
        load_average()
    );
    println!(
        "{}",
        row(
            &format!("receipt to the frame after it is drawn, {name}, p50"),
            bar_p50,
            at(0.5),
            "ms"
        )
    );
    println!("{}", row("the same, p99", BAR_P99_MS, at(0.99), "ms"));
    Ok(())
}
