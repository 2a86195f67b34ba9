//! Steps through problems on the page: by keys, by the stepper's buttons, by the plates at the edges, and by touch.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use thirtyfour::{By, WebDriver};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// Waits until a story's narrator has said that it is over.
async fn is_over(visit: &Visit) -> Result<()> {
    let mut records = visit.served.records().await?;
    records
        .up_to(|record| record["type"] == "note" && record["over"] == true)
        .await?;
    Ok(())
}

/// Waits until the text of an element contains some words; returns the text.
async fn says(tab: &Tab<'_>, selector: &str, words: &str) -> Result<String> {
    eventually("the element says it", LONG, async || {
        let text = tab.text(selector).await?;
        ensure!(text.contains(words), "{selector}: {text:?}");
        Ok(text)
    })
    .await
}

async fn click(driver: &WebDriver, part: &str) -> Result<()> {
    let selector = format!("[data-part={part}]");
    Ok(driver.find(By::Css(selector)).await?.click().await?)
}

/// Returns the number in `4 problems`.
async fn total(tab: &Tab<'_>) -> Result<usize> {
    let words = says(tab, "[data-part=stepper]", "problem").await?;
    let number = words.split(' ').next().unwrap_or_default();
    number.parse().context(words)
}

#[tokio::test]
async fn keys_and_buttons_step_through_all_problems_and_stay_at_both_ends() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    is_over(&visit).await?;
    // With the view at the log's begin, each step goes on from there.
    let total = total(&tab).await?;
    tab.press("N").await?;
    let last = match total {
        1 => "The only problem".to_owned(),
        _ => format!("Last of {total}"),
    };
    says(&tab, "[data-part=stepper]", &last).await?;
    assert_eq!(tab.summary().await?["following"], false);
    says(&tab, "section.detail", "F").await?;
    tab.press("n").await?;
    says(&tab, "[data-part=said]", &format!("last of {total}")).await?;
    for _ in 1..total {
        click(driver, "previous-problem").await?;
    }
    if total > 1 {
        says(
            &tab,
            "[data-part=stepper]",
            &format!("Problem 1 of {total}"),
        )
        .await?;
    }
    click(driver, "previous-problem").await?;
    says(&tab, "[data-part=said]", &format!("first of {total}")).await?;
    Ok(())
}

#[tokio::test]
async fn a_plate_at_the_edge_counts_what_is_off_the_view_and_goes_there() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    is_over(&visit).await?;
    total(&tab).await?;
    tab.press(thirtyfour::Key::Home).await?;
    // A stretch before the log has all its problems on the right.
    for _ in 0..3 {
        tab.press("w").await?;
    }
    for _ in 0..14 {
        tab.press("a").await?;
    }
    says(&tab, "[data-part=edge-right]", "later").await?;
    assert_eq!(tab.text("[data-part=edge-left]").await?, "");
    driver
        .find(By::Css("[data-part=edge-right] .plate-words"))
        .await?
        .click()
        .await?;
    says(&tab, "section.detail", "F").await?;
    Ok(())
}

#[tokio::test]
async fn on_a_phone_a_row_steps_by_tap_and_by_swipe() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    let size = json!({"width": 420, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    let cdp = driver.cdp();
    cdp.send_raw("Emulation.setDeviceMetricsOverride", size)
        .await?;
    is_over(&visit).await?;
    says(&tab, "[data-part=stepper-row]", "problem").await?;
    let row = ".stepper-row [data-part=previous-problem]";
    driver.find(By::Css(row)).await?.click().await?;
    let stepped = eventually("a problem is selected", LONG, async || {
        let words = tab.text("[data-part=stepper-row]").await?;
        ensure!(!words.ends_with("problems"), "{words:?}");
        Ok(words)
    })
    .await?;
    // A swipe to the left asks for the next one, and there is none.
    let at = tab
        .script("const {left, top} = document.querySelector('.stepper-about').getBoundingClientRect(); return [left, top]")
        .await?;
    let (left, top) = (at[0].as_f64().context("x")?, at[1].as_f64().context("y")?);
    for (kind, x) in [
        ("touchStart", 200.0),
        ("touchMove", 120.0),
        ("touchMove", 60.0),
    ] {
        let points = json!([{"x": left + x, "y": top + 12.0}]);
        let touch = json!({"type": kind, "touchPoints": points});
        cdp.send_raw("Input.dispatchTouchEvent", touch).await?;
    }
    let end = json!({"type": "touchEnd", "touchPoints": []});
    cdp.send_raw("Input.dispatchTouchEvent", end).await?;
    says(&tab, "[data-part=said]", "last of").await?;
    assert_eq!(tab.text("[data-part=stepper-row]").await?, stepped);
    Ok(())
}
