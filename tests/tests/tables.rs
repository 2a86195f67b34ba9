//! The tables in a browser: opened and used by keys and by mouse, beside the picture.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use thirtyfour::{By, Key};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// Returns the rows in the document, each as its cells.
async fn rows(tab: &Tab<'_>) -> Result<Vec<Vec<String>>> {
    let script = "return [...document.querySelectorAll('.grid-row')].map(row =>
        [...row.querySelectorAll('.grid-cell')].map(cell => cell.textContent))";
    Ok(serde_json::from_value(tab.script(script).await?)?)
}

/// Waits until the rows are as wanted.
async fn has_rows(
    tab: &Tab<'_>,
    what: &str,
    wanted: impl Fn(&[Vec<String>]) -> bool,
) -> Result<()> {
    eventually(what, LONG, async || {
        let rows = rows(tab).await?;
        ensure!(!rows.is_empty() && wanted(&rows), "{rows:?}");
        Ok(())
    })
    .await
}

/// Waits until a script returns true.
async fn holds(tab: &Tab<'_>, what: &str, script: &str) -> Result<()> {
    eventually(what, LONG, async || {
        let value = tab.script(script).await?;
        ensure!(value == true, "{what}: {value}");
        Ok(())
    })
    .await
}

async fn click(tab: &Tab<'_>, script: &str) -> Result<()> {
    let found = tab
        .script(&format!(
            "const found = {script}; found?.click(); return !!found"
        ))
        .await?;
    ensure!(found == true, "{script}");
    Ok(())
}

fn heading(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('.grid-head button')].find(one => one.textContent.includes('{name}'))"
    )
}

fn tab_of(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('.tables [role=tab]')].find(one => one.textContent === '{name}')"
    )
}

#[tokio::test]
async fn the_tables_are_used_by_keys_and_by_mouse_beside_the_picture() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    let types = async |keys: &str| driver.action_chain().send_keys(keys).perform().await;

    // Opens them. The grid has the focus, and a bounded number of rows is in the document.
    tab.press("v").await?;
    has_rows(&tab, "records in view", |rows| rows[0].len() == 6).await?;
    holds(
        &tab,
        "the grid has the focus",
        "return document.activeElement.matches('.grid')",
    )
    .await?;
    let script = "const grid = document.querySelector('.grid');
        return [grid.ariaRowCount ?? grid.getAttribute('aria-rowcount'), document.querySelectorAll('.grid-row').length]";
    let counted = tab.script(script).await?;
    let total: u64 = counted[0].as_str().context("a count")?.parse()?;
    assert!(total > 1 && counted[1].as_u64() <= Some(200), "{counted}");

    // Filters by kind and by text, and sorts by a heading.
    let choose = "const list = document.querySelector('.tables select');
        list.value = [...list.options].find(one => one.text === 'ADDED').value;
        list.dispatchEvent(new Event('change', {bubbles: true}))";
    let _: Value = tab.script(choose).await?;
    driver.find(By::Css(".table-filter")).await?.click().await?;
    types("CONFIGMAPS").await?;
    has_rows(&tab, "only ADDED", |rows| {
        rows.len() > 1
            && rows
                .iter()
                .all(|row| row[1] == "ADDED" && row[2].contains("configmaps"))
    })
    .await?;
    click(&tab, &heading("resourceVersion")).await?;
    has_rows(&tab, "the highest version first", |rows| {
        let versions = rows
            .iter()
            .map(|row| row[3].replace(',', "").parse::<u64>());
        versions
            .collect::<Result<Vec<_>, _>>()
            .is_ok_and(|versions| versions.is_sorted_by(|a, b| a >= b))
    })
    .await?;
    holds(&tab, "the heading says so",
        "return document.querySelectorAll('[role=columnheader][aria-sort=descending]').length === 1").await?;

    // Goes to a row by keys. The picture has it selected, and the row is marked.
    tab.script("document.querySelector('.grid').focus()")
        .await?;
    driver.action_chain().send_keys(Key::Home).perform().await?;
    holds(&tab, "the first row is active", "return document.querySelector('.grid').getAttribute('aria-activedescendant') === 'cell-0-0'").await?;
    driver
        .action_chain()
        .send_keys(Key::Down + Key::Enter)
        .perform()
        .await?;
    holds(
        &tab,
        "the row is marked",
        "return document.querySelectorAll('.grid-row.selected[aria-selected=true]').length === 1",
    )
    .await?;
    holds(
        &tab,
        "the tables stay open",
        "return !!document.querySelector('.tables')",
    )
    .await?;

    // The lane of that row has versions.
    click(&tab, &tab_of("Versions")).await?;
    has_rows(&tab, "versions", |rows| rows[0].len() == 8).await?;
    visit_findings_and_watches(&tab).await?;

    // Closes them: the detail is what was selected.
    tab.script("document.querySelector('.grid').focus()")
        .await?;
    driver
        .action_chain()
        .send_keys(Key::Escape)
        .perform()
        .await?;
    holds(
        &tab,
        "the tables are closed",
        "return !document.querySelector('.tables')",
    )
    .await?;
    visit.browser.console_is_quiet().await
}

