//! The command line: the output of each command, its exit code, and its answer to bad input.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use watchscope_model::wire::{
    ClientMessage, Command, Hello, PROTOCOL_VERSION, ServerMessage, decode_server, encode_client,
};
use watchscope_tests::{Finished, Link, Served, WatchscopeBinary, eventually, free_port, or_skip};

use crate::http;
use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(30);

/// Asserts an exit code, an empty standard output, and words in at most two lines of standard error.
fn assert_ends(finished: &Finished, code: i32, stderr_has: &[&str]) {
    assert_eq!(finished.code(), Some(code), "{finished:?}");
    assert_eq!(finished.stdout, "", "{finished:?}");
    for words in stderr_has {
        assert!(
            finished.stderr.contains(words),
            "{words:?} in {:?}",
            finished.stderr
        );
    }
    let lines = finished.stderr.lines().count();
    assert!(lines <= 2, "an error is one or two lines: {finished:?}");
}

#[tokio::test]
async fn an_unknown_resource_is_wrong_usage_and_the_nearest_names_are_printed() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    for arguments in [
        &["watch", "pods", "deploymens"][..],
        &["serve", "deploymens", "--listen", "127.0.0.1:0"],
    ] {
        let finished = binary
            .with(arguments)
            .kubeconfig(&simulated.kubeconfig)
            .run(LONG)
            .await?;
        assert_eq!(
            (finished.code(), finished.stderr.as_str()),
            (
                Some(2),
                "watchscope: the server has no resource deploymens; did you mean deployments.apps?\n"
            )
        );
    }
    Ok(())
}

#[tokio::test]
async fn without_a_kubeconfig_the_error_names_the_paths_and_the_demo() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    for arguments in [&["watch", "pods"][..], &["serve"], &[]] {
        let finished = binary.with(arguments).run(LONG).await?;
        assert_ends(
            &finished,
            1,
            &["KUBECONFIG", ".kube/config", "`watchscope demo`"],
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_that_is_missing_or_broken_is_named() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let broken = folder.path().join("broken");
    std::fs::write(&broken, "{ not: [ a kubeconfig, s3cr3t-value")?;
    let missing = folder.path().join("missing");
    for path in [&missing, &broken] {
        let path = path.to_str().context("UTF-8")?;
        let finished = binary
            .with(&["watch", "pods", "--kubeconfig", path])
            .run(LONG)
            .await?;
        assert_ends(&finished, 1, &[path]);
        assert!(
            !finished.stderr.contains("s3cr3t-value"),
            "a kubeconfig may hold secrets"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_flag_overrides_the_environment_which_overrides_the_file_which_overrides_the_default()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let own = folder.path().join("watchscope");
    std::fs::create_dir(&own)?;
    std::fs::write(own.join("config.toml"), "kubeconfig = '/no/file'\n")?;
    let named = folder.path().join("named.toml");
    std::fs::write(&named, "kubeconfig = '/no/named'\n")?;
    let named = named.to_str().context("UTF-8")?;
    let watch = |more: &[&str]| {
        let arguments = [&["watch", "pods"], more].concat();
        binary
            .with(&arguments)
            .env("XDG_CONFIG_HOME", folder.path())
    };
    let flag = &["--kubeconfig", "/no/flag"][..];
    for (launch, used) in [
        (watch(&[]), "/no/file"),
        (watch(&["--config", named]), "/no/named"),
        (watch(&[]).env("WATCHSCOPE_CONFIG", named), "/no/named"),
        (
            watch(&[]).env("WATCHSCOPE_KUBECONFIG", "/no/variable"),
            "/no/variable",
        ),
        (
            watch(flag).env("WATCHSCOPE_KUBECONFIG", "/no/variable"),
            "/no/flag",
        ),
        (watch(flag), "/no/flag"),
    ] {
        assert_ends(&launch.run(LONG).await?, 1, &[used]);
    }
    Ok(())
}

#[tokio::test]
async fn a_wrong_configuration_file_is_wrong_usage_and_its_line_is_printed() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("wrong.toml");
    std::fs::write(&path, "namespace = 'shop'\nall-namspaces = true\n")?;
    let missing = folder.path().join("missing.toml");
    let (path, missing) = (
        path.to_str().context("UTF-8")?,
        missing.to_str().context("UTF-8")?,
    );
    for command in [&["watch", "pods"][..], &["serve"], &["demo"], &["token"]] {
        let arguments = [command, &["--config", path]].concat();
        let finished = binary.with(&arguments).run(LONG).await?;
        let told =
            format!("{path}:2: there is no option \"all-namspaces\"; did you mean all-namespaces?");
        assert_ends(&finished, 2, &[&told]);
        let arguments = [command, &["--config", missing]].concat();
        let finished = binary.with(&arguments).run(LONG).await?;
        assert_ends(&finished, 2, &[missing, "cannot read it"]);
    }
    Ok(())
}

/// Writes a kubeconfig for a server without credentials.
fn kubeconfig(folder: &Path, server: &str, current: Option<&str>) -> Result<PathBuf> {
    let mut config = json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
    });
    if let Some(current) = current {
        config["current-context"] = current.into();
    }
    let path = folder.join("kubeconfig");
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}

