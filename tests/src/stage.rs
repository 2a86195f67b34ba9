//! The parts that browser benchmarks share: [`Feeder`], watchscope in front of it, and the page in Chromium.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{By, WebDriver};
use tokio::time::{Instant, sleep_until};
use watchscope_model::Time;

use crate::loopback::write_kubeconfig;
use crate::{Browser, BrowserTools, Feeder, Link, Served, WatchscopeBinary, eventually};

/// How long the page and the log may take to reach what a benchmark waits for. After it the benchmark fails.
const LONG: Duration = Duration::from_secs(60);
/// The pace in records per second at which [`Stage::fill`] fills a log.
const FILL_PER_S: u64 = 5_000;

/// A cluster, and a watchscope that watches all of it.
#[derive(Debug)]
pub struct Stage {
    /// The cluster.
    pub feeder: Feeder,
    /// watchscope, as a server.
    pub served: Served,
    binary: WatchscopeBinary,
    _folder: TempDir,
}

impl Stage {
    /// Starts a kind for each number, with that count of objects. Returns when all are listed and their streams are
    /// open.
    pub async fn start(objects: &[u32]) -> Result<Self> {
        let binary = WatchscopeBinary::find()?;
        let feeder = Feeder::start(objects).await?;
        let folder = tempfile::tempdir()?;
        let cluster = json!({"server": feeder.origin()});
        let kubeconfig = write_kubeconfig(folder.path(), "bench", &cluster)?;
        let arguments = [vec!["serve", "-A"], feeder.kinds()].concat();
        let launch = binary.with(&arguments).kubeconfig(&kubeconfig);
        let served = Served::start(launch).await?;
        let stage = Self {
            feeder,
            served,
            binary,
            _folder: folder,
        };
        eventually("all streams are open", LONG, async || {
            let state = stage.served.state().await?;
            let streams = state
                .lines()
                .filter(|line| line.contains("\"stream\":{"))
                .count();
            ensure!(streams == objects.len(), "{streams} streams are open");
            Ok(())
        })
        .await?;
        Ok(stage)
    }

    /// Returns the seq of the log's last record.
    pub async fn head(&self) -> Result<u64> {
        let state = self.served.state().await?;
        let line: Value = serde_json::from_str(state.lines().next().context("a line")?)?;
        line["head"].as_u64().context("a head")
    }

    /// Modifies objects at [`FILL_PER_S`], like [`Self::feed`], until the log has at least `count` records.
    pub async fn fill(&self, objects: &[u32], count: u64) -> Result<()> {
        self.fill_at(objects, count, FILL_PER_S).await
    }

    /// Modifies objects at a pace in records per second, like [`Self::feed`], until the log has at least `count` records.
    /// It has more if the server wrote records of its own meanwhile, as findings.
    pub async fn fill_at(&self, objects: &[u32], count: u64, per_s: u64) -> Result<()> {
        let head = self.head().await?;
        ensure!(head < count, "the log has {head} records already");
        self.feed(objects, count - head, per_s).await?;
        eventually("the log has all records", LONG, async || {
            let head = self.head().await?;
            ensure!(head >= count, "{head} of {count}");
            Ok(())
        })
        .await
    }

    /// Sends modifications of objects, evenly in time and in a fixed shuffled order. They may still be on their way
    /// when it returns.
    pub async fn feed(&self, objects: &[u32], count: u64, per_s: u64) -> Result<()> {
        let mut chance = 1_u32;
        let all: u32 = objects.iter().sum();
        let begun = Instant::now();
        for number in 0..count {
            // Sent without a pause, they would all arrive in a few bursts.
            sleep_until(begun + Duration::from_micros(number * 1_000_000 / per_s)).await;
            // The generator of Numerical Recipes; its high bits are good enough to spread marks.
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut object = ((u64::from(chance) * u64::from(all)) >> 32) as u32;
            let mut kind = 0;
            while object >= objects[kind] {
                object -= objects[kind];
                kind += 1;
            }
            self.feeder.modify(kind, object).await?;
        }
        Ok(())
    }

    /// Returns a link that nobody has used yet.
    pub async fn fresh_link(&self) -> Result<String> {
        fresh_link(&self.binary, &self.served).await
    }

