//! What README.md and docs show is true. Each command in a block of shell runs, or a list here says why it cannot. Each
//! message of trouble is the program's own.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::json;
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, Launch, Served, Watchscope, WatchscopeBinary,
    eventually, free_port, or_skip, project_root,
};

use crate::browser::has_page;
use crate::chart::Helm;
use crate::completing::path_with;
use crate::http;
use crate::real_cluster::definition;
use crate::simulated::Simulated;

const LONG: Duration = Duration::from_secs(60);

/// Beginnings of commands that need a kubelet or a registry, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    (
        "cargo xtask ",
        "cargo gets crates from a registry. CI runs check and test, and the tests run the built program",
    ),
    (
        "watchscope open",
        "kubectl reaches the pod through a kubelet. in_cluster.rs runs it with a stand-in for kubectl",
    ),
    (
        "kubectl -n watchscope port-forward ",
        "the kubelet forwards the port",
    ),
    (
        "kubectl -n watchscope exec ",
        "the kubelet runs the command in the pod",
    ),
    ("skopeo copy ", "it sends the image to a registry"),
    ("kind load ", "it needs a cluster with a kubelet"),
    ("ctr ", "it needs the container runtime of a kubelet"),
    (
        "kubectl krew install ",
        "krew fetches its index. packaged.rs compares its manifest with the archive",
    ),
];

/// A block of shell in a page.
struct Block {
    /// The page's path from the root of the project, and the number of the block's first line.
    place: String,
    page: PathBuf,
    commands: Vec<String>,
}

/// Returns README.md and all pages below docs, by path.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![project_root().join("README.md")];
    let mut folders = vec![project_root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Returns the blocks of all pages, in their order.
fn blocks() -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let name = page.strip_prefix(project_root())?.display().to_string();
        let mut is_inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line == "```sh" {
                is_inside = true;
                blocks.push(Block {
                    place: format!("{name}:{number}"),
                    page: page.clone(),
                    commands: Vec::new(),
                });
            } else if line.starts_with("```") {
                is_inside = false;
            } else if is_inside && let Some(block) = blocks.last_mut() {
                block.commands.push(line.trim().to_owned());
            }
        }
    }
    ensure!(blocks.len() > 10, "{} blocks", blocks.len());
    Ok(blocks)
}

fn is_run(command: &str) -> bool {
    !NOT_RUN.iter().any(|(begin, _)| command.starts_with(begin))
}

#[test]
fn each_exception_is_of_a_command_that_some_page_shows() -> Result<()> {
    let blocks = blocks()?;
    let commands: Vec<&String> = blocks.iter().flat_map(|block| &block.commands).collect();
    for (begin, reason) in NOT_RUN {
        let is_shown = commands.iter().any(|command| command.starts_with(begin));
        assert!(is_shown, "no page shows {begin:?} any more ({reason})");
    }
    Ok(())
}

/// What the commands find: the programs, a simulated cluster, two real ones, a server with a token, a recording.
struct Scene {
    simulated: Simulated,
    /// For kubectl, and for helm: it refuses to take over what kubectl made.
    clusters: [Arc<KubeCluster>; 2],
    served: Served,
    programs: tempfile::TempDir,
    recording: PathBuf,
    shell: WatchscopeBinary,
}

/// Defines the custom resource that the pages name.
async fn define_certificates(cluster: &KubeCluster) -> Result<()> {
    let kubectl = cluster.kubectl();
    kubectl
        .apply(&definition("cert-manager.io", "Certificate"))
        .await?;
    let name = "crd/certificates.cert-manager.io";
    kubectl
        .run(&["wait", "--for=condition=Established", name])
        .await?;
    Ok(())
}

const TOKEN: &str = "a-token-of-enough-characters-for-scripts";

