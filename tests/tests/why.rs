//! "Why" in a browser: the steps of a finding by key and by click, and the link to the lesson that teaches it.

use anyhow::{Result, ensure};
use thirtyfour::By;
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// Waits until the tab "Why" shows numbered steps.
async fn shows_steps(tab: &Tab<'_>) -> Result<()> {
    eventually("the steps", LONG, async || {
        let script = "return document.querySelectorAll('[data-part=why] .tag').length";
        let steps = tab.script(script).await?;
        ensure!(steps.as_u64().is_some_and(|steps| steps > 1), "{steps}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_finding_is_explained_in_steps_by_a_key_and_by_a_click() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    // Before both stand, the first problem may be one without steps.
    eventually("F08 and F11 are found", LONG, async || {
        let problems = "return document.querySelector('.stepper-words')?.textContent ?? ''";
        let problems = tab.script(problems).await?;
        ensure!(problems == "2 problems", "{problems}");
        Ok(())
    })
    .await?;

    // By the key.
    tab.press("n").await?;
    eventually("the detail opens", LONG, async || {
        ensure!(!tab.text(".detail").await?.is_empty());
        Ok(())
    })
    .await?;
    tab.press("y").await?;
    shows_steps(&tab).await?;

    // By the button of the findings.
    tab.press("i").await?;
    let button = "[data-code=F11] [data-part=ask-why]";
    eventually("F11 is listed", LONG, async || {
        driver.find(By::Css(button)).await?.click().await?;
        Ok(())
    })
    .await?;
    shows_steps(&tab).await?;
    let link =
        "return document.querySelector('[data-part=why] .lesson-link a')?.getAttribute('href')";
    ensure!(tab.script(link).await? == "#lesson=expired");
    Ok(())
}
