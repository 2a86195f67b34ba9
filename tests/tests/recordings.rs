//! Recordings: made from a cluster, ended in order or by a kill, and read again.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_tests::{Finished, Served, Watchscope, WatchscopeBinary, eventually, or_skip};

use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(60);

async fn read(binary: &WatchscopeBinary, file: &Path, form: &str) -> Result<Finished> {
    let file = file.to_str().context("a folder with a plain name")?;
    binary
        .with(&["watch", "--from", file, "-o", form])
        .run(LONG)
        .await
}

fn lines(finished: &Finished) -> Result<Vec<Value>> {
    let lines = finished.stdout.lines();
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Starts a recording, and waits until the file holds a whole list of each resource.
async fn recording(
    binary: &WatchscopeBinary,
    simulated: &Simulated,
    file: &Path,
    resources: &[&str],
) -> Result<Watchscope> {
    let name = file.to_str().context("a folder with a plain name")?;
    let mut arguments = vec!["record", "-A", "-o", name];
    arguments.extend(resources);
    let recording = binary
        .with(&arguments)
        .kubeconfig(&simulated.kubeconfig)
        .start()?;
    eventually("the lists are in the file", LONG, async || {
        let told = read(binary, file, "jsonl").await?;
        ensure!(told.code() == Some(0), "{told:?}");
        let complete = told.stdout.matches("\"type\":\"list.complete\"").count();
        ensure!(complete == resources.len(), "{complete} lists");
        Ok(())
    })
    .await?;
    Ok(recording)
}

#[tokio::test]
async fn a_recording_is_read_again_record_for_record_with_owners() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let resources = ["pods", "replicasets"];
    let mut recording = recording(&binary, &simulated, &file, &resources).await?;
    let status = recording.terminate(LONG).await?;
    ensure!(status.success(), "{status}, {}", recording.stderr());
    ensure!(recording.stdout().is_empty(), "{}", recording.stdout());
    ensure!(
        recording.stderr().contains(" records, "),
        "{}",
        recording.stderr()
    );

    let told = read(&binary, &file, "jsonl").await?;
    ensure!(told.code() == Some(0), "{told:?}");
    let told = lines(&told)?;
    let (log, records) = told.split_first().context("it has a line of the log")?;
    ensure!(log["type"] == "log" && log["first"] == 1, "{log}");
    ensure!(log["head"] == records.len(), "{log}, {}", records.len());
    let seqs: Vec<&Value> = records.iter().map(|record| &record["seq"]).collect();
    ensure!(
        seqs.iter().zip(1..).all(|(seq, place)| **seq == place),
        "{seqs:?}"
    );
    let complete = records
        .iter()
        .filter(|record| record["type"] == "list.complete");
    ensure!(complete.count() == 2, "both lists are in it");
    let owner = records.iter().find_map(|record| {
        let pod = record["watch"] == "*/pods" && record["type"] == "change";
        record.get("owner").filter(|_| pod)
    });
    ensure!(
        owner.is_some_and(|owner| owner["kind"] == "ReplicaSet"),
        "{owner:?}"
    );

    let text = read(&binary, &file, "text").await?;
    ensure!(text.stdout.lines().count() == records.len(), "a line each");
    Ok(())
}

#[tokio::test]
async fn a_recording_that_was_killed_is_read_up_to_its_last_write() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let mut recording = recording(&binary, &simulated, &file, &["pods"]).await?;
    recording.kill()?;
    recording.end(LONG).await?;
    let told = read(&binary, &file, "jsonl").await?;
    ensure!(told.code() == Some(0), "{told:?}");
    let told = lines(&told)?;
    let seqs = told[1..].iter().map(|record| &record["seq"]);
    ensure!(seqs.zip(1..).all(|(seq, place)| *seq == place));
    Ok(())
}

