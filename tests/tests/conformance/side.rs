//! The two servers that get the same requests: the simulator and a real kube-apiserver, each on its sockets. Also
//! actions that only an operator of either can take.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;
use watchscope::demo::Demo;
use watchscope_scenarios::{Story, View};
use watchscope_simulator::{Config, Fault, Rights, ServerId, Target, Throttle};
use watchscope_tests::kube::{Rule, TOKEN_USER};
use watchscope_tests::{ClusterOptions, KubeCluster, KubeTools, eventually};

use super::wire::{Address, Ask, Half};

/// How long an apiserver may take to settle; after that it must have written nothing for [`SETTLED`].
const LONG: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(3);

/// One of the two servers.
pub(super) enum Side {
    Simulated(Demo),
    Real(Box<KubeCluster>),
}

/// A user with fewer rights than the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// A user with an unknown token.
    Stranger,
    /// A known user without rights.
    WithoutRights,
    /// A user with all rights to configmaps, and in no privileged group.
    Ordinary,
}

/// A pending request.
pub(super) struct Held {
    _half: Option<Half>,
}

/// The delay and the grace of a server's shutdown, in seconds.
const SHUTDOWN_DELAY_SECS: u64 = 2;
const SHUTDOWN_GRACE_SECS: u64 = 2;

/// Returns objects that give an ordinary user's requests no share of a server: a priority level without seats or a
/// queue.
fn starvation() -> Value {
    let group = "flowcontrol.apiserver.k8s.io/v1";
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": group, "kind": "PriorityLevelConfiguration",
            "metadata": {"name": "starved"},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            }},
        },
        {
            "apiVersion": group, "kind": "FlowSchema",
            "metadata": {"name": "starved"},
            "spec": {
                "priorityLevelConfiguration": {"name": "starved"}, "matchingPrecedence": 2,
                "rules": [{
                    "subjects": [{"kind": "User", "user": {"name": ORDINARY}}],
                    "resourceRules": [{
                        "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                        "clusterScope": true, "namespaces": ["*"],
                    }],
                }],
            },
        },
    ]})
}

/// Returns the fault of a simulated server that is filled up.
fn filled_up() -> Fault {
    Fault::TooManyRequests {
        resource: Some("configmaps".to_owned()),
        throttle: Throttle::MaxInFlight,
        retry_after_secs: 1,
    }
}

impl Side {
    /// Starts a simulated apiserver alone: no controllers, and only the objects that an apiserver makes by itself.
    pub(super) async fn simulated() -> Result<Self> {
        let story = Story {
            name: "conformance",
            title: "An apiserver alone",
            config: Config::bare(),
            view: View::of("default", &[]),
            acts: Vec::new(),
            period: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Self::Simulated(Demo::start(story, 1, listener)?))
    }

    /// Starts a real server that writes nothing by itself once it has settled, so that only the exchanges add
    /// revisions.
    pub(super) async fn real(tools: &KubeTools) -> Result<Self> {
        Self::real_with(tools, Vec::new()).await
    }

    /// Starts a real server that accepts one write at a time and shuts down in several steps.
    pub(super) async fn real_that_fills_up(tools: &KubeTools) -> Result<Self> {
        let flags = vec![
            "--enable-priority-and-fairness=false".to_owned(),
            "--max-mutating-requests-inflight=1".to_owned(),
            format!("--shutdown-delay-duration={SHUTDOWN_DELAY_SECS}s"),
            format!("--shutdown-watch-termination-grace-period={SHUTDOWN_GRACE_SECS}s"),
            "--shutdown-send-retry-after=true".to_owned(),
        ];
        Self::real_with(tools, flags).await
    }

