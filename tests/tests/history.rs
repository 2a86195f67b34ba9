//! The history on a real disk: over restarts and kills, beside a second instance, over a size limit, without its
//! folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use watchscope_tests::{
    Exposition, ExpositionForm, Launch, Served, WatchscopeBinary, eventually, free_port, or_skip,
};

use crate::http;
use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(60);

/// Prepares `serve` for a simulated cluster, with a history below `folder`.
pub(crate) fn serve(
    binary: &WatchscopeBinary,
    simulated: &Simulated,
    folder: &Path,
    more: &[&str],
) -> Launch {
    let folder = folder.display().to_string();
    let arguments = ["serve", "pods", "-A", "--no-open", "--history", &folder];
    binary
        .with(&[&arguments, more].concat())
        .kubeconfig(&simulated.kubeconfig)
}

/// Returns the lines of all files below `folder`, by epoch.
pub(crate) async fn kept(binary: &WatchscopeBinary, folder: &Path) -> Result<Vec<Vec<Value>>> {
    let folder = folder.to_str().context("a folder with a plain name")?;
    let told = binary
        .with(&["watch", "--from", folder, "-o", "jsonl"])
        .run(LONG)
        .await?;
    ensure!(told.code() == Some(0), "{told:?}");
    let mut epochs: Vec<Vec<Value>> = Vec::new();
    for line in told.stdout.lines() {
        let line: Value = serde_json::from_str(line)?;
        if line["type"] == "log" {
            epochs.push(Vec::new());
        }
        epochs
            .last_mut()
            .context("a log line comes first")?
            .push(line);
    }
    Ok(epochs)
}

/// Returns the seqs of an epoch's records.
pub(crate) fn seqs(epoch: &[Value]) -> Vec<u64> {
    let records = epoch.iter().skip(1);
    records
        .filter_map(|record| record["seq"].as_u64())
        .collect()
}

/// Waits until the last run's file has a whole list.
async fn has_list(binary: &WatchscopeBinary, folder: &Path, runs: usize) -> Result<()> {
    eventually("the list is in the history", LONG, async || {
        let epochs = kept(binary, folder).await?;
        ensure!(epochs.len() == runs, "{} runs", epochs.len());
        let last = epochs.last().context("there is a run")?;
        let is_complete = |line: &Value| line["type"] == "list.complete";
        ensure!(last.iter().any(is_complete), "{} lines", last.len());
        Ok(())
    })
    .await
}

/// Returns the folder of the only log below `root`.
pub(crate) fn folder_of(root: &Path) -> Result<PathBuf> {
    let mut folders = std::fs::read_dir(root)?;
    Ok(folders.next().context("it has a folder")??.path())
}

#[tokio::test]
async fn a_history_continues_over_restarts_and_kills_and_is_read_as_one() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    let folder = root.path().join("history");
    for run in 1..=3 {
        let mut served = Served::start(serve(&binary, &simulated, &folder, &[])).await?;
        has_list(&binary, &folder, run).await?;
        if run == 2 {
            served.watchscope.kill()?;
            served.watchscope.end(LONG).await?;
        } else {
            let status = served.watchscope.terminate(LONG).await?;
            ensure!(status.success(), "{}", served.watchscope.stderr());
        }
    }
    let epochs = kept(&binary, &folder).await?;
    ensure!(epochs.len() == 3, "{} runs", epochs.len());
    for epoch in &epochs {
        let seqs = seqs(epoch);
        ensure!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
        ensure!(epoch[0]["head"] == seqs.len(), "{}", epoch[0]);
    }
    // A run that ended in order has its last records.
    let ends = epochs[0].iter().map(|line| &line["type"]);
    ensure!(ends.clone().any(|kind| kind == "watch.stopped"), "{ends:?}");
    Ok(())
}

