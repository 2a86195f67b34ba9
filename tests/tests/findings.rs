//! The page on what is wrong: findings that lead to their evidence, what is muted, the table of watches, why an object is here.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// The findings that stand and are listed, by code.
const LISTED: &str = "return [...document.querySelectorAll('.findings .group[data-code]')].map(group => group.dataset.code)";
/// The table: a list of cells for each row.
const TABLE: &str = "return [...document.querySelectorAll('.health tbody tr')]
    .map(row => [...row.cells].map(cell => cell.textContent))";

impl Tab<'_> {
    async fn strings(&self, script: &str) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.script(script).await?)?)
    }

    /// Waits until the panel lists a code, or does not.
    async fn lists(&self, code: &str, wanted: bool) -> Result<()> {
        eventually("the panel lists what it should", LONG, async || {
            let codes = self.strings(LISTED).await?;
            ensure!(
                codes.iter().any(|other| other == code) == wanted,
                "{codes:?}"
            );
            Ok(())
        })
        .await
    }
}

#[tokio::test]
async fn a_finding_leads_to_its_evidence_says_what_to_do_and_can_be_muted() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.press("i").await?;
    // The demo resets the connection of its pods.
    tab.lists("F08", true).await?;
    let group = ".findings .group[data-code=F08]";
    eventually("what to do is said", LONG, async || {
        let said = tab.text(&format!("{group} .explained")).await?;
        ensure!(
            said.contains("A naive client") && said.contains("What to do"),
            "{said:?}"
        );
        Ok(())
    })
    .await?;
    eventually("the lane has its badge", LONG, async || {
        let lanes = "return [...document.querySelectorAll('.row.watch[data-finding=F08]')].map(row => row.dataset.lane)";
        let lanes = tab.strings(lanes).await?;
        ensure!(lanes.iter().any(|lane| lane == "shop/pods"), "{lanes:?}");
        Ok(())
    })
    .await?;

    // Each of its evidence is a record, which is gone to.
    let tag = driver.find(By::Css(format!("{group} .tag"))).await?;
    let seq = tag.attr("title").await?.context("a title")?;
    let seq: u64 = seq.trim_start_matches("Record ").parse()?;
    tag.click().await?;
    eventually(
        "the record is told and its lane is framed",
        LONG,
        async || {
            let detail = tab.text("section.detail").await?;
            ensure!(
                detail.replace(',', "").contains(&format!("seq{seq}")),
                "{detail:?}"
            );
            let lane = tab.text(".row.selected .name").await?;
            ensure!(lane.contains("pods"), "{lane:?}");
            Ok(())
        },
    )
    .await?;

    // All that is known of it, where it is asked for.
    driver
        .find(By::Css(format!("{group} .more")))
        .await?
        .click()
        .await?;
    let said = tab.text(&format!("{group} .explained")).await?;
    assert!(
        said.contains("Root cause") && said.contains("How to confirm"),
        "{said}"
    );

    // Muted with a reason it is listed apart, in this browser, and can be brought back.
    while tab.strings(LISTED).await?.iter().any(|code| code == "F08") {
        driver
            .find(By::Css(format!("{group} .mute")))
            .await?
            .click()
            .await?;
        let field = driver.find(By::Css(".mute-form input")).await?;
        field
            .send_keys("known: the demo does it" + Key::Enter)
            .await?;
        eventually("the form is gone", LONG, async || {
            let forms = tab
                .script("return document.querySelectorAll('.mute-form').length")
                .await?;
            ensure!(forms == 0, "{forms}");
            Ok(())
        })
        .await?;
    }
    driver.refresh().await?;
    tab.is_live().await?;
    eventually("the page takes keys", LONG, async || {
        tab.press("i").await?;
        let panel = tab
            .script("return document.querySelectorAll('.findings').length")
            .await?;
        ensure!(panel == 1, "{panel}");
        Ok(())
    })
    .await?;
    let muted = tab.text("[data-part=muted]").await?;
    assert!(
        muted.contains("F08 shop/pods") && muted.contains("known: the demo does it"),
        "{muted}"
    );
    assert!(!tab.strings(LISTED).await?.contains(&"F08".to_owned()));
    driver
        .find(By::Css("[data-part=muted] .mute"))
        .await?
        .click()
        .await?;
    tab.lists("F08", true).await?;

    // Escape leaves what has the focus.
    driver
        .find(By::Css(".findings .close"))
        .await?
        .send_keys(Key::Escape + "")
        .await?;
    eventually("the panel is closed", LONG, async || {
        let panel = tab
            .script("return document.querySelectorAll('.findings').length")
            .await?;
        ensure!(panel == 0, "{panel}");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn the_table_of_watches_is_sorted_by_its_headings_copied_as_text_and_leads_to_lanes()
-> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.press("t").await?;
    let rows = async || -> Result<Vec<Vec<String>>> {
        Ok(serde_json::from_value(tab.script(TABLE).await?)?)
    };
    eventually("the table has its watches", LONG, async || {
        let rows = rows().await?;
        ensure!(
            rows.len() == 8 && rows.iter().all(|row| row.len() == 12),
            "{rows:?}"
        );
        Ok(())
    })
    .await?;
    // What a heading does, it says.
    let heading = |column: usize| By::Css(format!(".health thead th:nth-child({column}) button"));
    driver.find(heading(6)).await?.click().await?;
    let sorted = "return [...document.querySelectorAll('.health th[aria-sort]')].map(th => [th.textContent, th.ariaSort])";
    let said = tab.script(sorted).await?;
    assert_eq!(said, json!([["Changes▾", "descending"]]));
    let changes: Vec<u64> = rows()
        .await?
        .iter()
        .map(|row| Ok(row[5].replace(',', "").parse()?))
        .collect::<Result<_>>()?;
    assert!(changes.is_sorted_by(|a, b| a >= b), "{changes:?}");
    driver.find(heading(1)).await?.click().await?;
    let names: Vec<String> = rows()
        .await?
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert!(names.is_sorted(), "{names:?}");

    // The clipboard is the browser's; what the page gives it is looked at.
    tab.script("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        .await?;
    driver
        .find(By::Css(".watches .detail-head .control"))
        .await?
        .click()
        .await?;
    let copied = eventually("the table is copied", LONG, async || {
        let copied = tab.script("return window.copied ?? null").await?;
        Ok(copied.as_str().context("nothing yet")?.to_owned())
    })
    .await?;
    let lines: Vec<Vec<&str>> = copied
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines.len(), 9);
    assert!(lines.iter().all(|line| line.len() == 12), "{copied}");
    assert_eq!((lines[0][0], lines[1][0]), ("Watch", names[0].as_str()));

    // By keyboard from a row to its lane.
    let services = "tr[data-watch='shop/services'] button";
    driver
        .find(By::Css(services))
        .await?
        .send_keys(Key::Enter + "")
        .await?;
    eventually("the lane is framed", LONG, async || {
        let lane = tab
            .script("return document.querySelector('.row.selected')?.dataset.lane ?? null")
            .await?;
        ensure!(lane == "shop/services", "{lane}");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn the_page_says_of_an_object_why_it_is_here() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let row = eventually("an object has its row", LONG, async || {
        Ok(driver
            .find(By::Css(".row[data-lane^='shop/services shop/']"))
            .await?)
    })
    .await?;
    row.click().await?;
    let why: Value = eventually("it is said", LONG, async || {
        let why = tab.text("[data-part=presence]").await?;
        ensure!(why.contains("Held since"), "{why:?}");
        Ok(json!(why))
    })
    .await?;
    let why = why.as_str().unwrap_or_default();
    assert!(why.contains("Why it is here"), "{why}");
    assert!(
        why.contains("The list of ") && why.contains("had it"),
        "{why}"
    );
    visit.browser.console_is_quiet().await
}
