//! Completion of command lines: real shells press Tab, and the cluster behind them answers, is gone, or stays silent.

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use watchscope_tests::{
    KubeCluster, KubeTools, Launch, Missing, Terminal, WatchscopeBinary, eventually, finish,
    or_skip,
};

use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(30);

/// A context whose name has the characters at which bash splits words.
const ARN: &str = "arn:aws:eks:eu-1:1234:cluster/shop=a";

/// Finds a shell on the `PATH`.
fn shell(name: &str) -> Result<WatchscopeBinary, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()));
    found
        .map(|path| WatchscopeBinary::at(&path))
        .ok_or_else(|| Missing {
            what: name.to_owned(),
            install: format!("it with `apt-get install {name}`"),
        })
}

/// Returns a `PATH` that begins with these folders.
pub(crate) fn path_with(folders: &[&Path]) -> Result<OsString> {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| folder.to_path_buf());
    Ok(std::env::join_paths(
        folders.chain(std::env::split_paths(&rest)),
    )?)
}

/// A folder with the program under its own name, and a kubeconfig of a simulated cluster with one more context.
struct Scene {
    simulated: Simulated,
    folder: tempfile::TempDir,
    path: OsString,
}

impl Scene {
    async fn start(binary: &WatchscopeBinary) -> Result<Self> {
        let simulated = Simulated::start(binary, 0).await?;
        let folder = tempfile::tempdir()?;
        symlink(binary.path(), folder.path().join("watchscope"))?;
        let config = kubeconfig(&simulated.origin, &json!({}));
        std::fs::write(folder.path().join("kubeconfig"), config)?;
        let path = path_with(&[folder.path()])?;
        let scene = Self {
            simulated,
            folder,
            path,
        };
        // A slow machine may need more than the 500 ms that the cluster has. What it answered once is kept.
        for (words, expected) in [(["record", "promo"], "promotions"), (["-n", "sho"], "shop")] {
            eventually("the cluster has answered", LONG, async || {
                let answer =
                    asked(scene.in_shell(binary.with(&["__complete", words[0], words[1]])));
                let answer = answer.await?;
                ensure!(answer.contains(expected), "{answer}");
                Ok(())
            })
            .await?;
        }
        Ok(scene)
    }

    fn in_shell(&self, launch: Launch) -> Launch {
        launch
            .env("PATH", &self.path)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .kubeconfig(&self.folder.path().join("kubeconfig"))
    }
}

/// Returns the text of a kubeconfig with two contexts, whose user is this.
fn kubeconfig(server: &str, user: &serde_json::Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "sim",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "sim", "context": {"cluster": "c", "user": "u"}},
            {"name": ARN, "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
        ],
    })
    .to_string()
}

/// Types keys, waits until the screen has the text, and clears the line.
async fn typed(terminal: &mut Terminal, keys: &str, shown: &str) -> Result<()> {
    let before = terminal.screen().len();
    terminal.types(keys)?;
    let what = format!("after {keys:?} the screen has {shown:?}");
    eventually(&what, LONG, async || {
        let screen = terminal.screen();
        let new = screen.get(before..).unwrap_or_default();
        ensure!(new.contains(shown), "{new:?}");
        Ok(())
    })
    .await?;
    terminal.types("\u{15}")
}

#[tokio::test]
async fn bash_completes_with_tab() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let bash = or_skip!(shell("bash"));
    let scene = Scene::start(&binary).await?;
    let launch = bash.with(&["--noprofile", "--norc", "-i"]);
    let mut terminal = scene.in_shell(launch).start_on_terminal()?;
    let ready = "PS1='> '; source <(watchscope completion bash); echo rea''dy\n";
    typed(&mut terminal, ready, "ready").await?;
    typed(&mut terminal, "watchscope expo\t", "watchscope export").await?;
    typed(&mut terminal, "watchscope watch -n sho\t", "-n shop").await?;
    typed(
        &mut terminal,
        "watchscope promot\t",
        "watchscope promotions",
    )
    .await?;
    typed(
        &mut terminal,
        "watchscope watch pods --context arn:aws:e\t",
        ARN,
    )
    .await?;
    typed(&mut terminal, "watchscope watch --context=arn\t", ARN).await?;
    typed(
        &mut terminal,
        "watchscope explain F1\t\t",
        "F11                      (fell off the watch cache)",
    )
    .await?;
    let recording = scene.folder.path().join("night.wscope");
    std::fs::write(&recording, "")?;
    std::fs::write(scene.folder.path().join("night.txt"), "")?;
    let keys = format!("watchscope replay {}/nig\t", scene.folder.path().display());
    typed(&mut terminal, &keys, "/night.wscope").await
}

