//! The export dialog of the page: with keys, in every form, and with hidden names.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use thirtyfour::{By, Key, WebDriver};
use watchscope_tests::{Served, WatchscopeBinary, eventually, or_skip, patient};

use crate::browser::{LONG, Tab, Visit, has_page};
use crate::opening::{drop_files, shows_file};

/// Names of the demo's cluster: a namespace, a deployment, a config map, a node. The cluster's own name is not here,
/// since it is also a word of watchscope's texts.
const NAMES: [&str; 4] = ["shop", "payments", "feature-flags", "node-1"];

/// Returns the files that the browser has downloaded, by their ending.
fn downloaded(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder)?;
    let mut paths = files
        .map(|file| Ok(file?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == ending));
    paths.sort();
    Ok(paths)
}

/// Opens the dialog with its key, and waits until it shows the preview.
pub(crate) async fn open_dialog(tab: &Tab<'_>) -> Result<()> {
    tab.press("e").await?;
    preview_is_made(tab).await
}

/// Waits until the preview shows the chosen export.
pub(crate) async fn preview_is_made(tab: &Tab<'_>) -> Result<()> {
    eventually("the preview is made", LONG, async || {
        let ready = "const dialog = document.querySelector('dialog.export');
            return dialog?.dataset.state === 'ready'";
        let words = tab.text("[data-part=export-dialog]").await?;
        ensure!(tab.script(ready).await? == true, "{words}");
        Ok(())
    })
    .await
}

pub(crate) async fn choose(tab: &Tab<'_>, name: &str, value: &str) -> Result<()> {
    let script = format!(
        "document.querySelector('.export input[name={name}][value={value}]').click(); return true"
    );
    tab.script(&script).await?;
    preview_is_made(tab).await
}

/// Exports the choice with the dialog's key; returns the file.
pub(crate) async fn export(driver: &WebDriver, folder: &Path, ending: &str) -> Result<PathBuf> {
    let before = downloaded(folder, ending)?;
    let focused = driver.active_element().await?;
    focused.send_keys(Key::Control + Key::Enter).await?;
    eventually("the file is downloaded", LONG, async || {
        let files = downloaded(folder, ending)?;
        let new = files.into_iter().find(|path| !before.contains(path));
        let new = new.context("no file yet")?;
        // Chromium reserves the name with an empty file, and moves the finished file there.
        ensure!(new.metadata()?.len() > 0, "it is not whole yet");
        Ok(new)
    })
    .await
}

/// Returns the picture that the command draws of a whole recording.
async fn by_command(binary: &WatchscopeBinary, file: &str, lanes: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("a.svg");
    let whole = [
        "--from",
        "2000-01-01T00:00:00Z",
        "--to",
        "2100-01-01T00:00:00Z",
    ];
    let rest = [
        "--lanes",
        lanes,
        "-o",
        out.to_str().context("a plain name")?,
    ];
    let told = binary
        .with(&[&["export", file], &whole[..], &rest].concat())
        .run(patient(LONG))
        .await?;
    ensure!(told.code() == Some(0), "{told:?}");
    Ok(std::fs::read_to_string(out)?)
}

/// Exports the picture of all that a page holds, with these lanes, and checks that it is like the command's.
async fn draws_like(driver: &WebDriver, folder: &Path, lanes: &str, of_host: &str) -> Result<()> {
    let tab = Tab(driver);
    choose(&tab, "lanes", lanes).await?;
    choose(&tab, "form", "svg").await?;
    let of_page = std::fs::read_to_string(export(driver, folder, "svg").await?)?;
    let lines = of_page.lines().zip(of_host.lines());
    let differs = lines.into_iter().find(|(one, other)| one != other);
    ensure!(of_page == of_host, "{lanes}: {differs:?}");
    Ok(())
}

