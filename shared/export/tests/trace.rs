//! The trace, decoded by Perfetto's own message classes and held against our JSON lines of the same export.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../timeline/tests/suite/common/mod.rs"]
mod common;
mod taken;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::random::random_log;
use common::{Log, at};
use taken::taken;
use watchscope_export::{jsonl, trace};

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

/// Checks in Python what pairs of a trace and JSON lines say.
fn check(packages: &Path, pairs: &[(Vec<u8>, Vec<u8>)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check_trace.py"));
    for (number, (trace, lines)) in pairs.iter().enumerate() {
        for (ending, bytes) in [("trace", trace), ("jsonl", lines)] {
            let path = folder.path().join(format!("{number}.{ending}"));
            std::fs::write(&path, bytes).unwrap();
            command.arg(path);
        }
    }
    command.env("PYTHONPATH", packages);
    command.output().expect("python3 runs; install it")
}

#[test]
fn a_trace_is_one_to_perfettos_own_classes_and_has_each_record_once() {
    let Some(packages) = perfetto() else {
        return;
    };
    let mut pairs = Vec::new();
    for seed in 0..3 {
        let log = random_log(seed, 600);
        let mut later = Log::steady("b", 1e5, 3);
        later.connection(1e5 + 4.0, 7, "10.20.0.12:6443");
        // The whole, and a stretch of it: what is open at its begin and end is then not what records say.
        let (first, last) = (log.records[150].at, log.records[450].at);
        for (from, to) in [(at(0.0), at(1e6)), (first, last)] {
            let taken = taken(&[&log, &later], from, to);
            pairs.push((trace(&taken).unwrap(), jsonl(&taken).unwrap()));
        }
    }
    let output = check(&packages, &pairs);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let counts: BTreeMap<String, u64> = serde_json::from_slice(&output.stdout).unwrap();
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
            counts.get(what).is_some_and(|count| *count > 0),
            "{what}: {counts:?}"
        );
    }
    // The check can fail: on a record that the trace lacks, and on a trace that is cut.
    let (whole, mut lines) = pairs.remove(0);
    let cut = whole[..whole.len() - 1].to_vec();
    assert!(!check(&packages, &[(cut, lines.clone())]).status.success());
    lines.extend(br#"{"seq":99999,"at":"2026-11-19T09:31:00Z","type":"clock","offMs":0}"#);
    let errors = check(&packages, &[(whole, lines)]).stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(errors.contains("not there"), "{errors}");
}
