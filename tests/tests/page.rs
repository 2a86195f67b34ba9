//! What the page says when there is little to see, and how it looks in few colours and with little motion.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key, WebDriver};
use watchscope_tests::{
    Browser, BrowserTools, Served, WatchscopeBinary, eventually, free_port, or_skip,
};

use crate::browser::{LONG, Tab, has_page};
use crate::kubeconfig;
use crate::simulated::Simulated;

/// Waits until the text of an element begins like this.
async fn says(tab: &Tab<'_>, selector: &str, beginning: &str) -> Result<String> {
    eventually(beginning, LONG, async || {
        let text = tab.text(selector).await?;
        ensure!(text.starts_with(beginning), "{selector} says {text:?}");
        Ok(text)
    })
    .await
}

async fn emulate(driver: &WebDriver, command: &str, parameters: Value) -> Result<()> {
    driver.cdp().send_raw(command, parameters).await?;
    Ok(())
}

#[tokio::test]
async fn an_empty_picture_says_which_kind_of_empty_it_is_and_what_to_do() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let quiet = Served::start(
        binary
            .with(&["serve", "jobs", "-n", "empty"])
            .kubeconfig(&simulated.kubeconfig),
    )
    .await?;
    or_skip!(has_page(&quiet.link).await);
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(quiet.link.text()).await?;
    says(&tab, "[data-part=empty]", "1 watch open, no event since").await?;

    let field = driver.find(By::Css(".filter input")).await?;
    field.send_keys("no-such-lane").await?;
    says(
        &tab,
        "[data-part=empty]",
        "1 lane, all hidden by no-such-lane.",
    )
    .await?;
    driver
        .find(By::Css("[data-part=empty] button"))
        .await?
        .click()
        .await?;
    says(&tab, "[data-part=empty]", "1 watch open").await?;
    assert_eq!(tab.lanes().await?[0], "empty/jobs.batch");

    let folder = tempfile::tempdir()?;
    let nobody = format!("http://127.0.0.1:{}", free_port()?);
    let kubeconfig = kubeconfig::write(folder.path(), &nobody, &json!({}))?;
    let command = binary.with(&["serve", "jobs", "-n", "shop"]);
    let unheard = Served::start(command.kubeconfig(&kubeconfig)).await?;
    driver.goto(unheard.link.text()).await?;
    let told = says(&tab, "[data-part=empty]", "The cluster does not answer.").await?;
    let address = nobody.trim_start_matches("http://");
    eventually("what was tried is told", LONG, async || {
        let told = tab.text("[data-part=empty]").await?;
        ensure!(told.contains(address), "{told}");
        Ok(())
    })
    .await
    .with_context(|| told)?;
    says(&tab, "nav.problems", "1 watch waiting").await?;
    assert_eq!(
        tab.text("[data-part=banner]").await?,
        "",
        "it is the cluster, not watchscope"
    );
    browser.console_is_quiet().await
}

#[tokio::test]
async fn a_spent_link_takes_a_pasted_one_and_another_protocol_asks_for_a_reload() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let served = Served::start(binary.with(&["demo"])).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(served.link.origin()).await?;
    says(&tab, "[data-part=banner]", "This page needs a link.").await?;
    driver.goto("about:blank").await?;
    driver
        .goto(format!("{}/#t=spent", served.link.origin()))
        .await?;
    says(&tab, "[data-part=banner]", "This link is spent").await?;
    let field = driver.find(By::Css("[data-part=banner] input")).await?;
    field.send_keys("nothing of the kind" + Key::Enter).await?;
    says(&tab, "[data-part=banner] [role=alert]", "That is no link").await?;
    field.clear().await?;
    field
        .send_keys(served.link.text().to_owned() + Key::Enter)
        .await?;
    tab.is_live().await?;
    assert_eq!(tab.text("[data-part=banner]").await?, "");

    // A newer server: what it answers to the first question.
    let newer = "const ask = window.fetch;
        window.fetch = async (...all) => {
            const answer = await ask(...all);
            const told = await answer.clone().json().catch(() => null);
            return told?.protocol ? Response.json({...told, protocol: told.protocol + 1}) : answer;
        };";
    let parameters = json!({"source": newer});
    emulate(driver, "Page.addScriptToEvaluateOnNewDocument", parameters).await?;
    driver.refresh().await?;
    says(
        &tab,
        "[data-part=banner]",
        "This page speaks version 1 of the protocol",
    )
    .await?;
    tab.script("window.stays = true").await?;
    driver
        .find(By::Css("[data-part=banner] button"))
        .await?
        .click()
        .await?;
    eventually("the page was loaded again", LONG, async || {
        ensure!(tab.script("return window.stays ?? null").await?.is_null());
        Ok(())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn in_forced_colours_marks_have_the_systems_and_with_less_motion_the_picture_steps()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let served = Served::start(binary.with(&["demo"])).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start_with(&tools, &crate::browser::FINE).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(served.link.text()).await?;
    tab.is_live().await?;
    let features = json!({"features": [
        {"name": "forced-colors", "value": "active"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]});
    emulate(driver, "Emulation.setEmulatedMedia", features).await?;
    let ink = "const pen = document.createElement('canvas').getContext('2d');
        pen.fillStyle = 'CanvasText';
        pen.fillRect(0, 0, 1, 1);
        const hex = value => value.toString(16).padStart(2, '0').toUpperCase();
        return '#' + [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map(hex).join('');";
    eventually("marks have the colour of text", LONG, async || {
        let ink = tab.script(ink).await?;
        let hits = tab.hits().await?;
        let marks = hits.iter().filter(|hit| hit["color"] == "CanvasText");
        let pixels: Vec<&Value> = marks.map(|hit| &hit["pixel"]).collect();
        ensure!(pixels.len() > 5, "{hits:#?}");
        ensure!(
            pixels.iter().all(|&pixel| *pixel == ink),
            "{ink}: {pixels:?}"
        );
        Ok(())
    })
    .await?;
    // Three seconds of frames: at 30 px a second it would move nearly 100 times.
    while tab.summary().await?["usPerPx"].as_f64() > Some(40_000.0) {
        tab.press("+").await?;
    }
    tab.press(Key::End + "").await?;
    let steps = "const done = arguments[0];
        const seen = new Set();
        const until = performance.now() + 3000;
        const look = now => {
            seen.add(JSON.parse(window.watchscope.summary()).leftUs);
            now < until ? requestAnimationFrame(look) : done(seen.size);
        };
        requestAnimationFrame(look);";
    let steps = driver.execute_async(steps, vec![]).await?;
    let steps = steps.json().as_u64().context("a count")?;
    assert!((2..=5).contains(&steps), "{steps} steps in 3 s");
    browser.console_is_quiet().await
}
