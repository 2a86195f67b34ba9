//! The weight of the first paint, and that the page shows nothing before its styles are there.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::page_weight::{MOST_FOR_FIRST_PAINT_BYTES, Weighed, needed_first, weigh};
use watchscope_tests::{Served, WatchscopeBinary, eventually, or_skip};

use crate::browser::{LONG, Visit, has_page};
use crate::http;

#[tokio::test]
async fn everything_needed_for_the_first_paint_weighs_110_kb_at_most() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let served = Served::start(binary.with(&["demo"])).await?;
    or_skip!(has_page(&served.link).await);
    let document = http::get(served.link.origin(), "/", &[]).await?.body;
    let needed = needed_first(&document);
    let files = weigh(served.link.origin(), &needed).await?;
    assert_eq!(files.len(), needed.len(), "{files:?} of {needed:?}");
    let all: usize = files.iter().map(|file| file.bytes).sum();
    let lines: Vec<String> = files.iter().map(Weighed::to_string).collect();
    assert!(
        all <= MOST_FOR_FIRST_PAINT_BYTES,
        "gzip sends {all} bytes before the first paint, {} more than the bar of {MOST_FOR_FIRST_PAINT_BYTES}. What grew, \
         and is not needed to paint a snapshot, belongs to the page's second part (frontend/app/src/second.rs, \
         assets/panels.css); a page built for its developers (--dev) is always heavier. Each file:\n{}",
        all - MOST_FOR_FIRST_PAINT_BYTES,
        lines.join("\n")
    );
    Ok(())
}

#[tokio::test]
async fn the_first_paint_needs_only_files_that_the_document_names_and_panels_come_with_their_styles()
-> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let served = &visit.served;
    let document = http::get(served.link.origin(), "/", &[]).await?.body;
    let (driver, tab) = visit.tab();
    // Keeps the style sheets that are in force when the first panel is put in.
    let watcher = "new MutationObserver((_, watcher) => {
            if (!document.querySelector('.follow')) return;
            watcher.disconnect();
            const hrefs = [...document.styleSheets].map(sheet => sheet.href).filter(Boolean);
            window.sheetsOfPanels = hrefs.map(href => new URL(href).pathname);
        }).observe(document, {childList: true, subtree: true});";
    driver
        .cdp()
        .send_raw(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": watcher}),
        )
        .await?;
    visit.open().await?;

    let fetched = "const {firstLaneMs} = JSON.parse(window.watchscope.summary());
        if (!firstLaneMs) return null;
        const entries = performance.getEntriesByType('resource');
        const path = entry => new URL(entry.name).pathname;
        return [true, false].map(before => entries.filter(entry => entry.startTime <= firstLaneMs === before).map(path));";
    let (before, after): (Vec<String>, Vec<String>) =
        eventually("a lane is painted, and all is loaded", LONG, async || {
            let fetched: Value = tab.script(fetched).await?;
            ensure!(fetched.is_array(), "no lane yet");
            let (before, after): (Vec<String>, Vec<String>) = serde_json::from_value(fetched)?;
            // The scripts that open files are offered last.
            let is_offered = after.iter().any(|path| path.starts_with("/recordings-"));
            ensure!(is_offered, "not all is loaded: {after:?}");
            Ok((before, after))
        })
        .await?;
    let needed = needed_first(&document);
    let files = |paths: &[String]| -> Vec<String> {
        let is_file = |path: &&String| path.contains('.');
        paths.iter().filter(is_file).cloned().collect()
    };
    let unnamed: Vec<String> = files(&before)
        .into_iter()
        .filter(|path| !needed.contains(path))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?} are not in {needed:?}");
    assert_eq!(
        files(&after).len(),
        9,
        "the second part, three modules that it shares with others, its styles, the icon, three scripts that open files: {after:?}"
    );

    let sheets = tab.script("return window.sheetsOfPanels ?? null").await?;
    let sheets: Vec<String> = serde_json::from_value(sheets).context("panels were put in")?;
    assert!(
        sheets.iter().any(|sheet| sheet.starts_with("/panels-")),
        "{sheets:?}"
    );
    visit.browser.console_is_quiet().await
}
