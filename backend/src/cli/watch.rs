//! `watchscope watch`: writes the log, and nothing else, to standard output.

use futures_util::StreamExt as _;
use watchscope_model::Entry;

use super::args::{Output, WatchArgs};
use super::begin::{Begun, begin, listed};
use super::exit::Failure;
use super::out::Outlet;
use super::recorded;
use super::terminal;
use crate::hub::LogHub;
use crate::hub::api::Hub as _;
use crate::log::{LogHandle, Read, Since};

/// Writes the log until `--for` is over, Ctrl-C, or the end of its reader.
///
/// # Errors
/// Exit code 1 if nothing could be listed by then, 2 for a resource that does not exist.
pub(super) async fn watch(args: WatchArgs) -> Result<(), Failure> {
    if !args.from.is_empty() {
        return recorded::write(&args.from, args.log.as_deref(), args.output, args.judge);
    }
    let begun = begin(args.resources, &args.follow, false).await?;
    let Begun {
        log,
        watches,
        mut over,
    } = begun;
    let out = Outlet::stdout().map_err(Failure::failed)?;
    // Writing begins only now, so that standard output stays empty if the command is wrong.
    let writing = match args.output {
        Output::Text => tokio::spawn(write_text(log.clone(), out)),
        Output::Jsonl => tokio::spawn(write_jsonl(log.clone(), out)),
    };
    tokio::pin!(writing);
    tokio::select! {
        () = &mut over => {}
        // The pipe is closed: its reader wants no more.
        _ = &mut writing => return Ok(()),
    }
    let (state, _) = log.head().await;
    watches.stop().await;
    log.close().await;
    let _ = writing.await;
    listed(&state)
}

/// Ends with the log, or when the pipe is closed.
async fn write_text(log: LogHandle, mut out: Outlet) {
    let mut reader = log.reader(Since::First);
    while let Some(read) = reader.next().await {
        let text = match read {
            Read::Entries(entries) => entries
                .iter()
                .filter_map(Entry::record)
                .map(|record| terminal::line(record) + "\n")
                .collect::<String>(),
            Read::Loss { from, to } => terminal::loss_line(from.0, to.0) + "\n",
        };
        out.put_text(&text);
        if out.flush().await.is_err() {
            return;
        }
    }
}

async fn write_jsonl(log: LogHandle, mut out: Outlet) {
    let (hub, _commands) = LogHub::new(log, env!("CARGO_PKG_VERSION"));
    let Ok(mut lines) = hub.records(None) else {
        return;
    };
    while let Some(chunk) = lines.next().await {
        out.put(&chunk);
        if out.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use clap::Parser as _;
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::cli::args::{Cli, Command};

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_accepts_and_never_answers_does_not_delay_the_end() {
        let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = silent.local_addr().unwrap();
        let mut kubeconfig = tempfile::NamedTempFile::new().unwrap();
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "silent",
            "clusters": [{"name": "silent", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "silent", "context": {"cluster": "silent", "user": "nobody"}}],
        });
        write!(kubeconfig, "{text}").unwrap();
        let path = kubeconfig.path().to_str().unwrap();
        let line = [
            "watchscope",
            "watch",
            "pods",
            "--for",
            "1s",
            "--kubeconfig",
            path,
        ];
        let Some(Command::Watch(args)) = Cli::try_parse_from(line).unwrap().command else {
            panic!("the command is watch");
        };
        let began = Instant::now();
        let failure = watch(args).await.unwrap_err();
        assert_eq!(began.elapsed().as_secs(), 1);
        assert_eq!(
            failure.message,
            format!("nothing could be listed: http://{address} has not answered")
        );
    }
}