#[tokio::test]
async fn an_existing_foreign_or_damaged_file_is_named_with_the_place() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let name = file.to_str().context("a folder with a plain name")?;
    let mut first = recording(&binary, &simulated, &file, &["pods"]).await?;
    ensure!(first.terminate(LONG).await?.success());
    let again = binary
        .with(&["record", "pods", "-A", "-o", name])
        .kubeconfig(&simulated.kubeconfig)
        .run(LONG)
        .await?;
    ensure!(again.code() == Some(1), "{again:?}");
    ensure!(
        again
            .stderr
            .ends_with("exists; name another file, or remove it\n"),
        "{again:?}"
    );

    // The byte lies within the only closed chapter, which is nearly all of the file.
    let mut bytes = std::fs::read(&file)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = folder.path().join("damaged.wscope");
    std::fs::write(&damaged, &bytes)?;
    let told = read(&binary, &damaged, "text").await?;
    ensure!(told.code() == Some(1), "{told:?}");
    ensure!(told.stderr.contains("block 1 at byte"), "{told:?}");
    ensure!(told.stderr.contains("is damaged"), "{told:?}");

    let other = folder.path().join("other");
    std::fs::write(&other, "apiVersion: v1\n")?;
    let told = read(&binary, &other, "text").await?;
    ensure!(told.code() == Some(1), "{told:?}");
    ensure!(
        told.stderr
            .ends_with("byte 0: this is no watchscope recording\n"),
        "{told:?}"
    );
    Ok(())
}

/// The recording is of a live log, whose writer stamps events on arrival. A second judgement must make the same
/// findings at the same times.
#[tokio::test]
async fn a_recording_that_is_judged_again_gets_the_same_judgements() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let mut simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let resources = ["pods", "services"];
    let mut recording = recording(&binary, &simulated, &file, &resources).await?;
    simulated.process.kill()?;
    eventually(
        "the file has the reasons for the ends of streams",
        LONG,
        async || {
            let told = read(&binary, &file, "jsonl").await?;
            let ends = told.stdout.matches("\"type\":\"attribution\"").count();
            let findings = told.stdout.matches("\"type\":\"finding\"").count();
            ensure!(ends >= 2 && findings >= 1, "{ends} and {findings}");
            Ok(())
        },
    )
    .await?;
    recording.terminate(LONG).await?;

    let name = file.to_str().context("a folder with a plain name")?;
    let recorded = read(&binary, &file, "jsonl").await?;
    let again = ["watch", "--from", name, "--judge", "again", "-o"];
    let judged = binary.with(&[&again[..], &["jsonl"]].concat());
    let judged = judged.run(LONG).await?;
    ensure!(judged.code() == Some(0), "{judged:?}");
    ensure!(judged.stdout == recorded.stdout, "{}", judged.stderr);
    let is_same = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("Judged again: ") && line.contains(" 0 that differ"))
    };
    ensure!(is_same(&judged.stderr), "{}", judged.stderr);
    let text = binary.with(&[&again[..], &["text"]].concat());
    let text = text.run(LONG).await?;
    ensure!(text.code() == Some(0) && is_same(&text.stdout), "{text:?}");

    let replay = ["replay", name, "--judge", "again"];
    let served = Served::start(binary.with(&replay)).await?;
    let mut shown = served.records().await?;
    for line in recorded.stdout.lines() {
        let line: Value = serde_json::from_str(line)?;
        ensure!(shown.next().await? == line, "{line}");
    }

    let alone = binary.with(&["watch", "pods", "--judge", "again"]);
    let alone = alone.run(LONG).await?;
    ensure!(alone.code() == Some(2), "{alone:?}");
    ensure!(alone.stderr.contains("--judge"), "{}", alone.stderr);
    Ok(())
}

/// Exports that the program refuses: arguments, the file's name, and what standard error says.
const REFUSED: [(&[&str], &str, &str); 5] = [
    (
        &["--lanes", "shop/nothing"],
        "x.svg",
        "No watch of the range is called shop/nothing.",
    ),
    (
        &[
            "--from",
            "2001-01-01T00:00:00Z",
            "--to",
            "2001-01-02T00:00:00Z",
        ],
        "x.csv",
        "No record is from",
    ),
    (
        &[
            "--from",
            "2001-01-02T00:00:00Z",
            "--to",
            "2001-01-01T00:00:00Z",
        ],
        "x.csv",
        "is empty",
    ),
    (&[], "x.docx", "its ending says no form"),
    (&[], "missing/x.svg", "cannot be written"),
];

