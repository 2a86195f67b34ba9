//! The two servers that are asked the same: the simulator and a real kube-apiserver, each on its sockets, and what
//! only somebody inside either can do.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::Instant;
use watchscope::demo::Demo;
use watchscope_scenarios::{Story, View};
use watchscope_simulator::{Config, Fault, Rights, Target, WorkloadConfig};
use watchscope_tests::kube::TOKEN_USER;
use watchscope_tests::{ClusterOptions, KubeCluster, KubeTools, eventually};

use super::wire::{Address, Ask};

/// How long an apiserver may take to settle, and how long it has to have written nothing then.
const LONG: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(3);

/// One of the two.
pub(super) enum Side {
    Simulated(Demo),
    Real(Box<KubeCluster>),
}

/// Somebody who may less than the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Whose token nobody knows.
    Stranger,
    /// Who is known and has no rights.
    WithoutRights,
}

impl Side {
    /// An apiserver alone: no controllers, nothing in it but what an apiserver makes by itself.
    pub(super) async fn simulated() -> Result<Self> {
        let story = Story {
            name: "conformance",
            title: "An apiserver alone",
            config: Config {
                workload: WorkloadConfig {
                    controllers: false,
                    ..WorkloadConfig::none()
                },
                ..Config::empty()
            },
            view: View::of("default", &[]),
            acts: Vec::new(),
            period: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Self::Simulated(Demo::start(story, 1, listener)?))
    }

    /// A real one that writes nothing by itself once it is ready, so that its revisions are those of the exchanges.
    pub(super) async fn real(tools: &KubeTools) -> Result<Self> {
        let options = ClusterOptions {
            apiserver_flags: vec![
                "--endpoint-reconciler-type=none".to_owned(),
                "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false"
                    .to_owned(),
            ],
            ..ClusterOptions::default()
        };
        let cluster = KubeCluster::start(tools, options).await?;
        // It is ready before it has written all that it writes by itself, which would stand between an exchange's
        // writes and the versions of its lists.
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
            Self::Real(cluster) => {
                let text = std::fs::read(cluster.kubeconfig())?;
                let kubeconfig: Value = serde_json::from_slice(&text)?;
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
        }
    }

    /// A question of somebody else, and where it is to go.
    pub(super) async fn asked_by(&self, who: Who, ask: Ask) -> Result<(Address, Ask)> {
        match self {
            // There everybody is whom the User-Agent says, and may everything until a fault takes that away.
            Self::Simulated(demo) => {
                let name = match who {
                    Who::Stranger => "stranger",
                    // A service account of the default namespace.
                    Who::WithoutRights => TOKEN_USER.rsplit(':').next().unwrap_or(TOKEN_USER),
                };
                let target = Target::UserAgent(name.to_owned());
                let fault = match who {
                    Who::Stranger => Fault::ExpireTokens { target },
                    Who::WithoutRights => Fault::RevokeAccess {
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
                    Who::WithoutRights => found("/users/0/user/token")?,
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

    /// Lets the watch cache of configmaps begin anew from etcd's present state, as they do when the server restarts.
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

    /// Lets etcd forget all revisions before the present one.
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
