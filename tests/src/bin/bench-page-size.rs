//! Measures the bytes that a browser fetches (gzip) before the demo's first lane is painted; a kB is 1,000 bytes.
//!
//! Chromium opens a link. Its own list of requests gives the paths that the page requested before its first painted
//! lane.
//! The files are then fetched again with `Accept-Encoding: gzip`, and their bytes are counted. Answers that are no
//! files of the page (the session's, 0.1 kB) do not count.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark speaks to a person"
)]

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use watchscope_tests::page_weight::{MOST_FOR_FIRST_PAINT_BYTES, weigh};
use watchscope_tests::{Browser, BrowserTools, WatchscopeBinary, eventually};

const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of the second part, with the modules that it shares with others (issue 23).
const MOST_OF_SECOND_BYTES: usize = 420_000;
/// The most bytes of the modules that the first export fetches (issue 21).
const MOST_OF_EXPORTS_BYTES: usize = 250_000;

/// Returns the paths that were requested before the first painted lane, or null while there is none.
const FETCHED: &str = "
    const summary = JSON.parse(window.watchscope?.summary() ?? '{}');
    if (!summary.firstLaneMs) return null;
    const before = performance.getEntriesByType('resource').filter(entry => entry.startTime <= summary.firstLaneMs);
    return ['/', ...before.map(entry => new URL(entry.name).pathname)];";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (binary, tools) = match (WatchscopeBinary::find(), BrowserTools::find()) {
        (Ok(binary), Ok(tools)) => (binary, tools),
        (Err(missing), _) | (_, Err(missing)) => {
            bail!("no {}: install {}", missing.what, missing.install)
        }
    };
    let (_demo, link) = binary.with(&["demo"]).serve().await?;
    let browser = Browser::start(&tools).await?;
    browser.driver().goto(link.text()).await?;
    let paths: Vec<String> = eventually("a lane is painted", PATIENCE, async || {
        let fetched = browser.driver().execute(FETCHED, vec![]).await?;
        Ok(serde_json::from_value(fetched.json().clone())?)
    })
    .await?;

    let files = weigh(link.origin(), &paths).await?;
    let later = later_files(link.origin()).await?;
    ensure!(files.len() > 2, "a page is more than {files:?}");
    for file in &files {
        eprintln!("{file}");
    }
    let kb = |bytes: usize| bytes as f64 / 1_000.0;
    let all: usize = files.iter().map(|file| file.bytes).sum();
    let of = |extension: &str| {
        let of = files.iter().filter(|file| file.path.ends_with(extension));
        kb(of.map(|file| file.bytes).sum())
    };
    println!(
        "| page, gzip, everything fetched before the first painted lane | at most {:.0} kB | {:.1} kB (wasm {:.1}, js {:.1}, the document with styles and script in it {:.1}) | {} |",
        kb(MOST_FOR_FIRST_PAINT_BYTES),
        kb(all),
        of(".wasm"),
        of(".js"),
        of("/"),
        if all <= MOST_FOR_FIRST_PAINT_BYTES {
            "met"
        } else {
            "missed"
        }
    );
    let weight = async |is_of: fn(&str) -> bool| -> Result<usize> {
        let paths = later.iter().filter(|path| is_of(path)).cloned();
        let paths: Vec<String> = paths.collect();
        ensure!(!paths.is_empty(), "no part is in {later:?}");
        let files = weigh(link.origin(), &paths).await?;
        Ok(files.iter().map(|file| file.bytes).sum())
    };
    let line = |what: &str, bytes: usize, most: Option<usize>| {
        let (bar, result) = match most {
            Some(most) if bytes <= most => (format!("at most {:.0} kB", kb(most)), "met"),
            Some(most) => (format!("at most {:.0} kB", kb(most)), "missed"),
            None => ("no bar".to_owned(), ""),
        };
        println!("| {what} | {bar} | {:.1} kB | {result} |", kb(bytes));
    };
    let second = weight(|path| path.contains("_second")).await?;
    line(
        "second part of the page, gzip, always loaded",
        second,
        Some(MOST_OF_SECOND_BYTES),
    );
    let third = weight(|path| path.contains("_third") && !path.contains("_second")).await?;
    line("third part, gzip, when the first panel opens", third, None);
    // The dialog of exports has brought the third part by then.
    let exports = weight(|path| {
        path.contains("_export") && !path.contains("_second") && !path.contains("_third")
    })
    .await?;
    line(
        "modules of exports, gzip, on first use",
        exports,
        Some(MOST_OF_EXPORTS_BYTES),
    );
    Ok(())
}

/// Returns the paths of the modules that scripts of the page name; the page loads them later.
async fn later_files(origin: &str) -> Result<Vec<String>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    // The glue names its imports in the same form. Those are no files, so the server's refusal is no error.
    let text = async |path: &str| -> Result<String> {
        let answer = client.get(format!("{origin}{path}")).send().await?;
        Ok(if answer.status().is_success() {
            answer.text().await?
        } else {
            String::new()
        })
    };
    let mut files: Vec<String> = Vec::new();
    let mut scripts = vec!["/".to_owned()];
    let mut read = Vec::new();
    while let Some(script) = scripts.pop() {
        let source = text(&script).await?;
        for name in source.split('"').map(|part| part.trim_start_matches("./")) {
            let path = format!("/{name}");
            let is_plain = name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if is_plain && name.ends_with(".wasm") && !files.contains(&path) {
                files.push(path);
            } else if is_plain && name.ends_with(".js") && !read.contains(&path) {
                read.push(path.clone());
                scripts.push(path);
            }
        }
    }
    Ok(files)
}
