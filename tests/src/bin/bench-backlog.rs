//! Measures the page on a backlog of 1 million records in the ring: opening, input to frame, click to panel, idling.
//!
//! A loopback apiserver sends 2,000 modifications a second of 1,000 objects in ten watches, until the log has 1 million
//! records. Then nothing more happens. Chromium has no GPU and a page of 1920x1080.
//! An opening is a fresh browser that goes to a link to the newest five minutes. They count as drawn whole in the frame
//! after the one that drew all of them. They pan in the frame after the first pan that is drawn whole. The overview shows
//! all once it is painted with all chapters.
//! Then all lanes are open and all records in view. The mouse drags the picture, keys zoom it, then wheels do, an event
//! after the other. Wheels have no bar, because an empty page gets an injected wheel only after 17 to 33 ms.
//! Input to frame is the time from the browser's timestamp of an event to the end of the frame that draws it, with
//! layout and paint. Click to panel begins with the release of the mouse. It ends with the frame that shows the facts of
//! the record, or the fetched object and its difference to the version before.
//! An idle page shows a paused live log in which nothing happens, or a recording. Each frame that it requests counts,
//! over 30 s.
//! WATCHSCOPE_BENCH_PROFILE names a folder for CPU profiles and pictures of the clicks. Build the page with
//! WATCHSCOPE_PAGE_NAMES=1 for readable names in the profiles.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;
use watchscope_tests::change_file::write_run;
use watchscope_tests::change_load::BUSY;
use watchscope_tests::stage::{
    Profile, Stage, Tab, load_average, percentile, row, row_without_bar, sorted, wall_clock_ms,
};
use watchscope_tests::{Served, WatchscopeBinary, eventually};
use watchscope_timeline::format;

/// The objects of each watch.
const OBJECTS: [u32; 10] = [100; 10];
const LANES: u64 = 1_000;
const RECORDS: u64 = 1_000_000;
const PER_S: u64 = 2_000;
const NEWEST_US: i64 = 300_000_000;
const SIZE_PX: (u32, u32) = (1_920, 1_080);
const OPENINGS: usize = 5;
const OPENED_BAR_MS: f64 = 1_000.0;
const OVERVIEW_BAR_MS: f64 = 3_000.0;
/// The events of each gesture that count.
const EVENTS: u64 = 600;
/// The least wait between a handled event and the next one, and by how much it varies. So events come at any time between
/// two frames.
const EVENT_MS: u64 = 16;
const SPREAD_MS: u64 = 17;
const INPUT_BAR_MS: f64 = 25.0;
/// The height of gestures in the page, in px.
const MIDDLE_Y: f64 = 600.0;
const CLICKS: u64 = 100;
const CLICK_BAR_MS: f64 = 50.0;
const FETCHED_BAR_MS: f64 = 100.0;
/// The seconds in view for clicks, so that marks stand apart.
const CLICK_VIEW_US: i64 = 20_000_000;
/// The records of the recording that an idle page shows.
const RECORDED: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(30);
/// The wait before each measurement, since a browser that has just started or opened a page is busy with itself.
const SETTLES: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(60);

