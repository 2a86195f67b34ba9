//! Clients by other authors against the simulator: kubectl's commands, client-go's informer and kube-rs' watcher.
//!
//! The two watchers go through the same script of writes and faults. In the end their beliefs must equal the cluster's
//! state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use watchscope::demo::Demo;
use watchscope_scenarios::{Story, View};
use watchscope_simulator::{Config, Cut, Fault, Request, Target, Throttle, WorkloadConfig};
use watchscope_tests::kube::Kubectl;
use watchscope_tests::{KubeTools, Missing, Process, eventually, or_skip};

const LONG: Duration = Duration::from_secs(60);

/// A simulated cluster with two nodes and no pods, and a kubeconfig for it.
struct Cluster {
    demo: Demo,
    folder: TempDir,
}

impl Cluster {
    async fn start() -> Result<Self> {
        let story = Story {
            name: "clients",
            title: "A cluster for clients that others wrote",
            config: Config {
                workload: WorkloadConfig {
                    nodes: 2,
                    ..WorkloadConfig::none()
                },
                ..Config::empty()
            },
            view: View::of("default", &[]),
            acts: Vec::new(),
            period: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let demo = Demo::start(story, 1, listener)?;
        let folder = tempfile::tempdir()?;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "simulated",
            "clusters": [{"name": "simulated", "cluster": {"server": format!("http://{}", demo.address)}}],
            "users": [{"name": "anyone", "user": {}}],
            "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": "anyone"}}],
        });
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string())?;
        Ok(Self { demo, folder })
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Sends a request from inside the world, without its network; fails if its status is not 2xx.
    async fn call(&self, request: Request) -> Result<Value> {
        let response = self
            .demo
            .act(move |world| world.call(&request))
            .await
            .context("the world lives")?;
        ensure!(
            (200..300).contains(&response.head.status),
            "{} {}",
            response.head.status,
            response.json()
        );
        Ok(response.json())
    }

    async fn inject(&self, fault: Fault) -> Result<()> {
        let injected = self.demo.act(move |world| world.inject(fault)).await;
        injected.context("the world lives")
    }

    async fn lift(&self, fault: Fault) -> Result<()> {
        let lifted = self.demo.act(move |world| world.lift(&fault)).await;
        lifted.context("the world lives")
    }

    /// Returns the existing configmaps by name, with their versions.
    async fn truth(&self) -> Result<BTreeMap<String, String>> {
        let truth = self.demo.act(|world| {
            let objects = world.truth().objects("configmaps", "default");
            let told = |o: &Arc<watchscope_simulator::Object>| {
                (o.name().to_owned(), o.revision().to_string())
            };
            objects.iter().map(told).collect()
        });
        truth.await.context("the world lives")
    }

    /// Creates a configmap, changes one and deletes one.
    async fn write(&self, round: usize) -> Result<()> {
        let maps = "/api/v1/namespaces/default/configmaps";
        let object = |name: String| json!({"metadata": {"name": name}, "data": {"round": round.to_string()}});
        self.call(Request::new("POST", maps).json(&object(format!("map-{round}"))))
            .await?;
        if let Some(before) = round.checked_sub(1) {
            let name = format!("map-{before}");
            let target = format!("{maps}/{name}");
            self.call(Request::new("PUT", &target).json(&object(name)))
                .await?;
        }
        if let Some(before) = round.checked_sub(2) {
            self.call(Request::new("DELETE", &format!("{maps}/map-{before}")))
                .await?;
        }
        Ok(())
    }

    /// Injects every fault that a watcher must survive, with writes before, during and after each round. After each
    /// round it waits until the belief equals the truth.
    async fn script(&self, believed: impl Fn() -> Option<BTreeMap<String, String>>) -> Result<()> {
        let all = || Target::All;
        let throttled = Fault::TooManyRequests {
            resource: Some("configmaps".to_owned()),
            throttle: Throttle::PriorityAndFairness,
            retry_after_secs: 1,
        };
        let expired = Fault::Expire {
            resource: Some("configmaps".to_owned()),
        };
        let reset = Fault::Cut {
            target: all(),
            cut: Cut::Reset,
        };
        // The faults of a round happen together.
        let rounds: Vec<Vec<Fault>> = vec![
            vec![],
            vec![reset.clone()],
            vec![Fault::Cut {
                target: all(),
                cut: Cut::Eof,
            }],
            vec![Fault::CloseStreams { target: all() }],
            vec![Fault::TearFrame {
                target: all(),
                cut: Cut::Eof,
            }],
            vec![throttled, reset.clone()],
            vec![expired, reset.clone()],
            vec![Fault::Refuse, reset],
        ];
        let mut round = 0;
        for faults in rounds {
            self.write(round).await?;
            for fault in &faults {
                self.inject(fault.clone()).await?;
            }
            self.write(round + 1).await?;
            self.write(round + 2).await?;
            for fault in faults.iter().filter(|fault| !fault.is_momentary()) {
                self.lift(fault.clone()).await?;
            }
            self.write(round + 3).await?;
            round += 4;
            eventually(
                &format!("the belief equals the truth after {faults:?}"),
                LONG,
                async || {
                    // The truth is read for each look: the cluster writes too, such as the root CA's configmap of each
                    // namespace.
                    let truth = self.truth().await?;
                    let belief = believed().context("it has said nothing yet")?;
                    ensure!(
                        belief == truth,
                        "it believes {belief:?}, but there is {truth:?}"
                    );
                    Ok(())
                },
            )
            .await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn kube_rs_watcher_believes_the_truth_after_every_fault() -> Result<()> {
    let cluster = Cluster::start().await?;
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig())?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    let maps: Api<ConfigMap> = Api::namespaced(kube::Client::try_from(config)?, "default");
    let belief = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&belief);
    let watching = tokio::spawn(async move {
        let mut stream = pin!(watcher::watcher(maps, watcher::Config::default()).default_backoff());
        let mut held = BTreeMap::new();
        let mut listed = BTreeMap::new();
        while let Some(event) = stream.next().await {
            let entry = |object: &ConfigMap| {
                (
                    object.name_any(),
                    object.resource_version().unwrap_or_default(),
                )
            };
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => listed.extend([entry(&object)]),
                Ok(Event::InitDone) => held = std::mem::take(&mut listed),
                Ok(Event::Apply(object)) => held.extend([entry(&object)]),
                Ok(Event::Delete(object)) => {
                    held.remove(&object.name_any());
                }
                // The stream continues by itself, after a backoff.
                Err(_) => continue,
            }
            if let Ok(mut belief) = shared.lock() {
                *belief = Some(held.clone());
            }
        }
    });
    let outcome = cluster
        .script(|| belief.lock().ok().and_then(|belief| belief.clone()))
        .await;
    watching.abort();
    outcome
}

