//! Measures panning over 100,000 records in 300 lanes at 1920x1080 without GPU: script time and frame intervals.
//!
//! Twelve watches of 23 objects, all opened whole, give at least 300 rows. Besides its objects, a watch has its own row
//! and the row that shows fewer of them; the findings have one row.
//! Their log has exactly 100,000 records, and the page loads all of them. They take nine tenths of the view. The view
//! pans left and right by 8 px a frame within the free tenth, so all records stay in view.
//! Each frame brings a wheel event, as from a touchpad. Script time is that of the wheel's handler, the page's
//! animation frame and the tasks that these leave behind, by the page's clock. The interval is that of the browser's
//! animation frames, which includes rasterising.
//! WATCHSCOPE_BENCH_PROFILE names a file for a CPU profile; a picture goes beside it. Build the page with
//! WATCHSCOPE_PAGE_NAMES=1 for readable names in the profile.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_model::Time;
use watchscope_tests::stage::{
    DrivenFrames, Stage, Tab, WATCH_FRAMES, load_average, percentile, row,
};

const RECORDS: u64 = 100_000;
const LANES: u64 = 300;
/// The objects of each watch.
const OBJECTS: [u32; 12] = [23; 12];
const SIZE_PX: (u32, u32) = (1_920, 1_080);
/// The share of the chart's width that the records take.
const SHARE: f64 = 0.9;
const FRAMES: u32 = 1_800;

const BAR_SCRIPT_MS: f64 = 12.0;
const BAR_MEDIAN_MS: f64 = 17.5;
const BAR_WORST_MS: f64 = 50.0;

/// Pans for this many frames; returns the script time and the interval of each.
const PAN: &str = "
    const [frames, reachPx] = arguments;
    const done = arguments[arguments.length - 1];
    const canvas = document.querySelector('canvas.chart');
    const {bench} = window;
    const script = [], intervals = [];
    let before = null, at = 0, step = 8;
    const turn = now => {
        if (before !== null) {
            intervals.push(now - before);
            script.push(bench.script);
        }
        before = now;
        bench.script = 0;
        if (intervals.length >= frames) return done({script, intervals});
        if (Math.abs(at + step) > reachPx) step = -step;
        at += step;
        bench.frame(turn);
        bench.timed(() => canvas.dispatchEvent(new WheelEvent('wheel', {deltaX: step, clientX: 900, clientY: 500, bubbles: true, cancelable: true})));
    };
    bench.frame(turn);
";

/// Zooms by a factor around the left edge, then moves by px.
const LOOK: &str = "
    const [factor, byPx] = arguments;
    const canvas = document.querySelector('canvas.chart');
    const box = canvas.getBoundingClientRect();
    const wheel = options => canvas.dispatchEvent(new WheelEvent('wheel', {clientX: box.left, clientY: 500, bubbles: true, cancelable: true, ...options}));
    if (factor !== 1) wheel({ctrlKey: true, deltaY: (1 - factor) / 0.0035});
    if (byPx !== 0) wheel({deltaX: byPx});
";

