//! Measures the page over 1 and 10 million records in 1,000 and 5,000 lanes: work of frames, intervals and memory.
//!
//! A recording holds the records of one cluster. The page opens it as a file, opens all watches whole, and loads the
//! whole recording by showing all of it. It is measured at 1920x1080 without GPU, in 1,800 frames (30 s at 60 Hz): a
//! third pans in time by 12 px a frame, a third zooms in and out, a third scrolls over the lanes by 30 px a frame.
//! Frame work is the time of the wheel's handler, of the page's animation frame, and of the tasks that these leave
//! behind, by the page's clock. The interval is that of the browser's animation frames, which includes rasterising.
//! Memory is the private resident memory of the renderer's process, without the program's own files that all tabs share,
//! at the end of all these frames, after a garbage collection; and the length of all its WebAssembly memories.
//! With the argument `history` the ten million come from the history of a demo that runs on, and from no file.
//! WATCHSCOPE_BENCH_PROFILE names a file for a CPU profile of the view with all 10 million records.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use thirtyfour::By;
use watchscope_model::Time;
use watchscope_tests::change_file::write_run;
use watchscope_tests::change_load::{BUSY, Pace};
use watchscope_tests::stage::{
    DrivenFrames, Tab, WATCH_FRAMES, fresh_link, load_average, percentile, row,
};
use watchscope_tests::{Served, WatchscopeBinary, eventually};

const SIZE_PX: (u32, u32) = (1_920, 1_080);
const FRAMES: u32 = 1_800;
const LONG: Duration = Duration::from_secs(180);
/// Intervals above this count as long, in milliseconds: two frames at 60 Hz.
const LONG_INTERVAL_MS: f64 = 33.0;
const MEDIAN_INTERVAL_BAR_MS: f64 = 16.7;
const LONG_INTERVALS_BAR: f64 = 3.0;
const BYTES_A_RECORD_BAR: f64 = 40.0;
const WASM_BAR_MIB: f64 = 300.0;

/// A recording, and the bar of its frame work for a view of ten minutes and for a view of all records.
struct Scale {
    records: u64,
    lanes: usize,
    ten_minutes_bar_ms: Option<f64>,
    whole_bar_ms: Option<f64>,
}

const SCALES: [Scale; 2] = [
    Scale {
        records: 1_000_000,
        lanes: 1_000,
        ten_minutes_bar_ms: None,
        whole_bar_ms: Some(8.0),
    },
    Scale {
        records: 10_000_000,
        lanes: 5_000,
        ten_minutes_bar_ms: Some(12.0),
        whole_bar_ms: Some(16.0),
    },
];

/// Keeps each WebAssembly memory of the page.
const KEEP_MEMORIES: &str = "
    bench.memories = new Set();
    const keep = ({instance}) => {
        for (const value of Object.values(instance.exports)) {
            if (value instanceof WebAssembly.Memory) bench.memories.add(value);
        }
    };
    for (const name of ['instantiate', 'instantiateStreaming']) {
        const own = WebAssembly[name];
        WebAssembly[name] = async (...given) => {
            const made = await own.apply(WebAssembly, given);
            if (made.instance) keep(made);
            return made;
        };
    }
";

/// Opens the dialog for a file, and confirms it.
const OPEN_FILE: &str = "
    new MutationObserver(() => document.querySelector('[data-part=ask] .first')?.click())
        .observe(document.body, {childList: true});
    document.querySelector('[data-part=open]').click();
";

/// Opens all watches whole, as a person could one by one: stores them as the page stores opened watches.
const OPEN_WHOLE: &str = "
    const names = arguments[0];
    localStorage.setItem('watchscope-opened', names.map(name => `*${name}\\n`).join(''));
";

/// Opens the rows of objects that are folded.
const OPEN_FOLDED: &str = "
    for (const row of document.querySelectorAll('[id^=lane-g]')) row.click();
";

