//! The page about problems: findings lead to their evidence and can be muted. Also the table of watches, and why an
//! object is here.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// The finding about the demo's pods, whose connection the demo resets: code and subject.
const RESET: &str = "F08 shop/pods";
/// Returns the table as a list of cells for each row.
const TABLE: &str = "return [...document.querySelectorAll('.health tbody tr')]
    .map(row => [...row.cells].map(cell => cell.textContent))";

impl Tab<'_> {
    /// Waits until exactly `wanted` elements match the selector.
    pub(crate) async fn has(&self, selector: &str, wanted: usize) -> Result<()> {
        let script = format!("return document.querySelectorAll({selector:?}).length");
        eventually("the page has what it should", LONG, async || {
            let count = self.script(&script).await?;
            ensure!(count == wanted, "{selector}: {count}");
            Ok(())
        })
        .await
    }
}

#[tokio::test]
async fn a_finding_leads_to_its_evidence_says_what_to_do_and_can_be_muted() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let item = format!(".findings .finding[data-key='{RESET}']");
    let group = ".findings .group[data-code=F08]";
    tab.press("i").await?;
    tab.has(&item, 1).await?;
    eventually("the advice is shown", LONG, async || {
        let said = tab.text(&format!("{group} .explained")).await?;
        ensure!(
            said.contains("A naive client") && said.contains("What to do"),
            "{said:?}"
        );
        Ok(())
    })
    .await?;
    tab.has(
        ".row.watch[data-lane='shop/pods']:not([data-finding=''])",
        1,
    )
    .await?;

    // Each piece of evidence is a record; a click leads to it.
    let tag = driver.find(By::Css(format!("{item} .tag"))).await?;
    let seq = tag.attr("title").await?.context("a title")?;
    let seq: u64 = seq.trim_start_matches("Record ").parse()?;
    tag.click().await?;
    eventually("the record is shown", LONG, async || {
        let detail = tab.text("section.detail").await?;
        ensure!(
            detail.replace(',', "").contains(&format!("seq{seq}")),
            "{detail:?}"
        );
        Ok(())
    })
    .await?;
    tab.has(".row.selected[data-lane='shop/pods']", 1).await?;

    // The button for more shows the whole explanation.
    let more = driver.find(By::Css(format!("{group} .more"))).await?;
    more.click().await?;
    eventually("the whole explanation is shown", LONG, async || {
        let said = tab.text(&format!("{group} .explained")).await?;
        ensure!(
            said.contains("Root cause") && said.contains("How to confirm"),
            "{said}"
        );
        Ok(())
    })
    .await?;
    eventually("its picture is there", LONG, async || {
        let script =
            format!("return document.querySelector('{group} .pictured img')?.naturalWidth");
        let width = tab.script(&script).await?;
        ensure!(width == 720, "{width}");
        Ok(())
    })
    .await?;

    // A finding that is muted with a reason is listed separately, in this browser only, and can be unmuted.
    let mute = driver
        .find(By::Css(format!("{item} .mute[aria-expanded]")))
        .await?;
    mute.click().await?;
    tab.has(".mute-form input", 1).await?;
    let field = driver.find(By::Css(".mute-form input")).await?;
    field
        .send_keys("known: the demo does it" + Key::Enter)
        .await?;
    tab.has(&item, 0).await?;
    // After a reload the findings are open, since the address names the panel.
    eventually("the address names the panel", LONG, async || {
        let address = driver.current_url().await?;
        ensure!(address.as_str().contains("panel=findings"), "{address}");
        Ok(())
    })
    .await?;
    driver.refresh().await?;
    tab.is_live().await?;
    tab.has("[data-part=muted] .finding", 1).await?;
    tab.has(&item, 0).await?;
    let muted = tab.text("[data-part=muted]").await?;
    assert!(
        muted.contains(RESET) && muted.contains("known: the demo does it"),
        "{muted}"
    );
    let unmute = driver.find(By::Css("[data-part=muted] .mute")).await?;
    unmute.click().await?;
    tab.has(&item, 1).await?;

    // Escape closes the panel that has the focus.
    let close = driver.find(By::Css(".findings .close")).await?;
    close.send_keys(Key::Escape + "").await?;
    tab.has(".findings", 0).await?;
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
    // A click on a heading sorts, and the heading shows the order.
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

    // The page's text for the clipboard is captured; the clipboard itself is the browser's.
    tab.script("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        .await?;
    driver
        .find(By::Css(".watches .detail-head .control + .control"))
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

    // The keyboard leads from a row to its lane.
    let services = "tr[data-watch='shop/services'] button";
    driver
        .find(By::Css(services))
        .await?
        .send_keys(Key::Enter + "")
        .await?;
    tab.has(".row.selected[data-lane='shop/services']", 1)
        .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn the_page_says_of_an_object_why_it_is_here() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    // Nothing changes this object, so it has no lane at first and is only counted.
    let more = ".row[data-lane='shop/configmaps more']";
    tab.has(more, 1).await?;
    driver.find(By::Css(more)).await?.click().await?;
    let row = ".row[data-lane='shop/configmaps shop/kube-root-ca.crt']";
    tab.has(row, 1).await?;
    driver.find(By::Css(row)).await?.click().await?;
    let why: Value = eventually("the reason is shown", LONG, async || {
        let why = tab.text("[data-part=presence]").await?;
        ensure!(why.contains("Held since"), "{why:?}");
        Ok(json!(why))
    })
    .await?;
    let why = why.as_str().unwrap_or_default();
    assert!(why.contains("Why it is here"), "{why}");
    assert!(
        why.contains("The list at ") && why.contains("had it"),
        "{why}"
    );
    visit.browser.console_is_quiet().await
}
