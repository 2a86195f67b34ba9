//! No panel of the page has a serious barrier: axe-core looks at each, in both themes and on a narrow window.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key};
use watchscope_tests::{Missing, eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};
use crate::looking::{Mouse, corner};

/// Violations: rule and element, with where it was first seen and what is wrong.
type Barriers = BTreeMap<(String, String), String>;

/// Returns axe-core's script, which `cargo xtask test` installs.
fn axe() -> Result<String, Missing> {
    let missing = || Missing {
        what: "axe-core".to_owned(),
        install: "npm and run `cargo xtask test`, or set WATCHSCOPE_TEST_AXE to its axe.min.js"
            .to_owned(),
    };
    let path = std::env::var_os("WATCHSCOPE_TEST_AXE").ok_or_else(missing)?;
    fs::read_to_string(path).map_err(|_| missing())
}

/// Adds what is on the page now and is a serious or critical violation: by rule and element, where it was first seen.
async fn look(tab: &Tab<'_>, what: &str, barriers: &mut Barriers) -> Result<()> {
    let script = "
        return axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
            .filter(({impact}) => ['serious', 'critical'].includes(impact))
            .flatMap(({id, nodes}) => nodes.map(node => [id, node.html.slice(0, 200), node.failureSummary])))";
    let found: Vec<[String; 3]> = serde_json::from_value(tab.script(script).await?)?;
    for [rule, element, words] in found {
        barriers
            .entry((rule, element))
            .or_insert_with(|| format!("{what}: {words}"));
    }
    Ok(())
}

#[tokio::test]
async fn no_panel_has_a_serious_barrier_in_either_theme_or_on_a_narrow_window() -> Result<()> {
    let axe = or_skip!(axe());
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    eventually("a finding stands", LONG, async || {
        let words = tab.text(".header").await?;
        ensure!(words.contains("F11") || words.contains("gap"), "{words}");
        Ok(())
    })
    .await?;
    driver.execute(&axe, Vec::new()).await?;

    let mut barriers = Barriers::new();
    // Each panel by what opens it, and what then is on the page.
    let panels = [
        ("the picture alone", None, "canvas.chart"),
        ("the findings", Some("i"), ".findings"),
        ("the table of watches", Some("t"), ".watches"),
        ("the tables", Some("v"), ".tables .grid-row"),
        ("the notes", Some("o"), ".notes"),
        ("a note's form", Some("m"), ".note-form"),
        ("the help", Some("?"), ".help[open]"),
        ("the palette", Some("g"), ".palette[open] .palette-row"),
    ];
    for (theme, width) in [("light", 1600), ("dark", 1600), ("dark", 420)] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        let cdp = driver.cdp();
        cdp.send_raw("Emulation.setEmulatedMedia", features).await?;
        let size = json!({"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
        cdp.send_raw("Emulation.setDeviceMetricsOverride", size)
            .await?;
        for (what, key, selector) in panels {
            if let Some(key) = key {
                tab.press(key).await?;
            }
            eventually(what, LONG, async || {
                let is_here = format!("return !!document.querySelector({selector:?})");
                ensure!(tab.script(&is_here).await? == true, "{what}");
                Ok(())
            })
            .await?;
            look(&tab, &format!("{what}, {theme}, {width} px"), &mut barriers).await?;
            // A field of a form keeps its text, so the form is left by its own button.
            if let Ok(cancel) = driver
                .find(By::Css(".note-form .note-buttons button:last-child"))
                .await
            {
                cancel.click().await?;
            } else if key.is_some() {
                driver
                    .action_chain()
                    .send_keys(Key::Escape)
                    .perform()
                    .await?;
            }
        }
    }

    // The detail of the first record of a lane with errors, and its tabs.
    tab.press(Key::Down + Key::Down + Key::Enter).await?;
    let tabs = eventually("the detail opens", LONG, async || {
        let tabs = tab
            .script("return document.querySelectorAll('.detail .tab').length")
            .await?;
        tabs.as_u64().filter(|tabs| *tabs > 0).context("tabs")
    })
    .await?;
    for place in 0..tabs {
        let click = format!("document.querySelectorAll('.detail .tab')[{place}].click()");
        let _: Value = tab.script(&click).await?;
        look(&tab, &format!("tab {place} of the detail"), &mut barriers).await?;
    }
    assert!(barriers.is_empty(), "{barriers:#?}");
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn captions_and_the_comparison_of_two_times_have_no_serious_barrier() -> Result<()> {
    let axe = or_skip!(axe());
    let visit = or_skip!(Visit::of_demo(&["--window-size=1600,1000"]).await?);
    let (driver, tab) = visit.open().await?;
    tab.script("localStorage.setItem('watchscope-captions', 'show')")
        .await?;
    driver.refresh().await?;
    tab.is_live().await?;
    driver.execute(&axe, Vec::new()).await?;
    let is_here = async |what: &str, selector: &str| {
        eventually(what, LONG, async || {
            let script = format!("return !!document.querySelector({selector:?})");
            ensure!(tab.script(&script).await? == true, "{what}");
            Ok(())
        })
        .await
    };
    let mut barriers = Barriers::new();
    for theme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        let cdp = driver.cdp();
        cdp.send_raw("Emulation.setEmulatedMedia", features).await?;
        is_here("the captions", "[data-part='captions']").await?;
        look(&tab, &format!("the captions, {theme}"), &mut barriers).await?;
        tab.press(" ").await?;
        let mouse = Mouse(driver);
        let (left, top) = corner(&tab).await?;
        for x in [200, 700] {
            mouse.hover((left as i32 + x, top as i32 + 200)).await?;
            tab.press("b").await?;
        }
        is_here("the row from A to B", "[data-part='from-a-to-b']").await?;
        is_here("the comparison", "[data-part='compared']").await?;
        look(&tab, &format!("A and B, {theme}"), &mut barriers).await?;
        driver
            .find(By::Css("[data-part='compared'] .close"))
            .await?
            .click()
            .await?;
        tab.press(Key::End).await?;
    }
    assert!(barriers.is_empty(), "{barriers:#?}");
    visit.browser.console_is_quiet().await
}
