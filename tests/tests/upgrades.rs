//! Upgrade and rollback: files of earlier formats, and a later watchscope that stands beside this one for a while.
//!
//! The later one is this one with the versions of its protocol and files raised by one (`tests/src/bin/one-higher.rs`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_tests::{
    Browser, BrowserTools, Finished, Missing, Served, WatchscopeBinary, eventually, free_port,
    or_skip, project_root,
};

use crate::browser::{Tab, has_page};
use crate::history::{folder_of, kept, seqs, serve};
use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(60);
/// The runs of the earlier watchscope before the upgrade. A start merges that number of small files into one.
const RUNS: usize = 8;

/// Finds the later watchscope that `cargo xtask test` builds.
fn later() -> Result<WatchscopeBinary, Missing> {
    std::env::var_os("WATCHSCOPE_TEST_ONE_HIGHER")
        .map(PathBuf::from)
        .filter(|program| program.is_file())
        .map(|program| WatchscopeBinary::at(&program))
        .ok_or_else(|| Missing {
            what: "a later watchscope".to_owned(),
            install: "it with `cargo xtask test`, or set WATCHSCOPE_TEST_ONE_HIGHER".to_owned(),
        })
}

async fn read(binary: &WatchscopeBinary, path: &Path) -> Result<Finished> {
    let path = path.to_str().context("UTF-8")?;
    let words = ["watch", "--from", path, "-o", "jsonl"];
    binary.with(&words).run(LONG).await
}

/// Returns the recordings in a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "wscope") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the lines that are records.
fn records(lines: &str) -> Result<Vec<&str>> {
    let mut records = Vec::new();
    for line in lines.lines().filter(|line| line.starts_with("{\"type\"")) {
        let value: Value = serde_json::from_str(line)?;
        if value.get("seq").is_some() && value.get("at").is_some() {
            records.push(line);
        }
    }
    Ok(records)
}

#[tokio::test]
async fn a_folder_that_any_earlier_format_wrote_is_read() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let fixtures = project_root().join("shared/recording/tests/fixtures");
    let mut versions = 0;
    for fixture in files(&fixtures)? {
        let stem = fixture.file_stem().and_then(|stem| stem.to_str());
        // The others are cut, damaged, or of persons' notes.
        if !stem.is_some_and(|stem| stem.ends_with(|last: char| last.is_ascii_digit())) {
            continue;
        }
        let root = tempfile::tempdir()?;
        let folder = root.path().join("log-0a1b2c3d");
        std::fs::create_dir(&folder)?;
        std::fs::copy(&fixture, folder.join("000001-2025-11-21T09-00-00Z.wscope"))?;
        let expected = std::fs::read_to_string(fixture.with_extension("jsonl"))?;
        let written = read(&binary, root.path()).await?.success()?;
        let written = records(&written)?;
        ensure!(!written.is_empty(), "{}", fixture.display());
        assert_eq!(written, records(&expected)?, "{}", fixture.display());
        versions += 1;
    }
    ensure!(versions >= 3, "{versions} versions");
    Ok(())
}

/// Runs a watchscope over the history until its own file has a list, and ends it in order. Returns its standard error.
async fn run(binary: &WatchscopeBinary, simulated: &Simulated, root: &Path) -> Result<String> {
    let listed = || folder_of(root).and_then(|folder| files(&folder));
    let before = listed().unwrap_or_default();
    let mut served = Served::start(serve(binary, simulated, root, &[])).await?;
    eventually("the list is in the history", LONG, async || {
        let newest = listed()?.pop().context("no file yet")?;
        ensure!(!before.contains(&newest), "no file of its own yet");
        let finished = read(binary, &newest).await?;
        let has_list = finished.stdout.contains("\"type\":\"list.complete\"");
        ensure!(has_list, "{finished:?}");
        Ok(())
    })
    .await?;
    let status = served.watchscope.terminate(LONG).await?;
    ensure!(status.success(), "{}", served.watchscope.stderr());
    Ok(served.watchscope.stderr())
}

#[tokio::test]
async fn after_a_rollback_the_earlier_watchscope_names_the_file_of_the_later_and_reads_on()
-> Result<()> {
    let earlier = or_skip!(WatchscopeBinary::find());
    let later = or_skip!(later());
    let simulated = Simulated::start(&earlier, 0).await?;
    let root = tempfile::tempdir()?;
    let root = root.path();
    for _ in 0..RUNS {
        run(&earlier, &simulated, root).await?;
    }
    let own: Vec<Vec<u64>> = kept(&earlier, root)
        .await?
        .iter()
        .map(|run| seqs(run))
        .collect();
    ensure!(own.len() == RUNS, "{} runs", own.len());

    // The upgrade: the later one merges the small files, in their own format, and begins a file in its own.
    run(&later, &simulated, root).await?;
    let folder = folder_of(root)?;
    let after = files(&folder)?;
    ensure!(after.len() == 2, "{after:?}");
    ensure!(kept(&later, root).await?.len() == RUNS + 1);

    // The rollback. Alone the file is refused; in its folder it is named, and the others are read.
    let name = after[1].display();
    let refusal = format!(
        "{name}, byte 8: the recording has format version 2; this watchscope reads up to version 1\n"
    );
    let alone = read(&earlier, &after[1]).await?;
    assert_eq!((alone.code(), &*alone.stdout), (Some(1), ""), "{alone:?}");
    assert_eq!(alone.stderr, format!("watchscope: {refusal}"));
    let all = read(&earlier, root).await?;
    assert_eq!(all.code(), Some(1), "{all:?}");
    assert!(all.stderr.ends_with(&refusal), "{all:?}");
    let runs = all.stdout.matches("{\"type\":\"log\"").count();
    assert_eq!(runs, RUNS);
    let read_again = records(&all.stdout)?.len();
    assert_eq!(read_again, own.iter().map(Vec::len).sum::<usize>());

    let theirs = std::fs::read(&after[1])?;
    let said = run(&earlier, &simulated, root).await?;
    assert!(said.contains(refusal.trim_end()), "{said}");
    assert!(
        std::fs::read(&after[1])? == theirs,
        "the later's file stays"
    );
    // After the second upgrade nothing is missing.
    ensure!(kept(&later, root).await?.len() == RUNS + 2);
    Ok(())
}

#[tokio::test]
async fn an_open_page_is_offered_a_reload_once_a_later_watchscope_serves_its_address() -> Result<()>
{
    let earlier = or_skip!(WatchscopeBinary::find());
    let later = or_skip!(later());
    let tools = or_skip!(BrowserTools::find());
    let listen = format!("127.0.0.1:{}", free_port()?);
    let arguments = ["demo", "--listen", &listen];
    let (mut first, link) = earlier.with(&arguments).serve().await?;
    or_skip!(has_page(&link).await);
    let browser = Browser::start(&tools).await?;
    let tab = Tab(browser.driver());
    browser.driver().goto(link.text()).await?;
    tab.is_live().await?;
    first.terminate(LONG).await?;
    let (_second, _) = later.with(&arguments).serve().await?;
    let words = "This page speaks version 2 of the protocol, the server version 3.";
    eventually("the page offers a reload", LONG, async || {
        let banner = tab.text("[data-part=banner]").await?;
        ensure!(banner.starts_with(words), "{banner:?}");
        ensure!(banner.ends_with("Reload"), "{banner:?}");
        Ok(())
    })
    .await?;
    assert!(!tab.lanes().await?.is_empty(), "the picture stays");
    Ok(())
}