/// Keeps when the newest records are drawn whole, when they pan, and when the overview shows all, in milliseconds since
/// the navigation. After the first pan it goes on for a second and keeps the longest interval. `lengthUs` is the length
/// of the log.
const WATCH_OPENING: &str = "
    const bench = window.bench = {overview: null, whole: null, pans: null, longest: null};
    let painted = 0, looked = 0, before = 0, left = null, turns = 0;
    const put = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...image) {
        if (this.canvas.id === 'overview-strip') painted = performance.now();
        return put.apply(this, image);
    };
    const next = what => requestAnimationFrame(() => { bench[what] ??= performance.now(); });
    const pan = () => {
        const canvas = document.querySelector('canvas.chart');
        const deltaX = turns++ % 40 < 20 ? -12 : 12;
        canvas.dispatchEvent(new WheelEvent('wheel', {deltaX, clientX: 900, clientY: 500, bubbles: true, cancelable: true}));
    };
    const look = now => {
        requestAnimationFrame(look);
        if (bench.pans !== null && now - bench.pans > 1000 && bench.overview !== null) return;
        const text = window.watchscope?.summary();
        if (!text) return;
        const {coverage, leftUs, usPerPx, head} = JSON.parse(text);
        const length = of => of.toUs - of.fromUs;
        const kept = coverage.filter(of => of.is === 'Loaded' || of.is === 'NotLoaded');
        const all = kept.reduce((sum, of) => sum + length(of), 0);
        if (painted > looked && all > 0.99 * lengthUs) next('overview');
        looked = performance.now();
        const seen = coverage.filter(of => of.toUs > leftUs && of.fromUs < leftUs + usPerPx * 1500);
        const isWhole = head > 0 && seen.length > 0 && seen.every(of => of.is === 'Loaded');
        if (bench.pans !== null) bench.longest = Math.max(bench.longest, now - before);
        before = now;
        if (bench.whole === null) {
            if (isWhole) next('whole');
            return;
        }
        if (left !== null && leftUs !== left && isWhole && bench.pans === null) next('pans');
        left = leftUs;
        pan();
    };
    requestAnimationFrame(look);
";

/// Keeps how long each move, key and wheel took to the end of the frame that draws it. The parts of that time are: to the
/// handler, to the frame, in the frame. After `bench.until(test)`, `bench.taken` gets the time from the next release of
/// the mouse to the end of the first frame for which the test holds.
const WATCH_INPUT: &str = "
    const bench = window.bench = {inputs: [], released: null, taken: null};
    let pending = [], wanted = null;
    for (const type of ['pointermove', 'keydown', 'wheel']) {
        const heard = event => pending.push([event.timeStamp, performance.now()]);
        addEventListener(type, heard, {capture: true, passive: true});
    }
    addEventListener('pointerup', event => { bench.released = event.timeStamp; }, {capture: true});
    const {port1, port2} = new MessageChannel();
    // The message comes after the frame's layout and paint.
    port1.onmessage = ({data: [events, began]}) => {
        const now = performance.now();
        for (const [at, heard] of events) bench.inputs.push([now - at, heard - at, began - heard, now - began]);
        if (wanted && bench.released !== null && wanted()) {
            bench.taken = now - bench.released;
            wanted = null;
        }
    };
    bench.until = test => { [wanted, bench.released, bench.taken] = [test, null, null]; };
    const turn = () => {
        requestAnimationFrame(turn);
        port2.postMessage([pending, performance.now()]);
        pending = [];
    };
    requestAnimationFrame(turn);
";

/// Counts the animation frames that the page requests.
const COUNT_FRAMES: &str = "
    const frame = window.requestAnimationFrame.bind(window);
    window.frames_drawn = 0;
    window.requestAnimationFrame = callback => frame(now => {
        window.frames_drawn++;
        callback(now);
    });
";

#[tokio::main]
async fn main() -> Result<()> {
    let given = std::env::args().nth(1).map(|count| count.parse());
    let records = given.transpose()?.unwrap_or(RECORDS);
    let stage = Stage::start(&OBJECTS).await?;
    let from_us = now_us()?;
    stage.fill_at(&OBJECTS, records, PER_S).await?;
    let log = Span {
        from_us,
        to_us: now_us()?,
    };
    openings(&stage, &log).await?;
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH_INPUT).await?;
    tab.goes_live(&stage.fresh_link().await?).await?;
    tab.opens_whole(LANES).await?;
    hands(&tab, records).await?;
    drop(tab);
    clicks(&stage, &log).await?;
    idle(&stage).await
}

/// The times of the log's first and last modification, in microseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Span {
    from_us: i64,
    to_us: i64,
}

impl Span {
    /// Returns a fresh link that shows the last `us` microseconds.
    async fn link_to_last(&self, stage: &Stage, us: i64) -> Result<String> {
        let link = stage.fresh_link().await?;
        let (from, to) = (self.to_us - us, self.to_us);
        Ok(format!("{link}&v=1&from={from}&to={to}"))
    }
}

fn now_us() -> Result<i64> {
    Ok((wall_clock_ms()? * 1_000.0) as i64)
}

