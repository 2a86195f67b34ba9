//! A real cluster of etcd and kube-apiserver, for one test or shared by tests that do not disturb it.
//!
//! There is no kubelet, and no controller unless a test starts [`Controllers`]. So pods stay Pending, nothing is
//! garbage-collected, and every change is made by the test.
//! Values in etcd are JSON, and its history is compacted only if a test does it, so [`Etcd::history`] is the truth from
//! revision 1.

mod controllers;
mod etcd;
mod kubectl;
mod pki;
mod tools;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

pub use self::controllers::{ControllerTools, Controllers};
pub use self::etcd::{Change, ChangeKind, Etcd};
pub use self::kubectl::Kubectl;
pub use self::tools::KubeTools;

use self::pki::{Identity, Pki};
use crate::{Process, eventually, free_port};

/// How long each server may take to be ready; after it the start fails. On 2 idle cores both together took 2.7 s.
const START: Duration = Duration::from_secs(60);

/// The most attempts to start a cluster. A start is repeated if another program took a port in between.
const PORT_ATTEMPTS: usize = 3;

/// The names of the processes of a cluster's apiservers.
const FIRST: &str = "kube-apiserver";
const SECOND: &str = "kube-apiserver-2";

/// The name that only the apiserver's renewed certificate has, and the one that only the next authority's certificate
/// has.
const RENEWED: &str = "renewed.tests";
const CHANGED: &str = "changed.tests";

/// The user of [`KubeCluster::token_kubeconfig`].
pub const TOKEN_USER: &str = "system:serviceaccount:default:token-user";

/// The options of a test's cluster that differ from the default.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Further flags for kube-apiserver; they override the harness's own.
    pub apiserver_flags: Vec<String>,
    /// Further flags for etcd.
    pub etcd_flags: Vec<String>,
    /// Lets etcd write to disk before it answers, for tests that kill it.
    pub etcd_syncs: bool,
    /// The number of etcd members beside the first.
    pub further_etcds: usize,
}

/// Rights of a user, as in a Role of Kubernetes.
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
    // The servers are declared first: they end before their folder is deleted.
    apiserver: Process,
    etcd_members: Vec<Member>,
    tools: KubeTools,
    options: ClusterOptions,
    pki: Pki,
    ports: Ports,
    kubectl: Kubectl,
    folder: TempDir,
}

/// A member of etcd, and the client for its API.
#[derive(Debug)]
struct Member {
    process: Process,
    etcd: Etcd,
}

/// A second apiserver over the same etcd; it ends when this is dropped.
#[derive(Debug)]
pub struct SecondApiserver {
    process: Process,
    address: SocketAddr,
}

impl SecondApiserver {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills it as a crash would (SIGKILL).
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Stops the process (SIGSTOP): it answers nothing, and its connections stay open.
    pub fn pause(&mut self) -> Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Lets a stopped process continue (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        self.process.signal(Signal::CONT)
    }
}

#[derive(Clone, Debug)]
struct Ports {
    etcd: Vec<EtcdPorts>,
    apiserver: u16,
}

#[derive(Clone, Copy, Debug)]
struct EtcdPorts {
    clients: u16,
    peers: u16,
}

impl EtcdPorts {
    fn free() -> Result<Self> {
        Ok(Self {
            clients: free_port()?,
            peers: free_port()?,
        })
    }
}

impl KubeCluster {
    /// Starts a cluster for one test.
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

