//! Notes of persons on the page: written in one tab, seen in another at once, changed, withdrawn.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key, WebDriver};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};
use crate::exporting::{choose, export, open_dialog};
use crate::looking::{Mouse, corner};
use crate::opening::{drop_files, says, shows_file, shows_page};

/// What a stranger may write: it must come out as it went in.
const HOSTILE: &str = "<img src=x onerror=document.title='gone'> & <b>";

/// Waits until the panel's notes have these headings.
async fn lists(tab: &Tab<'_>, headings: &[&str]) -> Result<()> {
    let script = "return [...document.querySelectorAll('.note-heading')]
        .map(heading => [...heading.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).at(-1).data)";
    eventually("the panel lists the notes", LONG, async || {
        let listed = tab.script(script).await?;
        ensure!(listed == json!(headings), "{listed}");
        Ok(())
    })
    .await
}

/// Types a text into the form and saves it by keys.
async fn save(driver: &WebDriver, text: &str) -> Result<()> {
    let field = eventually("the form is there", LONG, async || {
        Ok(driver.find(By::Css(".note-form textarea")).await?)
    })
    .await?;
    field.clear().await?;
    field.send_keys(text).await?;
    field.send_keys(Key::Control + Key::Enter).await?;
    Ok(())
}

async fn click(driver: &WebDriver, selector: &str) -> Result<()> {
    eventually("it is there", LONG, async || {
        Ok(driver.find(By::Css(selector)).await?.click().await?)
    })
    .await
}

