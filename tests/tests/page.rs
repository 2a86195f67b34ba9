//! The page's words when there is little to show; keys and fingers that reach everything; and its look with few colours
//! and little motion.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key, TypingData, WebDriver};
use watchscope_tests::{
    Browser, BrowserTools, Served, WatchscopeBinary, eventually, free_port, or_skip,
};

use crate::browser::{FINE, LONG, Tab, Visit, has_page};
use crate::kubeconfig;
use crate::simulated::Simulated;

/// Waits until the text of an element has this beginning; returns the text.
async fn says(tab: &Tab<'_>, selector: &str, beginning: &str) -> Result<String> {
    eventually(beginning, LONG, async || {
        let text = tab.text(selector).await?;
        ensure!(text.starts_with(beginning), "{selector} says {text:?}");
        Ok(text)
    })
    .await
}

pub(crate) async fn emulate(driver: &WebDriver, command: &str, parameters: Value) -> Result<()> {
    driver.cdp().send_raw(command, parameters).await?;
    Ok(())
}

#[tokio::test]
async fn without_a_current_context_the_page_offers_all_contexts_and_watches_the_chosen_one()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = kubeconfig::write(folder.path(), &simulated.origin, &json!({}))?;
    let mut config: Value = serde_json::from_slice(&std::fs::read(&kubeconfig)?)?;
    config["current-context"] = json!("");
    std::fs::write(&kubeconfig, config.to_string())?;
    let command = binary.with(&["serve", "jobs", "-n", "shop"]);
    let served = Served::start(command.kubeconfig(&kubeconfig)).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    driver.goto(served.link.text()).await?;

    let told = says(&tab, "[data-part=empty]", "No cluster.").await?;
    assert!(told.contains("no current context"), "{told}");
    says(&tab, "[data-part=words]", "Not watching").await?;
    let context = driver.find(By::Css("[data-part=empty] button")).await?;
    assert_eq!(context.text().await?, "c");
    context.click().await?;
    says(&tab, "[data-part=words]", "1 watch streaming").await?;
    assert_eq!(tab.text("[data-part=empty]").await?, "");
    let lanes = tab.lanes().await?;
    assert!(lanes.contains(&"shop/jobs.batch".to_owned()), "{lanes:?}");
    browser.console_is_quiet().await
}