/// Whether the fold, as lines, has the watch streaming.
fn streams_in(state: &str, watch: &str) -> bool {
    state
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .any(|line| line["watch"] == watch && line["phase"]["phase"] == "streaming")
}

#[tokio::test]
async fn without_a_current_context_watch_ends_and_the_page_offers_the_contexts() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = kubeconfig(folder.path(), &simulated.origin, None)?;

    let finished = binary
        .with(&["watch", "pods"])
        .kubeconfig(&kubeconfig)
        .run(LONG)
        .await?;
    assert_ends(&finished, 1, &["here", "there", "--context"]);

    let launch = binary.with(&["serve", "pods"]).kubeconfig(&kubeconfig);
    let served = Served::start(launch).await?;
    let session = http::get(served.link.origin(), "/session", &[]).await?;
    assert_eq!(session.json()?["product"], "watchscope");

    // The page says hello, gets the contexts, and chooses one.
    let mut viewer = Viewer::connect(&served.link).await?;
    let contexts = viewer
        .until(|message| match message {
            ServerMessage::Contexts(contexts) => Some(contexts),
            _ => None,
        })
        .await?;
    assert_eq!(contexts.names, ["here", "there"].map(Into::into));
    // Row 27: a viewer may only choose among the kubeconfig's contexts.
    for wrong in ["nowhere", "http://attacker.test", ""] {
        let refused = viewer.command("use-context", wrong).await?;
        assert!(refused.is_some(), "{wrong:?} is refused");
    }
    assert_eq!(viewer.command("use-context", "here").await?, None);
    eventually("the pods of the context stream", LONG, async || {
        let state = served.state().await?;
        ensure!(streams_in(&state, "shop/pods"), "{state}");
        Ok(())
    })
    .await?;
    let again = viewer.command("use-context", "there").await?;
    assert!(again.is_some_and(|error| error.contains("already")));

    // A viewer's command compares a watch, or one object of it. An unknown watch is named in the error.
    let refused = viewer.command("audit", "shop/nodes").await?;
    assert!(refused.is_some_and(|error| error.contains("\"shop/nodes\"")));
    let mut records = served.records().await?;
    assert_eq!(
        viewer.command("audit", "shop/pods\nshop/nobody").await?,
        None
    );
    // If the stream has just been reset, the audit reports that it cannot tell.
    records
        .up_to(|record| {
            let is_reported = record["name"] == "nobody" || record["outcome"] == "cannot-tell";
            record["outcome"].is_string() && record["watch"] == "shop/pods" && is_reported
        })
        .await?;
    Ok(())
}

/// A client of the socket, as the page is one.
struct Viewer {
    socket: tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>,
    commands: u64,
}