/// Pans, zooms and scrolls for this many frames; returns the work and the interval of each.
const DRIVE: &str = "
    const [frames] = arguments;
    const done = arguments[arguments.length - 1];
    const canvas = document.querySelector('canvas.chart');
    const {bench} = window;
    const script = [], intervals = [];
    const third = frames / 3;
    const gesture = at => {
        const back = Math.floor(at / 100) % 2 === 0 ? 1 : -1;
        if (at < third) return {deltaX: 12 * back};
        if (at < 2 * third) return {ctrlKey: true, deltaY: -6 * back};
        return {deltaY: 30 * (at < 2.5 * third ? 1 : -1)};
    };
    let before = null, at = 0;
    const turn = now => {
        if (before !== null) {
            intervals.push(now - before);
            script.push(bench.script);
        }
        before = now;
        bench.script = 0;
        if (intervals.length >= frames) return done({script, intervals});
        const given = gesture(at++);
        bench.frame(turn);
        bench.timed(() => canvas.dispatchEvent(new WheelEvent('wheel', {clientX: 900, clientY: 500, bubbles: true, cancelable: true, ...given})));
    };
    bench.frame(turn);
";

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let binary = WatchscopeBinary::find()?;
    if std::env::args().nth(1).as_deref() == Some("history") {
        return measure_history(&binary, folder.path(), &SCALES[1]).await;
    }
    for scale in &SCALES {
        let file = folder.path().join(format!("{}.wscope", scale.records));
        write_run(&file, pace(scale), |load| load.changes() < scale.records)?;
        measure_file(&binary, &file, scale).await?;
    }
    Ok(())
}

fn pace(scale: &Scale) -> Pace {
    Pace {
        living: scale.lanes,
        // A few objects come and go, so that lanes have ends.
        replaced_per_minute: 1,
        ..BUSY
    }
}

/// Opens a tab on a server, with all watches of the load opened whole.
async fn open(binary: &WatchscopeBinary, served: &Served) -> Result<Tab> {
    let watched = format!("{WATCH_FRAMES}{KEEP_MEMORIES}");
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, &watched).await?;
    let driver = tab.driver();
    driver.set_script_timeout(LONG).await?;
    let link = fresh_link(binary, served).await?;
    driver.goto(&link).await?;
    tab.until("the page is live", |now| now["connection"] == "Live")
        .await?;
    let watches = [
        "*/pods",
        "*/replicasets.apps",
        "*/deployments.apps",
        "*/configmaps",
        "*/leases.coordination.k8s.io",
    ];
    driver.execute(OPEN_WHOLE, vec![json!(watches)]).await?;
    Ok(tab)
}

/// Measures the records from the history of a demo that runs on.
async fn measure_history(binary: &WatchscopeBinary, folder: &Path, scale: &Scale) -> Result<()> {
    let history = folder.join("history");
    let path = history.to_str().context("a plain name")?;
    let flags = ["demo", "--history", path];
    // A first run makes the log's folder. Its own records give way to the load.
    drop(Served::start(binary.with(&flags)).await?);
    let log = only_entry(&history)?;
    let file = log.join("000001-2025-11-21T09-00-00Z.wscope");
    for entry in fs::read_dir(&log)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|kind| kind == "wscope" || kind == "unfinished")
        {
            fs::remove_file(path)?;
        }
    }
    let length_us = 1_000_000 / pace(scale).changes_per_s as i64 * scale.records as i64;
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
    let start = Time(now_us - length_us - 600_000_000);
    let run = Pace {
        log: "demo",
        start,
        ..pace(scale)
    };
    let lasted_us = write_run(&file, run, |load| load.changes() < scale.records)?;
    let served = Served::start(binary.with(&flags)).await?;
    let tab = open(binary, &served).await?;
    tab.driver().refresh().await?;
    tab.until("the page is live again", |now| now["connection"] == "Live")
        .await?;
    // A link to the recording's stretch.
    let to = start.plus_micros(lasted_us as i64);
    tab.script(&format!(
        "location.hash = '#v=1&from={}&to={}'",
        start.0, to.0
    ))
    .await?;
    tab.until("all records are loaded", |now| {
        now["records"].as_u64() >= Some(scale.records)
    })
    .await?;
    // The watches of the load are those of an earlier run. Their objects are folded, as nobody watches them any longer.
    tab.script(OPEN_FOLDED).await?;
    tab.until("each object has a row", |now| {
        now["rows"].as_u64() > Some(scale.lanes as u64)
    })
    .await?;
    measure(&tab, " from the history", scale).await
}

