//! Measures going back: opening a recording of 20 million records, and a jump of 6 hours over two seams.
//!
//! The recording is of a busy cluster's load over almost three hours; writing it is not measured. It counts as shown in
//! the animation frame after two conditions hold: the overview is painted with all chapters, and the newest chapter is
//! loaded.
//! `replay` is measured from the navigation, in a browser that started two seconds before. The page is measured from
//! the moment that it has the file.
//! The jump is a click on the overview at a random time in the first of three runs. It comes two seconds after the page
//! is open, since no person finds the place earlier. It counts as drawn in the frame after all in view is loaded.
//! Chromium has no GPU here.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde_json::Value;
use thirtyfour::By;
use watchscope_model::Time;
use watchscope_recording::{BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, Header, Tag};
use watchscope_tests::change_file::write_run;
use watchscope_tests::change_load::{BUSY, Pace};
use watchscope_tests::stage::{Tab, fresh_link, load_average, percentile, row, sorted};
use watchscope_tests::{Served, WatchscopeBinary, eventually};

const RECORDS: u64 = 20_000_000;
const OPENINGS: usize = 7;
const JUMPS: usize = 60;
const REPLAY_BAR_MS: f64 = 400.0;
const PAGE_BAR_MS: f64 = 1_500.0;
const NO_INDEX_BAR_MS: f64 = 3_000.0;
const JUMP_BAR_MS: f64 = 300.0;
/// The wait before each measured action. A browser that has just started or opened a page is busy with itself, and a
/// person needs time to look.
const SETTLES: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(120);
const SIZE_PX: (u32, u32) = (1_600, 1_000);

/// Checks after each animation frame whether the condition `window.wanted` holds, and keeps the wall clock when it
/// first does. The canvas shows when the overview was painted. An opened file has its own frame, which reports to the
/// page around it.
const WATCH: &str = "
    const wall = () => performance.timeOrigin + performance.now();
    let overview = 0, looked = 0;
    const put = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...image) {
        if (this.canvas.id === 'overview-strip') overview = wall();
        return put.apply(this, image);
    };
    window.isWhole = ({coverage}) => {
        const kept = coverage.filter(of => of.is === 'Loaded' || of.is === 'NotLoaded');
        const length = kept.reduce((sum, of) => sum + of.toUs - of.fromUs, 0);
        return coverage.at(-1)?.is === 'Loaded' && length > 0.99 * window.top.lengthUs;
    };
    const look = () => {
        const page = window.watchscope;
        const wanted = window.wanted ?? (window.top.lengthUs && window.isWhole);
        if (page && wanted && !window.top.bench) {
            const summary = JSON.parse(page.summary());
            if (wanted(summary) && (window.wanted || overview >= looked)) {
                requestAnimationFrame(() => { window.top.bench ??= wall(); });
            }
            looked = wall();
        }
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
";

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = folder.path().join("whole.wscope");
    let length_us = write_large(&whole)?;
    let bare = folder.path().join("without-index.wscope");
    without_indexes(&whole, &bare)?;
    let bytes = std::fs::metadata(&whole)?.len();
    eprintln!("{RECORDS} records are {} MB", bytes / 1_000_000);

    let binary = WatchscopeBinary::find()?;
    let replayed = openings(|| by_replay(&binary, &whole, length_us)).await?;
    let figure = format!(
        "{RECORDS} records with `replay`: overview of the whole and newest chapter, median of {OPENINGS}"
    );
    println!("{}", row(&figure, REPLAY_BAR_MS, replayed, "ms"));
    let served = Served::start(binary.with(&["demo"])).await?;
    for (figure, file, bar) in [
        ("the same, opened in the page", &whole, PAGE_BAR_MS),
        ("the same without an index", &bare, NO_INDEX_BAR_MS),
    ] {
        let taken = openings(|| in_page(&binary, &served, file, length_us)).await?;
        println!("{}", row(figure, bar, taken, "ms"));
    }
    drop(served);
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs)?;
    let end = write_runs(&runs)?;
    let jumps = jumps(&binary, &runs, end).await?;
    let figure = format!("jump to a time 6 h and two runs back, drawn, p95 of {JUMPS}");
    println!(
        "{}",
        row(&figure, JUMP_BAR_MS, percentile(&jumps, 0.95), "ms")
    );
    eprintln!(
        "jumps, ms: median {:.0}, worst {:.0}",
        percentile(&jumps, 0.5),
        percentile(&jumps, 1.0)
    );
    Ok(())
}

fn write_large(path: &Path) -> Result<f64> {
    write_run(path, BUSY, |load| load.changes() < RECORDS)
}

/// Writes three runs of a quieter cluster, of 3 h, 2 h 30 min and 1 h, with a minute between them. Returns the end of
/// the last.
fn write_runs(folder: &Path) -> Result<Time> {
    let (mut start, mut end) = (BUSY.start, BUSY.start);
    for (epoch, hours) in [("0a", 3.0), ("0b", 2.5), ("0c", 1.0)] {
        let pace = Pace {
            epoch,
            start,
            changes_per_s: 50,
            ..BUSY
        };
        let path = folder.join(format!("{epoch}.wscope"));
        let length_us = write_run(&path, pace, |load| load.seconds() < hours * 3_600.0)?;
        end = start.plus_micros(length_us as i64);
        start = end.plus_millis(60_000);
    }
    Ok(end)
}

