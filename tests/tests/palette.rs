//! The palette in a browser: opened by its keys, used by keys and by a click, and closed.

use anyhow::{Context as _, Result, ensure};
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};
use watchscope_timeline::format::number;

use crate::browser::{LONG, Tab, Visit};

/// Returns the words of the palette's rows.
async fn rows(tab: &Tab<'_>) -> Result<Vec<String>> {
    let script = "return [...document.querySelectorAll('.palette-row .palette-words')].map(row => row.textContent)";
    Ok(serde_json::from_value(tab.script(script).await?)?)
}

/// Waits until the palette is open, or closed.
async fn is_open(tab: &Tab<'_>, open: bool) -> Result<()> {
    eventually("the palette", LONG, async || {
        let script = "return [document.querySelector('.palette')?.open ?? false,
            document.activeElement.matches('.palette input')]";
        let told = tab.script(script).await?;
        ensure!(told[0] == open && told[1] == open, "{told}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_palette_finds_actions_lanes_and_times_by_keys_and_by_a_click() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let types = async |keys: &str| driver.action_chain().send_keys(keys).perform().await;
    let says_row = async |words: &str| {
        eventually(words, LONG, async || {
            let rows = rows(&tab).await?;
            ensure!(rows.first().is_some_and(|row| row == words), "{rows:?}");
            Ok(())
        })
        .await
    };

    // Checks an action.
    tab.press(Key::Control + "k").await?;
    is_open(&tab, true).await?;
    types("table of").await?;
    says_row("Show or hide the table of watches").await?;
    driver
        .action_chain()
        .send_keys(Key::Enter)
        .perform()
        .await?;
    is_open(&tab, false).await?;
    eventually("the table opens", LONG, async || {
        ensure!(!tab.text(".watches").await?.is_empty());
        Ok(())
    })
    .await?;

    // Checks a lane, by a click. The keys of the page do nothing behind the palette.
    tab.press("g").await?;
    is_open(&tab, true).await?;
    types("feature-flags").await?;
    says_row("feature-flags").await?;
    driver.find(By::Css(".palette-row")).await?.click().await?;
    is_open(&tab, false).await?;
    eventually("the lane is selected", LONG, async || {
        let detail = tab.text(".detail").await?;
        ensure!(detail.contains("feature-flags"), "{detail}");
        Ok(())
    })
    .await?;

    // Checks a resourceVersion that no record has: the nearest is offered.
    tab.press(Key::Control + "k").await?;
    is_open(&tab, true).await?;
    // The lowest one of the log, since the highest one rises while the test runs.
    types("rv:1").await?;
    says_row("Search for resourceVersion 1").await?;
    let nearest = rows(&tab).await?;
    ensure!(
        nearest
            .get(1)
            .is_some_and(|row| row.ends_with(", the nearest")),
        "{nearest:?}"
    );
    driver
        .action_chain()
        .send_keys(Key::Down + Key::Enter)
        .perform()
        .await?;
    is_open(&tab, false).await?;
    let version = nearest[1].split([' ', ',']).nth(3).context("a version")?;
    let version = format!("at resourceVersion {}", number(version.parse()?));
    eventually("the record is selected", LONG, async || {
        let detail = tab.text(".detail").await?;
        let happened = detail.split("What happened").nth(1).unwrap_or_default();
        ensure!(happened.contains(&version), "{version} is not in {detail}");
        Ok(())
    })
    .await?;

    // Checks what cannot be found, and Escape.
    tab.press(Key::Control + "k").await?;
    is_open(&tab, true).await?;
    types("zzqq").await?;
    eventually("nothing matches", LONG, async || {
        let words = tab.text(".palette-nothing").await?;
        ensure!(words.starts_with("Nothing matches"), "{words}");
        Ok(())
    })
    .await?;
    driver
        .action_chain()
        .send_keys(Key::Escape)
        .perform()
        .await?;
    is_open(&tab, false).await?;
    visit.browser.console_is_quiet().await
}