/// Returns the only entry of a folder.
fn only_entry(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    match &entries[..] {
        [entry] => Ok(entry.path()),
        _ => anyhow::bail!("{} has {} entries", folder.display(), entries.len()),
    }
}

async fn measure_file(binary: &WatchscopeBinary, file: &Path, scale: &Scale) -> Result<()> {
    let served = Served::start(binary.with(&["demo"])).await?;
    let tab = open(binary, &served).await?;
    let driver = tab.driver();
    tab.script(OPEN_FILE).await?;
    let field = driver.find(By::Css("[data-part=file-field]")).await?;
    let path = file.to_str().context("a plain name")?;
    field.send_keys(path).await?;
    // The recording has a frame of its own.
    eventually("the file is open", LONG, async || {
        driver.enter_default_frame().await?;
        let opened = driver.find(By::Css("iframe.opened")).await?;
        opened.enter_frame().await?;
        let summary = tab.summary().await?;
        ensure!(summary["rows"].as_u64() > Some(5), "{summary}");
        Ok(())
    })
    .await?;
    let now = tab.summary().await?;
    eprintln!("open: {now}");
    tab.key("0").await?;
    measure(&tab, "", scale).await
}

/// Measures a page that shows all of the load's records. `source` says where they come from.
async fn measure(tab: &Tab, source: &str, scale: &Scale) -> Result<()> {
    let records = eventually("all records in view are loaded", LONG, async || {
        let now = tab.summary().await?;
        let stretches = now["coverage"].as_array().context("a list")?;
        let waits = stretches.iter().any(|stretch| stretch["is"] == "NotLoaded");
        ensure!(!waits, "{now}");
        now["records"].as_u64().context("a number")
    })
    .await?;
    let now = tab.summary().await?;
    let rows = now["rows"].as_u64().context("a number")?;
    ensure!(
        rows > scale.lanes as u64,
        "{rows} rows: the watches are not open whole"
    );
    eprintln!("{records} of {} records held; {now}", scale.records);
    eprintln!("as loaded: {:?}", memory(tab).await?);
    let name = format!("{} records in {} lanes{source}", scale.records, scale.lanes);
    if let Some(bar) = scale.whole_bar_ms {
        drive(
            tab,
            &format!("{name}, all in view"),
            bar,
            scale.ten_minutes_bar_ms.is_some(),
        )
        .await?;
    }
    if let Some(bar) = scale.ten_minutes_bar_ms {
        zoom_to_ten_minutes(tab).await?;
        drive(tab, &format!("{name}, ten minutes in view"), bar, false).await?;
        let memory = memory(tab).await?;
        eprintln!("at the end: {memory:?}");
        let held = row_of("records held of them", records as f64, scale.records as f64);
        println!("{held}");
        println!(
            "{}",
            row(
                "memory of the tab's process over records held",
                BYTES_A_RECORD_BAR,
                memory.process_bytes / records as f64,
                "B"
            )
        );
        println!(
            "{}",
            row(
                "its WebAssembly memory",
                WASM_BAR_MIB,
                memory.wasm_bytes / f64::from(1 << 20),
                "MiB"
            )
        );
    }
    Ok(())
}

fn row_of(figure: &str, measured: f64, bar: f64) -> String {
    let verdict = if measured >= bar { "met" } else { "missed" };
    format!("| {figure} | at least {bar} | {measured} | {verdict} |")
}

