//! Tests of the trace: Perfetto's own message classes decode it, and it is compared with the JSON lines of the same
//! export.

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

/// The variable in which `cargo xtask test` passes the folder of the package of tests/perfetto/requirements.txt.
const PERFETTO: &str = "WATCHSCOPE_TEST_PERFETTO";

/// Returns the folder of the package. Without it the test is skipped, which fails on CI.
fn perfetto() -> Option<PathBuf> {
    let folder = std::env::var_os(PERFETTO).map(PathBuf::from);
    if folder.is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{PERFETTO} is not set: cargo xtask test sets it");
        let test = "perfettos_own_classes_decode_a_trace_and_it_has_each_record_once";
        let line = format!("skipped: {test}, install Python 3 with pip\n");
        // Writes past libtest's capture, so that the skipped test is counted.
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    folder
}

/// Compares pairs of a trace and JSON lines in Python.
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
fn perfettos_own_classes_decode_a_trace_and_it_has_each_record_once() {
    let Some(packages) = perfetto() else {
        return;
    };
    let mut pairs = Vec::new();
    for seed in 0..3 {
        let log = random_log(seed, 600);
        let mut later = Log::steady("b", 1e5, 3);
        later.connection(1e5 + 4.0, 7, "10.20.0.12:6443");
        // Exports the whole log, and a stretch of it at whose begin and end slices are open.
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
    // The check can fail: it refuses a trace that lacks a record, and one that is cut.
    let (whole, mut lines) = pairs.remove(0);
    let cut = whole[..whole.len() - 1].to_vec();
    assert!(!check(&packages, &[(cut, lines.clone())]).status.success());
    lines.extend(br#"{"seq":99999,"at":"2026-11-19T09:31:00Z","type":"clock","offMs":0}"#);
    let errors = check(&packages, &[(whole, lines)]).stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(errors.contains("not there"), "{errors}");
}