    /// The link that the server printed when it started.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.served.link
    }
}

/// Returns a link to the server that nobody has used yet.
///
/// # Errors
/// If the command `token` fails.
pub async fn fresh_link(binary: &WatchscopeBinary, served: &Served) -> Result<String> {
    let home = served.watchscope.home();
    // Names the address, since another watchscope of this user may be running.
    let address = served.link.origin().trim_start_matches("http://");
    let launch = binary
        .with(&["token", "--listen", address])
        .env("XDG_RUNTIME_DIR", home);
    let link = launch.run(LONG).await?.success()?;
    Ok(link.trim().to_owned())
}

/// The most ms that the clocks of page, server and this program may differ. Above it a benchmark fails.
pub const CLOCKS_MS: f64 = 2.0;

/// Keeps (last painted record, time of the frame after it) for each frame that painted new records.
const WATCH_PAINTED: &str = "
    const frame = window.requestAnimationFrame.bind(window);
    const bench = window.bench = {painted: []};
    let last = 0;
    window.requestAnimationFrame = callback => frame(now => {
        callback(now);
        const {painted} = JSON.parse(window.watchscope?.summary() ?? '{}');
        if (painted > last) {
            last = painted;
            frame(() => bench.painted.push([painted, performance.timeOrigin + performance.now()]));
        }
    });
";

/// Returns the difference of the page's clock and the wall clock in ms. It is the least of 100,000 readings, since
/// scripts read the wall clock in whole ms.
const CLOCK: &str = "
    let off = Infinity;
    for (let turn = 0; turn < 100000; turn++) {
        off = Math.min(off, performance.timeOrigin + performance.now() - Date.now());
    }
    return off;
";

/// The last record that each frame painted, and the wall clock in ms at the frame after it.
#[derive(Debug, Deserialize)]
pub struct Frames(Vec<(u64, f64)>);

impl Frames {
    /// Returns the wall clock in ms at the frame after the one that first painted a record.
    ///
    /// # Errors
    /// If that frame has not come.
    pub fn after(&self, seq: u64) -> Result<f64> {
        let place = self.0.partition_point(|&(painted, _)| painted < seq);
        let frame = self.0.get(place);
        frame.map(|&(_, at)| at).context("the frame has not come")
    }
}

/// Returns the wall clock in ms since 1970.
///
/// # Errors
/// If the wall clock stands before 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark compares with the wall clock"
)]
pub fn wall_clock_ms() -> Result<f64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(now.as_secs_f64() * 1_000.0)
}

/// Returns a record's `at` in ms since 1970.
///
/// # Errors
/// If the record has no valid `at`.
pub fn at_ms(record: &Value) -> Result<f64> {
    let at = record["at"]
        .as_str()
        .and_then(Time::parse)
        .context("a time")?;
    Ok(at.0 as f64 / 1_000.0)
}

/// Stores all watches as the page stores opened ones, and loads the page again.
const OPEN_WHOLE: &str = "
    const names = [...document.querySelectorAll('.row.watch')].map(row => row.dataset.lane);
    localStorage.setItem('watchscope-opened', names.map(name => `*${name}\\n`).join(''));
    location.reload();
";

/// A tab with the page.
#[derive(Debug)]
pub struct Tab(Browser);

impl Tab {
    /// Opens a tab that shows the stage live and keeps the times of its frames, as
    /// `performance.timeOrigin + performance.now()`.
    /// That is the browser's wall clock at the navigation plus a monotonic clock; the server's `at` is made alike.
    /// After each animation frame of the page a script reads the last painted record. If it is new, the script requests
    /// one more frame and keeps that frame's time.
    ///
    /// # Errors
    /// If the page's clock is more than [`CLOCKS_MS`] from this machine's.
    pub async fn with_frame_times(stage: &Stage) -> Result<Self> {
        let tab = Self::open(1_600, 1_000, WATCH_PAINTED).await?;
        tab.goes_live(stage.link().text()).await?;
        tab.has_our_clock().await?;
        Ok(tab)
    }