#[tokio::main]
async fn main() -> Result<()> {
    let stage = Stage::start(&OBJECTS).await?;
    stage.fill(&OBJECTS, RECORDS).await?;
    let (first_us, last_us) = span(&stage).await?;

    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH_FRAMES).await?;
    tab.goes_live(stage.link().text()).await?;
    let size = tab.script("return [innerWidth, innerHeight]").await?;
    ensure!(
        size == json!([SIZE_PX.0, SIZE_PX.1]),
        "the page is {size} px"
    );
    let watches = tab.until("the watches have rows", |summary| {
        summary["rows"].as_u64() > Some(12)
    });
    watches.await?;
    tab.opens_whole(LANES).await?;
    // Shows everything from the first record on.
    tab.key("0").await?;
    tab.until("all records are loaded", |summary| {
        summary["records"] == RECORDS
    })
    .await?;
    let width = tab
        .script("return document.querySelector('canvas.chart').clientWidth")
        .await?;
    let width = width.as_f64().context("a width")?;
    // Stops following, so that the zoom keeps the left edge.
    tab.key(" ").await?;
    let wanted = (last_us - first_us) / (width * SHARE);
    let reach_px = width * (1.0 - SHARE) / 2.0;
    loop {
        let now = tab.summary().await?["usPerPx"]
            .as_f64()
            .context("a scale")?;
        if (now / wanted - 1.0).abs() < 1e-4 {
            break;
        }
        look(&tab, (now / wanted).clamp(0.6, 1.8), 0.0).await?;
    }
    let now = tab.summary().await?;
    let left = now["leftUs"].as_f64().context("a left edge")?;
    look(&tab, 1.0, (first_us - reach_px * wanted - left) / wanted).await?;
    let now = tab
        .until("the view is set", |now| {
            now["rows"].as_u64() >= Some(LANES) && now["records"] == RECORDS
        })
        .await?;
    eprintln!("{width} px, {now}");

    let profile = std::env::var_os("WATCHSCOPE_BENCH_PROFILE");
    let cdp = tab.driver().cdp();
    tab.driver()
        .set_script_timeout(Duration::from_secs(300))
        .await?;
    // Pans once so that the browser compiles hot code, then once to measure.
    pan(&tab, 120, reach_px).await?;
    if profile.is_some() {
        cdp.send_raw("Profiler.enable", json!({})).await?;
        cdp.send_raw("Profiler.setSamplingInterval", json!({"interval": 200}))
            .await?;
        cdp.send_raw("Profiler.start", json!({})).await?;
    }
    let before = load_average();
    let frames = pan(&tab, FRAMES, reach_px).await?;
    let after = load_average();
    if let Some(path) = profile {
        let answer = cdp.send_raw("Profiler.stop", json!({})).await?;
        std::fs::write(&path, answer["profile"].to_string())?;
        let picture = std::path::Path::new(&path).with_extension("png");
        tab.driver().screenshot(&picture).await?;
    }
    let all = tab.summary().await?;
    let has_lanes = all["rows"].as_u64() >= Some(LANES);
    ensure!(all["records"] == RECORDS && has_lanes, "{all}");
    eprintln!("{}", frames.words());
    eprintln!("load average {before} before, {after} after; {}", all);
    println!(
        "{}",
        row(
            "panning 100,000 records in 300 lanes, script time of a frame, p95",
            BAR_SCRIPT_MS,
            percentile(&frames.work, 0.95),
            "ms"
        )
    );
    println!(
        "{}",
        row(
            "the same, frame interval, median",
            BAR_MEDIAN_MS,
            percentile(&frames.intervals, 0.5),
            "ms"
        )
    );
    println!(
        "{}",
        row(
            "the same, frame interval, worst",
            BAR_WORST_MS,
            percentile(&frames.intervals, 1.0),
            "ms"
        )
    );
    Ok(())
}

async fn pan(tab: &Tab, frames: u32, reach_px: f64) -> Result<DrivenFrames> {
    DrivenFrames::by(tab, PAN, vec![json!(frames), json!(reach_px)]).await
}

async fn look(tab: &Tab, factor: f64, by_px: f64) -> Result<()> {
    tab.driver()
        .execute(LOOK, vec![json!(factor), json!(by_px)])
        .await?;
    Ok(())
}

/// Returns the times of the first and the last record, in microseconds.
async fn span(stage: &Stage) -> Result<(f64, f64)> {
    let mut records = stage.served.records().await?;
    let is_last = |record: &Value| record["seq"] == RECORDS;
    let all = records.up_to(is_last).await?;
    let at = |record: Option<&Value>| -> Result<f64> {
        let text = record.and_then(|record| record["at"].as_str());
        let at = text.and_then(Time::parse).context("a time")?;
        Ok(at.0 as f64)
    };
    // The first line names the log; the second is the first record.
    Ok((at(all.get(1))?, at(all.last())?))
}
