//! A person arranges many lanes: groups and sorts them, pins, moves and hides some, by keys and by mouse.

use anyhow::{Context as _, Result, ensure};
use thirtyfour::Key;
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};
use crate::looking::Mouse;

/// Returns the keys of the lanes in the tree, from top to bottom.
async fn lanes(tab: &Tab<'_>) -> Result<Vec<String>> {
    let script = "return [...document.querySelectorAll('#rows .row')]
        .map(row => [row.offsetTop, row.dataset.lane]).sort((a, b) => a[0] - b[0]).map(row => row[1])";
    Ok(serde_json::from_value(tab.script(script).await?)?)
}

/// Waits until the lanes are as they should be.
async fn until(tab: &Tab<'_>, what: &str, is_so: impl Fn(&[String]) -> bool) -> Result<()> {
    eventually(what, LONG, async || {
        let lanes = lanes(tab).await?;
        ensure!(is_so(&lanes), "{lanes:?}");
        Ok(())
    })
    .await
}

fn place(lanes: &[String], lane: &str) -> Option<usize> {
    lanes.iter().position(|other| other == lane)
}

/// Clicks the element that a selector finds.
async fn click(tab: &Tab<'_>, selector: &str) -> Result<()> {
    let script = format!("document.querySelector({selector:?}).click()");
    tab.script(&script).await.map(drop)
}

/// Gives a lane the focus, by a click on its row, and closes the detail that this opens.
async fn focus(tab: &Tab<'_>, lane: &str) -> Result<()> {
    click(tab, &format!("#rows .row[data-lane='{lane}'] .name")).await?;
    tab.press(Key::Escape).await
}

#[tokio::test]
async fn many_lanes_are_grouped_folded_pinned_moved_and_hidden_and_a_reload_keeps_it() -> Result<()>
{
    let load = ["demo", "--load", "objects=80,rate=10"];
    let visit = or_skip!(Visit::of(&load, &[]).await?);
    let (driver, tab) = visit.open().await?;
    let (pods, jobs) = ("shop/pods", "shop/jobs.batch");
    tab.press("l").await?;
    eventually("the bar comes by its key", LONG, async || {
        let words = tab.text("[data-part='lanes-words']").await?;
        ensure!(words.ends_with(" lanes"), "{words}");
        Ok(())
    })
    .await?;
    tab.press("[").await?;
    let script = "return document.querySelectorAll('.row.watch[aria-expanded=true]').length";
    eventually("all are strips", LONG, async || {
        ensure!(tab.script(script).await? == 0);
        Ok(())
    })
    .await?;

    focus(&tab, pods).await?;
    tab.press("p").await?;
    focus(&tab, jobs).await?;
    tab.press("p").await?;
    until(&tab, "both are pinned", |lanes| {
        place(lanes, pods) < place(lanes, jobs)
            && place(lanes, jobs) < place(lanes, "shop/configmaps")
    })
    .await?;
    let keys = driver.action_chain().key_down(Key::Alt);
    keys.send_keys(Key::Up).key_up(Key::Alt).perform().await?;
    until(&tab, "one moves up by a key", |lanes| {
        place(lanes, jobs) < place(lanes, pods)
    })
    .await?;
    drag(&tab, driver, jobs, pods).await?;
    until(&tab, "and down by a drag", |lanes| {
        place(lanes, pods) < place(lanes, jobs)
    })
    .await?;

    focus(&tab, "shop/configmaps").await?;
    tab.press("h").await?;
    until(&tab, "one is hidden", |lanes| {
        place(lanes, "shop/configmaps").is_none()
    })
    .await?;
    click(&tab, ".segments .control").await?;
    eventually("the section has its name", LONG, async || {
        let names = tab.script(
            "return [...document.querySelectorAll('.section')].map(name => name.textContent)",
        );
        let names: Vec<String> = serde_json::from_value(names.await?)?;
        ensure!(names == ["Pinned", "shop"], "{names:?}");
        let hash = tab.script("return location.hash").await?;
        let hash = hash.as_str().context("a fragment")?;
        ensure!(
            hash.contains("group=namespace") && hash.contains("hide=shop/configmaps"),
            "{hash}"
        );
        Ok(())
    })
    .await?;

    // Without the link the browser still knows.
    let origin = tab.script("return location.origin + '/'").await?;
    driver.goto("about:blank").await?;
    driver.goto(origin.as_str().context("an origin")?).await?;
    tab.is_live().await?;
    until(&tab, "it is kept", |lanes| {
        place(lanes, pods) < place(lanes, jobs) && place(lanes, "shop/configmaps").is_none()
    })
    .await?;
    eventually("the list of hidden lanes shows all", LONG, async || {
        click(&tab, "[data-part='hidden']").await?;
        click(&tab, ".hidden-lanes > .control").await
    })
    .await?;
    until(&tab, "all are shown", |lanes| {
        place(lanes, "shop/configmaps").is_some()
    })
    .await?;
    visit.browser.console_is_quiet().await
}

/// Drags a row of the tree onto another one.
async fn drag(tab: &Tab<'_>, driver: &thirtyfour::WebDriver, from: &str, to: &str) -> Result<()> {
    let middle = async |lane: &str| -> Result<(i32, i32)> {
        let script = format!(
            "const {{left, top, width, height}} =
                document.querySelector(`#rows .row[data-lane='{lane}']`).getBoundingClientRect();
            return [Math.round(left + width / 2), Math.round(top + height / 2)]"
        );
        Ok(serde_json::from_value(tab.script(&script).await?)?)
    };
    Mouse(driver)
        .drag(middle(from).await?, middle(to).await?)
        .await
}
