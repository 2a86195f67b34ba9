//! The trace, decoded by Perfetto's own message classes and held against our JSON lines of the same export.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../timeline/tests/suite/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use common::random::random_log;
use common::{Log, at};
use watchscope_export::{Taken, jsonl, trace};
use watchscope_model::Time;
use watchscope_recording::{Excerpt, Lanes, Stretch};

/// The variable by which `cargo xtask test` says where the package is that tests/perfetto/requirements.txt names.
const PERFETTO: &str = "WATCHSCOPE_TEST_PERFETTO";

/// Where the package is. Without it the test is skipped, which fails on CI.
fn perfetto() -> Option<PathBuf> {
    let folder = std::env::var_os(PERFETTO).map(PathBuf::from);
    if folder.is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{PERFETTO} is not set: cargo xtask test sets it");
        let test = "a_trace_is_one_to_perfettos_own_classes_and_has_each_record_once";
        let line = format!("skipped: {test}, install Python 3 with pip\n");
        // Past libtest's capture, so that it is counted.
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    folder
}

fn taken(logs: &[&Log], from: Time, to: Time) -> Taken {
    let mut excerpt = Excerpt::new(Stretch::Times { from, to }, Lanes::All, "0.1.0", 2);
    let mut runs = Vec::new();
    for log in logs {
        runs.extend(excerpt.chapter(log.chapter(0, log.records.len())).unwrap());
    }
    runs.extend(excerpt.finish());
    Taken::new(from, to, runs).unwrap()
}

/// What the check in Python counted in an export.
fn checked(packages: &PathBuf, taken: &Taken) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let paths = [("a.trace", trace(taken)), ("a.jsonl", jsonl(taken))].map(|(name, bytes)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes.unwrap()).unwrap();
        path
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check_trace.py");
    let output = Command::new("python3")
        .arg(script)
        .args(paths)
        .env("PYTHONPATH", packages)
        .output()
        .expect("python3 runs; install it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_trace_is_one_to_perfettos_own_classes_and_has_each_record_once() {
    let Some(packages) = perfetto() else {
        return;
    };
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..3 {
        let mut log = random_log(seed, 600);
        let mut later = Log::steady("b", 1e5, 3);
        later.connection(1e5 + 4.0, 7, "10.20.0.12:6443");
        log.epoch = "a".into();
        // The whole, and a stretch of it: what is open at its begin and end is then not what records say.
        let (first, last) = (log.records[150].at, log.records[450].at);
        for (from, to) in [(at(0.0), at(1e6)), (first, last)] {
            let counts = checked(&packages, &taken(&[&log, &later], from, to));
            for (what, count) in counts {
                *all.entry(what).or_default() += count;
            }
        }
    }
    for what in [
        "bookmark",
        "change",
        "closed where nothing says that it ended",
        "connection.closed",
        "finding",
        "gap",
        "gaps from their begin",
        "list.complete",
        "not known: watchscope stopped here",
        "open at the end of the range",
        "stream.ended",
        "stream.opened",
        "values",
        "verdict",
    ] {
        assert!(
            all.get(what).is_some_and(|count| *count > 0),
            "{what}: {all:?}"
        );
    }
}
