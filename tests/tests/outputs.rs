//! What all commands have in common: a closed pipe, no escapes where there is no terminal or no wish for them, exit codes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use watchscope_tests::{Launch, Served, WatchscopeBinary, free_port, or_skip};

use crate::http;
use crate::in_cluster::StandIn;
use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(60);

/// Command lines of commands that end by themselves. `REC` stands for a recording, `NEW` for a file that is new at each use,
/// `PORT` for the port of a running instance.
const ENDING: &[&str] = &[
    "--help",
    "--version",
    "__complete watch -",
    "audit configmaps -n kube-public",
    "completion bash",
    "explain F11",
    "export REC -o NEW.svg",
    "help watch",
    "lessons",
    "lessons ghost",
    "man",
    "record pods -o NEW.wscope --for 1s",
    "token --listen PORT",
    "version -o json",
    "watch --from REC",
    "watch --from REC -o jsonl",
    "watch pods --for 2s",
];

/// Command lines of servers, which run until a signal.
const SERVING: &[&str] = &[
    "demo --listen 127.0.0.1:PORT",
    "open --port PORT",
    "replay REC --listen 127.0.0.1:PORT",
    "serve pods --listen 127.0.0.1:PORT",
    "simulate --listen 127.0.0.1:PORT",
];

/// What the stand-in for kubectl forwards to: a server on the port before the colon, in its last word.
const FORWARDED: &str = "for ports; do :; done; port=${ports%%:*}; echo \"Forwarding from 127.0.0.1:$port -> 8080\"; \
                         exec 'WATCHSCOPE' demo --listen 127.0.0.1:$port";

/// A simulated cluster, a recording of it, a running instance, and a stand-in for kubectl that finds this instance in a pod.
struct Scene {
    binary: WatchscopeBinary,
    simulated: Simulated,
    served: Served,
    kubectl: StandIn,
    folder: tempfile::TempDir,
    recording: PathBuf,
}

impl Scene {
    async fn start(binary: WatchscopeBinary) -> Result<Self> {
        let simulated = Simulated::start(&binary, 0).await?;
        let served = Served::start(binary.with(&["demo"])).await?;
        let program = binary.path().to_str().context("UTF-8")?;
        let kubectl = StandIn::of(&binary, &FORWARDED.replace("WATCHSCOPE", program))?;
        let folder = tempfile::tempdir()?;
        let recording = folder.path().join("a.wscope");
        let path = recording.to_str().context("UTF-8")?;
        let record = binary.with(&["record", "pods", "-o", path, "--for", "2s"]);
        let record = record.kubeconfig(&simulated.kubeconfig).run(LONG).await?;
        record.success()?;
        Ok(Self {
            binary,
            simulated,
            served,
            kubectl,
            folder,
            recording,
        })
    }

    /// Prepares a command line, with this port.
    fn launch(&self, line: &str, port: &str) -> Result<Launch> {
        let recording = self.recording.to_str().context("UTF-8")?;
        let new = tempfile::tempdir_in(self.folder.path())?.keep().join("new");
        let new = new.to_str().context("UTF-8")?;
        let filled = |word: &str| {
            word.replace("REC", recording)
                .replace("NEW", new)
                .replace("PORT", port)
        };
        let words: Vec<String> = line.split(' ').map(filled).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let launch = self.kubectl.before(self.binary.with(&words))?;
        Ok(launch
            .env("XDG_RUNTIME_DIR", self.served.watchscope.home())
            .kubeconfig(&self.simulated.kubeconfig))
    }

    fn ending(&self, line: &str) -> Result<Launch> {
        let origin = self.served.link.origin();
        self.launch(line, origin.rsplit(':').next().context("a port")?)
    }
}

/// Returns the commands, as the completion lists them.
async fn commands(binary: &WatchscopeBinary) -> Result<BTreeSet<String>> {
    let listed = binary
        .with(&["__complete", ""])
        .run(LONG)
        .await?
        .success()?;
    let names = listed.lines().filter(|line| !line.starts_with(':'));
    Ok(names
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect())
}

#[tokio::test]
async fn each_command_has_its_case_here() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let lines = ENDING.iter().chain(SERVING);
    let tried: BTreeSet<String> = lines
        .filter_map(|line| line.split(' ').next())
        .filter(|word| !word.starts_with(['-', '_']))
        .map(str::to_owned)
        .collect();
    assert_eq!(tried, commands(&binary).await?);
    Ok(())
}

