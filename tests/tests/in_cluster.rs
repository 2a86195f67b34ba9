//! `watchscope open` with a stand-in for kubectl: a script that answers as kubectl does, for an instance that really runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use watchscope_tests::{Launch, Served, Watchscope, WatchscopeBinary, eventually, or_skip};

use crate::completing::path_with;
use crate::http;

const LONG: Duration = Duration::from_secs(60);

/// The script behind a verb that never answers.
const HANGS: &str = "exec sleep 300";

/// A folder for the `PATH` with a script named kubectl. It notes each call, and its process id by the call's verb.
pub(crate) struct StandIn {
    folder: TempDir,
}

impl StandIn {
    /// Makes a kubectl that runs these lines of shell for its verbs.
    pub(crate) fn new(get: &str, exec: &str, forward: &str) -> Result<Self> {
        let stand_in = Self {
            folder: tempfile::tempdir()?,
        };
        let folder = stand_in.folder.path().display();
        let script = format!(
            "#!/bin/sh\necho $$ > '{folder}'/\"$1\"\necho \"$*\" >> '{folder}/calls'\n\
             case \"$1\" in\nget) {get} ;;\nexec) {exec} ;;\nport-forward) {forward} ;;\nesac\n"
        );
        stand_in.program("kubectl", &script)?;
        Ok(stand_in)
    }

    /// Makes a kubectl for a cluster with one pod, whose watchscope is the one that runs in the same
    /// `XDG_RUNTIME_DIR`.
    pub(crate) fn of(binary: &WatchscopeBinary, forward: &str) -> Result<Self> {
        // A pod has none of the variables of this machine.
        let token = format!(
            "unset WATCHSCOPE_LISTEN; exec '{}' token",
            binary.path().display()
        );
        Self::new(&pods("Running"), &token, forward)
    }

    fn program(&self, name: &str, script: &str) -> Result<()> {
        let path = self.folder.path().join(name);
        fs::write(&path, script)?;
        Ok(fs::set_permissions(
            &path,
            fs::Permissions::from_mode(0o755),
        )?)
    }

    /// Puts the script before all other programs.
    pub(crate) fn before(&self, launch: Launch) -> Result<Launch> {
        Ok(launch.env("PATH", path_with(&[self.folder.path()])?))
    }

    fn calls(&self) -> Result<Vec<String>> {
        let calls = fs::read_to_string(self.folder.path().join("calls"))?;
        Ok(calls.lines().map(str::to_owned).collect())
    }

    /// Waits until the script runs for this verb, and returns its process id.
    async fn process_of(&self, verb: &str) -> Result<u32> {
        let file = self.folder.path().join(verb);
        eventually(&format!("kubectl runs {verb}"), LONG, async || {
            Ok(fs::read_to_string(&file)?.trim().parse()?)
        })
        .await
    }
}

/// Returns a line of shell that writes a list of one pod.
fn pods(phase: &str) -> String {
    let pod = json!({"metadata": {"name": "watchscope-1"}, "status": {"phase": phase}});
    format!("echo '{}'", json!({"kind": "List", "items": [pod]}))
}

/// Returns lines of shell that forward this port in kubectl's words, and then go on as `then` says.
fn forwards(port: &str, then: &str) -> String {
    format!(
        "echo 'Forwarding from 127.0.0.1:{port} -> 8080'; echo 'Handling connection for {port}'; {then}"
    )
}

/// Waits until the process has ended. One that nobody has waited for yet still has a name, and its state is Z.
async fn has_ended(pid: u32) -> Result<()> {
    eventually("kubectl has ended", LONG, async || {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
        let state = stat.ok();
        let state = state.as_deref().and_then(|stat| stat.rsplit(") ").next());
        ensure!(
            state.is_none_or(|state| state.starts_with('Z')),
            "{state:?}"
        );
        Ok(())
    })
    .await
}

