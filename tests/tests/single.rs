//! A recording with its page in one HTML file. It opens from a disk, in Chromium and in Firefox, and makes no request.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_recording::MAGIC;
use watchscope_tests::change_file::write_records;
use watchscope_tests::{
    BrowserKind, Missing, RemoteBrowser, WatchscopeBinary, eventually, or_skip,
};

use crate::browser::LONG;

/// A person's title: none of it may act as markup, and a character that reverses the direction of text becomes a space.
const TITLE: &str = "</title></script><script>window.ran = 1</script>\"'&\u{202e}shop";
const SHOWN: &str = "</title></script><script>window.ran = 1</script>\"'& shop";

/// Returns the summary of the page in one file.
async fn summary(browser: &mut RemoteBrowser) -> Result<Value> {
    let summary = browser.script("window.watchscope.summary()").await?;
    Ok(serde_json::from_str(&summary)?)
}

/// Makes a file, and checks all of its promises in a browser.
async fn opens_in(kind: BrowserKind) -> Result<Result<(), Missing>> {
    let binary = match WatchscopeBinary::find() {
        Ok(binary) => binary,
        Err(missing) => return Ok(Err(missing)),
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let records = watchscope_scenarios::records("F11", 1).context("a story")?;
    write_records(&file, &records)?;
    let path = |name: &str| folder.path().join(name);
    let made = path("a b.html");
    let plain = |path: &Path| path.to_str().map(str::to_owned).context("a plain name");
    let arguments = [
        "export",
        &plain(&file)?,
        "--from",
        "1970-01-01T00:00:00Z",
        "--theme",
        "dark",
        "--title",
        TITLE,
        "-o",
        &plain(&made)?,
    ];
    let done = binary.with(&arguments).run(LONG).await?;
    if done.stderr.contains("was built without its page") {
        return Ok(Err(Missing {
            what: "the page".to_owned(),
            install: "it with `cargo xtask build`".to_owned(),
        }));
    }
    ensure!(done.code() == Some(0), "{done:?}");

    let mut browser = match RemoteBrowser::start(kind).await? {
        Ok(browser) => browser,
        Err(missing) => return Ok(Err(missing)),
    };
    browser.looks(1600, 1000, false).await?;
    let url = format!("file://{}", plain(&made)?.replace(' ', "%20"));
    browser.goto(&url).await?;
    let shown = eventually("the lanes are drawn", LONG, async || {
        let summary = summary(&mut browser).await?;
        ensure!(summary["records"] == records.len(), "{summary}");
        ensure!(summary["painted"].as_u64() > Some(0), "{summary}");
        Ok(summary)
    })
    .await?;
    ensure!(
        shown["rows"].as_u64() > Some(0) && shown["connection"] == "Live",
        "{shown}"
    );
    let line = browser
        .script("document.querySelector('[data-part=file-line]').innerText")
        .await?;
    ensure!(line.contains(SHOWN) && line.contains("extract"), "{line:?}");
    ensure!(browser.script("document.title").await? == format!("{SHOWN} – watchscope"));
    ensure!(browser.script("window.ran").await? == "undefined");
    let theme = "document.documentElement.dataset.theme";
    ensure!(browser.script(theme).await? == "dark");

    // The file holds texts and pictures of findings.
    browser
        .script("document.querySelector('[data-part=findings-button]').click()")
        .await?;
    eventually(
        "a finding is explained with its picture",
        LONG,
        async || {
            let more = "document.querySelector('.findings .more[aria-expanded=false]')?.click()";
            browser.script(more).await?;
            let picture = "document.querySelector('.findings img').naturalWidth > 0";
            ensure!(browser.script(picture).await? == "true", "no picture");
            Ok(())
        },
    )
    .await?;
    let name = format!("single-file-{}", format!("{kind:?}").to_lowercase());
    browser.picture(&name).await?;

    // A marked range is saved as a recording.
    let ends = records.first().zip(records.last());
    let (first, last) = ends.context("a story has records")?;
    browser
        .script(&format!(
            "(() => {{
                const make = URL.createObjectURL;
                URL.createObjectURL = (blob) => {{
                    blob.slice(1, 4).text().then((text) => {{ window.begins = text; }});
                    return make(blob);
                }};
                location.hash = '#v=1&mark={}-{}';
            }})()",
            first.at.0, last.at.0
        ))
        .await?;
    eventually("the range is saved", LONG, async || {
        let save = "document.querySelector('[data-part=save-range]').click()";
        browser.script(save).await?;
        let begins = browser.script("window.begins").await?;
        ensure!(begins.as_bytes() == &MAGIC[1..4], "{begins:?}");
        Ok(())
    })
    .await?;

    // Actions that need a server are not offered.
    for absent in [
        ".tools [href='#lessons']",
        "[data-part=back]",
        "[data-part=open]",
        "[data-part=export]",
        "[data-part=export-range]",
        "[data-part=charts-range]",
    ] {
        let width = format!("document.querySelector(\"{absent}\")?.offsetWidth ?? 0");
        ensure!(browser.script(&width).await? == "0", "{absent}");
    }
    let begun = ["about:blank", &*url, "blob:", "data:"];
    let asked = browser.requests().iter();
    let asked: Vec<_> = asked
        .filter(|of| !begun.iter().any(|begin| of.starts_with(begin)))
        .collect();
    ensure!(asked.is_empty(), "{asked:?}");
    ensure!(
        !browser.requests().is_empty(),
        "the request for the icon is reported"
    );
    ensure!(
        browser.complaints().is_empty(),
        "{:?}",
        browser.complaints()
    );
    let forbidden = "new Promise((resolve) => {
        addEventListener('securitypolicyviolation', (event) => resolve(event.violatedDirective), {once: true});
        new Image().src = 'http://127.0.0.1:9/a.png';
    })";
    let forbidden = browser.script(&format!("await {forbidden}")).await?;
    ensure!(forbidden == "img-src", "{forbidden}");
    refuses_half_of_its_parts(&mut browser, &made).await?;
    Ok(Ok(()))
}

/// Cuts the parts of the page in the file `made`, opens it, and checks what a person reads then.
async fn refuses_half_of_its_parts(browser: &mut RemoteBrowser, made: &Path) -> Result<()> {
    let text = std::fs::read_to_string(made)?;
    let (before, rest) = text.split_once("id=\"parts\">").context("parts")?;
    let (parts, behind) = rest.split_once("</script>").context("an end of parts")?;
    let half: String = parts.chars().take(parts.chars().count() / 2).collect();
    let cut = made.with_file_name("cut.html");
    std::fs::write(
        &cut,
        format!("{before}id=\"parts\">{half}</script>{behind}"),
    )?;
    browser.goto(&format!("file://{}", cut.display())).await?;
    eventually("the page says that it is not whole", LONG, async || {
        let said = browser.script("document.body.innerText").await?;
        ensure!(
            said == "This page is not whole. The file was changed on its way here: get it once more.",
            "{said:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_page_in_one_file_opens_in_chromium_without_a_request() -> Result<()> {
    or_skip!(opens_in(BrowserKind::Chromium).await?);
    Ok(())
}

#[tokio::test]
async fn a_page_in_one_file_opens_in_firefox_without_a_request() -> Result<()> {
    or_skip!(opens_in(BrowserKind::Firefox).await?);
    Ok(())
}
