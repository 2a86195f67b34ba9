//! A real cluster for one test, or shared by those that do not break it: etcd and kube-apiserver.
//!
//! There is no kubelet and no controller: pods stay Pending, nothing is garbage-collected, and
//! everything that happens is what the test does. Values in etcd are JSON and its history is never
//! compacted unless a test asks, so [`Etcd::history`] can be read as the truth from revision 1.

mod etcd;
mod kubectl;
mod pki;
mod tools;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

pub use self::etcd::{Change, ChangeKind, Etcd};
pub use self::kubectl::Kubectl;
pub use self::tools::KubeTools;

use self::pki::{Identity, Pki};
use crate::{Process, free_port};

/// How long either server may take to be ready; on 2 idle cores both together took 2.7 s.
const START: Duration = Duration::from_secs(60);

/// How often a start is tried again because another program took the port in between.
const PORT_ATTEMPTS: usize = 3;

/// The apiservers of a cluster, by the names of their processes.
const FIRST: &str = "kube-apiserver";
const SECOND: &str = "kube-apiserver-2";

/// The user of [`KubeCluster::token_kubeconfig`].
pub const TOKEN_USER: &str = "system:serviceaccount:default:token-user";

/// What a test wants to be different from a plain cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Further flags for kube-apiserver; they win over the harness's own.
    pub apiserver_flags: Vec<String>,
    /// Further flags for etcd.
    pub etcd_flags: Vec<String>,
    /// Let etcd write to disk before it answers, for tests that kill it.
    pub etcd_syncs: bool,
}

/// What a user may do, as in a Role of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// API groups; the core group is `""`.
    pub groups: &'a [&'a str],
    /// Resources in the plural.
    pub resources: &'a [&'a str],
    /// Verbs.
    pub verbs: &'a [&'a str],
}

/// A running cluster; it ends when this is dropped.
#[derive(Debug)]
pub struct KubeCluster {
    // Servers first: they end before their folder goes.
    apiserver: Process,
    etcd_process: Process,
    etcd: Etcd,
    tools: KubeTools,
    options: ClusterOptions,
    pki: Pki,
    ports: Ports,
    kubectl: Kubectl,
    folder: TempDir,
}

/// A second apiserver over the same etcd; it ends when this is dropped.
#[derive(Debug)]
pub struct SecondApiserver {
    process: Process,
    port: u16,
}

impl SecondApiserver {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Stops its clock: it answers nothing, and its connections stay open (SIGSTOP).
    pub fn pause(&mut self) -> Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        self.process.signal(Signal::CONT)
    }
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    etcd_peers: u16,
    apiserver: u16,
}

impl KubeCluster {
    /// Starts a cluster of the test's own.
    pub async fn start(tools: &KubeTools, options: ClusterOptions) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once(tools, options.clone()).await {
                Err(error)
                    if attempt < PORT_ATTEMPTS
                        && format!("{error:#}").contains("address already in use") =>
                {
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    /// The plain cluster that tests share while any of them holds it. Use a namespace of your own,
    /// and start another cluster for anything that would disturb others.
    pub async fn shared(tools: &KubeTools) -> Result<Arc<Self>> {
        static SHARED: Mutex<Weak<KubeCluster>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(cluster) = shared.upgrade() {
            return Ok(cluster);
        }
        let cluster = Arc::new(Self::start(tools, ClusterOptions::default()).await?);
        *shared = Arc::downgrade(&cluster);
        Ok(cluster)
    }

    async fn start_once(tools: &KubeTools, options: ClusterOptions) -> Result<Self> {
        let folder = tempfile::tempdir().context("making the cluster's folder")?;
        let ports = Ports {
            etcd: free_port()?,
            etcd_peers: free_port()?,
            apiserver: free_port()?,
        };
        let pki = Pki::create(folder.path())?;
        let server = format!("https://127.0.0.1:{}", ports.apiserver);
        let admin = pki.client("admin", &["system:masters"])?;
        let kubeconfig = write_kubeconfig(folder.path(), "admin", &server, &pki, &admin)?;
        let kubectl = Kubectl::new(tools, &kubeconfig, folder.path());
        let mut etcd_process = start_etcd(tools, &options, ports, folder.path())?;
        let etcd = Etcd::new(ports.etcd)?;
        etcd_ready(&etcd, &mut etcd_process).await?;
        let mut apiserver = start_apiserver(tools, &options, ports, folder.path(), FIRST)?;
        apiserver_ready(&kubectl, &mut apiserver).await?;
        Ok(Self {
            apiserver,
            etcd_process,
            etcd,
            tools: tools.clone(),
            options,
            pki,
            ports,
            kubectl,
            folder,
        })
    }

    /// The apiserver's address; it stays the same over restarts.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.apiserver)
    }

    /// Where the apiserver listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports.apiserver))
    }