    /// Opens a link and waits until the page is connected.
    pub async fn goes_live(&self, link: &str) -> Result<()> {
        self.driver().goto(link).await?;
        self.until("the page is live", |summary| {
            summary["connection"] == "Live"
        })
        .await?;
        Ok(())
    }

    /// An error if the page's clock is more than [`CLOCKS_MS`] from this machine's.
    pub async fn has_our_clock(&self) -> Result<()> {
        let off = self.script(CLOCK).await?;
        let off = off.as_f64().context("a difference")?;
        ensure!(
            off.abs() <= CLOCKS_MS,
            "the page's clock is {off} ms from the wall clock"
        );
        Ok(())
    }

    /// Opens all watches whole, as a person could one by one. Returns when the page has at least `rows` rows.
    pub async fn opens_whole(&self, rows: u64) -> Result<()> {
        let known = "return document.querySelectorAll('.row.watch').length";
        eventually("the watches have rows", LONG, async || {
            let watches = self.script(known).await?;
            ensure!(watches.as_u64() > Some(0), "{watches} watches");
            Ok(())
        })
        .await?;
        self.script(OPEN_WHOLE).await?;
        self.until("all lanes are open", |summary| {
            summary["connection"] == "Live" && summary["rows"].as_u64() >= Some(rows)
        })
        .await?;
        Ok(())
    }

    /// Presses a key on the picture.
    pub async fn key(&self, key: &str) -> Result<()> {
        let canvas = self.driver().find(By::Css("canvas.chart")).await?;
        Ok(canvas.send_keys(key).await?)
    }

    /// Returns the frames so far, once this record is painted and the frame after it has come.
    ///
    /// # Errors
    /// If they do not come within 60 s.
    pub async fn frames_up_to(&self, seq: u64) -> Result<Frames> {
        self.until("all is painted", |summary| {
            summary["painted"].as_u64() >= Some(seq)
        })
        .await?;
        eventually("the frame after the last", LONG, async || {
            let seen = self.script("return window.bench.painted").await?;
            let frames = Frames(serde_json::from_value(seen)?);
            frames.after(seq)?;
            Ok(frames)
        })
        .await
    }

    /// Opens a browser with a fresh profile whose window shows a page of `width` by `height` px. `script` runs in it
    /// before the page's own scripts.
    pub async fn open(width: u32, height: u32, script: &str) -> Result<Self> {
        let tools = BrowserTools::find()?;
        let size = format!("--window-size={width},{}", height + CHROME_PX);
        let browser = Browser::start_with(&tools, &[&size]).await?;
        let tab = Self(browser);
        let cdp = tab.driver().cdp();
        cdp.send_raw("Page.enable", json!({})).await?;
        cdp.send_raw(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": script}),
        )
        .await?;
        Ok(tab)
    }

    /// The WebDriver session.
    #[must_use]
    pub fn driver(&self) -> &WebDriver {
        self.0.driver()
    }

    /// Runs a script in the page and returns its value.
    pub async fn script(&self, script: &str) -> Result<Value> {
        Ok(self.driver().execute(script, vec![]).await?.json().clone())
    }

    /// Returns the page's `watchscope.summary()`.
    pub async fn summary(&self) -> Result<Value> {
        let text = self.script("return window.watchscope.summary()").await?;
        Ok(serde_json::from_str(text.as_str().context("a text")?)?)
    }

    /// Waits until `wanted` accepts the summary and returns it; fails after 60 s.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(what, LONG, async || {
            let summary = self.summary().await?;
            ensure!(wanted(&summary), "{summary}");
            Ok(summary)
        })
        .await
    }
}

/// A CPU profile of a tab, if `WATCHSCOPE_BENCH_PROFILE` names the folder for it.
#[derive(Debug)]
pub struct Profile(Option<PathBuf>);

impl Profile {
    /// Starts the profile, if there is a folder for it.
    pub async fn start(tab: &Tab) -> Result<Self> {
        let folder = std::env::var_os("WATCHSCOPE_BENCH_PROFILE").map(PathBuf::from);
        if folder.is_some() {
            let cdp = tab.driver().cdp();
            cdp.send_raw("Profiler.enable", json!({})).await?;
            cdp.send_raw("Profiler.start", json!({})).await?;
        }
        Ok(Self(folder))
    }

