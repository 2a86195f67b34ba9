//! Measures the page live: 1,000 events a second, 20,000 events a second, and a burst of 200,000.
//!
//! A loopback apiserver sends modifications of 1,000 objects in ten watches, evenly in time except in the burst.
//! watchscope, this program and the page (Chromium without GPU, 1920x1080) run on the same machine.
//! At 1,000 events a second the page is as a person opens it, and nothing of this program runs in it. Its share is
//! Chromium's `ThreadTime`: the CPU time of the main thread of the page's renderer.
//! At 20,000 events a second, and in the burst, all lanes are open. Frame work is the time of the page's animation frame
//! and of the messages since the browser's frame before, with the tasks that these leave behind. Frames of
//! the browser without an animation frame of the page do not count. Lag is the time from a record's `at` at the server to
//! the frame after the one that drew it, for each record.
//! The page loses nothing if it then holds as many records as the log has.
//! WATCHSCOPE_BENCH_PROFILE names a folder for CPU profiles and pictures of both paces. Build the page with
//! WATCHSCOPE_PAGE_NAMES=1 for readable names in the profiles.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::Instant;
use watchscope_tests::stage::{
    DrivenFrames, Frames, Profile, Stage, Tab, WATCH_FRAMES, at_ms, load_average, percentile, row,
    row_without_bar, sorted,
};

/// The objects of each watch.
const OBJECTS: [u32; 10] = [100; 10];
const LANES: u64 = 1_000;
const SIZE_PX: (u32, u32) = (1_920, 1_080);

const CALM_PER_S: u64 = 1_000;
const SHARE_BAR_PERCENT: f64 = 8.0;
const FLOOD_PER_S: u64 = 20_000;
const WORK_BAR_MS: f64 = 12.0;
const LAG_BAR_MS: f64 = 250.0;
const BURST: u64 = 200_000;
/// How long a pace lasts before it is measured, so that the browser compiles hot code.
const WARM_UP: Duration = Duration::from_secs(5);
const MEASURED: Duration = Duration::from_secs(30);

/// Watches the frames after [`WATCH_FRAMES`]. Handlers of messages count as work. `bench.begin()` begins to keep each
/// frame and each task of more than 50 ms, and `bench.end()` returns them. `bench.painted` has the last record that each
/// frame painted, with the wall clock at the frame after it.
const WATCH_LIVE: &str = "
    const {prototype} = WebSocket;
    const own = Object.getOwnPropertyDescriptor(prototype, 'onmessage');
    Object.defineProperty(prototype, 'onmessage', {
        ...own,
        set(listener) { own.set.call(this, event => bench.timed(() => listener(event))); },
    });
    const timed = window.requestAnimationFrame;
    let kept = null, before = 0, last = 0, hasDrawn = false;
    window.requestAnimationFrame = callback => timed(now => {
        hasDrawn = true;
        callback(now);
    });
    bench.painted = [];
    new PerformanceObserver(list => kept?.tasks.push(...list.getEntries().map(of => of.duration)))
        .observe({type: 'longtask'});
    bench.begin = () => { kept = {script: [], intervals: [], tasks: []}; };
    bench.end = () => {
        const ended = kept;
        kept = null;
        return ended;
    };
    const turn = now => {
        if (hasDrawn) kept?.script.push(bench.script);
        kept?.intervals.push(now - before);
        bench.script = 0;
        hasDrawn = false;
        before = now;
        frame(turn);
        const {painted} = JSON.parse(window.watchscope?.summary() ?? '{}');
        if (painted > last) {
            last = painted;
            bench.painted.push([painted, performance.timeOrigin + performance.now()]);
        }
    };
    frame(turn);
";

#[tokio::main]
async fn main() -> Result<()> {
    let stage = Stage::start(&OBJECTS).await?;
    calm(&stage).await?;
    if std::env::args().nth(1).as_deref() == Some("calm") {
        return Ok(());
    }
    let script = format!("{WATCH_FRAMES}{WATCH_LIVE}");
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, &script).await?;
    tab.goes_live(&stage.fresh_link().await?).await?;
    tab.opens_whole(LANES).await?;
    tab.has_our_clock().await?;
    flood(&stage, &tab).await?;
    burst(&stage, &tab).await
}

/// Measures the main thread's share of a core while the page follows.
async fn calm(stage: &Stage) -> Result<()> {
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, "").await?;
    let cdp = tab.driver().cdp();
    tab.goes_live(stage.link().text()).await?;
    cdp.send_raw("Performance.enable", json!({})).await?;
    let metrics = async || -> Result<Vec<(String, f64)>> {
        let answer = cdp.send_raw("Performance.getMetrics", json!({})).await?;
        let metrics = answer["metrics"].as_array().context("metrics")?.iter();
        let metric = |of: &Value| Some((of["name"].as_str()?.to_owned(), of["value"].as_f64()?));
        Ok(metrics.filter_map(metric).collect())
    };
    let count = (WARM_UP + MEASURED + Duration::from_secs(1)).as_secs() * CALM_PER_S;
    let measure = async {
        tokio::time::sleep(WARM_UP).await;
        let profile = Profile::start(&tab).await?;
        let (began, before) = (Instant::now(), metrics().await?);
        tokio::time::sleep(MEASURED).await;
        let (passed_s, after) = (began.elapsed().as_secs_f64(), metrics().await?);
        profile.end(&tab, "calm").await?;
        let pairs = before.into_iter().zip(after);
        let a_second =
            pairs.map(|((name, before), (_, after))| (name, (after - before) / passed_s));
        anyhow::Ok(a_second.collect::<Vec<_>>())
    };
    let (fed, a_second) = tokio::join!(stage.feed(&OBJECTS, count, CALM_PER_S), measure);
    fed?;
    let a_second = a_second?;
    for (name, value) in a_second.iter().filter(|(_, value)| *value != 0.0) {
        eprintln!("{name}: {value:.3} a second");
    }
    let share = a_second.iter().find(|(name, _)| name == "ThreadTime");
    let (_, share) = share.context("a time")?;
    let summary = tab.summary().await?;
    ensure!(summary["following"] == true, "{summary}");
    eprintln!("load average {}; {summary}", load_average());
    println!(
        "{}",
        row(
            "following 1,000 events/s: CPU of the renderer's main thread, of a core",
            SHARE_BAR_PERCENT,
            share * 100.0,
            "%"
        )
    );
    Ok(())
}