    /// Starts a second apiserver over the same etcd, and waits until it is ready.
    pub async fn start_second(&self) -> Result<SecondApiserver> {
        let port = free_port()?;
        let ports = Ports {
            apiserver: port,
            ..self.ports
        };
        let folder = self.folder.path();
        let mut process = start_apiserver(&self.tools, &self.options, ports, folder, SECOND)?;
        let admin = self.pki.client("admin-2", &["system:masters"])?;
        let server = format!("https://127.0.0.1:{port}");
        let kubeconfig = write_kubeconfig(folder, "admin-2", &server, &self.pki, &admin)?;
        apiserver_ready(&self.kubectl.with_kubeconfig(&kubeconfig), &mut process).await?;
        Ok(SecondApiserver { process, port })
    }

    /// The cluster's store, for its history and to compact it.
    #[must_use]
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// The administrator's kubectl.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// The administrator's kubeconfig, with a client certificate in it.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.kubectl.kubeconfig()
    }

    /// A kubeconfig for a new user with a client certificate; a user may do nothing until [`Self::allow`].
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<PathBuf> {
        let identity = self.pki.client(name, groups)?;
        write_kubeconfig(
            self.folder.path(),
            name,
            &self.server(),
            &self.pki,
            &identity,
        )
    }

    /// A kubeconfig with a bearer token, for the user [`TOKEN_USER`].
    pub fn token_kubeconfig(&self) -> Result<PathBuf> {
        let identity = Identity::Token(self.pki.token().to_owned());
        write_kubeconfig(
            self.folder.path(),
            TOKEN_USER,
            &self.server(),
            &self.pki,
            &identity,
        )
    }

    /// Sets what a user may do in the whole cluster, instead of what it might before.
    pub async fn allow(&self, user: &str, rules: &[Rule<'_>]) -> Result<()> {
        let rules: Vec<Value> = rules
            .iter()
            .map(|rule| {
                json!({"apiGroups": rule.groups, "resources": rule.resources, "verbs": rule.verbs})
            })
            .collect();
        let name = format!("test:{user}");
        let list = json!({
            "apiVersion": "v1", "kind": "List", "items": [
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": name}, "rules": rules,
                },
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                    "metadata": {"name": name},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
                },
            ],
        });
        self.kubectl.apply(&list).await?;
        Ok(())
    }

    /// Kills the apiserver as a crash would (SIGKILL); its connections are reset by the kernel.
    pub fn kill_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill()
    }

    /// Asks the apiserver to end in good order (SIGTERM) and waits until it has.
    pub async fn stop_apiserver(&mut self) -> Result<()> {
        self.apiserver.signal(Signal::TERM)?;
        self.apiserver.end(Duration::from_secs(90)).await?;
        Ok(())
    }

    /// Asks the apiserver to end in good order (SIGTERM), and does not wait.
    pub fn tell_apiserver_to_stop(&mut self) -> Result<()> {
        self.apiserver.signal(Signal::TERM)
    }

    /// Starts the apiserver again, on the same port and store, and waits until it is ready.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        ensure!(
            self.apiserver.ended()?.is_some(),
            "the apiserver still runs: kill or stop it first"
        );
        self.apiserver = start_apiserver(
            &self.tools,
            &self.options,
            self.ports,
            self.folder.path(),
            FIRST,
        )?;
        apiserver_ready(&self.kubectl, &mut self.apiserver).await
    }

    /// Kills etcd (SIGKILL). Without [`ClusterOptions::etcd_syncs`] it may come back with less than it had.
    pub fn kill_etcd(&mut self) -> Result<()> {
        self.etcd_process.kill()
    }

    /// Starts etcd again on the same data and port.
    pub async fn start_etcd(&mut self) -> Result<()> {
        ensure!(
            self.etcd_process.ended()?.is_some(),
            "etcd still runs: kill it first"
        );
        self.etcd_process = start_etcd(&self.tools, &self.options, self.ports, self.folder.path())?;
        etcd_ready(&self.etcd, &mut self.etcd_process).await
    }

    /// What the apiserver has written to standard error since its last start.
    #[must_use]
    pub fn apiserver_log(&self) -> String {
        self.apiserver.stderr()
    }
}