#[tokio::test]
async fn a_closed_pipe_ends_each_command_silently_with_0() -> Result<()> {
    let scene = Scene::start(or_skip!(WatchscopeBinary::find())).await?;
    for line in ENDING {
        let mut watchscope = scene.ending(line)?.start_into_closed_pipe()?;
        let status = watchscope.end(LONG).await?;
        // What `export` and `record` wrote is in standard error with or without a pipe.
        let stderr = watchscope.stderr();
        let complaints: Vec<&str> = stderr
            .lines()
            .filter(|said| !said.contains(" INFO "))
            .collect();
        assert_eq!((status.code(), complaints), (Some(0), vec![]), "{line}");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_serves_behind_a_closed_pipe_until_ctrl_c_ends_it_with_0() -> Result<()> {
    let scene = Scene::start(or_skip!(WatchscopeBinary::find())).await?;
    for line in SERVING {
        let port = free_port()?.to_string();
        let mut watchscope = scene.launch(line, &port)?.start_into_closed_pipe()?;
        let origin = format!("http://127.0.0.1:{port}");
        let path = if line.starts_with("simulate") {
            "/version"
        } else {
            "/session"
        };
        watchscope
            .until("it serves", LONG, async |_| {
                let answer = http::get(&origin, path, &[]).await?;
                ensure!(answer.status == 200, "{answer:?}");
                Ok(())
            })
            .await?;
        watchscope.signal(Signal::INT)?;
        let status = watchscope.end(LONG).await?;
        assert_eq!(status.code(), Some(0), "{line}: {}", watchscope.stderr());
        for word in ["panicked", "pipe", "watchscope: "] {
            assert!(
                !watchscope.stderr().contains(word),
                "{}",
                watchscope.stderr()
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn neither_a_pipe_nor_no_color_gets_escapes() -> Result<()> {
    let scene = Scene::start(or_skip!(WatchscopeBinary::find())).await?;
    for line in ENDING {
        let piped = scene.ending(line)?.run(LONG).await?;
        assert_eq!(piped.code(), Some(0), "{piped:?}");
        for text in [&piped.stdout, &piped.stderr] {
            assert!(!text.contains('\u{1b}'), "{line}: {text:?}");
        }
        let launch = scene
            .ending(line)?
            .env("TERM", "xterm")
            .env("NO_COLOR", "1");
        let shown = launch.run_on_terminal(LONG).await?;
        assert!(!shown.contains('\u{1b}'), "{line}: {shown:?}");
    }
    Ok(())
}

/// Returns the exit codes that a help names: `exit 0 clean, 3 diverged`, `Exit codes: 0 done, 1 failed`.
fn codes(help: &str) -> BTreeSet<i32> {
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut codes = BTreeSet::new();
    for begin in ["Exit codes: ", "exit "] {
        for (at, _) in help.match_indices(begin) {
            let rest = help[at + begin.len()..].split(['.', ':']).next();
            let listed = rest.into_iter().flat_map(|rest| rest.split(", "));
            let numbers = listed.map_while(|one| one.split(' ').next()?.parse::<i32>().ok());
            codes.extend(numbers);
        }
    }
    codes
}

#[tokio::test]
async fn each_exit_code_that_a_help_names_is_reached() -> Result<()> {
    // A divergence needs a story and a relay, so its case is a test of its own.
    let _diverged: fn() -> Result<()> =
        crate::audits::an_audit_that_finds_a_ghost_names_it_and_exits_with_3;
    let binary = or_skip!(WatchscopeBinary::find());
    let mut named = BTreeSet::new();
    let mut commands = commands(&binary).await?;
    commands.remove("help");
    for command in commands {
        let help = binary.with(&[&command, "--help"]).run(LONG).await?;
        named.extend(codes(&help.success()?));
    }
    named.extend(codes(&binary.with(&["--help"]).run(LONG).await?.success()?));
    assert_eq!(named, BTreeSet::from([0, 1, 2, 3, 4]));

    let simulated = Simulated::start(&binary, 0).await?;
    let nowhere = Path::new("/nonexistent/kubeconfig");
    let cases: BTreeMap<i32, (&[&str], &Path)> = BTreeMap::from([
        (0, (&["version"][..], nowhere)),
        (1, (&["watch", "pods"][..], nowhere)),
        (2, (&["explain", "F99"][..], nowhere)),
        (
            4,
            (
                &["audit", "configmaps", "-n", "shop", "--for", "1ms"][..],
                &simulated.kubeconfig,
            ),
        ),
    ]);
    for (code, (arguments, kubeconfig)) in cases {
        let launch = binary.with(arguments).kubeconfig(kubeconfig);
        let finished = launch.run(LONG).await?;
        assert_eq!(finished.code(), Some(code), "{finished:?}");
    }
    Ok(())
}
