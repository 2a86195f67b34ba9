//! Files that a page saves from a range, and opens without a server: over a live page, and in a folder of a file
//! server.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use thirtyfour::{By, Key, WebDriver};
use watchscope_tests::{WatchscopeBinary, eventually, or_skip, patient, project_root};

use crate::browser::{LONG, Tab, Visit};
use crate::exporting::{export, preview_is_made};
use crate::lessons::{console_is_quiet, open_files};
use crate::looking::{Mouse, corner};
use crate::search::opens_search;

/// Drops files on the page, as a person drags them there.
pub(crate) async fn drop_files(tab: &Tab<'_>, files: &[(&str, &[u8])]) -> Result<()> {
    let made: Vec<String> = files
        .iter()
        .map(|(name, bytes)| format!("new File([new Uint8Array({bytes:?})], {name:?})"))
        .collect();
    let script = format!(
        "const dataTransfer = new DataTransfer();
         for (const file of [{}]) dataTransfer.items.add(file);
         for (const name of ['dragenter', 'dragover', 'drop']) {{
           const event = new DragEvent(name, {{bubbles: true, cancelable: true, dataTransfer}});
           document.body.dispatchEvent(event);
           if (name === 'dragenter' && !document.querySelector('[data-part=drop]')) return 'nothing says where to drop';
         }}
         return document.querySelector('[data-part=drop]') ? 'it still says where to drop' : '';",
        made.join(", ")
    );
    // The page may not listen yet; then nothing was dropped, and this drops again.
    eventually("the page takes the files", LONG, async || {
        let wrong = tab.script(&script).await?;
        ensure!(wrong == "", "{wrong}");
        Ok(())
    })
    .await
}

async fn click(driver: &WebDriver, selector: &str) -> Result<()> {
    Ok(driver.find(By::Css(selector)).await?.click().await?)
}

pub(crate) async fn says(tab: &Tab<'_>, part: &str, words: &str) -> Result<String> {
    eventually(&format!("{part} says {words:?}"), LONG, async || {
        let text = tab.text(&format!("[data-part={part}]")).await?;
        ensure!(text.contains(words), "{text:?}");
        Ok(text)
    })
    .await
}

/// Waits until the frame of the opened file is there and shows records; returns their number.
pub(crate) async fn shows_file(driver: &WebDriver, name: &str) -> Result<u64> {
    let tab = Tab(driver);
    eventually("the file lies over the page", LONG, async || {
        driver.enter_default_frame().await?;
        driver
            .find(By::Css("iframe.opened"))
            .await?
            .enter_frame()
            .await?;
        let line = tab.text("[data-part=file-line]").await?;
        ensure!(line.contains(name), "{line:?}");
        Ok(())
    })
    .await?;
    let summary = tab.is_live().await?;
    says(&tab, "replay", "recording ends here").await?;
    summary["records"].as_u64().context("a number")
}

pub(crate) async fn shows_page(driver: &WebDriver) -> Result<()> {
    driver.enter_default_frame().await?;
    eventually("the page has no frame any more", LONG, async || {
        let frames = driver.find_all(By::Css("iframe")).await?;
        ensure!(frames.is_empty(), "a frame lies over it");
        Ok(())
    })
    .await
}

/// Marks a range by a drag on the ruler, and saves it. Returns the file, and the dialog's line about its content.
async fn save_range(visit: &Visit, from_px: f64, to_px: f64) -> Result<(PathBuf, String)> {
    let (driver, tab) = visit.tab();
    let (left, top) = corner(&tab).await?;
    let ruler = |x: f64| ((left + x) as i32, (top + 12.0) as i32);
    Mouse(driver).drag(ruler(from_px), ruler(to_px)).await?;
    says(&tab, "range", "change").await?;
    click(driver, "[data-part=save-range]").await?;
    preview_is_made(&tab).await?;
    let has = says(&tab, "export-counts", "record").await?;
    let path = export(driver, &visit.browser.downloads(), "wscope").await?;
    driver
        .active_element()
        .await?
        .send_keys(Key::Escape + "")
        .await?;
    Ok((path, has))
}