fn start_etcd(
    tools: &KubeTools,
    options: &ClusterOptions,
    ports: Ports,
    folder: &Path,
) -> Result<Process> {
    let clients = format!("http://127.0.0.1:{}", ports.etcd);
    let peers = format!("http://127.0.0.1:{}", ports.etcd_peers);
    let mut command = Command::new(tools.etcd());
    command
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--name", "tests", "--log-level", "warn"])
        .args(["--listen-client-urls", &clients])
        .args(["--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peers])
        .args(["--initial-advertise-peer-urls", &peers])
        .arg(format!("--initial-cluster=tests={peers}"))
        .args(&options.etcd_flags);
    if !options.etcd_syncs {
        command.arg("--unsafe-no-fsync");
    }
    Process::start("etcd", command, folder)
}

async fn etcd_ready(etcd: &Etcd, process: &mut Process) -> Result<()> {
    process
        .until("etcd is ready", START, async |_| etcd.revision().await)
        .await?;
    Ok(())
}

fn start_apiserver(
    tools: &KubeTools,
    options: &ClusterOptions,
    ports: Ports,
    folder: &Path,
    name: &str,
) -> Result<Process> {
    let file = |name: &str| folder.join(name).display().to_string();
    let flags = [
        ("etcd-servers", format!("http://127.0.0.1:{}", ports.etcd)),
        ("bind-address", "127.0.0.1".to_owned()),
        // Without it a machine with no default route has no address to advertise.
        ("advertise-address", "127.0.0.1".to_owned()),
        ("secure-port", ports.apiserver.to_string()),
        ("cert-dir", file("certificates")),
        ("tls-cert-file", file(pki::SERVER_CERTIFICATE)),
        ("tls-private-key-file", file(pki::SERVER_KEY)),
        ("client-ca-file", file(pki::AUTHORITY)),
        ("token-auth-file", file(pki::TOKENS)),
        ("service-account-key-file", file(pki::ACCOUNT_PUBLIC_KEY)),
        ("service-account-signing-key-file", file(pki::ACCOUNT_KEY)),
        (
            "service-account-issuer",
            format!("https://127.0.0.1:{}/", ports.apiserver),
        ),
        ("service-cluster-ip-range", "10.0.0.0/24".to_owned()),
        ("allow-privileged", "true".to_owned()),
        // No controller makes the default accounts that this plugin would wait for.
        ("disable-admission-plugins", "ServiceAccount".to_owned()),
        ("authorization-mode", "RBAC".to_owned()),
        ("anonymous-auth", "false".to_owned()),
        // The history in etcd is the tests' truth: readable, and whole.
        ("storage-media-type", "application/json".to_owned()),
        ("etcd-compaction-interval", "0".to_owned()),
    ];
    let mut command = Command::new(tools.apiserver());
    command
        .args(flags.map(|(flag, value)| format!("--{flag}={value}")))
        .args(&options.apiserver_flags);
    Process::start(name, command, folder)
}

async fn apiserver_ready(kubectl: &Kubectl, process: &mut Process) -> Result<()> {
    process
        .until("kube-apiserver is ready", START, async |_| {
            kubectl.run(&["get", "--raw", "/readyz"]).await
        })
        .await?;
    Ok(())
}

fn write_kubeconfig(
    folder: &Path,
    user: &str,
    server: &str,
    pki: &Pki,
    identity: &Identity,
) -> Result<PathBuf> {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "tests",
        "clusters": [{
            "name": "tests",
            "cluster": {"server": server, "certificate-authority-data": pki.authority_base64()},
        }],
        "users": [{"name": user, "user": identity.as_user()}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
    });
    let path = folder.join(format!("{}.kubeconfig", user.replace(['/', ':'], "_")));
    std::fs::write(&path, serde_json::to_vec_pretty(&kubeconfig)?)
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