impl Viewer {
    async fn connect(link: &Link) -> Result<Self> {
        let origin = link.origin();
        let url = format!("ws://{}/ws", http::address(origin));
        let mut request = url.into_client_request()?;
        let bearer = Served::bearer();
        request
            .headers_mut()
            .insert("authorization", bearer.parse()?);
        let (socket, _) = tokio_tungstenite::connect_async(request).await?;
        let mut viewer = Self {
            socket,
            commands: 0,
        };
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        };
        viewer.send(hello.into()).await?;
        Ok(viewer)
    }

    async fn send(&mut self, message: ClientMessage) -> Result<()> {
        let bytes = encode_client(&message);
        Ok(self.socket.send(Message::binary(bytes)).await?)
    }

    /// Reads until `look` accepts a message; fails after 30 s.
    async fn until<T>(&mut self, mut look: impl FnMut(ServerMessage) -> Option<T>) -> Result<T> {
        let reading = async {
            loop {
                let message = self.socket.next().await.context("the socket ends")??;
                if let Message::Binary(bytes) = message
                    && let Some((message, _)) = decode_server(&bytes)?
                    && let Some(found) = look(message)
                {
                    return Ok(found);
                }
            }
        };
        tokio::time::timeout(watchscope_tests::patient(LONG), reading)
            .await
            .context("the message does not come")?
    }

    /// Sends a command and returns its error; `None` if it succeeded.
    async fn command(&mut self, verb: &str, argument: &str) -> Result<Option<String>> {
        self.commands += 1;
        let number = self.commands;
        let command = Command {
            command: number,
            verb: verb.into(),
            argument: argument.to_owned(),
        };
        self.send(command.into()).await?;
        self.until(|message| match message {
            ServerMessage::CommandDone(done) if done.command == number => Some(done.error),
            _ => None,
        })
        .await
    }
}