#[tokio::test]
async fn zsh_completes_with_tab() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let zsh = or_skip!(shell("zsh"));
    let scene = Scene::start(&binary).await?;
    let launch = zsh.with(&["-f", "-i"]);
    let mut terminal = scene.in_shell(launch).start_on_terminal()?;
    let ready = "PS1='> '; autoload -Uz compinit; compinit -D -u; source <(watchscope completion zsh); \
                 echo rea''dy\n";
    typed(&mut terminal, ready, "ready").await?;
    typed(&mut terminal, "watchscope expo\t", "watchscope export").await?;
    typed(&mut terminal, "watchscope watch -n sho\t", "-n shop").await?;
    typed(
        &mut terminal,
        "watchscope watch pods --context arn:aws:e\t",
        "1234:cluster/shop",
    )
    .await?;
    typed(
        &mut terminal,
        "watchscope watch --output=j\t",
        "output=jsonl",
    )
    .await?;
    typed(
        &mut terminal,
        "watchscope explain F1\t",
        "F11  -- fell off the watch cache",
    )
    .await?;
    std::fs::write(scene.folder.path().join("night.wscope"), "")?;
    std::fs::write(scene.folder.path().join("night.txt"), "")?;
    let keys = format!("watchscope replay {}/nig\t", scene.folder.path().display());
    typed(&mut terminal, &keys, "/night.wscope").await
}

#[tokio::test]
async fn fish_lists_the_candidates() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let fish = or_skip!(shell("fish"));
    let scene = Scene::start(&binary).await?;
    for name in ["night.wscope", "night.txt"] {
        std::fs::write(scene.folder.path().join(name), "")?;
    }
    let folder = scene.folder.path().display().to_string();
    for (line, expected) in [
        (
            "watchscope expl",
            "explain\tExplain a failure of the catalogue: how it looks, and what to do\n"
                .to_owned(),
        ),
        ("watchscope watch -n sho", "shop\n".to_owned()),
        (
            "watchscope watch --output=j",
            "--output=jsonl\tOne JSON object for each record\n".to_owned(),
        ),
        (
            "watchscope watch pods --context arn",
            format!("{ARN}\tcluster c, namespace shop\n"),
        ),
        (
            &format!("watchscope replay {folder}/nig"),
            format!("{folder}/night.wscope\n"),
        ),
    ] {
        let script = format!("watchscope completion fish | source; complete -C '{line}'");
        let launch = fish.with(&["--no-config", "-c", &script]);
        let shown = scene.in_shell(launch).run(LONG).await?.success()?;
        assert_eq!(shown, expected, "{line}");
    }
    Ok(())
}

/// Asks `watchscope __complete` itself.
async fn asked(launch: Launch) -> Result<String> {
    let finished = launch.run(LONG).await?;
    assert_eq!((finished.code(), finished.stderr.as_str()), (Some(0), ""));
    Ok(finished.stdout)
}

#[tokio::test]
async fn names_of_a_cluster_are_kept_for_when_it_is_gone() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let mut scene = Scene::start(&binary).await?;
    let ask = |words: &[&str]| {
        let launch = binary.with(&[&["__complete"], words].concat());
        asked(
            launch
                .env("XDG_CACHE_HOME", scene.folder.path().join("cache"))
                .kubeconfig(&scene.folder.path().join("kubeconfig")),
        )
    };
    let resources = ask(&["watch", "pods,promo"]).await?;
    assert_eq!(
        resources,
        "pods,promo\tshort for promotions\npods,promotions\tPromotion\n:4\n"
    );
    let namespaces = ask(&["-n", "sh"]).await?;
    assert_eq!(namespaces, "shop\n:4\n");
    // `kubectl`'s names, with the short one once a letter is typed.
    assert_eq!(
        ask(&["record", "deploy"]).await?,
        "deploy\tshort for deployments\ndeployments\tDeployment\n:4\n"
    );
    assert_eq!(
        ask(&["record", "deployments."]).await?,
        "deployments.apps\tDeployment\n:4\n"
    );
    let kept: Vec<PathBuf> =
        std::fs::read_dir(scene.folder.path().join("cache/watchscope/completion"))?
            .map(|file| Ok(file?.path()))
            .collect::<Result<_>>()?;
    assert_eq!(kept.len(), 2, "{kept:?}");
    for file in &kept {
        assert_eq!(std::fs::metadata(file)?.mode() & 0o777, 0o600);
    }
    scene.simulated.process.kill()?;
    assert_eq!(
        ask(&["watch", "promot"]).await?,
        "promotions\tPromotion\n:4\n"
    );
    assert_eq!(ask(&["-n", "sh"]).await?, namespaces);
    for file in &kept {
        std::fs::remove_file(file)?;
    }
    assert_eq!(
        ask(&["watch", "po"]).await?,
        "pods\n:4\n",
        "the usual resources"
    );
    assert_eq!(ask(&["-n", "sh"]).await?, ":4\n");
    Ok(())
}