    async fn real_with(tools: &KubeTools, mut flags: Vec<String>) -> Result<Self> {
        flags.extend([
            "--endpoint-reconciler-type=none".to_owned(),
            "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false"
                .to_owned(),
        ]);
        let options = ClusterOptions {
            apiserver_flags: flags,
            ..ClusterOptions::default()
        };
        let cluster = KubeCluster::start(tools, options).await?;
        // It is ready before all its own writes are done. They would come between an exchange's writes and the versions
        // of its lists.
        let (mut revision, mut since) = (0, Instant::now());
        eventually("the apiserver has settled", LONG, async || {
            let now = cluster.etcd().revision().await?;
            if now != revision {
                (revision, since) = (now, Instant::now());
            }
            ensure!(since.elapsed() >= SETTLED, "it writes: revision {revision}");
            Ok(())
        })
        .await?;
        Ok(Self::Real(Box::new(cluster)))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::Real(_) => "real",
        }
    }

    pub(super) fn address(&self) -> Result<Address> {
        match self {
            Self::Simulated(demo) => Ok(Address::plain(demo.address)),
            Self::Real(cluster) => address_of(cluster, cluster.kubeconfig()),
        }
    }

    /// Returns another user's request, and the address to send it to.
    pub(super) async fn asked_by(&self, who: Who, ask: Ask) -> Result<(Address, Ask)> {
        match self {
            Self::Simulated(demo) if who == Who::Ordinary => {
                Ok((Address::plain(demo.address), ask))
            }
            Self::Real(cluster) if who == Who::Ordinary => Ok((ordinary(cluster)?, ask)),
            // In the simulator the User-Agent names the user, who may do everything until a fault takes that away.
            Self::Simulated(demo) => {
                let name = match who {
                    Who::Stranger => "stranger",
                    // A service account of the default namespace.
                    Who::WithoutRights | Who::Ordinary => {
                        TOKEN_USER.rsplit(':').next().unwrap_or(TOKEN_USER)
                    }
                };
                let target = Target::UserAgent(name.to_owned());
                let fault = match who {
                    Who::Stranger => Fault::ExpireTokens { target },
                    Who::WithoutRights | Who::Ordinary => Fault::RevokeAccess {
                        target,
                        resource: "configmaps".to_owned(),
                        rights: Rights::All,
                    },
                };
                let act = demo.act(move |world| world.inject(fault)).await;
                act.context("the world lives")?;
                let address = Address::plain(demo.address);
                Ok((address, ask.header("user-agent", name)))
            }
            Self::Real(cluster) => {
                let text = std::fs::read(cluster.token_kubeconfig()?)?;
                let kubeconfig: Value = serde_json::from_slice(&text)?;
                let found = |pointer: &str| {
                    let text = kubeconfig.pointer(pointer).and_then(Value::as_str);
                    text.with_context(|| format!("no {pointer}"))
                };
                let authority = found("/clusters/0/cluster/certificate-authority-data")?;
                let token = match who {
                    Who::Stranger => "nobody-knows",
                    Who::WithoutRights | Who::Ordinary => found("/users/0/user/token")?,
                };
                let socket = cluster.server().trim_start_matches("https://").parse()?;
                let address = Address::tls_of_anybody(socket, &STANDARD.decode(authority)?)?;
                Ok((
                    address,
                    ask.header("authorization", &format!("Bearer {token}")),
                ))
            }
        }
    }

    /// Fills the server up with an unfinished write.
    pub(super) async fn fill_up(&self, target: &str) -> Result<Held> {
        match self {
            Self::Simulated(demo) => {
                let act = demo.act(|world| world.inject(filled_up())).await;
                act.context("the world lives")?;
            }
            Self::Real(cluster) => allow_ordinary(cluster).await?,
        }
        self.hold(target).await
    }

    /// Removes what fills the server up.
    pub(super) async fn empty(&self, held: Held) -> Result<()> {
        drop(held);
        match self {
            Self::Simulated(demo) => {
                let act = demo.act(|world| world.lift(&filled_up())).await;
                act.context("the world lives")
            }
            Self::Real(_) => Ok(()),
        }
    }

    /// Starts a request of an ordinary user that stays pending until the result is dropped.
    pub(super) async fn hold(&self, target: &str) -> Result<Held> {
        let half = match self {
            Self::Simulated(_) => None,
            Self::Real(cluster) => Some(ordinary(cluster)?.half(target).await?),
        };
        Ok(Held { _half: half })
    }

    /// Gives an ordinary user's requests no share of the server (priority and fairness). One request is still served if
    /// no other is pending.
    pub(super) async fn starve(&self) -> Result<()> {
        match self {
            Self::Simulated(demo) => {
                let starved = Fault::TooManyRequests {
                    resource: Some("configmaps".to_owned()),
                    throttle: Throttle::PriorityAndFairness,
                    retry_after_secs: 1,
                };
                let act = demo.act(|world| world.inject(starved)).await;
                act.context("the world lives")
            }
            Self::Real(cluster) => {
                allow_ordinary(cluster).await?;
                cluster.kubectl().apply(&starvation()).await?;
                Ok(())
            }
        }
    }

    /// Makes the server shut down, with its delay and grace; does not wait for the end.
    pub(super) async fn stop(&mut self) -> Result<()> {
        match self {
            Self::Simulated(demo) => {
                let stop = Fault::Shutdown {
                    server: ServerId(0),
                    delay: Duration::from_secs(SHUTDOWN_DELAY_SECS),
                    grace: Duration::from_secs(SHUTDOWN_GRACE_SECS),
                    sends_retry_after: true,
                };
                let act = demo.act(move |world| world.inject(stop)).await;
                act.context("the world lives")
            }
            Self::Real(cluster) => cluster.tell_apiserver_to_stop(),
        }
    }

    /// Makes the watch cache of configmaps begin anew from etcd's present state, as when the server restarts.
    pub(super) async fn forget_history(&mut self) -> Result<()> {
        match self {
            Self::Simulated(demo) => demo
                .act(|world| {
                    let expire = Fault::Expire {
                        resource: Some("configmaps".to_owned()),
                    };
                    world.inject(expire.clone());
                    world.lift(&expire);
                })
                .await
                .context("the world lives"),
            Self::Real(cluster) => {
                cluster.stop_apiserver().await?;
                cluster.start_apiserver().await
            }
        }
    }

    /// Compacts etcd up to its present revision.
    pub(super) async fn compact(&mut self) -> Result<()> {
        match self {
            Self::Simulated(demo) => demo
                .act(|world| {
                    let expire = Fault::Expire {
                        resource: Some("events".to_owned()),
                    };
                    world.inject(expire.clone());
                    world.lift(&expire);
                })
                .await
                .context("the world lives"),
            Self::Real(cluster) => {
                let head = cluster.etcd().revision().await?;
                cluster.etcd().compact(head).await
            }
        }
    }
}