#[tokio::test]
async fn an_unreachable_cluster_is_a_phase_and_is_watched_once_it_is_there() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let port = free_port()?;
    let server = format!("http://127.0.0.1:{port}");
    let kubeconfig = kubeconfig(folder.path(), &server, Some("here"))?;

    let finished = binary
        .with(&["watch", "pods", "--for", "1s"])
        .kubeconfig(&kubeconfig)
        .run(LONG)
        .await?;
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(
        finished
            .stderr
            .contains("nothing could be listed: shop/pods waiting (unreachable)"),
        "{finished:?}"
    );

    // `watch -o jsonl` goes on in spite of the trouble, like `serve`.
    let mut watch = binary
        .with(&["watch", "pods", "-o", "jsonl"])
        .kubeconfig(&kubeconfig)
        .start()?;
    // A resource name that is unknown until the cluster is there waits as "not found yet".
    let launch = binary
        .with(&["serve", "pods", "promotions"])
        .kubeconfig(&kubeconfig);
    let mut served = Served::start(launch).await?;
    let session = http::get(served.link.origin(), "/session", &[]).await?;
    assert_eq!(session.status, 200, "the page opens all the same");
    eventually(
        "a phase says what is tried and when next",
        LONG,
        async || {
            watch.still_runs()?;
            let records = watch.records()?;
            let waits = records.iter().any(|record| {
                record["type"] == "watch.phase"
                    && record["to"] == "waiting"
                    && record["reason"] == "unreachable"
                    && record["delayMs"].as_u64().is_some_and(|delay| delay > 0)
            });
            ensure!(waits, "{records:#?}");
            Ok(())
        },
    )
    .await?;

    let _simulated = Simulated::start(&binary, port).await?;
    eventually("both watch it once it is there", LONG, async || {
        watch.still_runs()?;
        served.watchscope.still_runs()?;
        ensure!(watch.stdout().contains("\"list.complete\""));
        let state = served.state().await?;
        ensure!(streams_in(&state, "shop/pods"), "{state}");
        ensure!(
            streams_in(&state, "shop/promotions.shop.example.com"),
            "{state}"
        );
        let is_waiting = |line: &Value| {
            line["watch"] == "shop/promotions" && line["phase"]["phase"] != "stopped"
        };
        let lines = state
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        ensure!(!lines.into_iter().any(|line| is_waiting(&line)), "{state}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn watch_with_a_duration_exits_with_0_and_writes_only_the_log() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let run = |arguments: &'static [&'static str]| {
        let mut all = vec!["watch", "pods"];
        all.extend(arguments);
        let launch = binary.with(&all).kubeconfig(&simulated.kubeconfig);
        launch.env("WATCHSCOPE_FOR", "3s").run(LONG)
    };
    let (text, lines, flag) = tokio::join!(
        run(&[]),
        run(&["-o", "jsonl"]),
        run(&["-o", "jsonl", "--for", "1s"])
    );

    let text = text?;
    assert_eq!((text.code(), text.stderr.as_str()), (Some(0), ""));
    assert!(text.stdout.contains("list.complete"), "{}", text.stdout);
    assert!(
        !text.stdout.contains('\u{1b}'),
        "no colours where there is no terminal"
    );

    let lines = lines?;
    assert_eq!((lines.code(), lines.stderr.as_str()), (Some(0), ""));
    let records: Vec<Value> = lines
        .stdout
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert_eq!(records[0]["type"], "log");
    crate::records::numbered_without_holes(&records)?;
    let connected = records
        .iter()
        .find(|record| record["type"] == "cluster.connected");
    let uid = connected.and_then(|record| record["uid"].as_str());
    let system = "/api/v1/namespaces/kube-system";
    let system = http::get(&simulated.origin, system, &[]).await?.json()?;
    assert_eq!(uid, system["metadata"]["uid"].as_str());
    assert!(
        uid.is_some(),
        "the namespace is there, and the log has its uid"
    );
    let last: Vec<&str> = records
        .iter()
        .rev()
        .take(2)
        .filter_map(|record| record["type"].as_str())
        .collect();
    assert!(
        last.contains(&"connection.closed") || last.contains(&"watch.stopped"),
        "the log has the end too: {last:?}"
    );

    assert_eq!(flag?.code(), Some(0), "a flag overrides the environment");
    Ok(())
}

#[tokio::test]
async fn a_terminal_gets_colours_unless_no_color_is_set() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let run = |no_color: &str| {
        binary
            .with(&["watch", "pods", "--for", "2s"])
            .kubeconfig(&simulated.kubeconfig)
            .env("TERM", "xterm")
            .env("NO_COLOR", no_color)
            .run_on_terminal(LONG)
    };
    let (coloured, plain) = tokio::join!(run(""), run("1"));
    let (coloured, plain) = (coloured?, plain?);
    assert!(
        coloured.contains("ADDED") && coloured.contains("\u{1b}[32m"),
        "{coloured:?}"
    );
    assert!(
        plain.contains("ADDED") && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_closed_pipe_ends_watch_quietly() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let script = r#"{ "$@"; echo "it ended with $?" >&2; } | head -n 3"#;
    let watchscope = binary.path().to_str().context("UTF-8")?;
    for format in ["text", "jsonl"] {
        let finished = WatchscopeBinary::at(Path::new("/bin/sh"))
            .with(&[
                "-c", script, "sh", watchscope, "watch", "pods", "-o", format,
            ])
            .kubeconfig(&simulated.kubeconfig)
            .run(LONG)
            .await?;
        assert_eq!(finished.stdout.lines().count(), 3);
        assert_eq!(finished.stderr, "it ended with 0\n");
    }
    Ok(())
}

#[tokio::test]
async fn ctrl_c_ends_watch_in_order_with_exit_code_0() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    for signal in [Signal::INT, Signal::TERM] {
        let launch = binary.with(&["watch", "pods", "-o", "jsonl"]);
        let mut watch = launch.kubeconfig(&simulated.kubeconfig).start()?;
        watch
            .until("it streams", LONG, async |watch| {
                ensure!(watch.stdout().contains("\"stream.opened\""));
                Ok(())
            })
            .await?;
        watch.signal(signal)?;
        let status = watch.end(LONG).await?;
        assert_eq!(status.code(), Some(0), "{signal:?}: {}", watch.stderr());
        assert_eq!(watch.stderr(), "", "{signal:?}");
        let records = watch.records()?;
        crate::records::numbered_without_holes(&records)?;
        for last in ["stream.ended", "watch.stopped", "connection.closed"] {
            let is_logged = records.iter().any(|record| record["type"] == last);
            assert!(is_logged, "{signal:?}: {last} in {records:#?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn at_a_terminal_enter_prints_another_link() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let launch = binary.with(&["demo", "--no-open", "--listen", "127.0.0.1:0"]);
    let mut terminal = launch.start_on_terminal()?;
    let links = |screen: &str| -> Vec<String> {
        let lines = screen.lines().map(str::trim);
        let links = lines.filter(|line| line.starts_with("http://") && line.contains("/#t="));
        links.map(str::to_owned).collect()
    };
    let first = eventually("a link, and how to get another", LONG, async || {
        let screen = terminal.screen();
        ensure!(screen.contains("Press Enter for another link"), "{screen}");
        links(&screen).pop().context(screen)
    })
    .await?;
    terminal.types("\n")?;
    let second = eventually("another link", LONG, async || {
        let screen = terminal.screen();
        let links = links(&screen);
        ensure!(links.len() == 2, "{screen}");
        Ok(links[1].clone())
    })
    .await?;
    assert_ne!(first, second);
    for link in [first, second] {
        let (origin, secret) = link.split_once("/#t=").context("a secret")?;
        http::exchange(origin, secret).await?;
    }
    Ok(())
}

#[tokio::test]
async fn viewers_get_a_goodbye_and_the_time_to_reconnect() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let mut served = Served::start(binary.with(&["demo"])).await?;
    let mut viewer = Viewer::connect(&served.link).await?;
    viewer
        .until(|message| matches!(message, ServerMessage::Snapshot(_)).then_some(()))
        .await?;
    served.watchscope.signal(Signal::TERM)?;
    let bye = viewer
        .until(|message| match message {
            ServerMessage::Bye(bye) => Some(bye),
            _ => None,
        })
        .await?;
    assert_eq!(bye.reason, "going-away".into());
    assert!(bye.retry_after_ms > Some(0), "{bye:?}");
    let nothing_more = viewer.until(|_| Some(())).await;
    assert!(nothing_more.is_err(), "the goodbye is the last message");
    let status = served.watchscope.end(LONG).await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn standard_output_carries_the_link_and_standard_error_the_narration() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let (mut watchscope, link) = binary.with(&["demo"]).serve().await?;
    watchscope
        .until("the narrator has spoken", LONG, async |watchscope| {
            let stderr = watchscope.stderr();
            ensure!(stderr.contains("Deployment "), "{stderr}");
            Ok(())
        })
        .await?;
    assert_eq!(watchscope.stdout(), format!("{}\n", link.text()));
    let secret = link.secret().context("the link has a secret")?;
    assert!(secret.len() >= 22, "128 bits or more: {secret}");
    assert!(
        !watchscope.stderr().contains(secret),
        "row 8: the secret is nowhere else"
    );
    Ok(())
}

#[tokio::test]
async fn a_taken_port_fails_if_it_was_requested_and_the_default_moves_to_another() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let finished = binary
        .with(&["demo", "--listen", &address])
        .run(LONG)
        .await?;
    assert_ends(&finished, 1, &[&address, "taken"]);

    // Both run without --listen, so the second one takes another port.
    let mut origins = Vec::new();
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut demo = binary.with(&["demo"]).start()?;
        let link = demo
            .until("the link is printed", LONG, async |demo| {
                let stdout = demo.stdout();
                let (link, _) = stdout.split_once("/#t=").context("no link yet")?;
                Ok(link.to_owned())
            })
            .await?;
        origins.push(link);
        running.push(demo);
    }
    assert_ne!(origins[0], origins[1]);
    for origin in &origins {
        assert_eq!(http::get(origin, "/session", &[]).await?.status, 200);
    }
    Ok(())
}