#[tokio::test]
async fn an_empty_picture_says_why_it_is_empty_and_what_to_do() -> Result<()> {
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
    assert_eq!(tab.lanes().await?, ["findings", "empty/jobs.batch"]);

    let folder = tempfile::tempdir()?;
    let nobody = format!("http://127.0.0.1:{}", free_port()?);
    let kubeconfig = kubeconfig::write(folder.path(), &nobody, &json!({}))?;
    let command = binary.with(&["serve", "jobs", "-n", "shop"]);
    let unheard = Served::start(command.kubeconfig(&kubeconfig)).await?;
    driver.goto(unheard.link.text()).await?;
    let told = says(&tab, "[data-part=empty]", "The cluster does not answer.").await?;
    let address = nobody.trim_start_matches("http://");
    eventually("the address is shown", LONG, async || {
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
        "watchscope itself is connected"
    );
    browser.console_is_quiet().await
}

#[tokio::test]
async fn a_spent_link_takes_a_pasted_one_and_another_protocol_asks_for_a_reload() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.tab();
    driver.goto(visit.served.link.origin()).await?;
    says(&tab, "[data-part=banner]", "This page needs a link.").await?;
    driver.goto("about:blank").await?;
    driver
        .goto(format!("{}/#t=spent", visit.served.link.origin()))
        .await?;
    says(
        &tab,
        "[data-part=banner]",
        "This link was used or is too old",
    )
    .await?;
    let field = driver.find(By::Css("[data-part=banner] input")).await?;
    field.send_keys("nothing of the kind" + Key::Enter).await?;
    says(
        &tab,
        "[data-part=banner] [role=alert]",
        "That is not a link",
    )
    .await?;
    field.clear().await?;
    field
        .send_keys(visit.served.link.text().to_owned() + Key::Enter)
        .await?;
    tab.is_live().await?;
    assert_eq!(tab.text("[data-part=banner]").await?, "");

    // Simulates a newer server: its document has a higher protocol version.
    let newer = "const brought = PerformanceServerTiming.prototype;
        const {get} = Object.getOwnPropertyDescriptor(brought, 'description');
        Object.defineProperty(brought, 'description', {get() {
            const told = JSON.parse(get.call(this));
            return JSON.stringify({...told, protocol: told.protocol + 1});
        }});";
    let parameters = json!({"source": newer});
    emulate(driver, "Page.addScriptToEvaluateOnNewDocument", parameters).await?;
    driver.refresh().await?;
    says(
        &tab,
        "[data-part=banner]",
        "This page speaks version 2 of the protocol",
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

/// Presses keys at the element that has the focus.
async fn types(driver: &WebDriver, keys: impl Into<TypingData>) -> Result<()> {
    driver.action_chain().send_keys(keys).perform().await?;
    Ok(())
}

/// Waits until the element that has the focus matches a selector.
async fn has_focus(tab: &Tab<'_>, selector: &str) -> Result<()> {
    eventually(selector, LONG, async || {
        let script = format!(
            "const at = document.activeElement; return [at.matches({selector:?}), at.outerHTML.slice(0, 120)]"
        );
        let told = tab.script(&script).await?;
        ensure!(told[0] == true, "{} has the focus", told[1]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn every_control_is_reached_by_tab_and_shows_its_focus() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    // With a detail open and the picture paused, every control is on the page.
    tab.press(Key::Down).await?;
    types(driver, Key::Enter + " ").await?;
    eventually("the detail opens", LONG, async || {
        ensure!(!tab.text(".detail").await?.is_empty());
        ensure!(!tab.text(".pill").await?.is_empty());
        Ok(())
    })
    .await?;
    let controls =
        "return [...document.querySelectorAll('a[href], button, input, [tabindex=\"0\"]')]
        .filter(control => control.checkVisibility() && control.tabIndex >= 0)
        .map((control, place) => (control.dataset.place = place, control.outerHTML))";
    let controls: Vec<String> = serde_json::from_value(tab.script(controls).await?)?;
    assert!(controls.len() >= 10, "{controls:#?}");
    let focused = "const at = document.activeElement;
        const style = getComputedStyle(at);
        return [at.dataset.place ?? null, `${style.outlineStyle} ${style.outlineWidth}`];";
    let mut reached = BTreeSet::new();
    for _ in 0..=controls.len() {
        types(driver, Key::Tab).await?;
        let told = tab.script(focused).await?;
        // Between the last control and the first the browser's own have the focus.
        if let Some(place) = told[0].as_str() {
            let place: usize = place.parse()?;
            assert_eq!(
                told[1], "solid 2px",
                "its focus is visible: {}",
                controls[place]
            );
            reached.insert(place);
        }
    }
    let missed: Vec<&String> = (0..controls.len())
        .filter(|place| !reached.contains(place))
        .map(|place| &controls[place])
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn fields_and_dialogs_take_the_focus_and_return_it_to_where_it_was() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.press("/").await?;
    has_focus(&tab, ".filter input").await?;
    types(driver, Key::Escape).await?;
    has_focus(&tab, "canvas.chart").await?;
    types(driver, "?").await?;
    has_focus(&tab, ".help *").await?;
    for _ in 0..3 {
        types(driver, Key::Tab).await?;
        let outside = "return !!document.activeElement.closest('.page > :not(.mount), .header, main, .detail')";
        assert_eq!(
            tab.script(outside).await?,
            false,
            "the help keeps the focus"
        );
    }
    types(driver, Key::Escape).await?;
    has_focus(&tab, "canvas.chart").await?;
    let button = driver
        .find(By::Css("[aria-label='Keys and glyphs'][aria-haspopup]"))
        .await?;
    button.focus().await?;
    types(driver, Key::Enter).await?;
    has_focus(&tab, ".help *").await?;
    types(driver, Key::Escape).await?;
    has_focus(&tab, "button[aria-haspopup]").await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn keys_move_through_time_lanes_and_records_and_open_and_close_details() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let number = async |name: &str| {
        let summary = tab.summary().await?;
        summary[name].as_f64().context("a number")
    };
    let is_following = async || Ok::<_, anyhow::Error>(tab.summary().await?["following"] == true);

    eventually("the first watch has its objects", LONG, async || {
        let lanes = tab.lanes().await?;
        let object = "shop/configmaps shop/feature-flags".to_owned();
        ensure!(lanes.contains(&object), "{lanes:?}");
        Ok(())
    })
    .await?;

    // Checks keys for time.
    tab.press(" ").await?;
    assert!(!is_following().await?, "Space pauses");
    let scale = number("usPerPx").await?;
    for (closer, further) in [("+", "-"), ("w", "s")] {
        types(driver, closer).await?;
        assert!(number("usPerPx").await? < scale * 0.9, "{closer}");
        types(driver, further).await?;
        assert!(
            (number("usPerPx").await? / scale - 1.0).abs() < 0.001,
            "{further}"
        );
    }
    let left = number("leftUs").await?;
    for (earlier, later) in [
        (TypingData::from(Key::Left), TypingData::from(Key::Right)),
        (TypingData::from("a"), TypingData::from("d")),
    ] {
        types(driver, earlier).await?;
        assert!(number("leftUs").await? < left - scale, "earlier");
        types(driver, later).await?;
        assert!((number("leftUs").await? - left).abs() <= scale, "later");
    }
    types(driver, Key::End).await?;
    assert!(is_following().await?, "End follows");
    types(driver, Key::Home).await?;
    assert!(!is_following().await?, "Home does not");
    types(driver, "0").await?;

    // Checks keys for lanes and records: opening one announces it and shows it.
    let active =
        "return document.querySelector('canvas.chart').getAttribute('aria-activedescendant')";
    let down_to = async |kind: &str| {
        for _ in 0..20 {
            let before = tab.script(active).await?;
            types(driver, Key::Down).await?;
            let lane = eventually("the next lane has the focus", LONG, async || {
                let lane = tab.script(active).await?;
                ensure!(lane != before, "{lane}");
                lane.as_str().map(str::to_owned).context("a lane")
            })
            .await?;
            if lane.starts_with(kind) {
                return Ok(());
            }
        }
        Err(anyhow::anyhow!("no lane {kind}…"))
    };
    down_to("lane-v").await?;
    types(driver, Key::Enter).await?;
    says(
        &tab,
        "[data-part=said]",
        "shop/configmaps, resourceVersion,",
    )
    .await?;
    down_to("lane-o").await?;
    types(driver, Key::Enter).await?;
    let opened = eventually("an object's change opens", LONG, async || {
        let told = tab.text(".detail .prose").await?;
        ensure!(told.contains(" at resourceVersion "), "{told}");
        Ok(told)
    })
    .await?;
    let said = tab.text("[data-part=said]").await?;
    assert!(said.ends_with(&opened), "{said:?} announces {opened:?}");
    has_focus(&tab, "canvas.chart").await?;
    types(driver, Key::Tab).await?;
    types(driver, Key::Escape).await?;
    eventually("the detail closes", LONG, async || {
        ensure!(tab.text(".detail").await?.is_empty());
        Ok(())
    })
    .await?;

    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn forced_colours_give_marks_the_systems_colours_and_reduced_motion_makes_the_picture_step()
-> Result<()> {
    let visit = or_skip!(Visit::of_demo(&FINE).await?);
    let (driver, tab) = visit.open().await?;
    let ink = "const pen = document.createElement('canvas').getContext('2d');
        pen.fillStyle = 'CanvasText';
        pen.fillRect(0, 0, 1, 1);
        const hex = value => value.toString(16).padStart(2, '0').toUpperCase();
        return '#' + [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map(hex).join('');";
    let mut inks = BTreeSet::new();
    for scheme in ["light", "dark"] {
        let features = json!({"features": [
            {"name": "forced-colors", "value": "active"},
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        emulate(driver, "Emulation.setEmulatedMedia", features).await?;
        let ink = eventually("marks have the colour of text", LONG, async || {
            let ink = tab.script(ink).await?;
            let hits = tab.hits().await?;
            let marks = hits.iter().filter(|hit| hit["color"] == "CanvasText");
            let pixels: Vec<&Value> = marks.map(|hit| &hit["pixel"]).collect();
            ensure!(pixels.len() > 5, "{hits:#?}");
            ensure!(
                pixels.iter().all(|&pixel| *pixel == ink),
                "{scheme}, {ink}: {pixels:?}"
            );
            Ok(ink)
        })
        .await?;
        inks.insert(ink.to_string());
    }
    assert_eq!(inks.len(), 2, "text is dark on light and light on dark");
    // Counts steps over three seconds of frames; at 30 px a second the picture would move nearly 100 times. Zooming
    // ends the steps of a young log's axis, which would stand still.
    tab.press("+").await?;
    while tab.summary().await?["usPerPx"].as_f64() > Some(40_000.0) {
        tab.press("+").await?;
    }
    tab.press(Key::End).await?;
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
    visit.browser.console_is_quiet().await
}
