//! Measures the time from evidence on the wire to its finding on the page (Chromium without GPU).
//!
//! The finding needs no waiting: a loopback apiserver sends each of its watches one event at a version from long
//! before.
//! Diagnosis finds that at once (F29).
//! The time is from before the event is sent to the animation frame after the one that first draws the finding's
//! record; see [`Tab::with_frame_times`].
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person, and compares with the wall clock"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, sleep_until};
use watchscope_tests::stage::{Stage, Tab, load_average, percentile, row, sorted, wall_clock_ms};

/// The number of watches, each with one finding. Further findings of the same kind would be reported ever more rarely
/// on one watch.
const WATCHES: usize = 200;
/// A version below all versions of lists and streams.
const OLD_VERSION: u64 = 7;
/// The interval between two events in ms. It varies, so that no phase of the browser's frames is favoured.
const EVERY_MS: std::ops::Range<u64> = 60..120;
const BAR_P99_MS: f64 = 1_000.0;

#[tokio::main]
async fn main() -> Result<()> {
    let stage = Stage::start(&[2; WATCHES]).await?;
    let tab = Tab::with_frame_times(&stage).await?;
    let mut sent = Vec::new();
    let mut next = Instant::now();
    for kind in 0..WATCHES {
        let spread = EVERY_MS.end - EVERY_MS.start;
        next += Duration::from_millis(EVERY_MS.start + kind as u64 * 37 % spread);
        sleep_until(next).await;
        sent.push(wall_clock_ms()?);
        stage.feeder.modify_at(kind, 1, OLD_VERSION).await?;
    }
    let mut found = 0;
    let mut records = stage.served.records().await?;
    let all = records
        .up_to(|record| {
            found += usize::from(record["type"] == "finding" && record["code"] == "F29");
            found == WATCHES
        })
        .await?;
    let last = all.last().and_then(|record| record["seq"].as_u64());
    let frames = tab.frames_up_to(last.context("a record")?).await?;
    let mut waits = Vec::new();
    for record in all.iter().filter(|record| record["code"] == "F29") {
        let watch = record["watch"].as_str().context("a watch")?;
        let kind = watch.split_once("widgets-").context("a kind")?.1;
        let kind: usize = kind
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .parse()?;
        let seq = record["seq"].as_u64().context("a seq")?;
        waits.push(frames.after(seq)? - sent[kind]);
    }
    ensure!(waits.len() == WATCHES, "{} findings", waits.len());
    let waits = sorted(waits);
    let at = |share| percentile(&waits, share);
    eprintln!(
        "{WATCHES} findings, ms: least {:.1}, p50 {:.1}, p90 {:.1}, worst {:.1}; load average {}",
        at(0.0),
        at(0.5),
        at(0.9),
        at(1.0),
        load_average()
    );
    println!(
        "{}",
        row(
            "evidence on the wire to the frame after its finding is drawn, p99",
            BAR_P99_MS,
            at(0.99),
            "ms"
        )
    );
    Ok(())
}
