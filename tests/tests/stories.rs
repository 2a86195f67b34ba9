//! A story of the catalogue asked for by its code, as a user asks: the demo plays it, and finds in it what it is about.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde_json::Value;
use watchscope_tests::{Served, WatchscopeBinary, or_skip};

#[tokio::test]
async fn a_story_asked_for_by_its_code_is_told_and_its_failure_is_found() -> Result<()> {
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