/// Finds the informer that `cargo xtask test` builds from tests/cluster.
fn informer() -> Result<PathBuf, Missing> {
    std::env::var_os("WATCHSCOPE_TEST_INFORMER")
        .map(PathBuf::from)
        .filter(|program| program.is_file())
        .ok_or_else(|| Missing {
            what: "an informer of client-go".to_owned(),
            install: "Go 1.26 or newer and run `cargo xtask test`".to_owned(),
        })
}

#[tokio::test]
async fn client_gos_informer_believes_the_truth_after_every_fault() -> Result<()> {
    let program = or_skip!(informer());
    let cluster = Cluster::start().await?;
    let mut command = std::process::Command::new(program);
    command.arg(cluster.kubeconfig()).arg("default");
    let informer = Process::start("informer", command, cluster.folder.path())?;
    cluster
        .script(|| {
            let stdout = informer.stdout();
            let whole = stdout.rsplit_once('\n')?.0;
            serde_json::from_str(whole.lines().last()?).ok()
        })
        .await
        .with_context(|| format!("the informer says:\n{}", informer.stderr()))
}

fn deployment(image: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

/// A kubectl whose every command must succeed.
struct Commands {
    kubectl: Kubectl,
}

impl Commands {
    async fn run(&self, arguments: &str) -> Result<String> {
        self.with(arguments, &Value::Null).await
    }

    /// Runs a command with an object on standard input.
    async fn with(&self, arguments: &str, object: &Value) -> Result<String> {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let input = object.to_string();
        self.kubectl
            .outcome(&arguments, input.as_bytes())
            .await?
            .success()
    }

    async fn json(&self, arguments: &str) -> Result<Value> {
        let text = self.run(&format!("get {arguments} -o json")).await?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn commands(tools: &KubeTools, cluster: &Cluster) -> Commands {
    let folder: &Path = cluster.folder.path();
    Commands {
        kubectl: Kubectl::new(tools, &cluster.kubeconfig(), folder),
    }
}

#[tokio::test]
async fn kubectl_makes_changes_scales_and_waits_as_on_a_real_cluster() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = Cluster::start().await?;
    let kubectl = commands(&tools, &cluster);

    kubectl
        .with("create -f -", &deployment("registry.test/web:1", 2))
        .await?;
    kubectl
        .run("wait --for=condition=Available deployment/web --timeout=60s")
        .await?;
    kubectl.run("scale deployment/web --replicas=3").await?;
    assert_eq!(kubectl.json("deployment web").await?["spec"]["replicas"], 3);
    kubectl
        .run("scale deployment/web --current-replicas=3 --replicas=1")
        .await?;
    kubectl
        .run("wait --for=jsonpath={.status.readyReplicas}=1 deployment/web --timeout=60s")
        .await?;

    kubectl.run("label deployment/web tier=front").await?;
    kubectl
        .run("label deployment/web tier=back --overwrite")
        .await?;
    assert_eq!(
        kubectl.json("deployment web").await?["metadata"]["labels"]["tier"],
        "back"
    );
    kubectl
        .run(r#"patch deployment/web --type merge -p {"spec":{"minReadySeconds":1}}"#)
        .await?;
    kubectl.run(r#"patch deployment/web --type json -p [{"op":"remove","path":"/metadata/labels/tier"}]"#).await?;
    let strategic = r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.test/web:2"}]}}}}"#;
    kubectl
        .run(&format!(
            "patch deployment/web --type strategic -p {strategic}"
        ))
        .await?;
    let changed = kubectl.json("deployment web").await?;
    let container = &changed["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.test/web:2");
    assert_eq!(
        container["ports"][0]["containerPort"], 80,
        "the rest of the container stays"
    );
    assert_eq!(changed["spec"]["minReadySeconds"], 1);
    assert_eq!(changed["metadata"]["labels"], Value::Null);
    kubectl
        .run("delete deployment/web --wait=true --timeout=60s")
        .await?;
    kubectl
        .run("wait --for=delete pod -l app=web --timeout=60s")
        .await?;
    Ok(())
}

#[tokio::test]
async fn kubectl_applies_and_replaces_objects_of_a_file() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = Cluster::start().await?;
    let kubectl = commands(&tools, &cluster);

    let applied = |colour: Option<&str>| {
        let mut data = json!({"kept": "1"});
        if let Some(colour) = colour {
            data["colour"] = json!(colour);
        }
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})
    };
    for (object, said) in [
        (applied(Some("blue")), "created"),
        (applied(Some("blue")), "unchanged"),
        (applied(Some("red")), "configured"),
        (applied(None), "configured"),
    ] {
        let told = kubectl.with("apply -f -", &object).await?;
        assert_eq!(told.trim(), format!("configmap/settings {said}"));
    }
    assert_eq!(
        kubectl.json("configmap settings").await?["data"],
        json!({"kept": "1"})
    );
    let told = kubectl
        .with("apply -f - --dry-run=server", &applied(Some("green")))
        .await?;
    assert_eq!(
        told.trim(),
        "configmap/settings configured (server dry run)"
    );
    assert_eq!(
        kubectl.json("configmap settings").await?["data"],
        json!({"kept": "1"})
    );
    kubectl
        .with("replace -f -", &applied(Some("white")))
        .await?;
    let yaml = kubectl.run("get configmap settings -o yaml").await?;
    assert!(
        yaml.starts_with(
            "apiVersion: v1\ndata:\n  colour: white\n  kept: \"1\"\nkind: ConfigMap\n"
        ),
        "{yaml}"
    );

    // A deployment is applied by strategic merge: entries that others added to its lists stay.
    kubectl
        .with("apply -f -", &deployment("registry.test/web:1", 1))
        .await?;
    kubectl.run(r#"patch deployment/web --type json -p [{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"side","image":"registry.test/side:1"}}]"#).await?;
    let told = kubectl
        .with("apply -f -", &deployment("registry.test/web:2", 1))
        .await?;
    assert_eq!(told.trim(), "deployment.apps/web configured");
    let containers =
        kubectl.json("deployment web").await?["spec"]["template"]["spec"]["containers"].clone();
    let images: Vec<&str> = containers
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|c| c["image"].as_str())
        .collect();
    assert_eq!(images, ["registry.test/web:2", "registry.test/side:1"]);

    let mut misspelt = applied(None);
    misspelt["dota"] = json!({});
    let refused = kubectl
        .kubectl
        .outcome(&["apply", "-f", "-"], misspelt.to_string().as_bytes())
        .await?;
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused.stderr.contains("unknown field \"dota\""),
        "{}",
        refused.stderr
    );
    Ok(())
}