impl Scene {
    async fn start(binary: &WatchscopeBinary, tools: &KubeTools, helm: &Helm) -> Result<Self> {
        let simulated = Simulated::start(binary, 0).await?;
        let programs = tempfile::tempdir()?;
        symlink(binary.path(), programs.path().join("watchscope"))?;
        symlink(tools.kubectl(), programs.path().join("kubectl"))?;
        symlink(helm.path(), programs.path().join("helm"))?;
        let token = programs.path().join("token");
        fs::write(&token, TOKEN)?;
        let token = token.to_str().context("UTF-8")?;
        let serve = binary.with(&["serve", "pods", "-A", "--token-file", token]);
        let served = Served::start(serve.kubeconfig(&simulated.kubeconfig)).await?;
        let recording = programs.path().join("recorded.wscope");
        let path = recording.to_str().context("UTF-8")?;
        let record = binary.with(&["record", "pods", "-o", path, "--for", "2s"]);
        let record = record.kubeconfig(&simulated.kubeconfig).run(LONG).await?;
        record.success()?;
        let shared = KubeCluster::shared(tools).await?;
        define_certificates(&shared).await?;
        let own = KubeCluster::start(tools, ClusterOptions::default()).await?;
        Ok(Self {
            simulated,
            clusters: [shared, Arc::new(own)],
            served,
            programs,
            recording,
            shell: WatchscopeBinary::at(Path::new("/bin/sh")),
        })
    }

    /// Makes the folder in which the commands of a page run.
    fn folder(&self) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        symlink(project_root().join("deploy"), folder.path().join("deploy"))?;
        fs::create_dir_all(folder.path().join(".local/bin"))?;
        fs::copy(&self.recording, folder.path().join("incident.wscope"))?;
        Ok(folder)
    }

    /// Returns the command with times that a test can wait for, and with ports that are free here.
    fn adapted(&self, command: &str, port: u16) -> Result<String> {
        let own = self.served.link.origin().rsplit(':').next();
        let mut adapted = command.replace("127.0.0.1:9090", &format!("127.0.0.1:{port}"));
        adapted = adapted.replace(
            "localhost:8080",
            &format!("127.0.0.1:{}", own.context("a port")?),
        );
        for time in ["--for 30s", "--for 10m"] {
            adapted = adapted.replace(time, "--for 2s");
        }
        Ok(adapted)
    }

    fn start_command(&self, command: &str, folder: &Path) -> Result<Watchscope> {
        let kubeconfig = match command.split(' ').next() {
            Some("kubectl") => self.clusters[0].kubeconfig(),
            // The simulated cluster has none of them.
            _ if command.contains(" certificates.") => self.clusters[0].kubeconfig(),
            Some("helm") => self.clusters[1].kubeconfig(),
            _ => &self.simulated.kubeconfig,
        };
        let line = format!("cd '{}' && exec {command}", folder.display());
        let mut launch = self.shell.with(&["-c", &line]).kubeconfig(kubeconfig);
        let variables: [(&str, OsString); 5] = [
            ("PATH", path_with(&[self.programs.path()])?),
            ("HOME", folder.into()),
            ("XDG_RUNTIME_DIR", folder.into()),
            ("TOKEN", TOKEN.into()),
            ("WATCHSCOPE_LISTEN", "127.0.0.1:0".into()),
        ];
        for (name, value) in variables {
            launch = launch.env(name, value);
        }
        launch.start()
    }

    /// Runs a command until it has ended, or until it serves: then it is returned.
    async fn run(&self, command: &str, folder: &Path) -> Result<Option<Watchscope>> {
        let mut process = self.start_command(command, folder)?;
        let serves = eventually("it ends or serves", LONG, async || {
            if process.still_runs().is_err() {
                return Ok(false);
            }
            ensure!(process.stdout().starts_with("http://"), "neither yet");
            Ok(true)
        });
        if serves.await? {
            return Ok(Some(process));
        }
        let status = process.end(LONG).await?;
        // 4: the audit had too little time to decide.
        let is_undecided = command.starts_with("watchscope audit ") && status.code() == Some(4);
        if !status.success() && !is_undecided {
            bail!("it ended with {status}: {}", process.stderr());
        }
        Ok(None)
    }

    /// Runs the commands of a block. A server serves the commands behind it, up to the next watchscope. Returns how many
    /// commands ran.
    async fn block(&self, block: &Block, folder: &Path) -> Result<usize> {
        let port = free_port()?;
        let mut server: Option<Watchscope> = None;
        let commands = block.commands.iter().filter(|command| is_run(command));
        for (place, command) in commands.clone().enumerate() {
            if command.starts_with("watchscope ") {
                ended(server.take(), block).await?;
            }
            let adapted = self.adapted(command, port)?;
            let ran = self.run(&adapted, folder).await;
            let ran = ran.with_context(|| format!("{} {adapted:?} (command {place})", block.place));
            server = ran?.or(server);
        }
        ended(server, block).await?;
        Ok(commands.count())
    }
}