/// Returns the number of records that `watch --from` reads from a file.
async fn records_of(binary: &WatchscopeBinary, file: &Path) -> Result<u64> {
    let file = file.to_str().context("a plain name")?;
    let read = binary.with(&["watch", "--from", file, "-o", "jsonl"]);
    let read = read.run(patient(LONG)).await?.success()?;
    Ok(read
        .lines()
        .filter(|line| line.contains("\"seq\":"))
        .count() as u64)
}

/// Opens the link to a place in a file in another tab, and gives it the file that it asks for. Returns the number of
/// records that it shows.
async fn opens_in_another_tab(visit: &Visit, link: &str, path: &Path) -> Result<u64> {
    let (driver, tab) = visit.tab();
    let (host, _) = visit.served.link.text().split_once('#').context("a link")?;
    let new = driver.new_window().await?;
    driver.switch_to_window(new).await?;
    driver.goto(format!("{host}{link}")).await?;
    says(&tab, "ask", "shop.wscope").await?;
    click(driver, "[data-part=ask] .first").await?;
    let field = eventually("there is a field for the file", LONG, async || {
        Ok(driver.find(By::Css("[data-part=file-field]")).await?)
    })
    .await?;
    field
        .send_keys(path.to_str().context("a plain name")?)
        .await?;
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .context("a name")?;
    shows_file(driver, name).await
}

#[tokio::test]
async fn a_saved_range_opens_over_the_page_which_keeps_its_place() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    eventually("there is something to save", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(summary["records"].as_u64() > Some(60), "{summary}");
        Ok(())
    })
    .await?;
    let (path, has) = save_range(&visit, 60.0, 1_000.0).await?;
    let count = records_of(&binary, &path).await?;
    ensure!(
        count > 0 && has.ends_with(&format!(", {count} records")),
        "{has:?}, {count}"
    );
    let bytes = std::fs::read(&path)?;

    // The page asks first, and Escape means no.
    let before = tab.summary().await?;
    drop_files(&tab, &[("shop.wscope", &bytes)]).await?;
    says(&tab, "ask", "Open shop.wscope?").await?;
    driver
        .active_element()
        .await?
        .send_keys(Key::Escape + "")
        .await?;
    shows_page(driver).await?;
    drop_files(&tab, &[("shop.wscope", &bytes)]).await?;
    says(&tab, "ask", "keeps its place").await?;
    click(driver, "[data-part=ask] .first").await?;
    let shown = shows_file(driver, "shop.wscope").await?;
    ensure!(shown == count, "{shown} of {count}");
    says(&tab, "file-line", "extract").await?;
    says(&tab, "as-of", "Recording, at").await?;
    visit.browser.picture("opened-file").await?;
    searches_file(driver, &tab).await?;

    // The address names the place in the file. The browser's back button returns to it, and to the page.
    tab.press("+").await?;
    let address = async || {
        let hash = tab.script("return window.top.location.hash").await?;
        anyhow::Ok(hash.as_str().unwrap_or_default().to_owned())
    };
    let link = eventually("the place is in the address", LONG, async || {
        let address = address().await?;
        ensure!(address.starts_with("#open=shop.wscope&v=1"), "{address:?}");
        Ok(address)
    })
    .await?;
    driver.enter_default_frame().await?;
    tab.script(COUNT_PICTURES).await?;
    let covered = tab.summary().await?;
    eventually("the page goes on behind it", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(
            summary["head"].as_u64() > covered["head"].as_u64(),
            "{summary}"
        );
        Ok(())
    })
    .await?;
    let painted = "return window.painted";
    ensure!(tab.script(painted).await? == 0, "and paints nothing");
    shows_file(driver, "shop.wscope").await?;
    says(&tab, "back", " new").await?;
    click(driver, "[data-part=back]").await?;
    shows_page(driver).await?;
    eventually("it paints again", LONG, async || {
        let painted = tab.script(painted).await?;
        ensure!(painted.as_u64() > Some(0), "{painted}");
        Ok(())
    })
    .await?;
    let after = tab.summary().await?;
    ensure!(after["following"] == true, "{after}");
    ensure!(after["scrollPx"] == before["scrollPx"], "{before}\n{after}");
    // The span of a young log that is followed grows with it.
    ensure!(
        after["usPerPx"].as_f64() >= before["usPerPx"].as_f64(),
        "{before}\n{after}"
    );
    says(&tab, "range", "change").await?;
    driver.forward().await?;
    shows_file(driver, "shop.wscope").await?;
    driver.enter_default_frame().await?;
    driver.back().await?;
    shows_page(driver).await?;
    ensure!(address().await?.contains("mark="), "the place before");

    let shown = opens_in_another_tab(&visit, &link, &path).await?;
    ensure!(shown == count, "{shown} of {count}");
    visit.browser.console_is_quiet().await
}