async fn openings(stage: &Stage, log: &Span) -> Result<()> {
    let names = ["whole", "pans", "overview", "longest"];
    let mut taken = vec![Vec::new(); names.len()];
    let length_us = log.to_us - log.from_us;
    let script = format!("const lengthUs = {length_us};{WATCH_OPENING}");
    for _ in 0..OPENINGS {
        let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, &script).await?;
        sleep(SETTLES).await;
        let link = log.link_to_last(stage, NEWEST_US.min(length_us)).await?;
        tab.driver().goto(&link).await?;
        // Polling would disturb the opening.
        sleep(3 * SETTLES).await;
        let seen = eventually("it is shown", LONG, async || {
            let seen = tab.script("return window.bench").await?;
            let is_there = names.iter().all(|name| seen[name].is_number());
            ensure!(is_there, "{seen}; {}", tab.summary().await?);
            Ok(seen)
        })
        .await?;
        let records = tab.summary().await?["records"].clone();
        eprintln!("{seen}; {records} records; load average {}", load_average());
        for (name, taken) in names.iter().zip(&mut taken) {
            taken.push(seen[name].as_f64().context("a time")?);
        }
    }
    let median = |place: usize| percentile(&sorted(taken[place].clone()), 0.5);
    let figure = format!("backlog in the ring: the newest 5 min drawn whole, median of {OPENINGS}");
    println!("{}", row(&figure, OPENED_BAR_MS, median(0), "ms"));
    println!(
        "{}",
        row("the same: and panning", OPENED_BAR_MS, median(1), "ms")
    );
    println!(
        "{}",
        row(
            "the same: the overview of all",
            OVERVIEW_BAR_MS,
            median(2),
            "ms"
        )
    );
    let figure = "the same: longest frame interval in the first second of panning";
    println!("{}", row_without_bar(figure, median(3), "ms"));
    Ok(())
}

/// How a person moves the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hand {
    Drag,
    Key,
    Wheel,
}

impl Hand {
    /// Returns the command that gives the browser the event of this number, and its parameters. Events go back and forth.
    fn event(self, number: u64) -> (&'static str, Value) {
        let there = number % 100;
        let there = there.min(100 - there);
        let back = (number / 10).is_multiple_of(2);
        match self {
            Self::Drag => (
                "Input.dispatchMouseEvent",
                mouse("mouseMoved", 600.0 + 12.0 * there as f64, MIDDLE_Y, 1),
            ),
            Self::Key => {
                let (code, key) = if back { ("KeyW", "w") } else { ("KeyS", "s") };
                let pressed = json!({"type": "keyDown", "code": code, "key": key});
                ("Input.dispatchKeyEvent", pressed)
            }
            Self::Wheel => {
                let wheel = json!({
                    "type": "mouseWheel", "x": 900, "y": MIDDLE_Y, "deltaX": 0,
                    "deltaY": if back { -6 } else { 6 }, "modifiers": 2,
                });
                ("Input.dispatchMouseEvent", wheel)
            }
        }
    }
}

/// Returns the parameters of an event of the mouse with its left button.
fn mouse(kind: &str, x: f64, y: f64, buttons: u8) -> Value {
    json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1})
}

/// Pans and zooms over all records in view.
async fn hands(tab: &Tab, records: u64) -> Result<()> {
    tab.key("0").await?;
    tab.until("all records are loaded", |now| {
        now["records"].as_u64() >= Some(records)
    })
    .await?;
    // Stops following.
    tab.key(" ").await?;
    sleep(SETTLES).await;
    for (hand, name) in [
        (Hand::Drag, "pan by the mouse"),
        (Hand::Key, "zoom by keys"),
        (Hand::Wheel, "zoom by injected wheels"),
    ] {
        let taken = gesture(tab, hand).await?;
        let part = |place: usize| sorted(taken.iter().map(|of| of[place]).collect());
        for (place, to) in ["all", "to the handler", "to the frame", "in the frame"]
            .iter()
            .enumerate()
        {
            said(&format!("{name}, {to}"), &part(place));
        }
        let p95 = percentile(&part(0), 0.95);
        let figure = format!("{name} over {records} records in {LANES} lanes: input to frame, p95");
        println!(
            "{}",
            match hand {
                Hand::Wheel => row_without_bar(&figure, p95, "ms"),
                Hand::Drag | Hand::Key => row(&figure, INPUT_BAR_MS, p95, "ms"),
            }
        );
    }
    eprintln!("{}", tab.summary().await?);
    Ok(())
}