    /// Ends the profile, and writes `NAME.cpuprofile` and `NAME.png`.
    pub async fn end(self, tab: &Tab, name: &str) -> Result<()> {
        let Some(folder) = self.0 else {
            return Ok(());
        };
        let answer = tab
            .driver()
            .cdp()
            .send_raw("Profiler.stop", json!({}))
            .await?;
        let path = folder.join(name);
        std::fs::write(
            path.with_extension("cpuprofile"),
            answer["profile"].to_string(),
        )?;
        tab.driver().screenshot(&path.with_extension("png")).await?;
        Ok(())
    }
}

/// A script for a page of [`Tab::open`] that measures the page's work in its animation frames, and the tasks that it
/// leaves to run after them. `window.bench.script` has the milliseconds since a script set it to 0;
/// `window.bench.timed(action)` measures another action, and `window.bench.frame` requests a frame that is not measured.
pub const WATCH_FRAMES: &str = "
    const frame = window.requestAnimationFrame.bind(window);
    const bench = window.bench = {frame, script: 0};
    const settle = async from => {
        // Tasks queue further tasks; each await lets one more generation of them run.
        for (let turn = 0; turn < 20; turn++) await null;
        bench.script += performance.now() - from;
    };
    bench.timed = action => {
        const from = performance.now();
        action();
        settle(from);
    };
    window.requestAnimationFrame = callback => frame(now => bench.timed(() => callback(now)));
";

/// Frames that a script drove: the work of each and its interval, in milliseconds, each list sorted.
#[derive(Debug)]
pub struct DrivenFrames {
    /// The time of handlers, animation frames and the tasks that these leave, by the page's clock.
    pub work: Vec<f64>,
    /// The time from one animation frame of the browser to the next.
    pub intervals: Vec<f64>,
}

impl DrivenFrames {
    /// Runs a script that drives frames over [`WATCH_FRAMES`], and calls back with `{script, intervals}`.
    ///
    /// # Errors
    /// If the script fails, or calls back with something else.
    pub async fn by(tab: &Tab, script: &str, arguments: Vec<Value>) -> Result<Self> {
        let answer = tab.driver().execute_async(script, arguments).await?;
        let list = |name: &str| -> Result<Vec<f64>> {
            Ok(sorted(serde_json::from_value(answer.json()[name].clone())?))
        };
        Ok(Self {
            work: list("script")?,
            intervals: list("intervals")?,
        })
    }

    /// Returns the percentiles of both lists, a line for each.
    #[must_use]
    pub fn words(&self) -> String {
        let of = |name: &str, values: &[f64]| {
            let at = |share| percentile(values, share);
            format!(
                "{name} ms: p50 {:.1}, p90 {:.1}, p95 {:.1}, p99 {:.1}, worst {:.1}",
                at(0.5),
                at(0.9),
                at(0.95),
                at(0.99),
                at(1.0)
            )
        };
        [of("work", &self.work), of("interval", &self.intervals)].join("\n")
    }
}

/// The height in px of headless Chromium's own bars, above the page.
const CHROME_PX: u32 = 143;

/// Returns how the row of a table says whether a bar is met.
#[must_use]
pub fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// Returns the value below which this share of the sorted values lies; panics if there are no values.
#[must_use]
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)]
}

/// Sorts values for [`percentile`].
#[must_use]
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the machine's load over 1, 5 and 15 minutes, since other programs' work distorts a measurement.
#[must_use]
pub fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").map_or_else(
        |_| "unknown".to_owned(),
        |text| text.split(' ').take(3).collect::<Vec<_>>().join(" "),
    )
}

/// Returns a row of a benchmark's table; the bar is met if the measured value is at most `bar`.
#[must_use]
pub fn row(figure: &str, bar: f64, measured: f64, unit: &str) -> String {
    let verdict = if measured <= bar { "met" } else { "missed" };
    format!("| {figure} | at most {bar} {unit} | {measured:.1} {unit} | {verdict} |")
}

/// Returns a row for a figure without a bar.
#[must_use]
pub fn row_without_bar(figure: &str, measured: f64, unit: &str) -> String {
    format!("| {figure} | no bar | {measured:.1} {unit} |  |")
}