/// Ends a server as a person does, with Ctrl-C.
async fn ended(server: Option<Watchscope>, block: &Block) -> Result<()> {
    if let Some(mut server) = server {
        server.signal(Signal::INT)?;
        let status = server.end(LONG).await?;
        ensure!(status.success(), "{}: {}", block.place, server.stderr());
    }
    Ok(())
}

/// Runs each cause of trouble that the table in docs/operator.md names for the program. Returns what the program said of
/// it, beside the part of the table's words that no port and no path changes.
async fn troubles(
    binary: &WatchscopeBinary,
    refused: &Path,
    folder: &Path,
) -> Result<Vec<(String, &'static str)>> {
    let nowhere = crate::kubeconfig::write(folder, "https://cluster.example.com:6443", &json!({}))?;
    let watch = |kubeconfig: &Path| {
        let watch = binary.with(&["watch", "pods", "--for", "1s"]);
        watch.kubeconfig(kubeconfig)
    };
    let said = async |launch: Launch| -> Result<String> {
        let finished = launch.run(LONG).await?;
        Ok([finished.stdout, finished.stderr].concat())
    };
    let served = Served::start(binary.with(&["demo"])).await?;
    let origin = served.link.origin();
    let taken = http::address(origin);
    let host = [("Host", "scope.example.com")];
    let recording = folder.join("later.wscope");
    fs::write(&recording, b"\x89WSR\r\n\x1a\n\x02\0\0\0")?;
    let recording = recording.to_str().context("UTF-8")?;
    let token = binary.with(&["token", "--listen", "1"]);
    Ok(vec![
        (
            said(binary.with(&["watch", "pods"])).await?,
            "no kubeconfig found and not in a cluster: KUBECONFIG is not set; ",
        ),
        (
            said(watch(refused)).await?,
            "because the server answered 403: this account may not list or watch here.",
        ),
        (
            said(watch(&nowhere).env("HTTPS_PROXY", "http://127.0.0.1:1")).await?,
            " refused the connection)",
        ),
        (
            http::get(origin, "/", &host).await?.body,
            "watchscope does not answer to this host name; use localhost, or start it with --allow-host NAME",
        ),
        (
            said(token.env("XDG_RUNTIME_DIR", served.watchscope.home())).await?,
            "none is running on port ",
        ),
        (
            said(binary.with(&["demo", "--listen", taken])).await?,
            ": the port is taken; name another, or leave --listen out to take the next free one",
        ),
        (
            said(binary.with(&["watch", "--from", recording])).await?,
            "byte 8: the recording has format version 2; this watchscope reads up to version 1",
        ),
    ])
}

#[tokio::test]
async fn the_operators_page_quotes_what_the_program_says_of_each_trouble() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let refused = cluster.user("no-rights", &[])?;
    let folder = tempfile::tempdir()?;
    let page = fs::read_to_string(project_root().join("docs/operator.md"))?;
    for (said, words) in troubles(&binary, &refused, folder.path()).await? {
        assert!(said.contains(words), "{words:?} is not in {said}");
        assert!(page.contains(words), "the page lacks {words:?}");
    }
    Ok(())
}

#[tokio::test]
async fn each_command_of_the_readme_and_of_docs_runs() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let helm = or_skip!(Helm::find());
    let scene = Scene::start(&binary, &tools, &helm).await?;
    or_skip!(has_page(&scene.served.link).await);
    let mut folder: Option<(PathBuf, tempfile::TempDir)> = None;
    let mut count = 0;
    for block in blocks()? {
        let (_, folder) = match folder.take() {
            Some((page, kept)) if page == block.page => folder.insert((page, kept)),
            _ => folder.insert((block.page.clone(), scene.folder()?)),
        };
        count += scene.block(&block, folder.path()).await?;
    }
    ensure!(count > 20, "{count} commands ran");
    Ok(())
}