/// Returns how long each event of a gesture took to the end of its frame, and the parts of that time.
async fn gesture(tab: &Tab, hand: Hand) -> Result<Vec<[f64; 4]>> {
    let cdp = tab.driver().cdp();
    if hand == Hand::Drag {
        let press = mouse("mousePressed", 600.0, MIDDLE_Y, 1);
        cdp.send_raw("Input.dispatchMouseEvent", press).await?;
    }
    // The first hundred let the browser compile hot code.
    for number in 0..EVENTS + 100 {
        if number == 100 {
            tab.script("bench.inputs.length = 0").await?;
        }
        sleep(Duration::from_millis(EVENT_MS + number * 7 % SPREAD_MS)).await;
        let (command, event) = hand.event(number);
        cdp.send_raw(command, event).await?;
    }
    sleep(Duration::from_millis(100)).await;
    let taken = tab.script("return bench.inputs").await?;
    let taken: Vec<[f64; 4]> = serde_json::from_value(taken)?;
    let came = taken.len() as u64;
    ensure!(came > EVENTS / 2, "only {came} events came");
    if hand == Hand::Drag {
        let release = mouse("mouseReleased", 600.0, MIDDLE_Y, 0);
        cdp.send_raw("Input.dispatchMouseEvent", release).await?;
    }
    Ok(taken)
}

fn said(name: &str, taken: &[f64]) {
    let at = |share| percentile(taken, share);
    eprintln!(
        "{name}: {} times, ms: p50 {:.1}, p90 {:.1}, p95 {:.1}, worst {:.1}; load average {}",
        taken.len(),
        at(0.5),
        at(0.9),
        at(0.95),
        at(1.0),
        load_average()
    );
}

/// Returns a mark that stands for one record, apart from other marks of its lane: its place in the page and its number.
const FREE_MARK: &str = "
    const box = document.querySelector('canvas.chart').getBoundingClientRect();
    const hits = JSON.parse(window.watchscope.hits());
    const free = hits.filter(of => of.glyph && of.seq > 0 && of.count === 1 && of.seq !== arguments[0]
        && of.x > 20 && of.x < box.width - 20 && of.y > 60 && of.y < box.height - 20
        && !hits.some(other => other !== of && other.lane === of.lane && Math.abs(other.x - of.x) < 16));
    const {x, y, seq} = free[Math.floor(free.length * arguments[1])];
    return [box.left + x, box.top + y, seq];
";

/// Waits for a version in the panel.
const AWAIT: &str = "
    const [version, isObject] = arguments;
    bench.until(() => {
        const panel = document.querySelector('.detail');
        if (!panel) return false;
        const text = (isObject ? panel.querySelector('pre.json') : panel)?.textContent;
        return Boolean(text?.includes(version)) && !panel.textContent.includes('Fetching');
    });
";

/// Clicks marks, first with the facts of the event in the panel, then with the fetched object.
async fn clicks(stage: &Stage, log: &Span) -> Result<()> {
    let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH_INPUT).await?;
    tab.goes_live(&log.link_to_last(stage, CLICK_VIEW_US).await?)
        .await?;
    sleep(SETTLES).await;
    for (is_object, name, bar) in [
        (false, "click to panel, local, p95", CLICK_BAR_MS),
        (
            true,
            "click to panel with the fetched object, p95",
            FETCHED_BAR_MS,
        ),
    ] {
        let (mut taken, mut seq) = (Vec::new(), 0);
        let profile = Profile::start(&tab).await?;
        for number in 0..CLICKS + 10 {
            let share = (number * 37 % CLICKS) as f64 / CLICKS as f64;
            let mark = tab
                .driver()
                .execute(FREE_MARK, vec![json!(seq), json!(share)])
                .await?;
            let (x, y, of): (f64, f64, u64) = serde_json::from_value(mark.json().clone())?;
            seq = of;
            let version = version(stage, seq).await?;
            // The facts group digits by commas; the object does not.
            let version = if is_object {
                version
            } else {
                format::number(version.parse()?)
            };
            let at = click(&tab, x, y, &version, is_object).await?;
            // The first clicks load the panels, and let the browser compile hot code.
            if number >= 10 {
                taken.push(at);
            }
            sleep(Duration::from_millis(150)).await;
        }
        profile
            .end(&tab, if is_object { "fetched" } else { "local" })
            .await?;
        let taken = sorted(taken);
        said(name, &taken);
        println!("{}", row(name, bar, percentile(&taken, 0.95), "ms"));
        if !is_object {
            let tab_of_object = "[...document.querySelectorAll('.detail .tab')].find(of => of.textContent === 'Object').click()";
            tab.script(tab_of_object).await?;
        }
    }
    Ok(())
}