fn leaves_no_unfinished_file(folder: &Path) -> Result<()> {
    let left = std::fs::read_dir(folder)?;
    let left = left.map(|entry| Ok(entry?.file_name().display().to_string()));
    let left = left.collect::<std::io::Result<Vec<String>>>()?;
    ensure!(
        !left.iter().any(|name| name.ends_with(".unfinished")),
        "{left:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_export_has_the_recordings_records_in_every_form_and_leaves_no_unfinished_file()
-> Result<()> {
    const FORMS: [&str; 8] = [
        "svg", "png", "html", "md", "csv", "jsonl", "trace", "wscope",
    ];
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.wscope");
    let resources = ["pods", "configmaps"];
    let mut recording = recording(&binary, &simulated, &file, &resources).await?;
    let status = recording.terminate(LONG).await?;
    ensure!(status.success(), "{status}, {}", recording.stderr());
    let told = read(&binary, &file, "jsonl").await?.stdout;
    let records = told.lines().count() - 1;

    let path = |name: &str| folder.path().join(name);
    let export = async |arguments: &[&str], names: &[&str]| {
        let names = names.iter().map(|name| path(name).display().to_string());
        let outs: Vec<String> = names.flat_map(|name| ["-o".to_owned(), name]).collect();
        let from = file.to_str().context("a plain name")?;
        let mut all = vec!["export", from];
        all.extend(arguments);
        all.extend(outs.iter().map(String::as_str));
        binary.with(&all).run(LONG).await
    };
    let whole = [
        "--from",
        "2000-01-01T00:00:00Z",
        "--to",
        "2100-01-01T00:00:00Z",
    ];
    for round in ["one", "two"] {
        let names = FORMS.map(|end| format!("{round}.{end}"));
        let done = export(
            &[&whole[..], &["--form", "report"]].concat(),
            &names.each_ref().map(String::as_str),
        )
        .await?;
        ensure!(done.code() == Some(0), "{done:?}");
        let done = export(&whole, &[&format!("{round}/")]).await?;
        ensure!(done.code() == Some(0), "{done:?}");
    }
    let read_file = |name: &str| std::fs::read(path(name));
    for end in FORMS {
        let (one, two) = (
            read_file(&format!("one.{end}"))?,
            read_file(&format!("two.{end}"))?,
        );
        ensure!(one == two && !one.is_empty(), "{end}");
    }
    ensure!(
        String::from_utf8(read_file("one.jsonl")?)? == told,
        "the same lines"
    );
    let table = String::from_utf8(read_file("one.csv")?)?;
    ensure!(
        table.matches("\r\n").count() == records + 1,
        "a row for each record"
    );
    let again = read(&binary, &path("one.wscope"), "jsonl").await?;
    ensure!(again.stdout == told, "{again:?}");
    ensure!(String::from_utf8(read_file("one.svg")?)?.ends_with("</svg>"));
    let charts = std::fs::read_dir(path("one"))?.collect::<std::io::Result<Vec<_>>>()?;
    ensure!(charts.len() == 8, "{charts:?}");
    for chart in charts {
        let other = path("two").join(chart.file_name());
        ensure!(std::fs::read(chart.path())? == std::fs::read(other)?);
    }

    // With all names hidden none is left, and two commands use different pseudonyms.
    for round in ["three", "four"] {
        let names = ["jsonl", "wscope", "svg", "html"].map(|end| format!("{round}.{end}"));
        let arguments = [&whole[..], &["--form", "report", "--hide", "all"]].concat();
        let done = export(&arguments, &names.each_ref().map(String::as_str)).await?;
        ensure!(done.code() == Some(0), "{done:?}");
    }
    let hidden = String::from_utf8(read_file("three.jsonl")?)?;
    ensure!(
        hidden.lines().count() == told.lines().count(),
        "each record"
    );
    ensure!(
        told.contains("\"shop\"") && !hidden.contains("shop"),
        "{hidden}"
    );
    ensure!(hidden != String::from_utf8(read_file("four.jsonl")?)?);
    let again = read(&binary, &path("three.wscope"), "jsonl").await?;
    ensure!(again.stdout == hidden, "{again:?}");

    for (arguments, name, says) in REFUSED {
        let done = export(arguments, &[name]).await?;
        ensure!(done.code() == Some(1), "{done:?}");
        ensure!(done.stderr.contains(says), "{done:?}");
        let lines = done.stderr.lines().count();
        ensure!(lines == 2 && !path(name).exists(), "{done:?}");
    }
    leaves_no_unfinished_file(folder.path())?;
    Ok(())
}
