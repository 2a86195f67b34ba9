//! What the page explains by itself: the captions of a first visit, and the way back to now from each panel.

use anyhow::{Result, ensure};
use serde_json::Value;
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// A window in which captions have room.
const LARGE: [&str; 1] = ["--window-size=1600,1000"];

/// Waits until the captions are shown, or gone.
async fn are_shown(tab: &Tab<'_>, shown: bool) -> Result<()> {
    eventually("the captions", LONG, async || {
        let found = tab.text("[data-part='captions']").await?;
        ensure!(found.is_empty() != shown, "{found:?}");
        Ok(())
    })
    .await
}

/// Returns the canvas's width and height once the narrator's line stands, which takes a row from the canvas.
async fn canvas(tab: &Tab<'_>) -> Result<Value> {
    eventually("the narrator has said something", LONG, async || {
        let said = tab.text("[data-part='note']").await?;
        ensure!(!said.is_empty(), "no line");
        Ok(())
    })
    .await?;
    let script = "const canvas = document.querySelector('canvas.chart');
        return [canvas.clientWidth, canvas.clientHeight]";
    tab.script(script).await
}

#[tokio::test]
async fn captions_explain_three_shapes_until_a_person_has_read_them() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&LARGE).await?);
    let (driver, tab) = visit.open().await?;
    // A program that drives the browser gets none unless it asks.
    are_shown(&tab, false).await?;
    let kept = "return localStorage.getItem('watchscope-captions')";
    ensure!(tab.script(kept).await?.is_null());
    let size = canvas(&tab).await?;
    tab.script("localStorage.setItem('watchscope-captions', 'show')")
        .await?;
    driver.refresh().await?;
    tab.is_live().await?;
    are_shown(&tab, true).await?;
    ensure!(canvas(&tab).await? == size, "the canvas keeps its size");

    // They neither take the focus nor cover what the canvas draws, and take no pointer but on their button.
    let found = tab
        .script(
            "const captions = document.querySelector('[data-part=captions]');
            const box = captions.querySelector('[data-part=caption-gap]').getBoundingClientRect();
            const under = document.elementFromPoint(box.x + 20, box.y + 8);
            return {role: captions.getAttribute('role'), under: under.tagName,
                focus: captions.contains(document.activeElement)}",
        )
        .await?;
    ensure!(found["role"] == "note", "{found}");
    ensure!(found["under"] == "CANVAS", "{found}");
    ensure!(found["focus"] == false, "{found}");
    eventually("lines lead to shapes", LONG, async || {
        let script =
            "return document.querySelector('.caption-lines path')?.getAttribute('d') ?? ''";
        let path = tab.script(script).await?;
        ensure!(
            path.as_str().is_some_and(|path| path.starts_with('M')),
            "{path}"
        );
        Ok(())
    })
    .await?;

    // A paused picture has no room right of the pen.
    tab.press(" ").await?;
    are_shown(&tab, false).await?;
    tab.press(Key::End).await?;
    are_shown(&tab, true).await?;

    // The button ends them for good, and the help brings them back; Escape ends them too.
    driver
        .find(By::Css("[data-part='captions-read']"))
        .await?
        .click()
        .await?;
    are_shown(&tab, false).await?;
    driver.refresh().await?;
    tab.is_live().await?;
    ensure!(tab.script(kept).await? == "read");
    are_shown(&tab, false).await?;
    tab.press("?").await?;
    let again = "[data-part='captions-again']";
    eventually("the help has the button", LONG, async || {
        driver.find(By::Css(again)).await?.click().await?;
        Ok(())
    })
    .await?;
    are_shown(&tab, true).await?;
    tab.press(Key::Escape).await?;
    are_shown(&tab, false).await?;
    eventually("the browser keeps that", LONG, async || {
        ensure!(tab.script(kept).await? == "read");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn each_panel_that_answers_for_the_past_leads_back_to_now() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&LARGE).await?);
    let (driver, tab) = visit.open().await?;
    for (key, panel) in [("t", ".watches"), ("i", ".findings")] {
        tab.press(key).await?;
        tab.press(" ").await?;
        let link = format!("{panel} [data-part='to-now']");
        eventually("the panel says as of when it answers", LONG, async || {
            let words = tab
                .text(&format!("{panel} [data-part='panel-as-of']"))
                .await?;
            ensure!(words.starts_with("as of "), "{words}");
            driver.find(By::Css(&link)).await?.click().await?;
            Ok(())
        })
        .await?;
        eventually("the panel answers for now", LONG, async || {
            let words = tab
                .text(&format!("{panel} [data-part='panel-as-of']"))
                .await?;
            ensure!(words.is_empty(), "{words}");
            ensure!(tab.summary().await?["following"] == true);
            Ok(())
        })
        .await?;
        tab.press(key).await?;
    }
    visit.browser.console_is_quiet().await
}
