//! The cursors A and B in a browser, by keys, mouse and finger.

use anyhow::{Result, ensure};
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};
use crate::fingers::Fingers;
use crate::looking::{Mouse, corner};

/// Returns the times that the cursors' flags show.
async fn times(tab: &Tab<'_>) -> Result<Vec<String>> {
    let script = "return [...document.querySelectorAll('.cursor-flag')].map(flag => flag.getAttribute('aria-valuetext'))";
    Ok(serde_json::from_value(tab.script(script).await?)?)
}

/// Waits until `count` cursors are set; returns their times.
async fn has(tab: &Tab<'_>, count: usize) -> Result<Vec<String>> {
    eventually("the cursors", LONG, async || {
        let times = times(tab).await?;
        ensure!(times.len() == count, "{times:?}");
        Ok(times)
    })
    .await
}

/// Waits until a cursor shows another time.
async fn moved(tab: &Tab<'_>, place: usize, before: &str) -> Result<String> {
    eventually("the cursor moves", LONG, async || {
        let times = times(tab).await?;
        ensure!(
            times.get(place).is_some_and(|time| time != before),
            "{times:?}"
        );
        Ok(times[place].clone())
    })
    .await
}

/// Returns the middle of an element in the window, in px.
async fn middle(tab: &Tab<'_>, selector: &str) -> Result<(i32, i32)> {
    let script = format!(
        "const box = document.querySelector({selector:?}).getBoundingClientRect();
        return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]"
    );
    Ok(serde_json::from_value(tab.script(&script).await?)?)
}

#[tokio::test]
async fn two_times_are_compared_by_keys_and_by_the_mouse_and_named_by_the_link() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let mut stream = visit.served.records().await?;
    for _ in 0..2 {
        stream
            .up_to(|record| record["change"] == "DELETED" && record["origin"] == "live")
            .await?;
    }
    tab.press(" ").await?;
    let mouse = Mouse(driver);
    let (left, top) = corner(&tab).await?;
    let (left, top) = (left as i32, top as i32);

    // Sets A and B at the pointer.
    let width = tab
        .script("return document.querySelector('canvas.chart').clientWidth")
        .await?;
    let width = width.as_i64().unwrap_or_default() as i32;
    mouse.hover((left + width / 8, top + 200)).await?;
    tab.press("b").await?;
    has(&tab, 1).await?;
    mouse.hover((left + width * 3 / 8, top + 200)).await?;
    tab.press("b").await?;
    let set = has(&tab, 2).await?;
    eventually("the comparison", LONG, async || {
        let head = tab.text("[data-part='compared-head']").await?;
        ensure!(!head.is_empty());
        Ok(())
    })
    .await?;

    // The row under the ruler says how long it is, and the panel how the first object differs.
    eventually("the row from A to B", LONG, async || {
        let row = tab.text("[data-part='from-a-to-b']").await?;
        ensure!(
            row.starts_with("From A to B") && row.contains(" s"),
            "{row}"
        );
        let object = tab.text("[data-part='compared-object']").await?;
        ensure!(object.contains("Object as this watch held it"), "{object}");
        ensure!(!object.contains("Fetching"), "{object}");
        Ok(())
    })
    .await?;

    // Drags the flag of B, and moves it by keys.
    let at = middle(&tab, "[data-part='cursor-B']").await?;
    mouse.drag(at, (at.0 + 60, at.1)).await?;
    let dragged = moved(&tab, 1, &set[1]).await?;
    driver
        .action_chain()
        .send_keys(Key::Right)
        .perform()
        .await?;
    let nudged = moved(&tab, 1, &dragged).await?;
    driver.action_chain().send_keys(",").perform().await?;
    moved(&tab, 1, &nudged).await?;

    // The link names both.
    eventually("the link", LONG, async || {
        let link = tab.script("return location.hash").await?;
        let text = link.as_str().unwrap_or_default();
        let ab = text.split("&ab=").nth(1).unwrap_or_default();
        let ab = ab.split('&').next().unwrap_or_default();
        ensure!(ab.contains('-'), "{link}");
        Ok(())
    })
    .await?;

    // Escape drops B, then A.
    tab.press(Key::Escape).await?;
    has(&tab, 1).await?;
    tab.press(Key::Escape).await?;
    has(&tab, 0).await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_long_press_of_a_finger_sets_a_cursor() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let fingers = Fingers::on(driver).await?;
    tab.press(" ").await?;
    let (left, top) = corner(&tab).await?;
    let at = (left as i32 + 120, top as i32 + 200);
    fingers.press(at).await?;
    // The time counts from when the page has the touch, which a busy machine brings late.
    let started = tab.script("return Date.now()").await?;
    eventually("600 ms pass", LONG, async || {
        let now = tab.script("return Date.now()").await?;
        ensure!(now.as_f64() >= started.as_f64().map(|started| started + 600.0));
        Ok(())
    })
    .await?;
    fingers.lift().await?;
    has(&tab, 1).await?;
    ensure!(
        driver.find_all(By::Css(".detail")).await?.is_empty(),
        "a long press is no tap"
    );
    Ok(())
}