/// Row 28 of the attack table.
#[tokio::test]
async fn listening_beyond_loopback_is_wrong_usage_and_the_error_says_how_to_proceed() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    // `serve` has no kubeconfig here either: wrong usage is reported before other failures.
    for command in ["demo", "serve"] {
        let finished = binary
            .with(&[command, "--listen", "0.0.0.0:0"])
            .run(LONG)
            .await?;
        assert_ends(
            &finished,
            2,
            &["0.0.0.0:0", "--allow-host NAME", "127.0.0.1"],
        );
    }
    let finished = binary
        .with(&["simulate", "--listen", "0.0.0.0:0"])
        .run(LONG)
        .await?;
    assert_ends(&finished, 2, &["0.0.0.0:0", "127.0.0.1"]);
    for wrong in [
        &["watch"][..],
        &["watch", "pods", "--for", "soon"],
        &["demo", "no-such-story"],
        &["serve", "--listen", "example.com:80"],
        &["serve", "--allow-host", "http://scope.test"],
        &["serve", "-A", "-n", "shop"],
    ] {
        let finished = binary.with(wrong).run(LONG).await?;
        assert_eq!(
            (finished.code(), finished.stdout.as_str()),
            (Some(2), ""),
            "{finished:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn while_it_shuts_down_it_is_alive_but_not_ready() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let health = format!("127.0.0.1:{}", free_port()?);
    let (mut watchscope, link) = binary
        .with(&["demo", "--health-listen", &health])
        .serve()
        .await?;
    let health = format!("http://{health}");
    assert_eq!(http::get(&health, "/readyz", &[]).await?.body, "ok\n");
    // An unfinished request delays the end. The server accepts it before it answers the next one.
    let mut half = TcpStream::connect(http::address(link.origin())).await?;
    half.write_all(b"GET / HTTP/1.1\r\nHost: ").await?;
    http::get(link.origin(), "/session", &[]).await?;

    watchscope.signal(Signal::TERM)?;
    eventually("it is not ready any more", LONG, async || {
        let answer = http::get(&health, "/readyz", &[]).await?;
        ensure!(
            (answer.status, answer.body.as_str()) == (503, "shutting down\n"),
            "{answer:?}"
        );
        Ok(())
    })
    .await?;
    assert_eq!(http::get(&health, "/livez", &[]).await?.status, 200);
    drop(half);
    let status = watchscope.end(LONG).await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_first_signal_ends_the_server_in_order_and_a_second_at_once() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    for signal in [Signal::TERM, Signal::INT] {
        let (mut watchscope, _) = binary.with(&["demo"]).serve().await?;
        watchscope.signal(signal)?;
        let status = watchscope.end(Duration::from_secs(8)).await?;
        assert_eq!(status.code(), Some(0), "{signal:?}");
        let sockets = watchscope.home().join("watchscope");
        assert_eq!(
            std::fs::read_dir(sockets)?.count(),
            0,
            "the token socket is removed"
        );
    }

    // An unfinished request delays the orderly end by at most ten seconds.
    let (mut watchscope, link) = binary.with(&["demo"]).serve().await?;
    let mut half = TcpStream::connect(http::address(link.origin())).await?;
    let whole = http::head("GET", link.origin(), "/session", &[]);
    half.write_all(format!("{whole}GET /session HT").as_bytes())
        .await?;
    half.readable().await?;
    watchscope.signal(Signal::TERM)?;
    watchscope
        .until("it has begun to end", LONG, async |_| {
            let refused = TcpStream::connect(http::address(link.origin())).await;
            ensure!(refused.is_err(), "it still takes connections");
            Ok(())
        })
        .await?;
    watchscope.signal(Signal::TERM)?;
    let status = watchscope.end(Duration::from_secs(4)).await?;
    assert_eq!(
        status.code(),
        Some(143),
        "the second signal ends it at once"
    );
    Ok(())
}

/// Runs `watchscope token` with the instances of that folder.
async fn token(binary: &WatchscopeBinary, runtime: &Path, arguments: &[&str]) -> Result<Finished> {
    let mut all = vec!["token"];
    all.extend(arguments);
    binary
        .with(&all)
        .env("XDG_RUNTIME_DIR", runtime)
        .run(LONG)
        .await
}

#[tokio::test]
async fn token_prints_a_fresh_link_and_revoke_ends_every_session_at_once() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let (watchscope, link) = binary.with(&["demo"]).serve().await?;
    let (origin, home) = (link.origin(), watchscope.home());
    let port = origin.rsplit(':').next().context("a port")?;
    let secret = link.secret().context("a secret")?;
    let cookie = http::exchange(origin, secret).await?;
    assert!(
        http::exchange(origin, secret).await.is_err(),
        "a link is good for one exchange"
    );

    let printed = token(&binary, home, &["--listen", port]).await?.success()?;
    let fresh = printed.trim_end();
    assert!(fresh.starts_with(&format!("{origin}/#t=")), "{fresh}");
    let second = fresh.split_once("#t=").context("a secret")?.1;
    let second_cookie = http::exchange(origin, second).await?;

    let other_base = token(
        &binary,
        home,
        &["--listen", port, "--url", "http://localhost:9000"],
    )
    .await?
    .success()?;
    assert!(
        other_base.starts_with("http://localhost:9000/#t="),
        "{other_base}"
    );

    let state = |cookie: &str| {
        let headers = [
            ("Cookie".to_owned(), cookie.to_owned()),
            ("Sec-Fetch-Site".to_owned(), "same-origin".to_owned()),
        ];
        async move {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            anyhow::Ok(http::get(origin, "/api/state", &headers).await?.status)
        }
    };
    assert_eq!(
        (state(&cookie).await?, state(&second_cookie).await?),
        (200, 200)
    );
    let last = token(&binary, home, &["--listen", port, "--revoke"])
        .await?
        .success()?;
    assert_eq!(
        (state(&cookie).await?, state(&second_cookie).await?),
        (401, 401)
    );
    let last = last.trim_end().split_once("#t=").context("a secret")?.1;
    let cookie = http::exchange(origin, last).await?;
    assert_eq!(state(&cookie).await?, 200);
    Ok(())
}

