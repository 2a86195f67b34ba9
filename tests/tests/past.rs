//! Back in time: a page that shows earlier runs of watchscope from its history, and recordings that are served.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use thirtyfour::WebDriver;
use watchscope_tests::{
    Browser, BrowserTools, Launch, Served, WatchscopeBinary, eventually, or_skip,
};

use crate::browser::{LONG, Tab, has_page};
use crate::simulated::Simulated;

const KEPT: Duration = Duration::from_secs(60);

/// Prepares `serve` for a simulated cluster, with a history below `folder`.
fn serve(binary: &WatchscopeBinary, simulated: &Simulated, folder: &Path) -> Result<Launch> {
    let folder = folder.to_str().context("a folder with a plain name")?;
    let arguments = ["serve", "pods", "-A", "--history", folder];
    Ok(binary.with(&arguments).kubeconfig(&simulated.kubeconfig))
}

/// Waits until the files below `folder` hold `runs` runs, the last of them with a whole list.
async fn has_runs(binary: &WatchscopeBinary, folder: &Path, runs: usize) -> Result<()> {
    let folder = folder.to_str().context("a folder with a plain name")?;
    let read = binary.with(&["watch", "--from", folder, "-o", "jsonl"]);
    eventually("the list is in the history", KEPT, async || {
        let told = read.clone().run(KEPT).await?;
        let of_runs = told.stdout.split("\"type\":\"log\"").skip(1);
        let last = of_runs.clone().last().unwrap_or_default();
        let is_whole = last.contains("\"type\":\"list.complete\"");
        ensure!(of_runs.count() == runs && is_whole, "{told:?}");
        Ok(())
    })
    .await
}

/// Writes two runs, each killed without warning.
async fn two_runs(binary: &WatchscopeBinary, simulated: &Simulated, folder: &Path) -> Result<()> {
    for runs in 1..=2 {
        let mut served = Served::start(serve(binary, simulated, folder)?).await?;
        has_runs(binary, folder, runs).await?;
        served.watchscope.kill()?;
    }
    Ok(())
}

/// Returns the kinds of the page's stretches of time, in order.
async fn stretches(tab: &Tab<'_>) -> Result<Vec<String>> {
    let summary = tab.summary().await?;
    let stretches = summary["coverage"].as_array().context("a list")?;
    Ok(stretches
        .iter()
        .map(|stretch| stretch["is"].as_str().unwrap_or_default().to_owned())
        .collect())
}

/// Waits until all three runs are loaded, with the two seams between them.
async fn shows_three_runs(tab: &Tab<'_>) -> Result<()> {
    tab.press("0").await?;
    eventually("all three runs are here", LONG, async || {
        let kinds = stretches(tab).await?;
        let seams = kinds.iter().filter(|kind| *kind == "Seam").count();
        let missing = kinds.iter().filter(|kind| *kind == "NotLoaded").count();
        ensure!((seams, missing) == (2, 0), "{kinds:?}");
        Ok(())
    })
    .await
}

async fn clicks_overview(driver: &WebDriver, share: f64) -> Result<Value> {
    let script = format!(
        "const strip = document.getElementById('overview-strip');
         const box = strip.getBoundingClientRect();
         const at = {{bubbles: true, pointerId: 1, button: 0, clientX: box.left + box.width * {share}, clientY: box.top + 20}};
         strip.dispatchEvent(new PointerEvent('pointerdown', at));
         strip.dispatchEvent(new PointerEvent('lostpointercapture', at));
         return true;"
    );
    Ok(driver.execute(&script, vec![]).await?.json().clone())
}

#[tokio::test]
async fn after_two_restarts_one_timeline_has_all_runs_and_the_overview_leads_to_them() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    two_runs(&binary, &simulated, root.path()).await?;
    let served = Served::start(serve(&binary, &simulated, root.path())?).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(served.link.text()).await?;
    tab.is_live().await?;
    // The page opens on this run. A click at the left of the overview leads to the first run.
    eventually("the overview is labelled", LONG, async || {
        let words = tab.text("#overview-words").await?;
        ensure!(words.contains("Overview"), "{words:?}");
        Ok(())
    })
    .await?;
    // Zooms in, so that the overview has room to click beside the view.
    tab.press("+".repeat(12)).await?;
    clicks_overview(driver, 0.02).await?;
    eventually("the first run is loaded", LONG, async || {
        let summary = tab.summary().await?;
        let is_loaded =
            summary["coverage"][0]["is"] == "Loaded" || summary["coverage"][1]["is"] == "Loaded";
        ensure!(is_loaded && summary["following"] == false, "{summary}");
        Ok(())
    })
    .await?;
    tab.keep_painted_texts().await?;
    shows_three_runs(&tab).await?;
    eventually("the seams are painted", LONG, async || {
        let texts = tab.painted_texts().await?;
        let says = |words: &str| texts.iter().any(|text| text.contains(words));
        ensure!(says("restarted"), "{texts:?}");
        Ok(())
    })
    .await?;
    let lanes = tab.lanes().await?;
    ensure!(
        lanes.iter().filter(|lane| *lane == "*/pods").count() == 1,
        "{lanes:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_history_is_replayed_whole_and_stands_at_its_last_record() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    two_runs(&binary, &simulated, root.path()).await?;
    let folder = root.path().to_str().context("a folder with a plain name")?;
    let served = Served::start(binary.with(&["replay", folder])).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(served.link.text()).await?;
    tab.is_live().await?;
    eventually("both runs are shown", LONG, async || {
        let kinds = stretches(&tab).await?;
        ensure!(kinds == ["Loaded", "Seam", "Loaded"], "{kinds:?}");
        let words = tab.text("[data-part=words]").await?;
        ensure!(words.starts_with("recording"), "{words:?}");
        Ok(())
    })
    .await?;
    let before = tab.summary().await?;
    ensure!(before["following"] == false, "{before}");
    // The clock of a recording stands still: a later look finds the same time.
    let now = before["nowUs"].clone();
    tab.press("0").await?;
    ensure!(tab.summary().await?["nowUs"] == now, "{before}");
    plays_to_the_end(&tab).await
}

/// Plays a recording from its beginning to its end, where it stops.
async fn plays_to_the_end(tab: &Tab<'_>) -> Result<()> {
    let clock = async || tab.text("[data-part=replay-clock]").await;
    let end = clock().await?;
    tab.press("<<").await?;
    tab.press(" ").await?;
    // The playing may be over within a second.
    eventually("it plays", LONG, async || {
        let said = tab.text("[data-part=said]").await?;
        let has_begun = said.starts_with("Playing from") || said.starts_with("The recording ends");
        ensure!(has_begun, "{said:?}");
        Ok(())
    })
    .await?;
    tab.press(">").await?;
    eventually("it stops at the end", LONG, async || {
        let controls = tab.text("[data-part=replay]").await?;
        ensure!(controls.contains("Play again"), "{controls:?}");
        ensure!(clock().await? == end);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn recordings_that_cannot_be_replayed_say_why() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    std::fs::write(&file, "no recording")?;
    let file = file.to_str().context("a plain name")?;
    for (arguments, code, says) in [
        (vec!["replay"], 2, "required"),
        (vec!["replay", file], 1, "no watchscope recording"),
        (
            vec!["replay", "nothing.wscope"],
            1,
            "cannot read nothing.wscope",
        ),
    ] {
        let told = binary.with(&arguments).run(KEPT).await?;
        ensure!(told.code() == Some(code), "{told:?}");
        ensure!(told.stderr.contains(says), "{told:?}");
    }
    Ok(())
}
