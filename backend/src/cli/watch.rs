//! `watchscope watch`: writes the log, and nothing else, to standard output.

use std::io::Write;

use futures_util::StreamExt as _;
use watchscope_model::Entry;

use super::args::{Output, WatchArgs};
use super::begin::{Begun, begin, listed};
use super::exit::Failure;
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
        return tokio::task::block_in_place(|| {
            recorded::write(&args.from, args.log.as_deref(), args.output, args.judge)
        });
    }
    let begun = begin(args.resources, &args.follow, false).await?;
    let Begun {
        log,
        watches,
        mut over,
    } = begun;
    // Writing begins only now, so that standard output stays empty if the command is wrong.
    let writing = match args.output {
        Output::Text => tokio::spawn(write_text(log.clone())),
        Output::Jsonl => tokio::spawn(write_jsonl(log.clone())),
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
async fn write_text(log: LogHandle) {
    let mut reader = log.reader(Since::First);
    let mut out = anstream::stdout();
    while let Some(read) = reader.next().await {
        let text = match read {
            Read::Entries(entries) => entries
                .iter()
                .filter_map(Entry::record)
                .map(|record| terminal::line(record) + "\n")
                .collect::<String>(),
            Read::Loss { from, to } => terminal::loss_line(from.0, to.0) + "\n",
        };
        if put(&mut out, text.as_bytes()).is_err() {
            return;
        }
    }
}

async fn write_jsonl(log: LogHandle) {
    let (hub, _commands) = LogHub::new(log, env!("CARGO_PKG_VERSION"));
    let Ok(mut lines) = hub.records(None) else {
        return;
    };
    let mut out = std::io::stdout();
    while let Some(chunk) = lines.next().await {
        if put(&mut out, &chunk).is_err() {
            return;
        }
    }
}

/// Writes to a pipe that a pager may not read for hours. Meanwhile another thread takes over this one's other tasks.
fn put(out: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    tokio::task::block_in_place(|| out.write_all(bytes).and_then(|()| out.flush()))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc;
    use std::time::Duration;

    use clap::Parser as _;
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio::sync::oneshot;
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

    /// A pipe that takes nothing until it is read.
    struct Pipe {
        full: Option<oneshot::Sender<()>>,
        read: mpsc::Receiver<()>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(full) = self.full.take() {
                full.send(()).expect("the test waits for it");
                let is_read = self.read.recv_timeout(Duration::from_secs(10));
                is_read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn while_the_pipe_is_not_read_watches_continue_even_with_one_worker() {
        let (full, is_full) = oneshot::channel();
        let (reads, read) = mpsc::sync_channel(1);
        let mut pipe = Pipe {
            full: Some(full),
            read,
        };
        let writing = tokio::spawn(async move { put(&mut pipe, b"a line") });
        // Like a watch, this task continues only if a worker is free for it.
        tokio::spawn(async move {
            is_full.await.expect("the pipe fills");
            reads.send(()).expect("the pipe is still there");
        });
        writing
            .await
            .expect("the writer does not panic")
            .expect("the other task continued");
    }
}
