//! Measures the search of a log over the server: first hits, and the last hit of a name and of a resourceVersion.
//!
//! The log has 10 million records of a busy cluster's load in a file; the server has all but the newest chapter on disk.
//! Names and resourceVersions are those of records in the first hundredth of the log, so a search passes over nearly all
//! of it. An answer ends at its limits. Then the next request goes on, as the page does, and the time of all of them
//! counts.
//! The first search reads every chapter, because the index is empty then. It has no bar; standard error has its time.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_tests::change_file::write_run;
use watchscope_tests::change_load::BUSY;
use watchscope_tests::stage::{percentile, row, sorted};
use watchscope_tests::{Served, WatchscopeBinary};

const RECORDS: u64 = 10_000_000;
const SEARCHES: u64 = 21;
const FIRST_BAR_MS: f64 = 50.0;
const NAME_BAR_MS: f64 = 500.0;
const VERSION_BAR_MS: f64 = 100.0;

#[tokio::main]
async fn main() -> Result<()> {
    let given = std::env::args().nth(1).map(|count| count.parse());
    let records = given.transpose()?.unwrap_or(RECORDS);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("log.wscope");
    write_run(&file, BUSY, |load| load.changes() < records)?;
    let bytes = std::fs::metadata(&file)?.len();
    eprintln!("{records} records are {} MB", bytes / 1_000_000);
    let file = file.to_str().context("a plain name")?;
    let binary = WatchscopeBinary::find()?;
    let served = Served::start(binary.with(&["replay", file, "--no-open"])).await?;

    let cold = search(&served, "no such text").await?;
    eprintln!(
        "the first search: {:.0} ms in {} answers",
        cold.all_ms, cold.answers
    );
    let (mut first, mut name, mut version) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..SEARCHES {
        let record = record(&served, records / 100 - number * 17).await?;
        let text = |key: &str| record[key].as_str().context("a text").map(str::to_owned);
        let common = search_once(&served, "checkout", None).await?;
        first.push(common.first_ms.context("a hit")?);
        let of_name = search(&served, &text("name")?).await?;
        ensure!(of_name.hits > 0, "{record} was not found");
        name.push(of_name.all_ms);
        let of_version = search(&served, &text("resourceVersion")?).await?;
        ensure!(
            of_version.hits == 1,
            "{} hits for {record}",
            of_version.hits
        );
        version.push(of_version.all_ms);
    }
    for (figure, bar, taken) in [
        ("first hits", FIRST_BAR_MS, first),
        ("last hit of a name", NAME_BAR_MS, name),
        ("last hit of a resourceVersion", VERSION_BAR_MS, version),
    ] {
        let taken = sorted(taken);
        let figure = format!("search in {records} records: {figure}, p95 of {SEARCHES}");
        println!("{}", row(&figure, bar, percentile(&taken, 0.95), "ms"));
        eprintln!("median {:.1} ms", percentile(&taken, 0.5));
    }
    Ok(())
}

/// What a search took.
#[derive(Default)]
struct Taken {
    first_ms: Option<f64>,
    all_ms: f64,
    hits: u64,
    answers: u64,
    next: Option<String>,
}

/// Searches the whole log, answer after answer.
async fn search(served: &Served, query: &str) -> Result<Taken> {
    let mut all = Taken::default();
    loop {
        let one = search_once(served, query, all.next.as_deref()).await?;
        all.first_ms = all.first_ms.or(one.first_ms.map(|ms| all.all_ms + ms));
        all.all_ms += one.all_ms;
        all.hits += one.hits;
        all.answers += 1;
        all.next = one.next;
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

/// Reads one answer.
async fn search_once(served: &Served, query: &str, before: Option<&str>) -> Result<Taken> {
    let mut path = format!("/api/search?q={}", query.replace(' ', "+"));
    if let Some(before) = before {
        path += &format!("&before={before}");
    }
    let began = Instant::now();
    let passed = || began.elapsed().as_secs_f64() * 1e3;
    let mut answer = served.get(&path).await?;
    ensure!(answer.status() == 200, "{}", answer.text().await?);
    let (mut taken, mut text) = (Taken::default(), Vec::new());
    while let Some(chunk) = answer.chunk().await? {
        text.extend_from_slice(&chunk);
        if text.starts_with(b"{\"type\":\"hit\"") {
            taken.first_ms.get_or_insert_with(passed);
        }
    }
    taken.all_ms = passed();
    for line in std::str::from_utf8(&text)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        ensure!(line["type"] != "notRead", "{line}");
        taken.hits += u64::from(line["type"] == "hit");
        taken.next = line["next"].as_str().map(str::to_owned);
    }
    Ok(taken)
}

/// Returns the first change after a record.
async fn record(served: &Served, seq: u64) -> Result<Value> {
    let path = format!("/api/records?since={}.{seq}", BUSY.epoch);
    let mut answer = served.get(&path).await?;
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        text.extend_from_slice(&chunk);
        let whole = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
        for line in std::str::from_utf8(&text[..whole])?.lines() {
            let line: Value = serde_json::from_str(line)?;
            if line["type"] == "change" {
                return Ok(line);
            }
        }
    }
    anyhow::bail!("there is no change after {seq}")
}