/// Shows the last ten minutes, as a person does by zooming in.
async fn zoom_to_ten_minutes(tab: &Tab) -> Result<()> {
    loop {
        let now = tab.summary().await?;
        let us_per_px = now["usPerPx"].as_f64().context("a scale")?;
        let wanted = 600e6 / 1_500.0;
        if us_per_px <= wanted * 1.01 {
            eprintln!("ten minutes: {now}");
            return Ok(());
        }
        let factor = (us_per_px / wanted).clamp(1.0, 1.8);
        let script = format!(
            "const canvas = document.querySelector('canvas.chart');
             const box = canvas.getBoundingClientRect();
             canvas.dispatchEvent(new WheelEvent('wheel', {{clientX: box.left + box.width / 2, clientY: 500, bubbles: true, cancelable: true, ctrlKey: true, deltaY: {}}}));",
            (1.0 - factor) / 0.0035
        );
        tab.script(&script).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Drives the picture, and prints the rows of its frames.
async fn drive(tab: &Tab, name: &str, bar_ms: f64, is_profiled: bool) -> Result<()> {
    // Drives once so that the browser compiles hot code, then once to measure.
    frames(tab, 120).await?;
    let profile = std::env::var_os("WATCHSCOPE_BENCH_PROFILE").filter(|_| is_profiled);
    let cdp = tab.driver().cdp();
    if profile.is_some() {
        cdp.send_raw("Profiler.enable", json!({})).await?;
        cdp.send_raw("Profiler.start", json!({})).await?;
    }
    let driven = frames(tab, FRAMES).await?;
    if let Some(path) = profile {
        let answer = cdp.send_raw("Profiler.stop", json!({})).await?;
        fs::write(&path, answer["profile"].to_string())?;
        let picture = Path::new(&path).with_extension("png");
        tab.driver().screenshot(&picture).await?;
    }
    eprintln!("{name}: {}", driven.words());
    eprintln!("load average {}", load_average());
    let work = format!("{name}: frame work, p95");
    println!(
        "{}",
        row(&work, bar_ms, percentile(&driven.work, 0.95), "ms")
    );
    println!(
        "{}",
        row(
            "the same: frame interval, median",
            MEDIAN_INTERVAL_BAR_MS,
            percentile(&driven.intervals, 0.5),
            "ms"
        )
    );
    let long = driven.intervals.iter().filter(|of| **of > LONG_INTERVAL_MS);
    println!(
        "{}",
        row(
            "the same: frame intervals over 33 ms in 30 s",
            LONG_INTERVALS_BAR,
            long.count() as f64,
            "intervals"
        )
    );
    Ok(())
}

async fn frames(tab: &Tab, count: u32) -> Result<DrivenFrames> {
    DrivenFrames::by(tab, DRIVE, vec![json!(count)]).await
}

/// The memory of the page's tab, in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    process_bytes: f64,
    wasm_bytes: f64,
}

/// Returns the resident memory of a process that no file backs, in KiB.
fn private_kib(process: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("a line RssAnon")?.parse()?)
}

/// Returns the private memory of the renderer that holds the most, and the length of the page's WebAssembly memories.
async fn memory(tab: &Tab) -> Result<Memory> {
    let cdp = tab.driver().cdp();
    cdp.send_raw("HeapProfiler.collectGarbage", json!({}))
        .await?;
    let wasm = tab
        .script(
            "return [...window.bench.memories].reduce((sum, of) => sum + of.buffer.byteLength, 0)",
        )
        .await?;
    let mut most_kib = 0;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name
            .to_str()
            .filter(|name| name.bytes().all(|of| of.is_ascii_digit()))
        else {
            continue;
        };
        // A process may end at any time.
        let words = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if words.contains("--type=renderer") {
            most_kib = most_kib.max(private_kib(process).unwrap_or_default());
        }
    }
    ensure!(most_kib > 0, "no process of a renderer was found");
    Ok(Memory {
        process_bytes: most_kib as f64 * 1024.0,
        wasm_bytes: wasm.as_f64().context("a length")?,
    })
}