#[tokio::test]
async fn token_needs_a_port_among_several_instances_and_fails_if_there_is_none() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let runtime = tempfile::tempdir()?;
    // Another instance of this user may run on this machine, but no instance listens on this port.
    let nobodys = free_port()?.to_string();
    let none = token(&binary, runtime.path(), &["--listen", &nobodys]).await?;
    assert_eq!(
        (none.code(), none.stdout.as_str()),
        (Some(1), ""),
        "{none:?}"
    );

    let mut ports = Vec::new();
    let mut running = Vec::new();
    for _ in 0..2 {
        let launch = binary
            .with(&["demo"])
            .env("XDG_RUNTIME_DIR", runtime.path());
        let (watchscope, link) = launch.serve().await?;
        let port = link.origin().rsplit(':').next().context("a port")?;
        ports.push(port.to_owned());
        running.push(watchscope);
    }
    let several = token(&binary, runtime.path(), &[]).await?;
    assert_ends(&several, 2, &[&ports[0], &ports[1], "--listen PORT"]);
    let picked = token(&binary, runtime.path(), &["--listen", &ports[1]])
        .await?
        .success()?;
    assert!(picked.contains(&format!(":{}/#t=", ports[1])), "{picked}");

    // An instance that crashed leaves its socket behind; it does not count.
    running[0].kill()?;
    let crashed = token(&binary, runtime.path(), &["--listen", &ports[0]]).await?;
    assert_eq!(crashed.code(), Some(1), "{crashed:?}");
    Ok(())
}