/// Searches the opened file as a whole, for a text that it has and for one that it has not.
async fn searches_file(driver: &WebDriver, tab: &Tab<'_>) -> Result<()> {
    let types = async |keys: &str| driver.action_chain().send_keys(keys).perform().await;
    opens_search(tab).await?;
    types("shop/").await?;
    eventually("all is searched", LONG, async || {
        let words = tab.text("[data-part=search-count]").await?;
        ensure!(
            words
                .replace(',', "")
                .parse::<u32>()
                .is_ok_and(|hits| hits > 0),
            "{words}"
        );
        Ok(())
    })
    .await?;
    types("zebra").await?;
    says(tab, "search-count", "No hit in the recording, kept since ").await?;
    driver
        .active_element()
        .await?
        .send_keys(Key::Escape + "")
        .await?;
    eventually("the search closes", LONG, async || {
        let is_closed = "return !document.querySelector('.search')";
        ensure!(tab.script(is_closed).await? == true);
        Ok(())
    })
    .await
}

/// Counts from now on how often the page paints.
const COUNT_PICTURES: &str = "
    window.painted = 0;
    const put = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...image) {
        window.painted += 1;
        return put.apply(this, image);
    };";

#[tokio::test]
async fn a_file_that_cannot_be_read_says_why_and_leaves_the_page_alone() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    drop_files(&tab, &[("notes.jsonl", b"{\"type\":\"log\"}\n")]).await?;
    says(&tab, "ask", "Open notes.jsonl?").await?;
    click(driver, "[data-part=ask] .first").await?;
    says(&tab, "notice", "notes.jsonl").await?;
    shows_page(driver).await?;
    drop_files(&tab, &[("a.wscope", b"a"), ("b.wscope", b"b")]).await?;
    says(&tab, "notice", "Only one recording is opened at a time.").await?;
    click(driver, "[data-part=notice] button").await?;
    ensure!(tab.text("[data-part=notice]").await?.is_empty());
    ensure!(tab.summary().await?["following"] == true);
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_file_opens_without_a_server_and_its_damage_is_reported() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    let fixtures = project_root().join("shared/recording/tests/fixtures");
    let whole = std::fs::read(fixtures.join("version-1-4.wscope"))?;
    driver.goto(&files.page).await?;
    eventually("the panels are there", LONG, async || {
        driver.find(By::Css("[data-part=file]")).await?;
        tab.summary().await
    })
    .await?;
    drop_files(&tab, &[("whole.wscope", &whole)]).await?;
    let records = shows_file(driver, "whole.wscope").await?;
    ensure!(records > 0);
    says(&tab, "back", "Close").await?;

    // Another file replaces the first; only its first half is there.
    let half = &whole[..whole.len() / 2];
    drop_files(&tab, &[("half.wscope", half)]).await?;
    shows_file(driver, "half.wscope").await?;
    says(&tab, "notice", "half.wscope").await?;
    click(driver, "[data-part=back]").await?;
    shows_page(driver).await?;
    console_is_quiet(&browser).await
}
