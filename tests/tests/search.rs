//! The search in a browser: by its keys, over the server's answers.

use anyhow::{Result, ensure};
use thirtyfour::Key;
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};

/// Opens the search by its key, and waits until its field has the focus.
pub(crate) async fn opens_search(tab: &Tab<'_>) -> Result<()> {
    tab.press(Key::Control + "f").await?;
    eventually("the field has the focus", LONG, async || {
        let script = "return document.activeElement.matches('.search input')";
        ensure!(tab.script(script).await? == true);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_search_finds_records_in_the_log_and_enter_goes_from_one_to_the_next() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let says = async |part: &str, beginning: &str| {
        eventually(beginning, LONG, async || {
            let words = tab.text(&format!("[data-part={part}]")).await?;
            ensure!(words.starts_with(beginning), "{words}");
            Ok(())
        })
        .await
    };
    let types = async |keys: &str| driver.action_chain().send_keys(keys).perform().await;

    opens_search(&tab).await?;
    types("feature-flags").await?;
    eventually("all is searched", LONG, async || {
        let words = tab.text("[data-part=search-count]").await?;
        ensure!(words.parse::<u32>().is_ok_and(|hits| hits > 0), "{words}");
        Ok(())
    })
    .await?;
    driver
        .action_chain()
        .send_keys(Key::Enter)
        .perform()
        .await?;
    says("search-count", "1 of ").await?;
    says("search-hit", "shop/configmaps shop/feature-flags, ").await?;
    eventually("the record is selected", LONG, async || {
        let detail = tab.text(".detail").await?;
        ensure!(detail.contains("feature-flags"), "{detail}");
        Ok(())
    })
    .await?;

    visit.browser.picture("search-ticks").await?;

    // A text without a hit names what was searched.
    types("-zebra").await?;
    says("search-count", "No hit in the server's memory, kept since ").await?;
    driver
        .action_chain()
        .send_keys(Key::Escape)
        .perform()
        .await?;
    eventually("the search closes", LONG, async || {
        ensure!(
            tab.script("return !document.querySelector('.search')")
                .await?
                == true
        );
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}