/// The frames between `bench.begin()` and `bench.end()`, and the longest task of more than 50 ms in milliseconds.
struct Kept {
    frames: DrivenFrames,
    longest_task_ms: f64,
}

impl Kept {
    async fn end(tab: &Tab) -> Result<Self> {
        let kept = tab.script("return bench.end()").await?;
        let list = |name: &str| -> Result<Vec<f64>> {
            Ok(sorted(serde_json::from_value(kept[name].clone())?))
        };
        Ok(Self {
            frames: DrivenFrames {
                work: list("script")?,
                intervals: list("intervals")?,
            },
            longest_task_ms: list("tasks")?.last().copied().unwrap_or_default(),
        })
    }
}

async fn flood(stage: &Stage, tab: &Tab) -> Result<()> {
    let first = stage.head().await? + 1;
    let measure = async {
        tokio::time::sleep(WARM_UP).await;
        let profile = Profile::start(tab).await?;
        tab.script("bench.begin()").await?;
        tokio::time::sleep(MEASURED).await;
        let kept = Kept::end(tab).await?;
        profile.end(tab, "flood").await?;
        anyhow::Ok(kept)
    };
    let count = (WARM_UP + MEASURED).as_secs() * FLOOD_PER_S;
    let began = Instant::now();
    let (fed, kept) = tokio::join!(stage.feed(&OBJECTS, count, FLOOD_PER_S), measure);
    fed?;
    let kept = kept?;
    eprintln!(
        "{count} events in {:.1} s; longest task {} ms\n{}",
        began.elapsed().as_secs_f64(),
        kept.longest_task_ms,
        kept.frames.words()
    );
    let last = first + count - 1;
    let frames = tab.frames_up_to(last).await?;
    let lags = lags(
        stage,
        &frames,
        first + WARM_UP.as_secs() * FLOOD_PER_S,
        last,
    )
    .await?;
    let at = |share| percentile(&lags, share);
    eprintln!(
        "lag ms of {} records: p50 {:.1}, p95 {:.1}, p99 {:.1}, worst {:.1}; load average {}",
        lags.len(),
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0),
        load_average()
    );
    println!(
        "{}",
        row(
            "20,000 events/s in 1,000 lanes: frame work, p95",
            WORK_BAR_MS,
            percentile(&kept.frames.work, 0.95),
            "ms"
        )
    );
    println!("{}", row("the same: lag, p95", LAG_BAR_MS, at(0.95), "ms"));
    Ok(())
}

/// Returns the lag of each record from `first` to `last` in milliseconds, sorted.
async fn lags(stage: &Stage, frames: &Frames, first: u64, last: u64) -> Result<Vec<f64>> {
    let mut records = stage.served.records().await?;
    let mut lags = Vec::new();
    loop {
        let record: Value = records.next().await?;
        let Some(seq) = record["seq"].as_u64().filter(|seq| *seq >= first) else {
            continue;
        };
        lags.push(frames.after(seq)? - at_ms(&record)?);
        if seq >= last {
            return Ok(sorted(lags));
        }
    }
}

async fn burst(stage: &Stage, tab: &Tab) -> Result<()> {
    let last = stage.head().await? + BURST;
    tab.script("bench.begin()").await?;
    let began = Instant::now();
    // This is faster than anything can send.
    stage.feed(&OBJECTS, BURST, 100_000_000).await?;
    let sent_s = began.elapsed().as_secs_f64();
    tab.until("all is painted", |summary| {
        summary["painted"].as_u64() >= Some(last)
    })
    .await?;
    let kept = Kept::end(tab).await?;
    eprintln!(
        "{BURST} events sent in {sent_s:.1} s, all drawn after {:.1} s; load average {}\n{}",
        began.elapsed().as_secs_f64(),
        load_average(),
        kept.frames.words()
    );
    // Shows all, so that what was left out is loaded.
    tab.key("0").await?;
    let head = stage.head().await?;
    let now = tab.until("all records are there", |summary| {
        summary["records"] == summary["head"] && summary["head"] == head
    });
    let missing = match now.await {
        Ok(_) => 0,
        Err(error) => {
            eprintln!("{error:#}");
            let summary = tab.summary().await?;
            head - summary["records"].as_u64().context("a number")?
        }
    };
    println!(
        "{}",
        row_without_bar(
            "a burst of 200,000 events: longest task of the page (0: none over 50 ms)",
            kept.longest_task_ms,
            "ms"
        )
    );
    let longest = percentile(&kept.frames.intervals, 1.0);
    println!(
        "{}",
        row_without_bar("the same: longest frame interval", longest, "ms")
    );
    let verdict = if missing == 0 { "met" } else { "missed" };
    println!("| the same: records of the log missing in the page | 0 | {missing} | {verdict} |");
    Ok(())
}