/// Returns the address of a real server for the holder of a kubeconfig with a client certificate.
fn address_of(cluster: &KubeCluster, kubeconfig: &Path) -> Result<Address> {
    let kubeconfig: Value = serde_json::from_slice(&std::fs::read(kubeconfig)?)?;
    let pem = |pointer: &str| -> Result<Vec<u8>> {
        let text = kubeconfig.pointer(pointer).and_then(Value::as_str);
        Ok(STANDARD.decode(text.with_context(|| format!("no {pointer}"))?)?)
    };
    let server = cluster.server();
    let socket = server.trim_start_matches("https://").parse()?;
    Address::tls(
        socket,
        &pem("/clusters/0/cluster/certificate-authority-data")?,
        &pem("/users/0/user/client-certificate-data")?,
        &pem("/users/0/user/client-key-data")?,
    )
}

/// The name of [`Who::Ordinary`], who has all rights to configmaps and is in no privileged group.
const ORDINARY: &str = "ordinary";

async fn allow_ordinary(cluster: &KubeCluster) -> Result<()> {
    let rules = [Rule {
        groups: &[""],
        resources: &["configmaps"],
        verbs: &["*"],
    }];
    cluster.allow(ORDINARY, &rules).await
}

/// Returns the address of a real server for that user.
fn ordinary(cluster: &KubeCluster) -> Result<Address> {
    address_of(cluster, &cluster.user(ORDINARY, &[])?)
}