#[tokio::test]
async fn kubectl_lists_watches_and_discovers_resources() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = Cluster::start().await?;
    let kubectl = commands(&tools, &cluster);

    let resources = kubectl
        .run("api-resources --verbs=list,watch -o name")
        .await?;
    for known in [
        "pods",
        "deployments.apps",
        "customresourcedefinitions.apiextensions.k8s.io",
    ] {
        assert!(resources.lines().any(|line| line == known), "{resources}");
    }
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "watched"}});
    kubectl.with("create -f -", &map).await?;
    let command = kubectl.kubectl.command(&[
        "get",
        "configmaps",
        "-w",
        "-o",
        "name",
        "--field-selector=metadata.name=watched",
    ]);
    let mut watch = Process::start("kubectl-watch", command, cluster.folder.path())?;
    watch
        .until("the first row is printed", LONG, async |watch| {
            ensure!(watch.stdout().contains("configmap/watched"));
            Ok(())
        })
        .await?;
    kubectl.run("label configmap/watched seen=true").await?;
    kubectl.run("delete configmap/watched").await?;
    watch
        .until("a row for each change", LONG, async |watch| {
            let rows = watch
                .stdout()
                .lines()
                .filter(|line| line.contains("configmap/watched"))
                .count();
            ensure!(rows == 3, "{rows} rows");
            Ok(())
        })
        .await
}