#[tokio::test]
async fn a_note_that_is_written_in_one_tab_is_seen_in_another_changed_and_withdrawn() -> Result<()>
{
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let first = driver.window().await?;
    let second = driver.new_window().await?;
    driver.switch_to_window(second.clone()).await?;
    driver.goto(visit.served.link.origin()).await?;
    tab.is_live().await?;
    tab.press("o").await?;
    lists(&tab, &[]).await?;
    eventually("the panel says how long notes are kept", LONG, async || {
        let keeping = tab.text("[data-part=notes-keeping]").await?;
        ensure!(keeping.starts_with("Without --history"), "{keeping:?}");
        Ok(())
    })
    .await?;

    driver.switch_to_window(first.clone()).await?;
    tab.press("m").await?;
    save(driver, &format!("{HOSTILE}\nthe second line")).await?;
    lists(&tab, &[HOSTILE]).await?;
    assert_eq!(tab.text(".note-rest").await?, "the second line");
    assert_ne!(driver.title().await?, "gone");

    driver.switch_to_window(second.clone()).await?;
    lists(&tab, &[HOSTILE]).await?;
    assert_ne!(driver.title().await?, "gone");
    eventually("the row of flags is there", LONG, async || {
        ensure!(tab.text("[data-part=flags]").await? == "Notes1");
        Ok(())
    })
    .await?;

    // The other tab changes it, by the same panel.
    click(driver, "[data-part=edit-note]").await?;
    let before = tab
        .script("return document.querySelector('.note-form textarea').value")
        .await?;
    assert_eq!(before, json!(format!("{HOSTILE}\nthe second line")));
    save(driver, "a reset of the proxy").await?;
    lists(&tab, &["a reset of the proxy"]).await?;
    driver.switch_to_window(first.clone()).await?;
    lists(&tab, &["a reset of the proxy"]).await?;

    // Keys that are written into the field do nothing else.
    tab.press("m").await?;
    save(driver, "it?/ nitwf 0").await?;
    lists(&tab, &["a reset of the proxy", "it?/ nitwf 0"]).await?;
    assert_eq!(
        tab.script("return document.querySelector('.help').open")
            .await?,
        json!(false)
    );

    // A tab that comes later has what was written before.
    driver.refresh().await?;
    tab.is_live().await?;
    tab.press("o").await?;
    lists(&tab, &["a reset of the proxy", "it?/ nitwf 0"]).await?;

    for left in [&["it?/ nitwf 0"][..], &[]] {
        click(driver, "[data-part=withdraw-note]").await?;
        click(driver, "[data-part=withdraw-yes]").await?;
        lists(&tab, left).await?;
    }
    driver.switch_to_window(second).await?;
    lists(&tab, &[]).await?;
    assert_eq!(
        tab.script("return document.querySelector('.flags-label')")
            .await?,
        Value::Null
    );
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_note_about_a_range_is_written_from_the_ranges_own_button_and_gone_back_to() -> Result<()>
{
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let (left, top) = corner(&tab).await?;
    let (left, top) = (left as i32, top as i32);
    // The page is live before its second part is there, which hears the mouse. Until the present has come that far,
    // nothing can be marked there.
    eventually("a range is marked", LONG, async || {
        Mouse(driver)
            .drag((left + 100, top + 10), (left + 160, top + 12))
            .await?;
        ensure!(!tab.text("[data-part=range]").await?.is_empty());
        Ok(())
    })
    .await?;
    // The row of the range is drawn anew as records come, so a click may miss.
    eventually("the form is opened", LONG, async || {
        if driver.find(By::Css(".note-form")).await.is_err() {
            click(driver, "[data-part=note-range]").await?;
        }
        Ok(driver.find(By::Css(".note-form")).await.map(drop)?)
    })
    .await?;
    save(driver, "slow here").await?;
    lists(&tab, &["slow here"]).await?;
    let time = tab.text(".note-time").await?;
    assert!(time.contains(" to ") || time.contains("to "), "{time}");
    click(driver, "[aria-label='Clear the range']").await?;
    eventually("the range is cleared", LONG, async || {
        ensure!(tab.text("[data-part=range]").await?.is_empty());
        Ok(())
    })
    .await?;
    click(driver, ".note-heading").await?;
    eventually("the range is marked again", LONG, async || {
        ensure!(!tab.text("[data-part=range]").await?.is_empty());
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn notes_over_a_file_are_lost_only_by_a_person_who_was_asked() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let downloads = visit.browser.downloads();
    open_dialog(&tab).await?;
    choose(&tab, "form", "wscope").await?;
    let file = std::fs::read(export(driver, &downloads, "wscope").await?)?;
    let escape = async || {
        let focused = driver.active_element().await?;
        focused.send_keys(Key::Escape + "").await
    };
    escape().await?;
    drop_files(&tab, &[("shop.wscope", &file)]).await?;
    says(&tab, "ask", "Open shop.wscope?").await?;
    click(driver, "[data-part=ask] .first").await?;
    shows_file(driver, "shop.wscope").await?;

    tab.press("m").await?;
    save(driver, "only here").await?;
    lists(&tab, &["only here"]).await?;
    let asks = async || {
        driver.enter_default_frame().await?;
        says(&tab, "ask", "Close shop.wscope without its notes?").await?;
        escape().await?;
        shows_file(driver, "shop.wscope").await
    };
    click(driver, "[data-part=back]").await?;
    asks().await?;
    // By the browser's own button too.
    driver.enter_default_frame().await?;
    driver.back().await?;
    asks().await?;
    // By another file, and by a link that leads elsewhere.
    drop_files(&tab, &[("other.wscope", &file)]).await?;
    asks().await?;
    driver.enter_default_frame().await?;
    tab.script("location.hash = 'open=elsewhere.wscope&v=1'; return true")
        .await?;
    asks().await?;
    lists(&tab, &["only here"]).await?;

    // A recording that has them all: nothing is lost any more.
    open_dialog(&tab).await?;
    choose(&tab, "range", "loaded").await?;
    choose(&tab, "form", "wscope").await?;
    export(driver, &downloads, "wscope").await?;
    escape().await?;
    eventually("the note's row names its file", LONG, async || {
        let foot = tab.text(".note-foot").await?;
        // Chromium adds a number to the name of a second file.
        ensure!(foot.starts_with("saved in simulated-"), "{foot}");
        Ok(())
    })
    .await?;
    click(driver, "[data-part=back]").await?;
    shows_page(driver).await?;
    visit.browser.console_is_quiet().await
}
