//! What the browser benchmarks share: [`Feeder`], watchscope in front of it, and the page in Chromium.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::WebDriver;
use tokio::time::{Instant, sleep_until};
use watchscope_model::Time;

use crate::{Browser, BrowserTools, Feeder, Link, Served, WatchscopeBinary, eventually};

const LONG: Duration = Duration::from_secs(60);
/// How many records a second a log is filled with.
const FILL_PER_S: u64 = 5_000;

/// A cluster and watchscope watching all of it.
#[derive(Debug)]
pub struct Stage {
    /// The cluster.
    pub feeder: Feeder,
    /// watchscope.
    pub served: Served,
    binary: WatchscopeBinary,
    _folder: TempDir,
}

impl Stage {
    /// A kind for each number, with so many objects; ready when all are listed and their streams open.
    pub async fn start(objects: &[u32]) -> Result<Self> {
        let binary = WatchscopeBinary::find()?;
        let feeder = Feeder::start(objects).await?;
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": {"server": feeder.origin()}}],
            "users": [{"name": "bench", "user": {}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        });
        std::fs::write(&kubeconfig, config.to_string())?;
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

    /// The last record of the log.
    pub async fn head(&self) -> Result<u64> {
        let state = self.served.state().await?;
        let line: Value = serde_json::from_str(state.lines().next().context("a line")?)?;
        line["head"].as_u64().context("a head")
    }

    /// Lets objects be modified, evenly in time and in a fixed disorder, until the log has `count` records.
    pub async fn fill(&self, objects: &[u32], count: u64) -> Result<()> {
        let head = self.head().await?;
        ensure!(head < count, "the log has {head} records already");
        let mut chance = 1_u32;
        let all: u32 = objects.iter().sum();
        let begun = Instant::now();
        for number in 0..count - head {
            // At the pace of the wire they would all come in a few bursts.
            sleep_until(begun + Duration::from_micros(number * 1_000_000 / FILL_PER_S)).await;
            // Numerical Recipes' generator; its high bits are good enough to spread marks.
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut object = ((u64::from(chance) * u64::from(all)) >> 32) as u32;
            let mut kind = 0;
            while object >= objects[kind] {
                object -= objects[kind];
                kind += 1;
            }
            self.feeder.modify(kind, object).await?;
        }
        eventually("the log has all records", LONG, async || {
            let head = self.head().await?;
            ensure!(head == count, "{head} of {count}");
            Ok(())
        })
        .await
    }

    /// A link that nobody has used yet.
    pub async fn fresh_link(&self) -> Result<String> {
        fresh_link(&self.binary, &self.served).await
    }

    /// The link it printed when it started.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.served.link
    }
}

/// A link to what is served that nobody has used yet.
///
/// # Errors
/// If it gives none.
pub async fn fresh_link(binary: &WatchscopeBinary, served: &Served) -> Result<String> {
    let home = served.watchscope.home();
    // Another watchscope of this user may be running.
    let address = served.link.origin().trim_start_matches("http://");
    let launch = binary
        .with(&["token", "--listen", address])
        .env("XDG_RUNTIME_DIR", home);
    let link = launch.run(LONG).await?.success()?;
    Ok(link.trim().to_owned())
}

/// How far the clocks of page, server and this program may be apart.
pub const CLOCKS_MS: f64 = 2.0;

/// Keeps (last record painted, time of the frame after) whenever a frame painted new ones.
const WATCH_PAINTED: &str = "
    const frame = window.requestAnimationFrame.bind(window);
    window.bench = [];
    let last = 0;
    window.requestAnimationFrame = callback => frame(now => {
        callback(now);
        const {painted} = JSON.parse(window.watchscope?.summary() ?? '{}');
        if (painted > last) {
            last = painted;
            frame(() => window.bench.push([painted, performance.timeOrigin + performance.now()]));
        }
    });
";

/// How far the page's clock is from the wall clock: the least of some moments, since the wall clock of scripts has
/// whole milliseconds.
const CLOCK: &str = "
    let off = Infinity;
    for (let turn = 0; turn < 100000; turn++) {
        off = Math.min(off, performance.timeOrigin + performance.now() - Date.now());
    }
    return off;
";