/// Clicks a place, and returns the milliseconds until the panel shows a version.
async fn click(tab: &Tab, x: f64, y: f64, version: &str, is_object: bool) -> Result<f64> {
    let cdp = tab.driver().cdp();
    let still = json!({"type": "mouseMoved", "x": x, "y": y});
    cdp.send_raw("Input.dispatchMouseEvent", still).await?;
    cdp.send_raw("Input.dispatchMouseEvent", mouse("mousePressed", x, y, 1))
        .await?;
    let awaited = vec![json!(version), json!(is_object)];
    tab.driver().execute(AWAIT, awaited).await?;
    cdp.send_raw("Input.dispatchMouseEvent", mouse("mouseReleased", x, y, 0))
        .await?;
    eventually("the panel shows it", LONG, async || {
        let taken = tab.script("return bench.taken").await?;
        let text = "return document.querySelector('.detail')?.textContent";
        match taken.as_f64() {
            Some(taken) => Ok(taken),
            None => anyhow::bail!("{version} is not in {}", tab.script(text).await?),
        }
    })
    .await
}

/// Returns the resourceVersion of a record.
async fn version(stage: &Stage, seq: u64) -> Result<String> {
    let summary = stage.served.state().await?;
    let line: Value = serde_json::from_str(summary.lines().next().context("a line")?)?;
    let epoch = line["epoch"].as_str().context("an epoch")?;
    let path = format!("/api/records?since={epoch}.{}", seq - 1);
    let mut answer = stage.served.get(&path).await?;
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        text.extend_from_slice(&chunk);
        let whole = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
        for line in std::str::from_utf8(&text[..whole])?.lines() {
            let line: Value = serde_json::from_str(line)?;
            if line["seq"] == seq {
                let version = line["resourceVersion"].as_str();
                return Ok(version.with_context(|| line.to_string())?.to_owned());
            }
        }
    }
    anyhow::bail!("there is no record {seq}")
}

/// Counts the frames of pages in which nothing happens.
async fn idle(stage: &Stage) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("log.wscope");
    write_run(&file, BUSY, |load| load.changes() < RECORDED)?;
    let file = file.to_str().context("a plain name")?;
    let binary = WatchscopeBinary::find()?;
    let replayed = Served::start(binary.with(&["replay", file, "--no-open"])).await?;
    let recording = replayed.link.text().to_owned();
    for (name, link) in [
        ("a paused live log", stage.fresh_link().await?),
        ("a recording", recording),
    ] {
        let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, COUNT_FRAMES).await?;
        tab.goes_live(&link).await?;
        sleep(SETTLES).await;
        if tab.summary().await?["following"] == true {
            tab.key(" ").await?;
        }
        let now = tab
            .until("it is paused", |now| now["following"] == false)
            .await?;
        sleep(SETTLES).await;
        let before = tab.script("return window.frames_drawn").await?;
        sleep(IDLE).await;
        let after = tab.script("return window.frames_drawn").await?;
        let frames = after.as_f64().context("a number")? - before.as_f64().context("a number")?;
        eprintln!(
            "{name}: {frames} frames; {now}; load average {}",
            load_average()
        );
        let figure = format!("idle page, {name}: frames in {} s", IDLE.as_secs());
        println!("{}", row(&figure, 0.0, frames, "frames"));
    }
    Ok(())
}