    /// Returns the plain cluster that tests share; it ends when no test holds it. A test uses its own namespace, and
    /// starts another cluster for anything that would disturb others.
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
        let members = 1 + options.further_etcds;
        let etcd: Result<_> = (0..members).map(|_| EtcdPorts::free()).collect();
        let ports = Ports {
            etcd: etcd?,
            apiserver: free_port()?,
        };
        let pki = Pki::create(folder.path())?;
        let server = format!("https://127.0.0.1:{}", ports.apiserver);
        let admin = pki.client("admin", &["system:masters"])?;
        let kubeconfig = write_kubeconfig(folder.path(), "admin", &server, &pki, &admin)?;
        let kubectl = Kubectl::new(tools, &kubeconfig, folder.path());
        let mut etcd_members = Vec::new();
        for index in 0..members {
            etcd_members.push(Member {
                process: start_etcd(tools, &options, &ports, folder.path(), index)?,
                etcd: Etcd::new(ports.etcd[index].clients)?,
            });
        }
        // Only a majority elects a leader, and without a leader no member answers.
        for member in &mut etcd_members {
            member.ready().await?;
        }
        let mut apiserver = start_apiserver(tools, &options, &ports, folder.path(), FIRST)?;
        apiserver_ready(&kubectl, &mut apiserver).await?;
        Ok(Self {
            apiserver,
            etcd_members,
            tools: tools.clone(),
            options,
            pki,
            ports,
            kubectl,
            folder,
        })
    }

    /// The apiserver's URL; it stays the same over restarts.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.apiserver)
    }

    /// The address that the apiserver listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports.apiserver))
    }

    /// Starts a second apiserver over the same etcd, on the same port of another address. Returns when it is ready.
    pub async fn start_second(&self) -> Result<SecondApiserver> {
        let folder = self.folder.path();
        let address = SocketAddr::from((pki::LOOPBACK[1], self.ports.apiserver));
        let mut process = start_apiserver(&self.tools, &self.options, &self.ports, folder, SECOND)?;
        let admin = self.pki.client("admin-2", &["system:masters"])?;
        let server = format!("https://{address}");
        let kubeconfig = write_kubeconfig(folder, "admin-2", &server, &self.pki, &admin)?;
        apiserver_ready(&self.kubectl.with_kubeconfig(&kubeconfig), &mut process).await?;
        Ok(SecondApiserver { process, address })
    }

    /// Gives the apiserver a new certificate of the same authority, and waits until the apiserver serves it.
    pub async fn renew_certificate(&self) -> Result<()> {
        self.pki.renew_server(self.folder.path(), RENEWED)?;
        self.shows(RENEWED, &self.kubectl).await
    }

    /// Gives the apiserver a certificate of another authority and waits until the apiserver serves it. Returns a
    /// kubeconfig of an administrator that trusts it; older kubeconfigs do not.
    pub async fn change_authority(&mut self) -> Result<PathBuf> {
        self.pki.change_authority_of_servers()?;
        self.pki.renew_server(self.folder.path(), CHANGED)?;
        let kubeconfig = self.user("admin-of-the-next", &["system:masters"])?;
        let kubectl = self.kubectl.with_kubeconfig(&kubeconfig);
        self.shows(CHANGED, &kubectl).await?;
        Ok(kubeconfig)
    }

    /// Waits until the apiserver's certificate has that name too.
    async fn shows(&self, name: &str, kubectl: &Kubectl) -> Result<()> {
        let look = ["--tls-server-name", name, "get", "--raw", "/livez"];
        eventually(
            "the apiserver serves its new certificate",
            START,
            async || kubectl.run(&look).await.map(drop),
        )
        .await
    }

    /// The first member's API, for the cluster's history and to compact it.
    #[must_use]
    pub fn etcd(&self) -> &Etcd {
        &self.etcd_members[0].etcd
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

    /// Returns a kubeconfig for a new user with a client certificate. The user has no rights until [`Self::allow`],
    /// except those of its groups.
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

    /// Returns a certificate for a user that is valid for `lasts` from now on, and its key, both in PEM.
    pub fn certificate_for(&self, lasts: Duration, user: &str) -> Result<[String; 2]> {
        match self.pki.client_for(lasts, user)? {
            Identity::Certificate { certificate, key } => Ok([certificate, key]),
            Identity::Token(_) => bail!("a token instead of a certificate"),
        }
    }

    /// Returns a kubeconfig with a bearer token, for the user [`TOKEN_USER`].
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

    /// Sets the rights of a user in the whole cluster; they replace those of an earlier call.
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

    /// Kills the apiserver as a crash would (SIGKILL); the kernel resets its connections.
    pub fn kill_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill()
    }

    /// Sends the apiserver SIGTERM, which ends it in good order, and waits at most 90 s for its end; fails after that.
    pub async fn stop_apiserver(&mut self) -> Result<()> {
        self.apiserver.signal(Signal::TERM)?;
        self.apiserver.end(Duration::from_secs(90)).await?;
        Ok(())
    }

    /// Sends the apiserver SIGTERM, which ends it in good order, and does not wait.
    pub fn tell_apiserver_to_stop(&mut self) -> Result<()> {
        self.apiserver.signal(Signal::TERM)
    }

    /// Starts the ended apiserver again, on the same port and store, and waits until it is ready.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        ensure!(
            self.apiserver.ended()?.is_some(),
            "the apiserver still runs: kill or stop it first"
        );
        self.apiserver = start_apiserver(
            &self.tools,
            &self.options,
            &self.ports,
            self.folder.path(),
            FIRST,
        )?;
        apiserver_ready(&self.kubectl, &mut self.apiserver).await
    }

    /// Kills all members of etcd (SIGKILL). Without [`ClusterOptions::etcd_syncs`] etcd may come back with less than it
    /// held.
    pub fn kill_etcd(&mut self) -> Result<()> {
        self.etcd_members
            .iter_mut()
            .try_for_each(|member| member.process.kill())
    }

    /// Kills one member of etcd (SIGKILL).
    pub fn kill_etcd_member(&mut self, index: usize) -> Result<()> {
        self.etcd_members[index].process.kill()
    }

    /// Starts the killed members of etcd again, on the same data and ports, and waits until they are ready.
    pub async fn start_etcd(&mut self) -> Result<()> {
        let (tools, options, folder) = (&self.tools, &self.options, self.folder.path());
        let mut started = Vec::new();
        for (index, member) in self.etcd_members.iter_mut().enumerate() {
            if member.process.ended()?.is_some() {
                member.process = start_etcd(tools, options, &self.ports, folder, index)?;
                started.push(member);
            }
        }
        ensure!(!started.is_empty(), "etcd still runs: kill it first");
        for member in started {
            member.ready().await?;
        }
        Ok(())
    }

    /// Makes another member of etcd its leader, without an interruption, and waits until it leads.
    pub async fn move_etcd_leader(&self, to: usize) -> Result<()> {
        let target = self.etcd_members[to].etcd.standing().await?;
        eventually("etcd has the chosen leader", START, async || {
            for member in &self.etcd_members {
                let now = member.etcd.standing().await?;
                if now.leader == target.member {
                    return Ok(());
                }
                if now.leader == now.member {
                    member.etcd.hand_over(&target.member).await?;
                }
            }
            bail!("another member leads")
        })
        .await
    }

    /// Copies the data of a killed etcd with one member, as a snapshot would, for [`Self::restore_etcd`].
    pub fn save_etcd(&mut self) -> Result<()> {
        let (data, saved) = self.etcd_folders()?;
        copy_folder(&data, &saved)
    }

    /// Gives a killed etcd the saved copy back. Later writes are lost, and its revision is that of the copy.
    pub fn restore_etcd(&mut self) -> Result<()> {
        let (data, saved) = self.etcd_folders()?;
        fs::remove_dir_all(&data)?;
        Ok(fs::rename(saved, data)?)
    }

    /// Returns the folder of etcd's data and the folder of its copy. Fails while etcd runs, and with more than one
    /// member.
    fn etcd_folders(&mut self) -> Result<(PathBuf, PathBuf)> {
        let [member] = &mut self.etcd_members[..] else {
            bail!("more than one member of etcd");
        };
        ensure!(
            member.process.ended()?.is_some(),
            "etcd still runs: kill it first"
        );
        let folder = self.folder.path();
        Ok((folder.join(etcd_name(0)), folder.join("etcd-saved")))
    }

    /// The apiserver's standard error since its last start.
    #[must_use]
    pub fn apiserver_log(&self) -> String {
        self.apiserver.stderr()
    }
}