fn port_of(served: &Served) -> Result<&str> {
    let port = served.link.origin().rsplit(':').next();
    port.context("a port")
}

/// Sends Ctrl-C, after which watchscope ends in order.
async fn interrupted(mut watchscope: Watchscope) -> Result<()> {
    watchscope.signal(Signal::INT)?;
    let status = watchscope.end(LONG).await?;
    assert_eq!(status.code(), Some(0), "{}", watchscope.stderr());
    Ok(())
}

#[tokio::test]
async fn the_link_leads_to_the_page_in_the_pod_and_ctrl_c_ends_kubectl_too() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let served = Served::start(binary.with(&["demo"])).await?;
    let port = port_of(&served)?;
    let stand_in = StandIn::of(&binary, &forwards(port, HANGS))?;
    let launch = binary.with(&["open", "--context", "a b", "-n", "team"]);
    let launch = launch.env("XDG_RUNTIME_DIR", served.watchscope.home());
    let (watchscope, link) = stand_in.before(launch)?.serve().await?;
    assert_eq!(link.origin(), served.link.origin());
    http::exchange(link.origin(), link.secret().context("a secret")?).await?;
    let place = "--context=a b --namespace=team";
    let calls = [
        format!("get {place} pods --selector app.kubernetes.io/name=watchscope --output=json"),
        format!("exec {place} pod/watchscope-1 -- watchscope token"),
        format!("port-forward {place} --address=127.0.0.1 pod/watchscope-1 :{port}"),
    ];
    assert_eq!(stand_in.calls()?, calls);
    let said =
        format!("127.0.0.1:{port} leads to pod/watchscope-1 in namespace team; Ctrl-C ends it.\n");
    let stderr = eventually("it says where the port leads", LONG, async || {
        let stderr = watchscope.stderr();
        ensure!(!stderr.is_empty(), "nothing yet");
        Ok(stderr)
    });
    assert_eq!(stderr.await?, said);
    let forwarding = stand_in.process_of("port-forward").await?;
    interrupted(watchscope).await?;
    has_ended(forwarding).await
}

