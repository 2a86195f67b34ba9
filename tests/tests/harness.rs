//! The harness itself: the processes that it starts, its errors, and that it leaves nothing behind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use watchscope_tests::kube::{ChangeKind, Rule, TOKEN_USER};
use watchscope_tests::{
    Browser, BrowserTools, ClusterOptions, KubeCluster, KubeTools, Launch, Process,
    WatchscopeBinary, eventually, finish, or_skip,
};

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(30);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn lives(pid: u32) -> bool {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

#[tokio::test]
async fn a_wait_that_fails_names_its_goal_and_the_last_look() {
    let mut looks = 0;
    let error = eventually("the lane appears", SHORT, async || -> Result<()> {
        looks += 1;
        bail!("there are 3 lanes")
    })
    .await
    .unwrap_err();
    assert!(looks > 1, "it looks more than once");
    let text = format!("{error:#}");
    assert!(text.starts_with("the lane appears: not within "), "{text}");
    assert!(text.ends_with(": there are 3 lanes"), "{text}");
}

#[tokio::test]
async fn a_look_that_hangs_ends_with_the_wait() {
    let look = async || -> Result<()> { std::future::pending().await };
    let error = eventually("an answer comes", SHORT, look)
        .await
        .unwrap_err();
    assert!(
        format!("{error:#}").ends_with("the look itself did not end"),
        "{error:#}"
    );
}

#[tokio::test]
async fn a_process_that_dies_is_reported_with_its_last_words() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut process = Process::start(
        "server",
        shell("echo first >&2; echo no port left >&2; exit 3"),
        folder.path(),
    )?;
    process.end(LONG).await?;
    insta::assert_snapshot!(process.still_runs().unwrap_err(), @r"
    server ended with exit status: 3; its last words:
    first
    no port left
    ");
    Ok(())
}

#[tokio::test]
async fn a_dropped_process_is_killed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let process = Process::start("sleeper", shell("exec sleep 600"), folder.path())?;
    let pid = process.pid();
    assert!(lives(pid));
    drop(process);
    assert!(!lives(pid));
    Ok(())
}

/// The test below runs this one in a process of its own, and kills that process.
#[tokio::test]
async fn leave_a_process_behind() -> Result<()> {
    let Some(note) = std::env::var_os("WATCHSCOPE_TEST_LEAVE_BEHIND") else {
        return Ok(());
    };
    let note = Path::new(&note);
    let folder = note.parent().unwrap();
    let process = Process::start("sleeper", shell("exec sleep 600"), folder)?;
    std::fs::write(note, process.pid().to_string())?;
    std::future::pending().await
}