impl Member {
    async fn ready(&mut self) -> Result<()> {
        self.process
            .until("etcd is ready", START, async |_| self.etcd.revision().await)
            .await?;
        Ok(())
    }
}

/// Returns the name of a member of etcd: of its process and of its folder.
fn etcd_name(index: usize) -> String {
    format!("etcd-{}", index + 1)
}

fn start_etcd(
    tools: &KubeTools,
    options: &ClusterOptions,
    ports: &Ports,
    folder: &Path,
    index: usize,
) -> Result<Process> {
    let name = etcd_name(index);
    let peers_of = |ports: &EtcdPorts| format!("http://127.0.0.1:{}", ports.peers);
    let clients = format!("http://127.0.0.1:{}", ports.etcd[index].clients);
    let peers = peers_of(&ports.etcd[index]);
    let all: Vec<String> = ports
        .etcd
        .iter()
        .enumerate()
        .map(|(index, ports)| format!("{}={}", etcd_name(index), peers_of(ports)))
        .collect();
    let mut command = Command::new(tools.etcd());
    command
        .arg("--data-dir")
        .arg(folder.join(&name))
        .args(["--name", &name, "--log-level", "warn"])
        .args(["--listen-client-urls", &clients])
        .args(["--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", &peers])
        .args(["--initial-advertise-peer-urls", &peers])
        .arg(format!("--initial-cluster={}", all.join(",")))
        .args(&options.etcd_flags);
    if !options.etcd_syncs {
        command.arg("--unsafe-no-fsync");
    }
    Process::start(&name, command, folder)
}

/// Copies a folder with all its contents to a path where nothing is.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}

fn start_apiserver(
    tools: &KubeTools,
    options: &ClusterOptions,
    ports: &Ports,
    folder: &Path,
    name: &str,
) -> Result<Process> {
    let file = |name: &str| folder.join(name).display().to_string();
    let bind = pki::LOOPBACK[usize::from(name == SECOND)];
    let etcds: Vec<String> = ports
        .etcd
        .iter()
        .map(|etcd| format!("http://127.0.0.1:{}", etcd.clients))
        .collect();
    let flags = [
        ("etcd-servers", etcds.join(",")),
        ("bind-address", bind.to_string()),
        // Without this flag a machine with no default route has no address to advertise.
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
        // No controller creates the default accounts that this plugin would wait for.
        ("disable-admission-plugins", "ServiceAccount".to_owned()),
        ("authorization-mode", "RBAC".to_owned()),
        ("anonymous-auth", "false".to_owned()),
        // The tests read the history in etcd as the truth, so it is readable and whole.
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
    fs::write(&path, serde_json::to_vec_pretty(&kubeconfig)?)
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
