//! The page where a watch differs from etcd: which object is a ghost, why it is here, what was read of it. Also a
//! history that began anew.
//! anew.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, WebDriver};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// The watch of story F45, which never gets the deletion of `a`.
const MAPS: &str = "default/configmaps";
/// The lane of `a` in that watch.
const GHOST: &str = "default/configmaps default/a";

/// Selects a lane, clicks the comparison that it offers, and waits for the result.
async fn checks(driver: &WebDriver, tab: &Tab<'_>, lane: &str, offer: &str) -> Result<String> {
    let row = By::Css(format!(".row[data-lane='{lane}'] .name"));
    driver.find(row).await?.click().await?;
    tab.has(".detail .check .control", 1).await?;
    assert_eq!(tab.text(".detail .check .control").await?, offer);
    let button = driver.find(By::Css(".detail .check .control")).await?;
    button.click().await?;
    eventually("the comparison is over", LONG, async || {
        let told = tab.text(".detail .check").await?;
        let said = tab.text("[data-part=said]").await?;
        ensure!(
            !told.contains("omparing"),
            "the comparison still runs: {told}"
        );
        // The page also announces the result to screen readers.
        let told = tab.text(".detail .check .inline-action").await?;
        ensure!(!told.is_empty() && said.contains(&told), "{told}; {said}");
        Ok(told)
    })
    .await
}

#[tokio::test]
async fn a_ghost_is_marked_explained_and_checked_on_request() -> Result<()> {
    let arguments = ["demo", "f45", "--audit", "full"];
    let visit = or_skip!(Visit::of(&arguments, &[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.keep_painted_texts().await?;
    let mut stream = visit.served.records().await?;
    let found = stream
        .up_to(|record| record["type"] == "finding" && record["code"] == "F24")
        .await?;
    let raised = found.last().context("a finding")?;
    let seq = raised["seq"].as_u64().context("a seq")?;
    tab.paints(seq).await?;

    // The ghost is marked on its own lane. Its watch and the findings have a flag, where it could be hidden.
    tab.has(&format!(".row.divergence[data-lane='{GHOST}']"), 1)
        .await?;
    for lane in [GHOST, MAPS, "findings"] {
        tab.has(&format!(".row[data-lane='{lane}'] svg.flag:not(:empty)"), 1)
            .await
            .with_context(|| lane.to_owned())?;
    }
    eventually("its lane shows since when", LONG, async || {
        let texts = tab.painted_texts().await?;
        let is_said = texts.iter().any(|text| text.starts_with("ghost · held "));
        ensure!(is_said, "{texts:?}");
        Ok(())
    })
    .await?;
    driver
        .find(By::Css(format!(".row[data-lane='{MAPS}'] .caret")))
        .await?
        .click()
        .await?;
    tab.has(&format!(".row[data-lane='{GHOST}']"), 0).await?;
    tab.has(&format!(".row[data-lane='{MAPS}'] svg.flag:not(:empty)"), 1)
        .await?;

    // The problem in the header leads to the finding, which shows its evidence. The picture numbers the evidence.
    let problem = driver.find(By::Css(".problem.div")).await?;
    assert_eq!(problem.text().await?, "1 ghost");
    problem.click().await?;
    tab.has(&format!(".row.selected[data-lane='{GHOST}']"), 1)
        .await?;
    tab.has(".detail-head .chip", 1).await?;
    assert_eq!(tab.text(".detail-head .chip").await?, "F24");
    let told: Value = tab
        .script("return [...document.querySelectorAll('.evidence tbody tr')].map(row => [row.cells[0].textContent, row.cells[4].textContent.replaceAll(',', '')])")
        .await?;
    let evidence = raised["evidence"].as_array().context("evidence")?;
    let numbered = (1..)
        .zip(evidence)
        .map(|(number, seq)| [number.to_string(), seq.to_string()]);
    assert_eq!(told, json!(numbered.collect::<Vec<_>>()));
    eventually("the advice is shown", LONG, async || {
        let said = tab.text(".detail-body").await?;
        ensure!(said.contains("What to do"), "{said:?}");
        Ok(())
    })
    .await?;
    let texts = tab.painted_texts().await?;
    for number in 1..=evidence.len() {
        ensure!(texts.contains(&number.to_string()), "{number} in {texts:?}");
    }
    // A number leads to its record; the finding stays selected.
    driver
        .find(By::Css(".evidence .tag"))
        .await?
        .click()
        .await?;
    eventually("the record is shown", LONG, async || {
        let detail = tab.text("section.detail").await?.replace(',', "");
        ensure!(
            detail.contains(&format!("seq{}", evidence[0])),
            "{detail:?}"
        );
        Ok(())
    })
    .await?;

    let of_object = checks(driver, &tab, GHOST, "Check this object now").await?;
    assert!(of_object.starts_with("An audit read of a ("), "{of_object}");
    assert!(of_object.contains("): differs"), "{of_object}");
    assert!(of_object.contains("ghost (definite)"), "{of_object}");
    let why = tab.text("[data-part=presence]").await?;
    for words in ["Why it is here", "Held since", "had it", "ghost"] {
        assert!(why.contains(words), "{words:?} in {why}");
    }
    let of_watch = checks(driver, &tab, MAPS, "Check this watch now").await?;
    assert!(of_watch.starts_with("An audit "), "{of_watch}");
    assert!(of_watch.contains("ghost (definite)"), "{of_watch}");
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_history_that_began_anew_is_shown_above_the_picture_until_it_is_dismissed() -> Result<()>
{
    let arguments = ["demo", "f33", "--audit", "full"];
    let visit = or_skip!(Visit::of(&arguments, &[]).await?);
    let (driver, tab) = visit.open().await?;
    let banner = eventually("the banner is shown", LONG, async || {
        let said = tab.text("[data-part=restored]").await?;
        ensure!(said.contains("began anew, seen since"), "{said:?}");
        Ok(said)
    })
    .await?;
    assert!(
        banner.contains("every client has to list again"),
        "{banner}"
    );
    let over = "const bottom = document.querySelector('[data-part=restored]').getBoundingClientRect().bottom;
        return [bottom, document.querySelector('.picture').getBoundingClientRect().top]";
    let edges: (f64, f64) = serde_json::from_value(tab.script(over).await?)?;
    // Layout rounds each of the two edges by itself.
    assert!(
        edges.0 < edges.1 + 1.0,
        "between header and picture: {edges:?}"
    );
    // The banner leads to the finding.
    let show = driver.find(By::Css("[data-part=restored] button")).await?;
    show.click().await?;
    tab.has(".detail-head .chip", 1).await?;
    assert_eq!(tab.text(".detail-head .chip").await?, "F33");
    tab.has(".evidence tbody tr:first-child .tag", 1).await?;
    let close = By::Css("[data-part=restored] button:last-child");
    driver.find(close).await?.click().await?;
    tab.has("[data-part=restored]", 0).await?;
    // Only the banner was dismissed; the finding stays.
    tab.press("i").await?;
    tab.has("[data-code=F33]", 1).await?;
    tab.has("[data-part=muted]", 0).await?;
    visit.browser.console_is_quiet().await
}