#[tokio::test]
async fn the_page_and_the_command_write_the_same_picture_of_the_same_recording() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = demo.open().await?;
    let mut stream = demo.served.records().await?;
    stream
        .up_to(|record| record["change"] == "DELETED" && record["origin"] == "live")
        .await?;
    open_dialog(&tab).await?;
    choose(&tab, "range", "loaded").await?;
    choose(&tab, "form", "wscope").await?;
    let downloads = demo.browser.downloads();
    let path = export(driver, &downloads, "wscope").await?;
    let file = path.to_str().context("a plain name")?;

    // Serves that recording: the page draws it as the command does.
    let served = Served::start(binary.with(&["replay", file])).await?;
    or_skip!(has_page(&served.link).await);
    driver.goto(served.link.text()).await?;
    tab.is_live().await?;
    open_dialog(&tab).await?;
    choose(&tab, "range", "loaded").await?;
    let all = by_command(&binary, file, "all").await?;
    let bytes = std::fs::read(&path)?;
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    ensure!(all.contains(&format!("sha256 {hash}")), "{hash}");
    draws_like(driver, &downloads, "all", &all).await?;
    let expanded = by_command(&binary, file, "expanded").await?;
    draws_like(driver, &downloads, "page", &expanded).await?;
    // The hash would name the file from which names are hidden.
    let hide = "document.querySelector('.export input[name=hide]').click(); return true";
    tab.script(hide).await?;
    preview_is_made(&tab).await?;
    let hidden = std::fs::read_to_string(export(driver, &downloads, "svg").await?)?;
    ensure!(!hidden.contains("sha256"), "{hidden}");
    driver
        .active_element()
        .await?
        .send_keys(Key::Escape + "")
        .await?;

    // So does a page that opens the file itself.
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.context("a plain name")?;
    drop_files(&tab, &[(name, &bytes)]).await?;
    eventually("the page asks", LONG, async || {
        Ok(driver.find(By::Css(".ask .first")).await?.click().await?)
    })
    .await?;
    shows_file(driver, name).await?;
    open_dialog(&tab).await?;
    choose(&tab, "range", "loaded").await?;
    draws_like(driver, &downloads, "all", &all).await?;
    driver.enter_default_frame().await?;
    demo.browser.console_is_quiet().await
}

