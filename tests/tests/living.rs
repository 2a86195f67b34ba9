//! Watches of everything in a busy cluster: controllers, a scheduler, pods that come and go. A definition is edited,
//! and an apiserver restarts.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use watchscope_tests::kube::{ControllerTools, Controllers};
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, Served, WatchscopeBinary, eventually, or_skip,
};

use crate::claims::LONG;
use crate::kubelets::Kubelets;
use crate::records::{find, numbered_without_holes, streams};
use crate::writer::Writer;

const NODES: usize = 3;
/// The pause between two rounds of writes.
const ROUND: Duration = Duration::from_secs(2);
/// How long a finding may take after its cause. An end is settled after 2.25 s; an end that needs a list takes 10 s
/// more.
const SETTLED: Duration = Duration::from_secs(15);

const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.living.test";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/living/deployments";
const WIDGETS: &str = "/apis/living.test/v1/namespaces/living/widgets";
/// The watch of the defined resource.
const OF_WIDGETS: &str = "*/widgets.living.test";

#[tokio::test]
#[ignore = "three minutes: cargo xtask test --long"]
async fn three_minutes_of_a_living_cluster_show_only_what_was_done_to_it() -> Result<()> {
    lives(Duration::from_secs(180), 1).await
}

#[tokio::test]
#[ignore = "an hour: cargo xtask test --long"]
async fn an_hour_of_a_living_cluster_shows_only_what_was_done_to_it() -> Result<()> {
    lives(Duration::from_secs(3_600), 4).await
}

/// Runs the cluster until `lasts` is over. In the first half the definition is edited `edits` times. In the middle the
/// apiserver is killed and started again.
async fn lives(lasts: Duration, edits: u32) -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let programs = or_skip!(ControllerTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let mut controllers = Controllers::start(&programs, &cluster)?;
    let writer = Writer::start(&cluster).await?;
    let kubelets = Kubelets::register(&writer, NODES).await?;
    let story = async {
        populate(&writer).await?;
        let launch = binary.with(&["serve", "--all-resources", "-A"]);
        let served = Served::start(launch.kubeconfig(cluster.kubeconfig())).await?;
        let log = Log::of(&served).await?;
        log.until("all is watched", |records| {
            streams(records, "*/pods")?;
            streams(records, OF_WIDGETS)
        })
        .await?;

        let mut rounds = 0;
        for edit in 0..edits {
            churn(&writer, &mut rounds, lasts / 2 / edits - SETTLED / 3).await?;
            let widgets = edited(edit);
            writer
                .insist(Method::PATCH, DEFINITION, Some(&widgets))
                .await?;
            churn(&writer, &mut rounds, SETTLED / 3).await?;
        }
        let before = log.records().len();
        cluster.kill_apiserver()?;
        write_past(&cluster).await?;
        cluster.start_apiserver().await?;
        churn(&writer, &mut rounds, lasts / 2).await?;
        sleep(SETTLED).await;
        controllers.still_run()?;
        let records = log.records();
        judge(&records, before, edits).with_context(|| kept(&records))
    };
    tokio::select! {
        () = kubelets.run(&writer) => bail!("the kubelets ended"),
        judged = story => judged,
    }
}

/// Creates two deployments and waits until their pods run; creates a resource with its own definition.
async fn populate(writer: &Writer) -> Result<()> {
    let namespace = json!({"metadata": {"name": "living"}});
    writer
        .write(Method::POST, "/api/v1/namespaces", Some(&namespace))
        .await?;
    for name in ["web", "api"] {
        let labels = json!({"app": name});
        let deployment = json!({
            "metadata": {"name": name},
            "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }},
        });
        writer
            .write(Method::POST, DEPLOYMENTS, Some(&deployment))
            .await?;
    }
    let (folder, _) = DEFINITION.rsplit_once('/').context("a path")?;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.living.test"},
        "spec": {
            "group": "living.test", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema(0)}],
        },
    });
    writer
        .write(Method::POST, folder, Some(&definition))
        .await?;
    for name in ["cog", "gear"] {
        let widget = json!({
            "apiVersion": "living.test/v1", "kind": "Widget", "metadata": {"name": name},
        });
        writer.insist(Method::POST, WIDGETS, Some(&widget)).await?;
    }
    eventually("all pods run", LONG, async || {
        for name in ["web", "api"] {
            let path = format!("{DEPLOYMENTS}/{name}");
            let (_, deployment) = writer.ask(Method::GET, &path, None, None).await?;
            let available = &deployment["status"]["availableReplicas"];
            ensure!(available == 3, "{name}: {available}");
        }
        Ok(())
    })
    .await
}

/// Writes directly into etcd, as another apiserver would. The versions that watches have reached are then older than
/// everything in the next cache.
async fn write_past(cluster: &KubeCluster) -> Result<()> {
    for n in 0..5 {
        let name = format!("elsewhere-{n}");
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "living"},
        });
        let key = format!("/registry/serviceaccounts/living/{name}");
        cluster.etcd().put(&key, &account).await?;
    }
    Ok(())
}

fn schema(edit: u32) -> Value {
    json!({"openAPIV3Schema": {
        "type": "object", "description": format!("Edited {edit} times."),
        "x-kubernetes-preserve-unknown-fields": true,
    }})
}