/// Which record each frame painted last, and when the frame after it came, in milliseconds of the wall clock.
#[derive(Debug)]
pub struct Frames(Vec<(u64, f64)>);

impl Frames {
    /// When the frame came after the one that first painted a record.
    ///
    /// # Errors
    /// If it has not come.
    pub fn after(&self, seq: u64) -> Result<f64> {
        let place = self.0.partition_point(|&(painted, _)| painted < seq);
        let frame = self.0.get(place);
        frame.map(|&(_, at)| at).context("the frame has not come")
    }
}

/// The wall clock, in milliseconds.
///
/// # Errors
/// If it stands before 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark compares with the wall clock"
)]
pub fn wall_clock_ms() -> Result<f64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(now.as_secs_f64() * 1_000.0)
}

/// A record's `at`, in milliseconds of the wall clock.
///
/// # Errors
/// If it has none.
pub fn at_ms(record: &Value) -> Result<f64> {
    let at = record["at"]
        .as_str()
        .and_then(Time::parse)
        .context("a time")?;
    Ok(at.0 as f64 / 1_000.0)
}

/// A tab with the page.
#[derive(Debug)]
pub struct Tab(Browser);

impl Tab {
    /// A tab that shows the stage live and keeps the times of its frames: `performance.timeOrigin + performance.now()`,
    /// the browser's wall clock at the navigation plus a clock that counts on, as the server's `at` is. After each
    /// animation frame of the page a script looks at the last record it painted; if that is a new one, it asks for one
    /// more frame and takes its time.
    ///
    /// # Errors
    /// If the page's clock is not this machine's.
    pub async fn with_frame_times(stage: &Stage) -> Result<Self> {
        let tab = Self::open(1_600, 1_000, WATCH_PAINTED).await?;
        tab.driver().goto(stage.link().text()).await?;
        tab.until("the page is live", |summary| {
            summary["connection"] == "Live"
        })
        .await?;
        let off = tab.script(CLOCK).await?.as_f64().context("a difference")?;
        ensure!(
            off.abs() <= CLOCKS_MS,
            "the page's clock is {off} ms from the wall clock"
        );
        Ok(tab)
    }

    /// The frames so far, once this record was painted and the frame after has come.
    ///
    /// # Errors
    /// If they do not come.
    pub async fn frames_up_to(&self, seq: u64) -> Result<Frames> {
        self.until("all is painted", |summary| {
            summary["painted"].as_u64() >= Some(seq)
        })
        .await?;
        eventually("the frame after the last", LONG, async || {
            let seen = self.script("return window.bench").await?;
            let frames = Frames(serde_json::from_value(seen)?);
            frames.after(seq)?;
            Ok(frames)
        })
        .await
    }

    /// A browser with a fresh profile whose window shows a page of `width` by `height` px; `script` runs in it before the page's own.
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

    /// What a script returns.
    pub async fn script(&self, script: &str) -> Result<Value> {
        Ok(self.driver().execute(script, vec![]).await?.json().clone())
    }

    /// `watchscope.summary()`.
    pub async fn summary(&self) -> Result<Value> {
        let text = self.script("return window.watchscope.summary()").await?;
        Ok(serde_json::from_str(text.as_str().context("a text")?)?)
    }

    /// Waits until the summary is as wanted.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(what, LONG, async || {
            let summary = self.summary().await?;
            ensure!(wanted(&summary), "{summary}");
            Ok(summary)
        })
        .await
    }
}

/// Height of headless Chromium's own bars.
const CHROME_PX: u32 = 143;

/// The value that a share of sorted values does not exceed.
#[must_use]
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)]
}

/// Sorted for [`percentile`].
#[must_use]
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// How much the machine has to do, since others' work is in what is measured.
#[must_use]
pub fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").map_or_else(
        |_| "unknown".to_owned(),
        |text| text.split(' ').take(3).collect::<Vec<_>>().join(" "),
    )
}

/// A row of the table.
#[must_use]
pub fn row(figure: &str, bar: f64, measured: f64, unit: &str) -> String {
    let verdict = if measured <= bar { "met" } else { "missed" };
    format!("| {figure} | at most {bar} {unit} | {measured:.1} {unit} | {verdict} |")
}