/// Copies a recording without its index blocks.
fn without_indexes(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from)?;
    let mut out = BufWriter::new(File::create(to)?);
    let (mut rest, header) = (bytes.as_slice(), FILE_HEADER_BYTES);
    out.write_all(&rest[..header])?;
    rest = &rest[header..];
    while let Some(block) = Header::read(rest) {
        let length = BLOCK_HEADER_BYTES + usize::try_from(block.stored_bytes)?;
        if block.tag != Tag::Index {
            out.write_all(&rest[..length])?;
        }
        rest = &rest[length..];
    }
    ensure!(rest.is_empty(), "{} bytes are no block", rest.len());
    Ok(out.flush()?)
}

/// Returns the median of [`OPENINGS`] openings, in milliseconds.
async fn openings<F: Future<Output = Result<f64>>>(open: impl Fn() -> F) -> Result<f64> {
    let mut taken = Vec::new();
    for _ in 0..OPENINGS {
        taken.push(open().await?);
        eprintln!(
            "{:.0} ms, load average {}",
            taken[taken.len() - 1],
            load_average()
        );
    }
    Ok(percentile(&sorted(taken), 0.5))
}

/// Returns when the condition first held, in milliseconds of the browser's wall clock; fails after [`LONG`].
async fn shown(tab: &Tab) -> Result<f64> {
    eventually("it is shown", LONG, async || {
        let at = tab.script("return window.top.bench ?? null").await?;
        at.as_f64().context("not shown yet")
    })
    .await
}

async fn by_replay(binary: &WatchscopeBinary, file: &Path, length_us: f64) -> Result<f64> {
    let file = file.to_str().context("a plain name")?;
    let served = Served::start(binary.with(&["replay", file])).await?;
    let script = format!("if (window === window.top) window.lengthUs = {length_us};{WATCH}");
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, &script).await?;
    tokio::time::sleep(SETTLES).await;
    tab.driver().goto(served.link.text()).await?;
    let shown = shown(&tab).await?;
    let began = tab.script("return performance.timeOrigin").await?;
    Ok(shown - began.as_f64().context("a time")?)
}

async fn in_page(
    binary: &WatchscopeBinary,
    served: &Served,
    file: &Path,
    length_us: f64,
) -> Result<f64> {
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH).await?;
    let driver = tab.driver();
    driver.goto(&fresh_link(binary, served).await?).await?;
    tab.until("the page is live", |summary| {
        summary["connection"] == "Live"
    })
    .await?;
    // The script answers the page's first question at once.
    let script = format!(
        "window.lengthUs = {length_us};
         new MutationObserver(() => document.querySelector('[data-part=ask] .first')?.click())
             .observe(document.body, {{childList: true}});
         addEventListener('change', () => {{ window.began = performance.timeOrigin + performance.now(); }}, {{capture: true}});
         document.querySelector('[data-part=open]').click();"
    );
    tab.script(&script).await?;
    let field = driver.find(By::Css("[data-part=file-field]")).await?;
    field
        .send_keys(file.to_str().context("a plain name")?)
        .await?;
    let shown = shown(&tab).await?;
    let began = tab.script("return window.began").await?;
    Ok(shown - began.as_f64().context("a time")?)
}

/// Returns how many milliseconds each jump took, sorted.
async fn jumps(binary: &WatchscopeBinary, folder: &Path, end: Time) -> Result<Vec<f64>> {
    let folder = folder.to_str().context("a plain name")?;
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut taken = Vec::new();
    let served = Served::start(binary.with(&["replay", folder])).await?;
    for _ in 0..JUMPS {
        let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH).await?;
        // The view opens on the last minute.
        let link = fresh_link(binary, &served).await?;
        let place = format!("&v=1&from={}&to={}", end.0 - 60_000_000, end.0);
        tab.driver().goto(format!("{link}{place}")).await?;
        tab.until("it is open", |summary| {
            let stretches = summary["coverage"].as_array();
            let kinds =
                stretches.map(|of| of.iter().map(|of| of["is"].as_str()).collect::<Vec<_>>());
            kinds.is_some_and(|kinds| {
                let seams = kinds.iter().filter(|kind| **kind == Some("Seam")).count();
                seams == 2
                    && kinds.first() == Some(&Some("NotLoaded"))
                    && kinds.last() == Some(&Some("Loaded"))
            })
        })
        .await?;
        tokio::time::sleep(SETTLES).await;
        // These positions lie in the first run, which takes the left 46 % of the overview.
        let share = 0.02 + f64::from(random.next_u32() % 1_000) / 1_000.0 * 0.3;
        let jump: Value = tab.script(&jump_script(share)).await?;
        ensure!(jump == true, "{jump}");
        let shown = shown(&tab).await?;
        let began = tab.script("return window.began").await?;
        taken.push(shown - began.as_f64().context("a time")?);
    }
    Ok(sorted(taken))
}

fn jump_script(share: f64) -> String {
    format!(
        "const strip = document.getElementById('overview-strip');
         const box = strip.getBoundingClientRect();
         const at = {{bubbles: true, pointerId: 1, button: 0, clientX: box.left + box.width * {share}, clientY: box.top + 20}};
         const {{leftUs}} = JSON.parse(window.watchscope.summary());
         window.wanted = summary => {{
             const right = summary.leftUs + summary.usPerPx * 1000;
             const seen = summary.coverage.filter(of => of.toUs > summary.leftUs && of.fromUs < right);
             return summary.leftUs !== leftUs && seen.length > 0 && seen.every(of => of.is === 'Loaded');
         }};
         window.began = performance.timeOrigin + performance.now();
         strip.dispatchEvent(new PointerEvent('pointerdown', at));
         strip.dispatchEvent(new PointerEvent('lostpointercapture', at));
         return true;"
    )
}
