//! `watchscope watch`: the log on standard output, nothing else there.

use std::io::Write;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::time::Instant;
use watchscope_model::Entry;
use watchscope_model::fold::State;

use super::args::{Output, WatchArgs};
use super::exit::Failure;
use super::recorded;
use super::serve::{lookup, name_of, open_log, settings, start};
use super::signals::stop_flag;
use super::terminal;
use crate::hub::LogHub;
use crate::hub::api::Hub as _;
use crate::log::{LogHandle, Read, Since};
use crate::stop::stopped;

/// Writes the log until `--for` is over, Ctrl-C, or nobody reads it any more.
///
/// # Errors
/// Exit code 1 if nothing could be listed by then, 2 for a resource that does not exist.
pub(super) async fn watch(args: WatchArgs) -> Result<(), Failure> {
    if let Some(file) = &args.from {
        return tokio::task::block_in_place(|| recorded::write(file, args.output));
    }
    let began = Instant::now();
    let source = lookup(&args.cluster);
    let config = source.load().map_err(Failure::failed)?;
    let endpoint = config.endpoint.to_string();
    let log = open_log(&name_of(&config), args.what.memory.bytes)?;
    let mut settings = settings(&args.what, &args.cluster, args.resources.clone(), false);
    settings.audit = args.audit.into();
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let over = over(&mut stop, began, args.for_duration);
    tokio::pin!(over);
    let watches = tokio::select! {
        started = start(&source, config, settings, &log) => started?,
        () = &mut over => return Err(not_answered(&endpoint)),
    };
    // Not before: standard output stays empty where the command was wrong.
    let writing = match args.output {
        Output::Text => tokio::spawn(write_text(log.clone())),
        Output::Jsonl => tokio::spawn(write_jsonl(log.clone())),
    };
    tokio::pin!(writing);
    tokio::select! {
        () = &mut over => {}
        // The pipe is closed: whoever read has what they wanted.
        _ = &mut writing => return Ok(()),
    }
    let (state, _) = log.head().await;
    watches.stop().await;
    log.close().await;
    let _ = writing.await;
    listed(&state)
}

/// Returns when a command that watches is to end: on a signal, or after its time.
pub(super) async fn over(
    stop: &mut watch::Receiver<bool>,
    began: Instant,
    for_duration: Option<Duration>,
) {
    let time_over = async {
        match for_duration {
            Some(span) => tokio::time::sleep_until(began + span).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stopped(stop) => {}
        () = time_over => {}
    }
}

/// The end came before the apiserver's first answer.
pub(super) fn not_answered(endpoint: &str) -> Failure {
    Failure::failed(format!(
        "nothing could be listed: {endpoint} has not answered"
    ))
}

/// A failure if no list was ever complete.
pub(super) fn listed(state: &State) -> Result<(), Failure> {
    if has_listed(state) {
        return Ok(());
    }
    let why = state.watches.iter().map(|(name, watch)| {
        let phase = watch
            .phase
            .as_ref()
            .map_or("not begun".to_owned(), |phase| {
                format!("{} ({})", phase.phase, phase.reason)
            });
        format!("{name} {phase}")
    });
    Err(Failure::failed(format!(
        "nothing could be listed: {}",
        why.collect::<Vec<_>>().join(", ")
    )))
}

/// Whether a list was ever complete. The one being read now may be another; progress is left by the one before.
fn has_listed(state: &State) -> bool {
    state.watches.values().any(|watch| {
        let list = watch.list.as_ref();
        watch.progress.is_some() || list.is_some_and(|list| list.complete.is_some())
    })
}

/// Ends when the log does, or the pipe is closed.
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

/// Writes where a pager may not read on for hours: meanwhile another thread does this one's other work.
fn put(out: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    tokio::task::block_in_place(|| out.write_all(bytes).and_then(|()| out.flush()))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc;

    use clap::Parser as _;
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio::sync::oneshot;
    use watchscope_model::event::{ListComplete, ListPage, Record, WatchStarted};
    use watchscope_model::{Event, RequestId, Seq, Time};

    use super::*;
    use crate::cli::args::{Cli, Command};

    #[test]
    fn a_list_that_was_complete_once_counts_while_the_next_is_being_read() {
        let mut state = State::default();
        let mut tell = |event: Event| {
            let seq = state.seq.next();
            state.apply(&Record {
                seq,
                at: Time(seq.0 as i64),
                event,
            });
            has_listed(&state)
        };
        let page = |version: u64| ListPage {
            watch: "shop/pods".into(),
            request: RequestId(version),
            resource_version: version.into(),
            items: 500,
            remaining: Some(1),
            object: None,
            listed: None,
        };
        let started = WatchStarted {
            watch: "shop/pods".into(),
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: Some("shop".into()),
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        };
        let complete = ListComplete {
            watch: "shop/pods".into(),
            resource_version: 10.into(),
            items: 501,
            added: 501,
            changed: 0,
            removed: 0,
        };
        assert!(!tell(started.into()));
        assert!(!tell(page(10).into()), "a page is no list");
        assert!(tell(complete.into()));
        assert!(tell(page(20).into()), "it was listed before");
        assert_eq!(state.seq, Seq(4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_accepts_and_says_nothing_does_not_hold_up_the_end() {
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
            panic!("it is a watch");
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
                full.send(()).expect("somebody waits for it");
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
    async fn while_nobody_reads_the_watches_go_on_even_with_one_worker() {
        let (full, is_full) = oneshot::channel();
        let (reads, read) = mpsc::sync_channel(1);
        let mut pipe = Pipe {
            full: Some(full),
            read,
        };
        let writing = tokio::spawn(async move { put(&mut pipe, b"a line") });
        // As a watch does: it goes on only if a worker is there for it.
        tokio::spawn(async move {
            is_full.await.expect("the pipe fills");
            reads.send(()).expect("the pipe is still there");
        });
        writing
            .await
            .expect("it does not panic")
            .expect("the other task went on");
    }
}