#[tokio::test]
async fn processes_do_not_outlive_a_test_binary_that_is_killed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let note = folder.path().join("pid");
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--exact", "harness::leave_a_process_behind"])
        .env("WATCHSCOPE_TEST_LEAVE_BEHIND", &note);
    let mut tests = Process::start("tests", command, folder.path())?;
    let pid: u32 = eventually("the inner test starts a process", LONG, async || {
        tests.still_runs()?;
        Ok(std::fs::read_to_string(&note)?.parse()?)
    })
    .await?;
    assert!(lives(pid));
    tests.kill()?;
    eventually("the process is gone too", LONG, async || {
        ensure!(!lives(pid), "{pid} still lives");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_command_that_fails_is_reported_with_its_last_words() -> Result<()> {
    let finished = finish(shell("cat; echo broken >&2; exit 2"), b"input", LONG).await?;
    assert_eq!(
        (finished.code(), finished.stdout.as_str()),
        (Some(2), "input")
    );
    insta::assert_snapshot!(finished.success().unwrap_err(), @r"
    `sh -c cat; echo broken >&2; exit 2` ended with exit status: 2; its last words:
    broken
    ");
    Ok(())
}

#[tokio::test]
async fn a_command_that_does_not_end_is_killed() {
    let error = finish(shell("exec sleep 600"), b"", SHORT)
        .await
        .unwrap_err();
    assert!(
        format!("{error:#}").contains("did not end within"),
        "{error:#}"
    );
}

/// Prepares a shell in place of watchscope, to test the harness without it.
fn stand_in(script: &str, arguments: &[&str]) -> Launch {
    let mut all = vec!["-c", script, "watchscope"];
    all.extend(arguments);
    WatchscopeBinary::at(Path::new("/bin/sh")).with(&all)
}

#[tokio::test]
async fn watchscope_is_ready_with_its_link_and_ends_on_a_signal() -> Result<()> {
    let script = r#"echo "http://$WATCHSCOPE_LISTEN/#t=s3cret"
        echo "asked for $*" >&2
        trap 'exit 7' TERM
        while :; do sleep 0.01; done"#;
    let (mut watchscope, link) = stand_in(script, &["demo", "--no-open"]).serve().await?;
    assert_eq!(link.text(), "http://127.0.0.1:0/#t=s3cret");
    assert_eq!(link.origin(), "http://127.0.0.1:0");
    assert_eq!(link.secret(), Some("s3cret"));
    eventually("its words are there", LONG, async || {
        ensure!(watchscope.stderr() == "asked for demo --no-open\n");
        Ok(())
    })
    .await?;
    let status = watchscope.terminate(LONG).await?;
    assert_eq!(status.code(), Some(7));
    Ok(())
}

#[tokio::test]
async fn records_are_read_line_by_whole_line() -> Result<()> {
    let script = r#"echo '{"type":"log"}'; echo '{"type":"note","seq":1}'; printf '{"type":'
        exec sleep 600"#;
    let mut watchscope = stand_in(script, &[]).start()?;
    watchscope
        .until("all is written", LONG, async |process| {
            ensure!(process.stdout().ends_with("{\"type\":"));
            Ok(())
        })
        .await?;
    let records = watchscope.records()?;
    assert_eq!(
        records,
        [json!({"type": "log"}), json!({"type": "note", "seq": 1})]
    );
    Ok(())
}

#[tokio::test]
async fn watchscope_that_ends_without_a_link_is_reported_with_its_last_words() -> Result<()> {
    let error = stand_in("echo no kubeconfig >&2; exit 1", &[])
        .serve()
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @r"
    watchscope ended with exit status: 1; its last words:
    no kubeconfig
    ");
    Ok(())
}

#[tokio::test]
async fn watchscope_sees_only_the_environment_of_its_test() -> Result<()> {
    let finished = stand_in("env | sort", &[])
        .env("WATCHSCOPE_MEMORY", "1Gi")
        .kubeconfig(Path::new("/nowhere"))
        .run(LONG)
        .await?;
    let home = |line: &&str| line.starts_with("HOME=") || line.starts_with("XDG_RUNTIME_DIR=");
    let environment = finished.success()?;
    let ours: Vec<&str> = environment
        .lines()
        .filter(|line| line.starts_with("WATCHSCOPE_") || line.starts_with("KUBE"))
        .filter(|line| !line.starts_with("KUBEBUILDER_ASSETS="))
        .collect();
    assert_eq!(
        ours,
        [
            "KUBECONFIG=/nowhere",
            "WATCHSCOPE_AUDIT=off",
            "WATCHSCOPE_MEMORY=1Gi"
        ]
    );
    let real_home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(environment.lines().filter(home).count(), 2);
    assert!(
        !environment
            .lines()
            .any(|line| line == format!("HOME={real_home}"))
    );
    Ok(())
}

#[tokio::test]
async fn changes_by_kubectl_are_read_from_etcds_own_history() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "smoke"]).await?;
    kubectl
        .run(&[
            "-n",
            "smoke",
            "create",
            "configmap",
            "settings",
            "--from-literal=colour=blue",
        ])
        .await?;
    kubectl
        .run(&[
            "-n",
            "smoke",
            "patch",
            "configmap",
            "settings",
            "-p",
            r#"{"data":{"colour":"red"}}"#,
        ])
        .await?;
    let version = kubectl
        .json(&["-n", "smoke", "configmap", "settings"])
        .await?;
    kubectl
        .run(&["-n", "smoke", "delete", "configmap", "settings"])
        .await?;

    let history = cluster
        .etcd()
        .history("/registry/configmaps/smoke/settings")
        .await?;
    let kinds: Vec<ChangeKind> = history.iter().map(|change| change.kind).collect();
    assert_eq!(
        kinds,
        [
            ChangeKind::Created,
            ChangeKind::Modified,
            ChangeKind::Deleted
        ]
    );
    assert_eq!(history[0].object()?["data"]["colour"], "blue");
    assert_eq!(history[1].object()?["data"]["colour"], "red");
    assert_eq!(
        version["metadata"]["resourceVersion"],
        history[1].revision.to_string(),
        "a revision of etcd is the resourceVersion"
    );
    assert_eq!(
        history[2].object()?["data"]["colour"],
        "red",
        "the object before its deletion"
    );
    assert_eq!(history[2].name(), "settings");
    Ok(())
}

