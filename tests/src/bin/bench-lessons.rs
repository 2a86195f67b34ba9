//! Measures lessons in a browser: the module's weight, the time to the first painted lane, and going back.
//!
//! For each opening a Chromium is started anew, with nothing cached, and goes to a lesson's address at a
//! `watchscope demo`. The opening ends with the first painted lane, by the page's clock, which starts with the
//! navigation.
//! Going back leads from the end of the longest lesson of at most 120 s to just before it, which runs the whole lesson
//! again. Its time ends with the drawn picture.
//! The worker measures the time of ten virtual minutes over whole runs of all lessons. Each runs as written, and with
//! each fault that a lesson lets a reader inject.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use watchscope_scenarios::lessons::lessons;
use watchscope_tests::stage::{Tab, load_average, percentile, row, sorted};
use watchscope_tests::{WatchscopeBinary, eventually, project_root};

const SIZE_PX: (u32, u32) = (1_600, 1_000);
const OPENINGS: usize = 9;
/// How long a started browser, and a page after each action, are left alone.
const SETTLE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);
const START_BAR_MS: f64 = 500.0;
const BACK_BAR_MS: f64 = 300.0;
const MODULE_BAR_KB: f64 = 600.0;
/// The length of the longest lesson whose bar is even.
const EVEN: Duration = Duration::from_secs(120);
/// The virtual seconds that the bar for going back is about.
const BACK_OVER_S: f64 = 600.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Ok(binary) = WatchscopeBinary::find() else {
        bail!("no watchscope: build it");
    };
    let (_demo, link) = binary.with(&["demo"]).serve().await?;
    let address = |lesson: &str| format!("{}/#lesson={lesson}", link.origin());

    println!(
        "{}",
        row(
            "lesson worker module, gzip",
            MODULE_BAR_KB,
            module_kb()?,
            "kB"
        )
    );

    let mut starts = Vec::new();
    for _ in 0..OPENINGS {
        let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, "").await?;
        tokio::time::sleep(SETTLE).await;
        tab.driver().goto(address("ghost")).await?;
        tokio::time::sleep(SETTLE).await;
        let drawn = tab
            .until("the first lane is painted", |summary| {
                !summary["firstLaneMs"].is_null()
            })
            .await?;
        let at = drawn["firstLaneMs"].as_f64().context("a time")?;
        eprintln!("load average {}; first lane {at:.0} ms", load_average());
        starts.push(at);
    }
    let starts = sorted(starts);
    println!(
        "{}",
        row(
            "opening a lesson to the first painted lane, median of 9",
            START_BAR_MS,
            percentile(&starts, 0.5),
            "ms"
        )
    );

    let longest = lessons();
    // The bar of a longer lesson is not even, and another bar holds for its runs.
    let short = longest.iter().filter(|lesson| lesson.lasts <= EVEN);
    let longest = short.max_by_key(|lesson| lesson.lasts);
    let longest = longest.context("a lesson")?;
    let lasts = longest.lasts.as_secs();
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, "").await?;
    tab.driver().goto(address(longest.name)).await?;
    tab.until("the first lane is painted", |summary| {
        !summary["firstLaneMs"].is_null()
    })
    .await?;
    tokio::time::sleep(SETTLE).await;
    let mut backs = Vec::new();
    for turn in 0..OPENINGS {
        go(&tab, lasts as f64, lasts).await?;
        let back_to_s = lasts as f64 - 0.1 - turn as f64 / 1e3;
        backs.push(go(&tab, back_to_s, lasts).await?);
    }
    let backs = sorted(backs);
    println!(
        "{}",
        row(
            &format!("going back over {lasts} s, to the drawn picture, median of 9"),
            BACK_BAR_MS,
            percentile(&backs, 0.5),
            "ms"
        )
    );

    let mut ran = (0.0, 0.0);
    for lesson in lessons() {
        let script = format!(
            "const done = arguments[0], from = performance.now();
            watchscopeLesson.digest('{}', 1).then(() => done(performance.now() - from));",
            lesson.name
        );
        let took = tab.driver().execute_async(script.as_str(), vec![]).await?;
        ran.0 += took.json().as_f64().context("a time")?;
        // The digest runs each lesson twice: as written, and with its faults.
        ran.1 += 2.0 * lesson.lasts.as_secs_f64();
    }
    eprintln!("{:.0} ms for {} virtual seconds", ran.0, ran.1);
    println!(
        "{}",
        row(
            "running ten virtual minutes again, in the worker",
            BACK_BAR_MS,
            ran.0 / ran.1 * BACK_OVER_S,
            "ms"
        )
    );
    Ok(())
}

/// Brings the lesson to a time. Returns how many ms that took until the picture was drawn.
async fn go(tab: &Tab, to_s: f64, lasts: u64) -> Result<f64> {
    let share = to_s / lasts as f64;
    tab.script(&format!(
        "const bar = document.querySelector('.lesson-controls input[type=range]');
        bar.value = Math.round(bar.max * {share});
        bar.dispatchEvent(new Event('input', {{bubbles: true}}));"
    ))
    .await?;
    tokio::time::sleep(SETTLE).await;
    eventually("the lesson is there", PATIENCE, async || {
        let state = tab.script("return watchscopeLesson.state()").await?;
        let at = state["at"].as_f64().context("a time")?;
        ensure!((at - to_s).abs() < 0.02, "{state}");
        state["rewindMs"].as_f64().context("it is drawn")
    })
    .await
}

/// Returns the weight in kB of the worker's module, under gzip.
fn module_kb() -> Result<f64> {
    let folder = project_root().join("dist");
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("lesson-") && name.ends_with("_bg.wasm.gz") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes as f64 / 1e3)
}