/// Returns a patch that changes the definition.
fn edited(edit: u32) -> Value {
    json!({"spec": {"versions": [
        {"name": "v1", "served": true, "storage": true, "schema": schema(edit + 1)},
    ]}})
}

/// Scales and rolls deployments, deletes pods, and creates, changes and deletes other objects, until `lasts` is over.
async fn churn(writer: &Writer, rounds: &mut u64, lasts: Duration) -> Result<()> {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        *rounds += 1;
        let round = *rounds;
        let replicas = json!({"spec": {"replicas": 2 + round % 4}});
        let web = format!("{DEPLOYMENTS}/web");
        writer.insist(Method::PATCH, &web, Some(&replicas)).await?;
        if round.is_multiple_of(6) {
            let rolled = json!({"spec": {"template": {"metadata": {
                "annotations": {"round": round.to_string()},
            }}}});
            let api = format!("{DEPLOYMENTS}/api");
            writer.insist(Method::PATCH, &api, Some(&rolled)).await?;
        }
        let spec = json!({"spec": {"round": round}});
        let widget = format!("{WIDGETS}/cog");
        writer.insist(Method::PATCH, &widget, Some(&spec)).await?;
        let names = (0..3).map(|n| format!("settings-{round}-{n}"));
        writer.churn("living", names).await?;
        if round.is_multiple_of(5) {
            let path = "/api/v1/namespaces/living/pods";
            let (_, pods) = writer.ask(Method::GET, path, None, None).await?;
            if let Some(name) = pods["items"][0]["metadata"]["name"].as_str() {
                let pod = format!("{path}/{name}");
                writer.insist(Method::DELETE, &pod, None).await?;
            }
        }
        sleep(ROUND).await;
    }
    Ok(())
}

/// Keeps the records of a failed run, since an hour is too long to repeat it for another look.
fn kept(records: &[Value]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("living.jsonl");
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    match fs::write(&path, lines) {
        Ok(()) => format!("the records are in {}", path.display()),
        Err(error) => format!("the records could not be kept: {error}"),
    }
}

/// Checks that each edit is an F17 of the type, that the restart is one finding, and that nothing else is above a note.
fn judge(records: &[Value], restarted: usize, edits: u32) -> Result<()> {
    numbered_without_holes(records)?;
    let findings: Vec<&Value> = of_type(records, "finding").collect();
    // On a busy machine a server may be away for over a minute; its findings are warnings then.
    let was_done = |finding: &Value| finding["code"] == "F06" || finding["code"] == "F17";
    let loud: Vec<&&Value> = findings
        .iter()
        .filter(|finding| match finding["severity"].as_str() {
            Some("note") => false,
            Some("warning") => !was_done(finding),
            _ => true,
        })
        .collect();
    ensure!(loud.is_empty(), "above a note: {loud:#?}");
    let verdicts: Vec<&Value> = of_type(records, "verdict").collect();
    ensure!(verdicts.is_empty(), "{verdicts:#?}");
    let (before, after) = records.split_at(restarted);
    // The cache of a quiet type learns of progress late, so a bookmark may be late. That is a note (F34).
    let raised = |records: &[Value]| -> Vec<String> {
        of_type(records, "finding")
            .filter(|finding| finding["state"] == "raised" && finding["code"] != "F34")
            .map(ToString::to_string)
            .collect()
    };
    find(before, "finding", OF_WIDGETS, |finding| {
        finding["code"] == "F17" && finding["certainty"] != "suspected"
    })?;
    let others = raised(before);
    ensure!(
        others.iter().all(|finding| finding.contains("\"F17\"")),
        "before the restart: {others:#?}"
    );
    let last = of_type(before, "finding").filter(|finding| finding["code"] == "F17");
    let count = last.filter_map(|finding| finding["count"].as_u64()).max();
    ensure!(count == Some(edits.into()), "{count:?} of {edits} edits");
    // Objects that went while the apiserver was away, such as its own old lease, are a note beside it (F28).
    let mut restart = raised(after);
    restart.retain(|finding| !finding.contains("\"F28\""));
    ensure!(
        restart.len() == 1 && restart[0].contains("\"F06\""),
        "after the restart: {restart:#?}"
    );
    Ok(())
}

fn of_type<'a>(records: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["type"] == kind)
}

/// All records of a server, collected as they arrive.
#[derive(Debug)]
struct Log {
    records: Arc<Mutex<Vec<Value>>>,
    collects: JoinHandle<()>,
}

impl Log {
    async fn of(served: &Served) -> Result<Self> {
        let mut source = served.records().await?;
        let records = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&records);
        let collects = tokio::spawn(async move {
            while let Ok(record) = source.next().await {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                sink.push(record);
            }
        });
        Ok(Self { records, collects })
    }

    /// Returns all records that have arrived.
    fn records(&self) -> Vec<Value> {
        let records = self.records.lock();
        records.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn until(&self, what: &str, look: impl Fn(&[Value]) -> Result<()>) -> Result<()> {
        eventually(what, LONG, async || {
            ensure!(!self.collects.is_finished(), "the records ended");
            look(&self.records())
        })
        .await
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.collects.abort();
    }
}
