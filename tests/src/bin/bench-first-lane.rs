//! Measures the time from opening the link to the first painted lane, 10,000 records behind, in a fresh browser.
//!
//! The log has exactly 10,000 records of 8 watches and 500 living objects. For each opening a Chromium is started anew,
//! with nothing cached, and goes to a fresh link. The opening ends with the animation frame after the one that drew the
//! first lane.
//! The page's clock measures it; that clock starts with the navigation. The figure is the median of the openings.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Context as _, Result};
use watchscope_tests::stage::{Stage, Tab, load_average, percentile, row, sorted};

const RECORDS: u64 = 10_000;
/// The objects of each watch, 500 in all.
const OBJECTS: [u32; 8] = [4, 8, 12, 16, 20, 40, 100, 300];
const OPENINGS: usize = 15;
const SIZE_PX: (u32, u32) = (1_920, 1_080);
/// How long the opened page is left alone: a script in it would take part of the measured time.
const UNDISTURBED: Duration = Duration::from_millis(1_500);
/// How long a started browser is left alone before it opens the link.
const SETTLE: Duration = Duration::from_secs(2);
const BAR_MS: f64 = 250.0;

/// Keeps the time of the animation frame after the first one that painted a lane; the page marks that one. It also
/// keeps the times of the steps before it.
const WATCH_FIRST_LANE: &str = "
    const frame = window.requestAnimationFrame.bind(window);
    window.bench = null;
    window.requestAnimationFrame = callback => frame(now => {
        const from = performance.now();
        callback(now);
        if (window.bench !== null) return;
        const [drawn] = performance.getEntriesByName('first lane');
        if (!drawn) return;
        window.bench = undefined;
        const to = performance.now();
        frame(() => {
            const wasm = performance.getEntriesByType('resource').filter(entry => entry.name.endsWith('.wasm'))[0];
            const at = name => performance.getEntriesByType('resource').find(entry => entry.name.endsWith(name))?.responseEnd;
            window.bench = {
                exchanged: at('session'), next: performance.now(), drawn: drawn.startTime, from, to,
                wasm: wasm.responseEnd, html: performance.getEntriesByType('navigation')[0].responseEnd,
            };
        });
    });
";

#[tokio::main]
async fn main() -> Result<()> {
    let stage = Stage::start(&OBJECTS).await?;
    stage.fill(&OBJECTS, RECORDS).await?;
    let mut openings = Vec::new();
    for _ in 0..OPENINGS {
        let link = stage.fresh_link().await?;
        let tab = Tab::open(SIZE_PX.0, SIZE_PX.1, WATCH_FIRST_LANE).await?;
        tokio::time::sleep(SETTLE).await;
        tab.driver().goto(&link).await?;
        tokio::time::sleep(UNDISTURBED).await;
        tab.until("the first lane is painted", |summary| {
            !summary["firstLaneMs"].is_null()
        })
        .await?;
        let seen = tab.script("return window.bench").await?;
        eprintln!("load average {}; {seen}", load_average());
        openings.push(seen["next"].as_f64().context("a time")?);
    }
    let openings = sorted(openings);
    let at = |share| percentile(&openings, share);
    eprintln!(
        "{OPENINGS} openings, ms: best {:.0}, quartiles {:.0} {:.0} {:.0}, worst {:.0}",
        at(0.0),
        at(0.25),
        at(0.5),
        at(0.75),
        at(1.0)
    );
    println!(
        "{}",
        row(
            "first painted lane after opening the link, 10,000 records behind, median of 15",
            BAR_MS,
            at(0.5),
            "ms"
        )
    );
    Ok(())
}