/// Clears the filter, then looks at the findings and goes to one by a click, and at the watches.
async fn visit_findings_and_watches(tab: &Tab<'_>) -> Result<()> {
    let clear = "const field = document.querySelector('.table-filter');
        field.value = ''; field.dispatchEvent(new Event('input', {bubbles: true}))";
    let _: Value = tab.script(clear).await?;
    click(tab, &tab_of("Findings")).await?;
    has_rows(tab, "findings", |rows| {
        rows.iter().all(|row| row[1].starts_with('F'))
    })
    .await?;
    click(tab, "document.querySelector('.grid-row')").await?;
    holds(
        tab,
        "the finding is marked",
        "return document.querySelectorAll('.grid-row.selected').length >= 1",
    )
    .await?;
    click(tab, &tab_of("Watches")).await?;
    has_rows(tab, "watches", |rows| rows[0].len() == 12).await?;
    Ok(())
}

#[tokio::test]
async fn the_open_table_its_order_and_its_filter_survive_a_reload() -> Result<()> {
    let visit = or_skip!(Visit::of(&["demo", "f11"], &[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.press("v").await?;
    has_rows(&tab, "records in view", |rows| rows[0].len() == 6).await?;
    click(&tab, &heading("Kind")).await?;
    types_filter(&tab, "configmaps").await?;
    let address = "return location.hash.includes('table=records/Kind//configmaps')";
    holds(&tab, "the address names the table", address).await?;
    driver.refresh().await?;
    // A finding stands in the lane of findings, and its words name the watch.
    let is_about = |row: &Vec<String>| row.iter().any(|cell| cell.contains("configmaps"));
    has_rows(&tab, "the same table", |rows| {
        rows[0].len() == 6 && rows.iter().all(is_about)
    })
    .await?;
    let as_before = "const sorted = document.querySelector('[role=columnheader][aria-sort=ascending]');
        return document.querySelector('.table-filter').value === 'configmaps' && !!sorted?.textContent.includes('Kind')";
    holds(&tab, "its order and its filter", as_before).await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn an_empty_table_says_why_it_is_empty() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (_, tab) = visit.open().await?;
    tab.press("v").await?;
    has_rows(&tab, "records in view", |_| true).await?;
    click(&tab, &tab_of("Versions")).await?;
    eventually("why there is no row", LONG, async || {
        let words = tab.text(".table-nothing").await?;
        ensure!(words.starts_with("No lane is selected."), "{words}");
        Ok(())
    })
    .await?;
    click(&tab, &tab_of("Records in view")).await?;
    has_rows(&tab, "records in view", |_| true).await?;

    types_filter(&tab, "zzqq").await?;
    eventually("why no row matches", LONG, async || {
        let words = tab.text(".table-nothing").await?;
        ensure!(words == "No row matches the filter.", "{words}");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

async fn types_filter(tab: &Tab<'_>, text: &str) -> Result<()> {
    let script = format!(
        "const field = document.querySelector('.table-filter');
        field.value = {text:?}; field.dispatchEvent(new Event('input', {{bubbles: true}}))"
    );
    let _: Value = tab.script(&script).await?;
    Ok(())
}