#[tokio::test]
async fn a_user_has_exactly_the_rights_that_are_allowed() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    for (user, kubeconfig) in [
        ("visitor", cluster.user("visitor", &["guests"])?),
        (TOKEN_USER, cluster.token_kubeconfig()?),
    ] {
        let kubectl = cluster.kubectl().with_kubeconfig(&kubeconfig);
        let refused = kubectl.outcome(&["get", "configmaps", "-A"], b"").await?;
        assert!(refused.stderr.contains("Forbidden"), "{}", refused.stderr);
        assert!(refused.stderr.contains(user), "{}", refused.stderr);
        let rule = Rule {
            groups: &[""],
            resources: &["configmaps"],
            verbs: &["get", "list", "watch"],
        };
        cluster.allow(user, &[rule]).await?;
        eventually("the right is in force", LONG, async || {
            kubectl.run(&["get", "configmaps", "-A"]).await
        })
        .await?;
        assert!(kubectl.run(&["get", "secrets", "-A"]).await.is_err());
    }
    Ok(())
}

#[tokio::test]
async fn a_killed_apiserver_comes_back_with_its_data_and_etcd_compacts_on_request() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let server = cluster.server();
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"}, "data": {"n": "1"},
    });
    cluster.kubectl().apply(&settings).await?;
    cluster.kill_apiserver()?;
    assert!(
        cluster
            .kubectl()
            .run(&["get", "configmap", "settings"])
            .await
            .is_err()
    );
    cluster.start_apiserver().await?;
    assert_eq!(cluster.server(), server);
    cluster
        .kubectl()
        .run(&["get", "configmap", "settings"])
        .await?;

    assert_eq!(
        cluster
            .etcd()
            .history("/registry/configmaps/default/settings")
            .await?
            .len(),
        1
    );
    let head = cluster.etcd().revision().await?;
    cluster.etcd().compact(head).await?;
    let error = cluster.etcd().history("/registry/").await.unwrap_err();
    assert!(
        format!("{error:#}").contains("has compacted its history"),
        "{error:#}"
    );
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_cannot_start_says_why() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let options = ClusterOptions {
        apiserver_flags: vec!["--no-such-flag".to_owned()],
        ..ClusterOptions::default()
    };
    let error = KubeCluster::start(&tools, options).await.unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("kube-apiserver ended with"), "{text}");
    assert!(text.contains("unknown flag: --no-such-flag"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_browser_shows_a_page_keeps_its_pictures_and_repeats_its_console() -> Result<()> {
    let tools = or_skip!(BrowserTools::find());
    let browser = Browser::start(&tools).await?;
    let driver = browser.driver();
    driver
        .goto("data:text/html,<title>here</title><p>hello")
        .await?;
    assert_eq!(driver.title().await?, "here");
    browser.console_is_quiet().await?;
    driver
        .execute("console.error('not', 'well')", vec![])
        .await?;
    let error = browser.console_is_quiet().await.unwrap_err();
    assert!(format!("{error:#}").contains("well"), "{error:#}");
    let picture = browser.picture("harness").await?;
    assert!(std::fs::read(picture)?.starts_with(b"\x89PNG"));
    driver
        .execute(
            "const a = document.createElement('a'); a.download = 'saved.txt'; \
             a.href = URL.createObjectURL(new Blob(['text'])); a.click();",
            vec![],
        )
        .await?;
    let saved = browser.downloads().join("saved.txt");
    eventually("the file is saved", LONG, async || {
        ensure!(read(&saved)? == "text", "it is not whole yet");
        Ok(())
    })
    .await
}

fn read(path: &Path) -> Result<String> {
    Ok(std::fs::read_to_string(path)?)
}
