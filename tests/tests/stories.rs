//! Stories of the catalogue: requested by code, as a user does, and run in Chromium with the same result as on the
//! host.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use watchscope_export::digest_of_charts;
use watchscope_scenarios::{digest, digested, records};
use watchscope_tests::{
    Browser, BrowserTools, Missing, Served, WatchscopeBinary, or_skip, patient,
};

use crate::browser::Tab;
use crate::lessons::Files;

/// How long Chromium may take for a story; after it the script fails. The longest story lasts over an hour of virtual
/// time.
const A_STORY: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a_story_requested_by_its_code_runs_and_its_failure_is_found() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = Served::start(binary.with(&["demo", "f11"])).await?;
    let is_found = |line: &Value| line["type"] == "finding" && line["code"] == "F11";
    let lines = demo.records().await?.up_to(is_found).await?;
    let texts = |kind: &str, field: &str| -> BTreeSet<&str> {
        let lines = lines.iter().filter(|line| line["type"] == kind);
        lines.filter_map(|line| line[field].as_str()).collect()
    };
    assert_eq!(
        texts("client.started", "client"),
        BTreeSet::from(["informer", "last-seen", "relisting-from-0"])
    );
    assert_eq!(
        texts("watch.started", "watch"),
        BTreeSet::from(["default/configmaps"])
    );
    let note = lines.iter().find(|line| line["type"] == "note");
    let note = note.and_then(|line| line["text"].as_str());
    let note = note.context("the narrator said nothing")?;
    assert!(note.starts_with("F11 fell off the watch cache. "), "{note}");
    Ok(())
}

#[tokio::test]
async fn after_a_restore_of_etcd_watchscope_lists_again_and_holds_the_restored_state() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = Served::start(binary.with(&["demo", "f33", "--audit", "full"])).await?;
    let watch = "default/configmaps";
    let is_listed = |line: &Value| line["type"] == "list.complete" && line["watch"] == watch;
    let mut lists = 0;
    let is_listed_again = |line: &Value| {
        lists += usize::from(is_listed(line));
        lists == 2
    };
    let lines = demo.records().await?.up_to(is_listed_again).await?;
    let place = |is_it: &dyn Fn(&Value) -> bool| lines.iter().position(is_it);
    let found = place(&|line| line["type"] == "finding" && line["code"] == "F33");
    let stopped = place(&|line| line["type"] == "watch.stopped" && line["watch"] == watch);
    assert!(found.is_some() && found < stopped, "{found:?} {stopped:?}");
    let before = lines
        .iter()
        .take_while(|line| line["type"] != "watch.stopped");
    let after = lines.iter().skip(stopped.unwrap_or_default());
    let version = |line: &Value| line["resourceVersion"].as_str()?.parse::<u64>().ok();
    let had_seen = before
        .filter(|line| line["type"] == "change")
        .filter_map(version)
        .max();
    let lists_at = after.clone().find(|line| is_listed(line)).and_then(version);
    assert!(lists_at < had_seen, "{lists_at:?} {had_seen:?}");
    let held: BTreeSet<&str> = after
        .filter(|line| line["type"] == "change" && line["watch"] == watch)
        .filter_map(|line| line["name"].as_str())
        .collect();
    assert!(held.contains("a") && !held.contains("c"), "{held:?}");
    Ok(())
}

/// Finds the module with all stories, as `cargo xtask test --long` makes it.
fn digests_folder() -> Result<PathBuf, Missing> {
    let folder = std::env::var_os("WATCHSCOPE_TEST_DIGESTS").map(PathBuf::from);
    folder
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| Missing {
            what: "the stories' module in WATCHSCOPE_TEST_DIGESTS".to_owned(),
            install: "it by running `cargo xtask test --long`".to_owned(),
        })
}

/// Stories whose charts are compared too: one with much to draw, and one with several servers.
const WITH_CHARTS: [&str; 2] = ["shop", "F31"];

/// Stories of lessons are compared in the lessons' own module, by `a_lesson_has_the_same_records_…`.
#[tokio::test]
#[ignore = "its module takes a minute to compile: cargo xtask test --long"]
async fn each_story_has_the_same_records_in_the_browser_as_on_the_host() -> Result<()> {
    let folder = or_skip!(digests_folder());
    let tools = or_skip!(BrowserTools::find());
    let files = Files::serve(folder).await?;
    let browser = Browser::start(&tools).await?;
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    driver.set_script_timeout(patient(A_STORY)).await?;
    driver.goto(format!("{}digests.js", files.page)).await?;
    let names = driver
        .execute_async(
            "const done = arguments[arguments.length - 1];
            import(location.href).then(async module => {
                await module.default({ module_or_path: new URL('digests_bg.wasm', location.href) });
                window.stories = module;
                done(module.digested());
            }).catch(error => done(String(error)));",
            vec![],
        )
        .await?;
    assert_eq!(names.json(), &Value::from(digested()));
    for name in digested() {
        for seed in [1, 7] {
            let there = async {
                let script = format!("return stories.digest('{name}', {seed})");
                tab.script(&script).await
            };
            let story = name.clone();
            let here = tokio::task::spawn_blocking(move || digest(&story, seed));
            let (there, here) = tokio::join!(there, here);
            let here = here?.context("the story is there")?;
            assert_eq!(there?, here.to_string(), "{name}, seed {seed}");
        }
    }
    for name in WITH_CHARTS {
        let script = format!("return stories.charts('{name}', 1)");
        let there = tab.script(&script);
        let here = tokio::task::spawn_blocking(move || {
            let records = records(name, 1).context("the story is there")?;
            Ok::<_, anyhow::Error>(digest_of_charts(&records)?)
        });
        let (there, here) = tokio::join!(there, here);
        assert_eq!(there?, here??, "the charts of {name}");
    }
    Ok(())
}