#[tokio::test]
async fn a_silent_cluster_and_a_wrong_configuration_leave_what_is_known_without_them() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    // It accepts connections, since the system does, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let server = format!("http://{}", silent.local_addr()?);
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, kubeconfig(&server, &json!({})))?;
    let of_cluster = binary.with(&["__complete", "watch", "po"]);
    assert_eq!(asked(of_cluster.kubeconfig(&config)).await?, "pods\n:4\n");
    std::fs::write(folder.path().join("config.toml"), "nonsense = [")?;
    let wrong = binary
        .with(&["__complete", "watch", "-o", "j"])
        .env("WATCHSCOPE_CONFIG", folder.path().join("config.toml"))
        .env("KUBECONFIG", folder.path().join("config.toml"));
    assert_eq!(
        asked(wrong).await?,
        "jsonl\tOne JSON object for each record\n:4\n"
    );
    Ok(())
}

#[tokio::test]
async fn the_kubeconfig_may_stand_in_the_configuration_file_or_on_the_line() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("other");
    std::fs::write(&config, kubeconfig("http://127.0.0.1:1", &json!({})))?;
    let file = folder.path().join("config.toml");
    std::fs::write(&file, format!("kubeconfig = '{}'\n", config.display()))?;
    let (config, file) = (
        config.to_str().context("UTF-8")?,
        file.to_str().context("UTF-8")?,
    );
    let line = ["__complete", "watch", "--context", "s"];
    let launches = [
        binary.with(&line).env("WATCHSCOPE_CONFIG", file),
        binary.with(&line).env("WATCHSCOPE_KUBECONFIG", config),
        binary.with(&["__complete", "watch", "--config", file, "--context", "s"]),
        binary.with(&["__complete", "watch", "--kubeconfig", config, "--context=s"]),
    ];
    for launch in launches {
        assert_eq!(asked(launch).await?, "sim\tcluster c\n:4\n");
    }
    assert_eq!(asked(binary.with(&line)).await?, ":4\n");
    Ok(())
}

#[tokio::test]
async fn a_real_cluster_names_its_resources_and_namespaces() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let folder = tempfile::tempdir()?;
    for (words, expected) in [
        (
            ["watch", "certif"],
            "certificatesigningrequests\tCertificateSigningRequest\n:4\n",
        ),
        (
            ["watch", "csr"],
            "csr\tshort for certificatesigningrequests\n:4\n",
        ),
        (["--namespace", "kube-s"], "kube-system\n:4\n"),
    ] {
        // A slow machine may need more than the 500 ms that the cluster has, and more than one Tab.
        eventually("the cluster has answered", LONG, async || {
            let launch = binary.with(&["__complete", words[0], words[1]]);
            let launch = launch.env("XDG_CACHE_HOME", folder.path());
            let answer = asked(launch.kubeconfig(cluster.kubeconfig())).await?;
            ensure!(answer == expected, "{answer}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_credential_plugin_runs_only_if_it_can_ask_nobody() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("kubeconfig");
    let ran = folder.path().join("ran");
    for (mode, runs) in [("IfAvailable", false), ("Always", false), ("Never", true)] {
        let script = format!("touch {}; exit 1", ran.display());
        let user = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
            "args": ["-c", script], "interactiveMode": mode,
        }});
        std::fs::write(&config, kubeconfig("https://127.0.0.1:1", &user))?;
        let launch = binary.with(&["__complete", "watch", "-n", ""]);
        assert_eq!(asked(launch.kubeconfig(&config)).await?, ":4\n");
        assert_eq!(ran.exists(), runs, "{mode}");
    }
    Ok(())
}

#[tokio::test]
async fn as_a_plugin_kubectl_runs_it_names_itself_and_is_completed() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let folder = tempfile::tempdir()?;
    symlink(binary.path(), folder.path().join("kubectl-watchscope"))?;
    let script = binary.with(&["completion", "kubectl"]).run(LONG).await?;
    let completing = folder.path().join("kubectl_complete-watchscope");
    std::fs::write(&completing, script.success()?)?;
    std::fs::set_permissions(&completing, std::fs::Permissions::from_mode(0o755))?;
    let path = path_with(&[folder.path()])?;
    let kubectl = async |arguments: &[&str]| {
        let mut command = std::process::Command::new(tools.kubectl());
        command
            .args(arguments)
            .env("PATH", &path)
            .env("HOME", folder.path());
        finish(command, b"", LONG).await
    };

    let help = kubectl(&["watchscope", "--help"]).await?.success()?;
    for line in [
        "Usage: kubectl watchscope [OPTIONS] [RESOURCE]...",
        "  kubectl watchscope demo     ",
    ] {
        assert!(help.contains(line), "{help}");
    }
    let wrong = kubectl(&["watchscope", "explain"]).await?;
    assert_eq!(wrong.code(), Some(2));
    let usage = "Usage: kubectl watchscope explain <CODE>";
    assert!(wrong.stderr.contains(usage), "{}", wrong.stderr);
    let explained = kubectl(&["watchscope", "explain", "F11"])
        .await?
        .success()?;
    assert!(explained.starts_with("F11 fell off the watch cache\n"));

    let candidates = kubectl(&["__complete", "watchscope", "explain", "F11"]).await?;
    let first = candidates.stdout.lines().next().context("a candidate")?;
    assert_eq!(first, "F11\tfell off the watch cache");
    Ok(())
}