#[tokio::test]
async fn a_second_instance_is_refused_and_the_error_names_the_process_with_the_history()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    let served = Served::start(serve(&binary, &simulated, root.path(), &[])).await?;
    let second = serve(&binary, &simulated, root.path(), &[])
        .run(LONG)
        .await?;
    ensure!(second.code() == Some(1), "{second:?}");
    let process = format!("in use by process {} on ", served.watchscope.pid());
    ensure!(second.stderr.contains(&process), "{second:?}");
    ensure!(second.stdout.is_empty(), "{second:?}");

    // A history of another cluster has a folder of its own.
    let other = Simulated::start(&binary, 0).await?;
    drop(Served::start(serve(&binary, &other, root.path(), &[])).await?);
    ensure!(std::fs::read_dir(root.path())?.count() == 2);
    Ok(())
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named_and_nothing_is_served() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    let file = root.path().join("file");
    std::fs::write(&file, "mine")?;
    let refused = serve(&binary, &simulated, &file, &[]).run(LONG).await?;
    ensure!(refused.code() == Some(1), "{refused:?}");
    let said = format!("watchscope: cannot make {}/", file.display());
    ensure!(refused.stderr.contains(&said), "{refused:?}");
    ensure!(
        refused.stderr.trim_end().lines().count() <= 2,
        "{refused:?}"
    );
    Ok(())
}

/// A limit of the process's file size stands in for a full file system. The limit also holds for the file of its
/// standard error, so the test does not read that.
#[tokio::test]
async fn over_a_limit_of_file_size_the_log_goes_on_and_the_history_resumes_when_it_is_raised()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    let health = format!("127.0.0.1:{}", free_port()?);
    let origin = format!("http://{health}");
    let launch = serve(
        &binary,
        &simulated,
        root.path(),
        &["--health-listen", &health],
    );
    let mut served = Served::start(launch).await?;
    has_list(&binary, root.path(), 1).await?;
    let limit = |bytes: Option<u64>| -> Result<()> {
        let pid = Pid::from_raw(served.watchscope.pid().cast_signed()).context("it runs")?;
        let maximum = None;
        let limit = Rlimit {
            current: bytes,
            maximum,
        };
        prlimit(Some(pid), Resource::Fsize, limit)?;
        Ok(())
    };
    limit(Some(1))?;
    let failing = async |expected: f64| {
        eventually(
            "the metrics show whether the history fails",
            LONG,
            async || {
                let answer = http::get(&origin, "/metrics", &[]).await?;
                let exposition = Exposition::read(&answer.body, ExpositionForm::Plain)?;
                let failing = exposition.sum("watchscope_history_failing", &[]);
                ensure!(failing == expected, "{failing}");
                Ok(exposition.sum("watchscope_log_records_total", &[]))
            },
        )
        .await
    };
    let before = failing(1.0).await?;
    eventually("the log goes on", LONG, async || {
        let answer = http::get(&origin, "/metrics", &[]).await?;
        let exposition = Exposition::read(&answer.body, ExpositionForm::Plain)?;
        let records = exposition.sum("watchscope_log_records_total", &[]);
        ensure!(records > before, "{records} of {before}");
        Ok(())
    })
    .await?;
    limit(None)?;
    let records = failing(0.0).await?;
    let status = served.watchscope.terminate(LONG).await?;
    ensure!(status.success(), "{}", served.watchscope.stderr());
    let epochs = kept(&binary, root.path()).await?;
    let seqs = seqs(&epochs[0]);
    ensure!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
    ensure!(seqs.len() as f64 >= records, "{} of {records}", seqs.len());
    Ok(())
}

#[tokio::test]
async fn a_folder_removed_while_running_is_created_again_with_all_records_in_memory() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let root = tempfile::tempdir()?;
    let mut served = Served::start(serve(&binary, &simulated, root.path(), &[])).await?;
    has_list(&binary, root.path(), 1).await?;
    let folder = folder_of(root.path())?;
    std::fs::remove_dir_all(&folder)?;
    eventually("the folder is there again", LONG, async || {
        ensure!(folder.join("lock").exists());
        Ok(())
    })
    .await?;
    has_list(&binary, root.path(), 1).await?;
    ensure!(served.watchscope.terminate(LONG).await?.success());
    let epochs = kept(&binary, root.path()).await?;
    let seqs = seqs(&epochs[0]);
    ensure!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
    Ok(())
}