#[tokio::test]
async fn ctrl_c_ends_a_kubectl_that_has_not_answered() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let link = "echo http://127.0.0.1:8080/#t=a-secret-of-enough-characters";
    for (verb, stand_in) in [
        ("get", StandIn::new(HANGS, "", "")?),
        ("exec", StandIn::new(&pods("Running"), HANGS, "")?),
        ("port-forward", StandIn::new(&pods("Running"), link, HANGS)?),
    ] {
        let watchscope = stand_in.before(binary.with(&["open"]))?.start()?;
        let answering = stand_in.process_of(verb).await?;
        interrupted(watchscope).await?;
        has_ended(answering).await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_goes_wrong_is_said_in_two_lines_with_what_to_do() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let refused = "echo 'Error from server (Forbidden)' >&2; exit 1";
    let link = "echo http://127.0.0.1:8080/#t=a-secret-of-enough-characters";
    let runs = pods("Running");
    let ends = forwards("40123", "exit 1");
    for (get, exec, forward, expected) in [
        (
            refused,
            "",
            "",
            "`kubectl get` ended (exit code 1); its own words stand above\nit needs the verb list on pods",
        ),
        (
            "echo '{\"items\": []}'",
            "",
            "",
            "namespace watchscope: there is no pod with the label app.kubernetes.io/name=watchscope\nmake one with `kubectl apply -f deploy/watchscope.yaml`, or name its namespace with -n",
        ),
        (
            &*pods("Pending"),
            "",
            "",
            "namespace watchscope: pod watchscope-1 does not run\n`kubectl --namespace watchscope describe pod watchscope-1` says why",
        ),
        (
            &runs,
            refused,
            "",
            "`kubectl exec` ended (exit code 1); its own words stand above\nit needs the verb create on pods/exec, and in the pod what deploy/watchscope.yaml sets up",
        ),
        (
            &runs,
            "echo hello",
            "",
            "`watchscope token` in pod/watchscope-1 printed no link\nit may be of another version: see docs/in-cluster.md",
        ),
        (
            &runs,
            link,
            refused,
            "`kubectl port-forward` ended (exit code 1); its own words stand above\nit needs the verb create on pods/portforward",
        ),
        (
            &runs,
            link,
            &ends,
            "`kubectl port-forward` ended (exit code 1); its own words stand above\nthe pod or the connection to the cluster has gone: run `watchscope open` again",
        ),
    ] {
        let stand_in = StandIn::new(get, exec, forward)?;
        let launch = stand_in.before(binary.with(&["open"]))?;
        let finished = launch.run(LONG).await?;
        assert_eq!(finished.code(), Some(1), "{finished:?}");
        let expected = format!("watchscope: {expected}\n");
        assert!(finished.stderr.ends_with(&expected), "{finished:?}");
    }
    let empty = tempfile::tempdir()?;
    let launch = binary.with(&["open"]).env("PATH", empty.path());
    let finished = launch.run(LONG).await?;
    assert_eq!(finished.code(), Some(1));
    insta::assert_snapshot!(finished.stderr, @"
    watchscope: kubectl is not on the PATH
    install it: https://kubernetes.io/docs/tasks/tools
    ");
    Ok(())
}

#[tokio::test]
async fn kubectl_that_writes_without_end_is_ended() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let link = "echo http://127.0.0.1:8080/#t=a-secret-of-enough-characters";
    for (verb, stand_in) in [
        ("get", StandIn::new("exec yes", "", "")?),
        (
            "port-forward",
            StandIn::new(&pods("Running"), link, "exec yes")?,
        ),
    ] {
        let launch = stand_in.before(binary.with(&["open"]))?;
        let finished = launch.run(LONG).await?;
        assert_eq!(finished.code(), Some(1), "{finished:?}");
        let said = format!("`kubectl {verb}` wrote more than can be its answer");
        assert!(finished.stderr.contains(&said), "{finished:?}");
        has_ended(stand_in.process_of(verb).await?).await?;
    }
    Ok(())
}

#[tokio::test]
async fn at_a_terminal_the_browser_opens_the_link_unless_it_must_not() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let link = "http://127.0.0.1:40123/#t=a-secret-of-enough-characters";
    let exec = link.replace("40123", "8080");
    for (arguments, opens) in [(&["open"][..], true), (&["open", "--no-open"], false)] {
        let folder = tempfile::tempdir()?;
        let opened = folder.path().join("opened");
        // It forwards until the browser has the link, or until the test says so.
        let until = format!("until [ -e '{}' ]; do sleep 0.1; done", opened.display());
        let forward = forwards("40123", &until);
        let stand_in = StandIn::new(&pods("Running"), &format!("echo '{exec}'"), &forward)?;
        let written = opened.with_extension("new");
        let script = format!(
            "#!/bin/sh\necho \"$1\" > '{0}' && mv '{0}' '{1}'\n",
            written.display(),
            opened.display()
        );
        stand_in.program("xdg-open", &script)?;
        let terminal = stand_in.before(binary.with(arguments))?;
        let terminal = terminal.start_on_terminal()?;
        if opens {
            let text = eventually("the browser has the link", LONG, async || {
                Ok(fs::read_to_string(&opened)?)
            });
            assert_eq!(text.await?.trim(), link);
        } else {
            eventually("it serves", LONG, async || {
                ensure!(terminal.screen().contains("Ctrl-C ends it."), "not yet");
                Ok(())
            })
            .await?;
            assert!(!opened.exists());
            fs::write(&opened, "")?;
        }
        eventually("it ends with kubectl", LONG, async || {
            let screen = terminal.screen();
            ensure!(screen.contains("`kubectl port-forward` ended"), "{screen}");
            ensure!(screen.contains(link), "{screen}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}