#[tokio::test]
async fn every_form_is_exported_by_keys_and_contains_no_hidden_name() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let mut stream = visit.served.records().await?;
    stream
        .up_to(|record| record["change"] == "DELETED" && record["origin"] == "live")
        .await?;
    let downloads = visit.browser.downloads();

    // The focus is on the chosen form. Arrows choose another form, Esc closes the dialog.
    open_dialog(&tab).await?;
    for _ in 0..5 {
        driver
            .active_element()
            .await?
            .send_keys(Key::Down + "")
            .await?;
    }
    let chosen = "return document.querySelector('.export input[name=form]:checked').value";
    ensure!(tab.script(chosen).await? == "md");
    preview_is_made(&tab).await?;
    let plain = std::fs::read_to_string(export(driver, &downloads, "md").await?)?;
    ensure!(plain.contains("shop"), "{plain}");
    driver
        .active_element()
        .await?
        .send_keys(Key::Escape + "")
        .await?;
    eventually(
        "it is closed, and the picture has the focus",
        LONG,
        async || {
            let focus =
                "return !document.querySelector('dialog.export') && document.activeElement.id";
            let focus = tab.script(focus).await?;
            ensure!(focus == "chart", "{focus}");
            Ok(())
        },
    )
    .await?;

    open_dialog(&tab).await?;
    let hide_all = "[...document.querySelectorAll('.export .hide .inline-action')].find(link => link.textContent === 'All').click(); return true";
    tab.script(hide_all).await?;
    preview_is_made(&tab).await?;
    let not_hidden = tab.text("[data-part=not-hidden]").await?;
    ensure!(not_hidden.contains("Times"), "{not_hidden}");
    for (form, ending) in [
        ("svg", "svg"),
        ("png", "png"),
        ("html", "html"),
        ("report", "html"),
        ("md", "md"),
        ("csv", "csv"),
        ("jsonl", "jsonl"),
        ("trace", "trace"),
        ("wscope", "wscope"),
    ] {
        choose(&tab, "form", form).await?;
        let path = export(driver, &downloads, ending).await?;
        let name = path.file_name().context("a name")?.to_string_lossy();
        ensure!(name.starts_with("watchscope-2"), "{name}");
        let bytes = std::fs::read(&path)?;
        match form {
            "png" => ensure!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{form}"),
            // Both are deflated; the recording's names are searched below.
            "wscope" => ensure!(bytes.len() > 1_000, "{form}"),
            "html" => ensure!(bytes.len() > 900_000, "{form}"),
            _ => {
                let text = String::from_utf8_lossy(&bytes);
                ensure!(text.len() > 100, "{form}: {text}");
                let left = NAMES.iter().find(|name| text.contains(**name));
                ensure!(left.is_none(), "{form} has {left:?}");
            }
        }
    }
    // The recording with pseudonyms can be opened, and contains no hidden name.
    let recording = downloaded(&downloads, "wscope")?
        .pop()
        .context("a recording")?;
    let binary = or_skip!(WatchscopeBinary::find());
    let recording = recording.to_str().context("a plain name")?;
    let read = binary.with(&["watch", "--from", recording, "-o", "jsonl"]);
    let read = read.run(patient(LONG)).await?.success()?;
    let left = NAMES.iter().find(|name| read.contains(**name));
    ensure!(left.is_none(), "the recording has {left:?}");
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn an_impossible_export_is_explained_and_a_running_one_can_be_stopped() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (_, tab) = visit.open().await?;
    open_dialog(&tab).await?;
    let set = |index: usize, text: &str| {
        format!(
            "const field = document.querySelectorAll('.export .time')[{index}];
             field.value = {text:?};
             field.dispatchEvent(new Event('change'));
             return true"
        )
    };
    let says = async |words: &str| {
        eventually(&format!("the preview says {words:?}"), LONG, async || {
            let text = tab.text("[data-part=preview]").await?;
            ensure!(text.contains(words), "{text:?}");
            Ok(())
        })
        .await
    };
    tab.script(&set(0, "2001-01-01 00:00:00")).await?;
    tab.script(&set(1, "2001-01-01 00:00:00")).await?;
    says("Choose a range").await?;
    tab.script(&set(1, "2001-01-01 00:01:00")).await?;
    says("No record is in the range. Choose another range.").await?;
    let is_off = "return document.querySelector('[data-part=run]').disabled";
    ensure!(tab.script(is_off).await? == true);
    choose(&tab, "range", "loaded").await?;

    // Stopped work leaves no file, and the dialog still works.
    let stopped = "document.querySelector('[data-part=run]').click();
        document.querySelector('[data-part=stop]').click();
        return document.querySelector('[data-part=preview]').textContent";
    let words = tab.script(stopped).await?;
    ensure!(
        words
            .as_str()
            .is_some_and(|words| words.contains("Stopped")),
        "{words}"
    );
    choose(&tab, "form", "csv").await?;
    ensure!(downloaded(&visit.browser.downloads(), "svg")?.is_empty());
    says("seq").await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_picture_has_the_colours_of_its_glyphs_and_all_words_that_it_needs() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let light = json!({"features": [{"name": "prefers-color-scheme", "value": "light"}]});
    driver
        .cdp()
        .send_raw("Emulation.setEmulatedMedia", light)
        .await?;
    let mut stream = visit.served.records().await?;
    stream
        .up_to(|record| record["change"] == "DELETED" && record["origin"] == "live")
        .await?;
    driver
        .find(By::Css(".filter input"))
        .await?
        .send_keys("configmaps")
        .await?;
    let downloads = visit.browser.downloads();
    open_dialog(&tab).await?;
    let svg = std::fs::read_to_string(export(driver, &downloads, "svg").await?)?;
    let version = env!("CARGO_PKG_VERSION");
    let captured = format!("watchscope {version}, last record ");
    for words in [
        "Watches of shop in simulated",
        "cluster simulated, Kubernetes v1.",
        " UTC (",
        "the viewer is at UTC",
        "Filter: configmaps",
        captured.as_str(),
        "Gaps",
        "Lost by watchscope",
        "MODIFIED",
        "1 px = ",
    ] {
        ensure!(svg.contains(words), "{words:?} in {svg}");
    }
    ensure!(!svg.contains(">pods<"), "the filter hides other lanes");

    choose(&tab, "form", "png").await?;
    let png = std::fs::read(export(driver, &downloads, "png").await?)?;
    let side = |at: usize| -> Result<u32> {
        let bytes = png.get(at..at + 4).context("a head")?;
        Ok(u32::from_be_bytes(bytes.try_into()?))
    };
    ensure!(side(16)? == 1_920 && side(20)? >= 1_080, "{:?}", side(20));
    // The browser reads the picture: the glyph of a modification has its colour, on paper.
    let read = "const [url, done] = arguments;
        const image = new Image();
        image.onload = () => {
            const pen = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height})
                .getContext('2d');
            pen.drawImage(image, 0, 0);
            const {data} = pen.getImageData(0, 0, image.width, image.height);
            const seen = {};
            for (let at = 0; at < data.length; at += 4) {
                const ink = (data[at] << 16 | data[at + 1] << 8 | data[at + 2]).toString(16).padStart(6, '0');
                seen['#' + ink.toUpperCase()] = (seen['#' + ink.toUpperCase()] ?? 0) + 1;
            }
            done(seen);
        };
        image.onerror = () => done(null);
        image.src = url;";
    let url = format!("data:image/png;base64,{}", STANDARD.encode(&png));
    let seen = driver.execute_async(read, vec![url.into()]).await?;
    let seen = seen.json().as_object().context("a picture")?.clone();
    for ink in ["#FCFBF7", "#1A7FD4", "#0B7D64"] {
        let count = seen.get(ink).and_then(serde_json::Value::as_u64);
        ensure!(count > Some(50), "{ink}: {count:?}");
    }
    visit.browser.console_is_quiet().await
}
